"""Critical cells: correlations kept beside column-by-column replacement, cells on real data.

Coverage of combined intervals.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import veladura as vd
from veladura.plan.draft import draft
from veladura.plan.reading import read_plan
from veladura.release.package import load
from veladura.release.verify import holds, verify
from veladura.studies.aslanyan.incomes import (
    NAMES,
    WAYS,
    conditions,
    correlation_errors,
    incomes,
)

CENSUS = (["AGI", "FEDTAX", "TAXINC"], ["PTOTVAL", "PEARNVAL", "FICA"])
TABLES = ("SD2011.csv", "nist/ma2019.csv", "adult/adult.csv", "sdcmicro/CASCrefmicrodata.csv")
REPETITIONS, POPULATIONS = 100, 500
OWN = 0.01  # of the critical cells may come out as they were, by chance


def frame_of(seed: int, rows: int = 1000, tail: float | None = 2.5) -> pd.DataFrame:
    return incomes(np.random.default_rng(seed), rows, tail)


def correlations(
    title: str, frames: Callable[[int], pd.DataFrame], names: list[str], share: float
) -> None:
    """Print the errors of each way over many repetitions.

    As shares of the way of the source.
    """
    print(
        f"{title}: mean absolute error of correlations, {REPETITIONS} repetitions (one dataset /"
        " mean of 5)"
    )
    found = {
        way: np.mean(
            [correlation_errors(frames(i), names, share, i, setting) for i in range(REPETITIONS)],
            axis=0,
        )
        for way, setting in WAYS.items()
    }
    for way, (p1, p5, s1, s5) in found.items():
        shares = ", ".join(f"{found['tuples'][j] / found[way][j]:.2f}" for j in range(4))
        print(
            f"  {way:38} Pearson {p1:.4f} / {p5:.4f}, Spearman {s1:.4f} / {s5:.4f}; tuples over"
            f" this: {shares}",
            flush=True,
        )
    assert (found["tuples"] < found["column by column"]).all()


def analyses(data: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return means of the incomes.

    Then a regression with a critical response and one with critical predictors, and their
    variances.
    """
    amounts, school = data[NAMES].to_numpy(float), data["school"].to_numpy(float)
    logs = np.log(amounts)
    values, variances = [amounts.mean(axis=0)], [amounts.var(axis=0, ddof=1) / len(data)]
    for y, others in ((logs[:, 0], (logs[:, 1], school)), (school, (logs[:, 0], logs[:, 1]))):
        x = np.column_stack([np.ones(len(data)), *others])
        inverse = np.linalg.inv(x.T @ x)
        slopes = inverse @ x.T @ y
        left = y - x @ slopes
        values.append(slopes)
        variances.append(left @ left / (len(y) - x.shape[1]) * np.diag(inverse))
    return np.concatenate(values), np.concatenate(variances)


def coverage(tail: float | None, way: dict[str, Any]) -> None:
    """Print how often combined 95 % intervals hold the truth, beside those of the original.

    The regressions are those of the logarithms: linear with normal errors for log-normal incomes,
    so only there the original's own interval can be right.
    """
    truth = np.mean([analyses(frame_of(10**6 + i, 100_000, tail))[0] for i in range(20)], axis=0)
    truth[:3] = 20_000 * (
        np.exp(0.32) if tail is None else tail / (tail - 1)
    )  # the mean of the law
    used = slice(None) if tail is None else slice(3)
    hits, own = [], []
    for i in range(POPULATIONS):
        frame = frame_of(i, tail=tail)
        value, variance = analyses(frame)
        own.append(np.abs(value - truth) <= 1.96 * np.sqrt(variance))
        recipe = vd.CriticalCart(
            critical=conditions(frame, NAMES, 0.15), m=5, **{"groups": [NAMES], **way}
        )
        combined = recipe.protect(frame, seed=i, threads=1).estimate(analyses)
        hits.append((combined.lower <= truth) & (truth <= combined.upper))
    law = "log-normal" if tail is None else f"Pareto {tail}"
    print(
        f"coverage, {law}, {POPULATIONS} populations {way or ''}: means of {', '.join(NAMES)}; log"
        " wage ~ log rent + school; school ~ log wage + log rent"
    )
    for name, rates in (("mixed", hits), ("original", own)):
        print(
            f"  {name:8} {', '.join(f'{rate:.3f}' for rate in np.mean(rates, axis=0)[used])}",
            flush=True,
        )


def cells(frame: pd.DataFrame, names: list[str]) -> None:
    """Check by hand that other cells are the same bit for bit, and count what came out again.

    Numbers that at least five people share come out as they are; a moved number may land on another
    critical one by chance.
    """
    own, cells_drawn, landed = 0, 0, 0
    critical = conditions(frame, names, 0.2)
    release = vd.CriticalCart(critical=critical, m=5).protect(frame, seed=1)
    promise = next(each for each in release.promises if each.name == "critical-moved")
    moved = promise.settings["columns"]
    for data in release.datasets:
        for name in frame.columns:
            mark = (
                frame.eval(critical[name]).to_numpy()
                if name in critical
                else np.zeros(len(frame), dtype=bool)
            )
            assert data[name].to_numpy()[~mark].tobytes() == frame[name].to_numpy()[~mark].tobytes()
            if name not in moved:
                continue
            count = frame[name].map(frame[name].value_counts())
            alone = mark & (count == 1).to_numpy()
            own += int((data.loc[alone, name] == frame.loc[alone, name]).sum())
            landed += int(data.loc[mark, name].isin(frame.loc[alone, name]).sum())
            cells_drawn += int(mark.sum())
    assert own <= OWN * cells_drawn
    print(
        f"CASCrefmicrodata, {', '.join(moved)}: other cells the same bit for bit; of"
        f" {cells_drawn:,} critical cells in {len(release.datasets)} datasets {own} hold the number"
        f" that only their person has, {landed} that of some one person"
    )


def whole(data: Path, name: str) -> None:
    """Draft a plan, run it as it stands, verify with source and record, and load."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        text = draft(
            str(data / name),
            method="critical-cart",
            home=home,
            release="out/release",
            custodian="safe/record",
            seed=7,
        )
        (home / "plan.toml").write_text(text, encoding="utf-8")
        plan = read_plan(home / "plan.toml")
        release = plan.recipe.protect(plan.open(), seed=7)
        release.save(home / "out" / "release", custodian=home / "safe" / "record")
        lines = verify(
            home / "out" / "release", data / name, home / "safe" / "record" / "record.json"
        )
        assert holds(lines)
        assert len(load(home / "out" / "release").datasets) == len(release.datasets)
        settings = release.steps[0].settings
        print(
            f"{name}: {len(release.promises)} promises hold; overall"
            f" {settings['replaceability']['overall']}"
        )


def main(data: Path) -> None:
    census = pd.read_csv(data / "sdcmicro" / "CASCrefmicrodata.csv")
    for names in CENSUS:
        cells(census, names)
    for name in TABLES:
        whole(data, name)
    correlations("simulated incomes", lambda seed: frame_of(seed, 2000), NAMES, 0.15)
    for names in CENSUS:
        correlations(f"CASCrefmicrodata {', '.join(names)}", lambda _: census, names, 0.2)
    for tail in (2.5, None):
        coverage(tail, {})
