"""Singling out on the same releases: ours beside anonymeter's, where that is installed.

`python -m benchmarks.peer_singling_out`; with anonymeter in an environment of its own,
ANONYMETER_PYTHON names its interpreter. Original and control group are halves of adult. Releases:
an independent sample, a tenth copied, half copied, all copied, and Cart. One independent sample may
show some per cent by chance, so forty of them are attacked too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks import data_folder

ROWS, ATTEMPTS, SPLITS = 2_000, 500, 40
PEER = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
from anonymeter.evaluators import SinglingOutEvaluator
folder, attempts = sys.argv[1], int(sys.argv[2])
ori, control = (pd.read_csv(f"{folder}/{n}.csv") for n in ("original", "control"))
found = {}
for name in sys.argv[3:]:
    syn = pd.read_csv(f"{folder}/{name}.csv")
    for mode in ("univariate", "multivariate"):
        try:
            ev = SinglingOutEvaluator(ori, syn, n_attacks=attempts, n_cols=3, control=control)
            ev.evaluate(mode=mode)
            risk, rates = ev.risk(), ev.results()
            found[f"{name}|{mode}"] = [
                rates.attack_rate.value, rates.control_rate.value, risk.value, *risk.ci
            ]
        except RuntimeError as error:
            found[f"{name}|{mode}"] = [str(error).splitlines()[0][:60]]
print(json.dumps(found))
"""


def releases(
    original: pd.DataFrame, others: pd.DataFrame, rng: np.random.Generator
) -> dict[str, pd.DataFrame]:
    """Return releases that copy none, some or all of the original, and one that is synthetic."""
    made = {"independent": others}
    for share in (0.1, 0.5, 1.0):
        copied = rng.choice(len(original), round(share * len(original)), replace=False)
        kept = others.iloc[: len(original) - copied.size]
        made[f"{share:.0%} copied"] = pd.concat([original.iloc[copied], kept], ignore_index=True)
    made["cart"] = vd.Cart(m=1).protect(original, seed=1).datasets[0]
    return made


def main() -> None:
    adult = pd.read_csv(data_folder() / "adult" / "adult.csv", sep=";")
    rng = np.random.default_rng(1)
    taken = adult.iloc[rng.permutation(len(adult))[: 3 * ROWS]].reset_index(drop=True)
    original, control, others = (
        taken.iloc[i * ROWS : (i + 1) * ROWS].reset_index(drop=True) for i in range(3)
    )
    made = releases(original, others, rng)
    print(f"adult, {ROWS:,} people, {ATTEMPTS} attempts: success, control, risk (interval)")
    for name, table in made.items():
        started = time.process_time()
        ours = vd.risk.singling_out(original, table, control, attempts=ATTEMPTS)
        spent = time.process_time() - started
        shown = [float(ours.success), float(ours.control), float(ours.risk)]
        ends = (ours.risk.lower, ours.risk.upper)
        print(f"  {name:12} ours", *(f"{x:.3f}" for x in shown), _interval(ends), f"{spent:.1f} s")
    independent(adult)
    peer(original, control, made)


def independent(adult: pd.DataFrame) -> None:
    """Print what the attack finds in forty independent samples: nothing, but for chance."""
    excess, above = [], 0
    for split in range(SPLITS):
        rng = np.random.default_rng(100 + split)
        rows = rng.permutation(len(adult))[: 3 * ROWS].reshape(3, ROWS)
        original, control, others = (adult.iloc[part].reset_index(drop=True) for part in rows)
        attack = vd.risk.singling_out(original, others, control, attempts=ATTEMPTS, seed=split)
        excess.append(float(attack.success) - float(attack.control))
        above += attack.risk.lower > 0
    error = np.std(excess, ddof=1) / SPLITS**0.5
    print(
        f"  {SPLITS} independent samples: success beyond the control {np.mean(excess):.4f}", end=""
    )
    print(f" (standard error {error:.4f}); {above} of {SPLITS} intervals lie above 0")


def peer(original: pd.DataFrame, control: pd.DataFrame, made: dict[str, pd.DataFrame]) -> None:
    """Print the figures of anonymeter, if there is one."""
    python = os.environ.get("ANONYMETER_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        for name, table in {"original": original, "control": control, **made}.items():
            table.to_csv(Path(folder) / f"{name}.csv", index=False)
        command = [python, "-c", PEER, folder, str(ATTEMPTS), *made]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print("  anonymeter is not installed: set ANONYMETER_PYTHON to an interpreter that has it.")
        return
    for name, figures in json.loads(done.stdout.splitlines()[-1]).items():
        release, mode = name.split("|")
        if len(figures) == 1:
            print(f"  {release:12} anonymeter {mode}: {figures[0]}")
            continue
        print(f"  {release:12} anonymeter {mode}", *(f"{x:.3f}" for x in figures[:3]), end=" ")
        print(_interval(figures[3:]))


def _interval(ends: tuple[float, float]) -> str:
    return f"({ends[0]:.3f} to {ends[1]:.3f})"


if __name__ == "__main__":
    main()
