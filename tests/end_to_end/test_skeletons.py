"""The skeletons of a method and of a synthesizer work as they are.

From one line of the registry.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core import registry
from veladura.errors import DataError, PlanError

ROOT = Path(__file__).parents[2]
PACKAGE = Path(vd.__file__).parent
NEW = {
    "random-rounding": ("method.py", "rounding", "RandomRounding"),
    "class-normal": ("synthesizer.py", "class_normal", "ClassNormal"),
}
SETTINGS = {
    "RandomRounding": 'columns=["income"], base=1000',
    "ClassNormal": 'columns=["income", "stay"], within=["sex"], m=3',
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the package with both methods: a folder each, and a line each in the registry."""
    home = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, home / "veladura")
    table = home / "veladura" / "core" / "registry.py"
    lines = table.read_text(encoding="utf-8")
    for method, (file, folder, name) in NEW.items():
        place = home / "veladura" / "methods" / folder
        place.mkdir()
        (place / "__init__.py").write_text('"""A new method."""\n')
        shutil.copy(ROOT / "skeletons" / file, place / f"{folder}.py")
        line = f'    "{method}": ("veladura.methods.{folder}.{folder}", "{name}"),\n'
        lines = lines.replace('    "steps": (', f'{line}    "steps": (', 1)
    table.write_text(lines, encoding="utf-8")
    return home


def run(home: Path, *arguments: object, cwd: Path | None = None) -> str:
    """Run Python on the copied package.

    Return what it prints, and show what it says when it fails.
    """
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd or home,
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SETTINGS)
def test_a_skeleton_keeps_the_contract(copied, name):
    code = f"import veladura as vd; vd.testing.check_recipe(vd.{name}({SETTINGS[name]}))"
    assert run(copied, "-c", code) == ""


def test_a_skeleton_with_a_rule_of_its_own_goes_from_init_to_analyze(copied, tmp_path):
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 400)
    people = pd.DataFrame({"sex": sex, "income": 900 + 300 * (sex == "m") + rng.normal(0, 90, 400)})
    people.round(2).to_csv(tmp_path / "people.csv", index=False)
    run(copied, "-m", "veladura", "init", "people.csv", "--method", "class-normal", cwd=tmp_path)
    plan = tmp_path / "plan.toml"
    named = 'method = "class-normal"\n'
    assert named in plan.read_text()
    text = plan.read_text().replace(named, f'{named}within = ["sex"]\n')
    assert "# seed = 1\n" in text  # one in some dozens of draws has an interval beside the truth
    plan.write_text(text.replace("# seed = 1\n", "seed = 1\n"))
    run(copied, "-m", "veladura", "confirm", "plan.toml", "--accept-all", cwd=tmp_path)
    run(copied, "-m", "veladura", "run", "plan.toml", cwd=tmp_path)
    verified = run(copied, "-m", "veladura", "verify", "release/people", cwd=tmp_path)
    assert "every combination of sex is shared by at least 10 people" in " ".join(verified.split())
    manifest = json.loads((tmp_path / "release" / "people" / "manifest.json").read_text())
    assert manifest["rule"] == "within-classes"
    page = (tmp_path / "release" / "people" / "report.html").read_text(encoding="utf-8")
    assert "Do not conclude on relations within a class" in page
    shown = run(
        copied,
        "-m",
        "veladura",
        "analyze",
        "release/people",
        "income ~ C(sex)",
        "--json",
        cwd=tmp_path,
    )
    analysis = json.loads(shown)
    assert analysis["cautions"] == []
    assert analysis["rule"] == "within-classes"
    slope = next(row for row in analysis["coefficients"] if "sex" in row["term"])
    assert slope["lower"] < 300 < slope["upper"]


def test_a_skeleton_touches_its_folder_and_one_line(copied):
    """What differs from the package: two folders, and a line each of the registry."""
    ours = {path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.suffix == ".py"}
    theirs = {
        path.relative_to(copied / "veladura")
        for path in (copied / "veladura").rglob("*")
        if path.suffix == ".py"
    }
    assert {path.parts[:2] for path in theirs - ours} == {
        ("methods", folder) for _, folder, _ in NEW.values()
    }
    changed = [
        path
        for path in ours
        if (PACKAGE / path).read_bytes() != (copied / "veladura" / path).read_bytes()
    ]
    assert changed == [Path("core/registry.py")]


def skeleton(name: str, monkeypatch: pytest.MonkeyPatch) -> type:
    """The class of a skeleton, registered in this process."""
    file, _, cls = NEW[name]
    monkeypatch.syspath_prepend(ROOT / "skeletons")
    monkeypatch.setitem(registry.METHODS, name, (Path(file).stem, cls))
    return registry.find(name)


def test_random_rounding_keeps_the_mean(monkeypatch):
    """Claim: the mean stays. 20,000 values at level 1e-5; the control rounds down only."""
    rounding = skeleton("random-rounding", monkeypatch)
    frame = pd.DataFrame({"x": np.full(20_000, 7), "y": range(20_000)})
    released = rounding(columns=["x"], base=5).protect(frame, seed=0).datasets[0]["x"]
    assert set(released) == {5, 10}
    spread = np.sqrt(0.4 * 0.6 / 20_000) * 5
    assert abs(released.mean() - 7) < 4.4 * spread < abs((frame["x"] // 5 * 5).mean() - 7)
    with pytest.raises(PlanError, match="at least 2"):
        rounding(columns=["x"], base=1)


def test_class_normal_keeps_the_means_of_classes(monkeypatch):
    """Claim: means of classes stay. Level 1e-5; the control forgets the classes."""
    recipe = skeleton("class-normal", monkeypatch)
    sex = np.array(["f", "m"] * 2000)
    values = np.random.default_rng(1).normal(np.where(sex == "m", 5.0, 0.0), 1.0)
    frame = pd.DataFrame({"sex": sex, "x": values})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = recipe(columns=["x"], within=["sex"], m=4).protect(frame, seed=2)
        known = release.estimate(_difference)
    truth = _difference(frame)[0]
    assert abs(known.value - truth) < 4.4 * known.error
    blind = recipe(columns=["x"], m=4).protect(frame, seed=2)
    forgot = blind.estimate(_difference)
    assert abs(forgot.value - truth) > 4.4 * forgot.error
    with pytest.raises(DataError, match="fewer than 3000"):
        recipe(columns=["x"], within=["sex"], smallest=3000).protect(frame)
    with pytest.raises(PlanError, match="at least 2"):
        recipe(columns=["x"], m=1)


def _difference(data: pd.DataFrame) -> tuple[float, float]:
    """Difference of two means, and its variance."""
    one, other = (data.loc[data["sex"] == sex, "x"] for sex in ("m", "f"))
    return one.mean() - other.mean(), one.var() / len(one) + other.var() / len(other)
