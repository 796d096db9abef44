"""Risk on real data and on the three scenarios.

Match risk beside the source's tables, adult, francdat, attacks on adult.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks.acceptance_cart import survey
from veladura.base.streams import Streams

RADII = (0.3, 0.5, 0.7, 1.0)
SOURCE = {
    "normal": (0.259, 0.145, 0.0),
    "t2": (0.361, 0.120, 0.001),
    "t10": (0.272, 0.148, 0.0),
}  # its Table 3.13, l = 1
DEFINED = {
    "normal": (0.0075, 0.001, 0.99),
    "t2": (0.0075, 0.003, 0.99),
    "t10": (0.0075, 0.002, 0.99),
}  # its definitions on such data
DEGREES = {"normal": None, "t2": 2, "t10": 10}
DOLLARS = {
    5_000: (0.402, 0.172, 0.100),
    10_000: (0.385, 0.186, 0.093),
    20_000: (0.306, 0.199, 0.080),
    30_000: (0.245, 0.206, 0.075),
}
FRANCDAT = [
    0.01714426,
    0.02204233,
    0.02204233,
    0.17707583,
    0.01165448,
    0.29706308,
    0.40235948,
    0.01714426,
]
REPETITIONS = 20


def scenario(name: str, seed: int, rows: int = 1000) -> pd.DataFrame:
    """Return a table of the source's: a regression on three binary columns."""
    rng = Streams(seed)("scenario", name)
    x1 = rng.random(rows) < 0.65
    x2 = rng.random(rows) < np.where(x1, 0.45, 0.62)
    x3 = rng.random(rows) < np.select([~x1 & ~x2, x1 & ~x2, ~x1 & x2], [0.30, 0.60, 0.75], 0.46)
    degrees = DEGREES[name]
    errors = rng.standard_normal(rows) if degrees is None else rng.standard_t(degrees, rows)
    return pd.DataFrame(
        {
            "x1": 1 * x1,
            "x2": 1 * x2,
            "x3": 1 * x3,
            "y": 23 + 1.5 * x1 - 5.4 * x2 + 2.5 * x3 + errors,
        }
    )


def three(risk: vd.risk.MatchRisk) -> tuple[float, float, float]:
    return float(risk.emr), float(risk.tmr), float(risk.fmr)


def told(figures: tuple[float, float, float]) -> str:
    return " / ".join(f"{figure:.4f}" for figure in figures)


def scenarios() -> None:
    """The three scenarios for l = .3, .5, .7, 1: means over repetitions."""
    print(
        f"Three scenarios, n = 1000, m = 5, x1-x3 known, means over {REPETITIONS} repetitions:"
        " EMR/n / TMR / FMR"
    )
    for name, printed in SOURCE.items():
        found = []
        for seed in range(REPETITIONS):
            data = scenario(name, seed)
            release = vd.Cart(columns=["y"], m=5).protect(data, seed=seed)
            intruder = vd.risk.Intruder(known=["x1", "x2", "x3"], sensitive=["y"], radius=1.0)
            curve = vd.risk.match_curve(data, release, intruder, factors=RADII)
            found.append([three(curve[radius]) for radius in RADII])
        for radius, figures in zip(RADII, np.mean(found, axis=0), strict=True):
            beside = (
                f"; source prints {told(printed)}, its definitions give {told(DEFINED[name])}"
                if radius == 1
                else ""
            )
            print(f"  {name}, l = {radius}: {told(tuple(figures))}{beside}")
        at_one = np.mean(found, axis=0)[-1]
        assert abs(at_one[0] - DEFINED[name][0]) < 0.002
        assert at_one[1] < 0.006
        assert at_one[2] > 0.97


def finances(data: Path) -> None:
    """The Survey of Consumer Finances: income within some dollars, seven columns known."""
    frame = survey(data).rename(columns={"log_income": "income"})
    known = frame.drop(columns="income")
    made = vd.Cart(columns=["income"], m=5).protect(frame, seed=7)
    datasets = [one.assign(income=np.exp(one["income"])) for one in made.datasets]
    original = frame.assign(income=np.exp(frame["income"]))
    print(
        f"Survey of Consumer Finances, {len(original)} households, m = 5, seven columns known:"
        " EMR/n / TMR / FMR"
    )
    for radius, source in DOLLARS.items():
        found = vd.risk.match(
            original, datasets, known=list(known), sensitive="income", radius=radius
        )
        print(f"  l = {radius:,} dollars: {told(three(found))}; source prints {told(source)}")


def adult(data: Path) -> None:
    """Classes and uniques of nine columns, and attacks on samples of them."""
    frame = pd.read_csv(data / "adult" / "adult.csv", sep=";")
    found = vd.risk.uniqueness(frame, list(frame))
    assert (int(found.classes), int(found.sample_uniques)) == (19_502, 15_512)
    assert float(found.average_prosecutor) == 0.6465751607983555
    print(
        f"adult: {int(found.classes)} classes, {int(found.sample_uniques)} uniques, average"
        f" prosecutor risk {float(found.average_prosecutor)!r}"
    )
    special = vd.risk.suda2(frame, list(frame), max_size=4)
    print(
        f"  SUDA2 up to 4 columns: {float(special.special):.2%} of the rows; by size"
        f" { {k: int(v) for k, v in special.sizes.items()} }"
    )
    mixed = Streams(1)("acceptance", "adult").permutation(len(frame))
    original, control, fresh = (
        frame.iloc[part].reset_index(drop=True) for part in np.array_split(mixed[:9000], 3)
    )
    copying = pd.concat([original.iloc[:300], fresh.iloc[300:]], ignore_index=True)
    attacks = {
        "singling out": vd.risk.singling_out,
        "linkability": vd.risk.linkability,
        "attribute inference": lambda *given, **more: vd.risk.attribute_inference(
            *given, attribute="occupation", **more
        ),
        "membership": vd.risk.membership,
    }
    for name, attack in attacks.items():
        fair, caught = (attack(original, one, control, attempts=3000) for one in (fresh, copying))
        print(
            f"  {name}: independent sample p = {float(fair.p_value):.2g}, risk {fair.risk}; 10 %"
            f" copied p = {float(caught.p_value):.2g}, risk {caught.risk}"
        )
        assert float(fair.p_value) > 1e-5
    nearer = [vd.risk.distance(original, one, control=control).nearer for one in (fresh, copying)]
    print(
        f"  nearer to the original than to the holdout: independent {nearer[0]}, 10 % copied"
        f" {nearer[1]}"
    )


def francdat(data: Path) -> None:
    """Individual risks of sdcMicro's example."""
    frame = pd.read_csv(data / "sdcmicro" / "francdat.csv")
    found = vd.risk.individual(frame, ["Key1", "Key2", "Key3", "Key4"], weight="w")
    assert found.frequency.tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert found.population.tolist() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    np.testing.assert_allclose(found.per_record, FRANCDAT, atol=0.5e-8)
    print(f"francdat: individual risks {found.per_record.round(8).tolist()}")


def main(data: Path) -> None:
    scenarios()
    finances(data)
    francdat(data)
    adult(data)
