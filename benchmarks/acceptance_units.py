"""Households and weights of real tables, end to end by the command line.

init, confirm, run, verify, then a model and a mean by the declared design: testdata (household
numbers and weights), SD2011 and ma2019 (weights), by k-anonymity, CART and private tables, and by
`households` where init finds households. Prints exit codes and the mean beside the original's.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from benchmarks import data_folder

METHODS = ("k-anonymity", "cart", "households", "marginals")
DESIGN = ("household", "person", "weight", "strata", "cluster")


@dataclass(frozen=True)
class Survey:
    """A table, a column whose mean is estimated, a model, and the weight of the original."""

    path: str
    mean: str
    model: str
    weight: str | None = None
    households: bool = False


SURVEYS = (
    Survey("sdcmicro/testdata.csv", "expend", "expend ~ C(urbrur)", "household_weights", True),
    Survey("SD2011.csv", "income", "income ~ C(sex)"),
    Survey("nist/ma2019.csv", "PINCP", "PINCP ~ C(SEX)", "PWGTP"),
)


def main(data: Path) -> None:
    failed = []
    for survey in SURVEYS:
        print(f"{survey.path}: mean of {survey.mean} in the original {_original(data, survey):.6g}")
        for method in METHODS:
            if method == "households" and not survey.households:
                continue
            words, right = _line(data / survey.path, survey, method)
            print(f"  {method:12} {words}", flush=True)
            failed += [] if right else [(survey.path, method)]
    if failed:
        sys.exit(f"failed: {failed}")


def _original(data: Path, survey: Survey) -> float:
    """Return the (weighted) mean of the original by pandas."""
    frame = pd.read_csv(data / survey.path, na_values=["N"])
    values = pd.to_numeric(frame[survey.mean])
    weight = frame[survey.weight] if survey.weight else values * 0 + 1
    given = values.notna()
    return float((values * weight)[given].sum() / weight[given].sum())


def _line(table: Path, survey: Survey, method: str) -> tuple[str, bool]:
    """Return what happened, with exit codes, and whether it is as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        plan, out = home / "plan.toml", home / "release" / table.stem
        codes: dict[str, int] = {}
        asked = {
            "init": ["init", str(table), "--out", str(plan), "--method", method],
            "confirm": ["confirm", str(plan), "--accept-all"],
            "run": ["run", str(plan), "--quiet"],
            "verify": ["verify", str(out)],
            "survey": ["survey", str(out), "--mean", survey.mean],
            "analyze": ["analyze", str(out), survey.model],
        }
        said = {}
        for name, arguments in asked.items():
            done = _veladura(home, *arguments)
            codes[name], said[name] = done.returncode, done.stdout + done.stderr
            if done.returncode and name not in ("survey", "analyze"):
                return f"{_listed(codes)}\n      {_first(said[name])}", False
        roles = tomllib.loads(plan.read_text(encoding="utf-8"))["columns"]
        found = [f"{n} {c['role']}" for n, c in roles.items() if c.get("role") in DESIGN]
        lines = [_listed(codes), f"found: {', '.join(found) or 'no design'}"]
        lines += [
            f"{name}: {_first(said[name]) if codes[name] else _estimate(said[name])}"
            for name in ("survey", "analyze")
        ]
        # exit 2 with a reason in words is an answer: a band has no mean
        return "\n      ".join(lines), set(codes.values()) <= {0, 2}


def _listed(codes: Mapping[str, int]) -> str:
    return "exit " + ", ".join(f"{name} {code}" for name, code in codes.items())


def _first(text: str) -> str:
    """Return the sentence of an error."""
    wrong = [line for line in text.splitlines() if line.startswith("error")]
    return (wrong or text.strip().splitlines() or [""])[0]


def _estimate(text: str) -> str:
    """Return design and figures of a table that was printed."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if re.match(r"(Design|mean of|C\()", line)]
    return "; ".join(re.sub(r"\s+", " ", line) for line in kept)


def _veladura(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "veladura.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        # a ledger of its own: the same table is released privately again and again
        env=os.environ
        | {"VELADURA_CUSTODIAN": str(home / "home"), "VELADURA_LEDGER": str(home / "ledger")}
        | {"COLUMNS": "300"},
    )


if __name__ == "__main__":
    main(data_folder())
