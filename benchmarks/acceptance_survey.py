"""The generated survey: coverage of design-based intervals over samples of its design.

A country is drawn once. In every run ten areas of each stratum and twenty households of each are
interviewed, about 4,000 people, and released: as they are, by k-anonymity, by Cart row by row, by
household with the design kept, and with differential privacy. Means, totals, a ratio and two
coefficients are estimated under the design and combined by the rule of the release; 93 to 97 % of
the 95 % intervals should hold the truth. The survey of 20,000 households is too large for 200 runs
of every method; it goes through the commands in tests/end_to_end/test_survey.py.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import veladura as vd
from veladura.core.release import Release
from veladura.example.survey import WORK, Design, draw_sample, make_country
from veladura.table.table import Table

RUNS = int(os.environ.get("SURVEY_RUNS", "200"))
DESIGN = Design(areas=10, households=20)
ROLES = {"stratum": "strata", "area": "cluster", "weight": "weight", "person": "dropped"}
HOME = {**ROLES, "household": "household"}
KNOWN = ("relation", "age", "sex", "education")
DRAWN = ("relation", "age", "sex", "education", "work", "income", "rent", "ill", "weight")
FORMULA = "income ~ I(sex == 'female') + I(work == 'full time')"
NAMES = (
    "mean income",
    "mean rent",
    "total income",
    "total rent",
    "income / rent",
    "slope of sex",
    "slope of work",
)
PRIVATE = {
    "epsilon": 5.0,
    "m": 20,
    "rounds": 6,  # of fewer tables the weight is not measured with the income
    "domain": {"sex": ["female", "male"], "work": list(WORK)},
    "bounds": {"weight": (0, 3000), "income": (0, 200_000), "rent": (0, 4000)},
    "bins": {
        "income": [1, 1e4, 2e4, 3e4, 4e4, 5e4, 7e4, 1.1e5],
        "weight": [100, 200, 300, 400, 500, 700, 1000],
        "rent": [300, 400, 500, 600, 700, 800, 1000, 1300, 1800],
    },
    "workload": [
        ["weight", "income"],
        ["weight", "rent"],
        ["income", "rent"],
        ["income", "sex", "work"],
    ],
    "rules": [f'work == "{work}" implies income >= 1' for work in WORK[1:4]],
}


def effects_of(country: pd.DataFrame) -> dict[str, float]:
    """Return the design effects of figures in five earlier rounds, as an office publishes them."""
    alone = vd.Sampling(weights="weight")
    found: dict[str, list[float]] = {}
    for earlier in range(5):
        release = release_of("original", draw_sample(country, 9_000 + earlier, DESIGN), 0)
        for name, figure, columns in (
            ("income", vd.survey_mean, ("income",)),
            ("rent", vd.survey_mean, ("rent",)),
            ("total income", vd.survey_total, ("income",)),
            ("total rent", vd.survey_total, ("rent",)),
            ("income / rent", vd.survey_ratio, ("income", "rent")),
        ):
            clustered, rows = (
                figure(release, *columns, **how) for how in ({}, {"sampling": alone})
            )
            found.setdefault(name, []).append(float(clustered.variance[0] / rows.variance[0]))
    return {name: max(1.0, round(float(np.mean(each)), 1)) for name, each in found.items()}


def truth_of(country: pd.DataFrame) -> np.ndarray:
    """Return the figures of everybody."""
    income, rent = country["income"], country["rent"]
    columns = [np.ones(len(country)), country["sex"] == "female", country["work"] == "full time"]
    slopes = np.linalg.lstsq(np.column_stack(columns).astype(float), income.to_numpy(float))[0]
    means, totals = [income.mean(), rent.mean()], [income.sum(), rent.sum()]
    return np.array([*means, *totals, totals[0] / totals[1], *slopes[1:]])


METHODS = ("original", "k-anonymity", "cart", "households", "private")


def opened(sample: pd.DataFrame, *names: str) -> Table:
    """Return a sample with the roles of its design."""
    roles = {name: {"role": role} for name, role in ROLES.items() if name in (names or sample)}
    return vd.open(sample[list(names)] if names else sample, roles)


def release_of(
    method: str, sample: pd.DataFrame, seed: int, effects: dict[str, float] | None = None
) -> Release:
    """Return a sample as one of the methods releases it."""
    alone = sample.drop(columns=["year", "household"])
    if method == "k-anonymity":
        recipe = vd.KAnonymity(quasi_identifiers=KNOWN, k=5, weights={"sex": 9.0})
        totals = alone.groupby("stratum")["weight"].sum().round(6).to_dict()
        calibrated = vd.Calibrate(column="weight", totals={"stratum": totals})
        return vd.Steps([recipe, calibrated]).protect(opened(alone), seed=seed)
    if method == "cart":
        recipe = vd.Cart(columns=DRAWN, order=DRAWN, draws="plain", m=5)
        return recipe.protect(opened(alone), seed=seed, threads=1)
    if method == "households":
        whole = vd.open(sample.drop(columns="year"), {n: {"role": r} for n, r in HOME.items()})
        recipe = vd.HouseholdCart(keep=("stratum", "area"), draws="plain", m=5)
        return recipe.protect(whole, seed=seed, threads=1)
    if method == "private":
        names = ("weight", "sex", "work", "income", "rent")
        limits = {name: high for name, (_, high) in PRIVATE["bounds"].items()}
        cut = alone.assign(**{name: alone[name].clip(upper=high) for name, high in limits.items()})
        recipe = vd.Marginals(columns=names, design_effects=effects or {}, **PRIVATE)
        # areas and households are not released, and the release says so
        return recipe.protect(vd.open(cut, {n: {"role": r} for n, r in ROLES.items()}))
    spare = alone.assign(spare=np.arange(len(alone)) % 7)
    return vd.Recode(columns={"spare": {"round": 5}}).protect(opened(spare))


def intervals(release: Release) -> np.ndarray:
    """Return estimate, lower and upper end of every figure."""
    found = [
        vd.survey_mean(release, "income"),
        vd.survey_mean(release, "rent"),
        vd.survey_total(release, "income"),
        vd.survey_total(release, "rent"),
        vd.survey_ratio(release, "income", "rent"),
    ]
    model = release.analyze(FORMULA).coefficients
    return np.array(
        [
            [getattr(one, part)[0] for one in found] + list(getattr(model, part)[1:])
            for part in ("value", "lower", "upper", "error")
        ]
    )


def main(data: Path, methods: tuple[str, ...] = METHODS) -> None:
    del data  # the survey is generated
    country = make_country()
    truth = truth_of(country)
    print(f"coverage of 95 % intervals over {RUNS} samples of about 4,000 people; {NAMES}")
    for method in methods:
        started, rows = time.process_time(), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            effects = effects_of(country) if method == "private" else None
            for run in range(RUNS):
                sample = draw_sample(country, 10_000 + run, DESIGN)
                rows.append(intervals(release_of(method, sample, run, effects)))
        value, lower, upper, error = np.array(rows).transpose(1, 0, 2)
        share = np.mean((lower <= truth) & (truth <= upper), axis=0)
        print(f"  {method:12}", *(f"{one:.3f}" for one in share), end="")
        print(f"   ({(time.process_time() - started) / RUNS:.2f} s a run)")
        ratio = error.mean(axis=0) / value.std(axis=0, ddof=1)
        print(f"  {'error / sd':12}", *(f"{one:.2f} " for one in ratio))
        bias = (value.mean(axis=0) - truth) / value.std(axis=0, ddof=1)
        print(f"  {'bias / sd':12}", *(f"{one:+.2f}" for one in bias), flush=True)


if __name__ == "__main__":
    main(Path(), tuple(sys.argv[1:]) or METHODS)
