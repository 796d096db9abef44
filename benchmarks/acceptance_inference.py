"""Inference: measured coverage of every rule and its controls.

Models of real releases beside the original.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import veladura as vd
from veladura.plan.draft import draft
from veladura.plan.reading import read_plan

MODELS = {
    "SD2011.csv": [
        ("log(income) ~ age + C(sex) + edu", "gaussian", "edu"),
        ("smoke ~ sex + age", "binomial", "sex"),
    ],
    "nist/ma2019.csv": [("PINCP ~ AGEP + C(SEX)", "gaussian", "C(SEX)")],
}


def coverage() -> None:
    """Print the coverage of 95 % intervals: right rules, then slips that must miss."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "inference"))
    import test_coverage as cases

    for title, table in (("covers", cases.RIGHT), ("must not cover 94 to 96 %", cases.WRONG)):
        for name, case in table.items():
            print(f"  {title}: {name}: {100 * cases.coverage(*case):.1f} %")


def models(data: Path, name: str) -> None:
    """Synthesise a whole table, analyse the folder from the command line.

    Compare with the original.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        text = draft(
            str(data / name),
            method="cart",
            home=home,
            release="out/release",
            custodian="safe/record",
            seed=7,
        )
        (home / "plan.toml").write_text(text, encoding="utf-8")
        plan = read_plan(home / "plan.toml")
        release = plan.recipe.protect(plan.open(), seed=7)
        release.save(home / "out" / "release", custodian=home / "safe" / "record")
        for formula, family, term in MODELS[name]:
            start = time.process_time()
            found = vd.inference.analyze(release, formula, family=family)
            seconds = time.process_time() - start
            call = [
                sys.executable,
                "-m",
                "veladura.cli.main",
                "analyze",
                str(home / "out" / "release"),
                formula,
                "--family",
                family,
                "--test",
                term,
            ]
            print(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
            original = found.on_original().coefficients
            inside = np.mean(
                (found.coefficients.lower <= original.value)
                & (original.value <= found.coefficients.upper)
            )
            ratio = np.median(found.coefficients.error / original.error)
            print(
                f"{name}: {seconds:.2f} s of CPU; {inside:.0%} of the original coefficients inside,"
                f" errors {ratio:.2f} times the original's\n"
            )


def main(data: Path) -> None:
    coverage()
    for name in MODELS:
        models(data, name)
