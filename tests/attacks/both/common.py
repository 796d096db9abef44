"""What the attacks share: a table, honest releases, and the command line of any version."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import veladura as vd

Outcome = tuple[bool, str]
Attack = Callable[[Path], Outcome]
MAIN = """
try:
    from veladura.cli.main import main
except ImportError:
    from veladura.cli import main
main()
"""


def command(*arguments: str, cwd: Path, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """Run the command line of the version that is attacked."""
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def people(rows: int = 240) -> pd.DataFrame:
    """Return an invented table."""
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["no", "yes"], rows),
            "income": rng.normal(3000, 800, rows).round(2),
        }
    )


def anonymous(home: Path) -> Path:
    """Return the folder of an honest 5-anonymous release; its source is people.csv."""
    people().to_csv(home / "people.csv", index=False)
    ages = vd.Hierarchy.intervals([10, 20])
    recipe = vd.KAnonymity(quasi_identifiers=["age", "sex"], k=5, hierarchies={"age": ages})
    return saved(recipe, home / "people.csv", home)


def saved(recipe: vd.Recipe, source: Any, home: Path, name: str = "release") -> Path:
    """Return the folder of an honest release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = recipe.protect(source)
        release.save(home / "out" / name, custodian=home / "safe" / name)
    return home / "out" / name


def rehash(folder: Path) -> None:
    """Write checksums that fit, as anyone can."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}"
        for path in files
        if path != folder / "SHA256SUMS"
    ]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")


def edited(folder: Path, change: Callable[[Any], object]) -> None:
    """Change the manifest, and write checksums that fit."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    rehash(folder)
