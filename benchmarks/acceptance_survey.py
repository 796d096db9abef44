"""The generated survey: coverage of design-based intervals over samples of its design.

A country is drawn once. In every run 125 areas of each stratum and twenty households of each are
interviewed, 20,000 households with about 50,000 people, and released: as they are, by k-anonymity,
by Cart row by row, by household with the design kept, and with differential privacy. Means, totals,
a ratio and two coefficients are estimated under the design and combined by the rule of the release;
93 to 97 % of the 95 % intervals should hold the truth. ``SURVEY_AREAS=10`` interviews 1,600
households, ``SURVEY_RUNS`` says how many samples are drawn, ``SURVEY_FIRST`` the first of them.
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
from veladura.example.survey import STRATA, WORK, Design, draw_sample, make_country
from veladura.table.table import Table

RUNS = int(os.environ.get("SURVEY_RUNS", "200"))
FIRST = int(os.environ.get("SURVEY_FIRST", "40000"))  # methods were never looked at on these
DESIGN = Design(areas=int(os.environ.get("SURVEY_AREAS", "125")), households=20)
ROLES = {"stratum": "strata", "area": "cluster", "weight": "weight", "person": "dropped"}
HOME = {**ROLES, "household": "household"}
KNOWN = ("relation", "age", "sex", "education")
DRAWN = ("weight", "relation", "age", "sex", "education", "work", "income", "rent", "ill")
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
# Noise gives an empty cell a person or two, so tables have few cells: what a figure is made of,
# with the weight where its weighted figures are asked for.
PRIVATE = {
    "epsilon": 5.0,
    "neighbours": "add-remove",
    "m": 20,
    "rounds": 4,
    "domain": {"sex": ["female", "male"], "work": list(WORK)},
    "bounds": {"income": (0, 200_000), "rent": (0, 3000)},
    "bins": {
        "income": [1, 5e3, 1e4, 2e4, 3e4, 4e4, 5e4, 7e4, 1e5, 1.4e5],
        "weight": 5,
        # rents are asked in tens: edges between them
        "rent": [295, 395, 495, 595, 695, 795, 995, 1295, 1595, 1995],
    },
    "workload": [
        ["weight", "work", "income"],
        ["sex", "work", "income"],
        ["weight", "rent"],
        ["income", "rent"],
    ],
    # what cannot occur gets no noise: who works or is retired has an income, no benefit is so high
    "rules": [
        *(f'work == "{work}" implies income >= 1' for work in WORK[1:4]),
        *(f'work == "{work}" implies income < 70000' for work in ("none", "student")),
    ],
}


def largest_weight(country: pd.DataFrame) -> float:
    """Return the largest weight that the design gives: areas and their sizes are public."""
    homes = country.groupby(["stratum", "area"])["household"].nunique()
    areas = homes.groupby("stratum").transform("size")
    return float(np.ceil((areas * homes).max() / (DESIGN.areas * DESIGN.households)))


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
        clustered, rows = (
            release.analyze(FORMULA, **how).coefficients for how in ({}, {"sampling": alone})
        )
        for name, effect in zip(clustered.names, clustered.variance / rows.variance, strict=True):
            found.setdefault(f"income ~ {name}", []).append(float(effect))
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


def private_recipe(country: pd.DataFrame) -> vd.Marginals:
    """Return the recipe with differential privacy: all it says is known before the survey."""
    bounds = {**PRIVATE["bounds"], "weight": (0, largest_weight(country))}
    settings = {**PRIVATE, "bounds": bounds, "design_effects": effects_of(country)}
    return vd.Marginals(columns=("weight", "sex", "work", "income", "rent"), **settings)


def private_release(sample: pd.DataFrame, recipe: vd.Marginals) -> Release:
    """Return a sample with differential privacy; areas and households are not released."""
    highest = {name: high for name, (_, high) in recipe.bounds.items()}
    cut = sample.assign(**{name: sample[name].clip(upper=high) for name, high in highest.items()})
    return recipe.protect(vd.open(cut, {n: {"role": r} for n, r in ROLES.items()}))


def release_of(
    method: str, sample: pd.DataFrame, seed: int, private: vd.Marginals | None = None
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
    if private is not None:
        return private_release(alone, private)
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
    homes = STRATA * DESIGN.areas * DESIGN.households
    print(f"coverage of 95 % intervals over {RUNS} samples of {homes} households; {NAMES}")
    for method in methods:
        started, rows, own = time.process_time(), [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            private = private_recipe(country) if method == "private" else None
            for run in range(FIRST, FIRST + RUNS):
                sample = draw_sample(country, run, DESIGN)
                rows.append(intervals(release_of(method, sample, run, private)))
                own.append(intervals(release_of("original", sample, run)))
        value, lower, upper, error = np.array(rows).transpose(1, 0, 2)
        of_sample = np.array(own)[:, 0]
        share = np.mean((lower <= truth) & (truth <= upper), axis=0)
        print(f"  {method:12}", *(f"{one:.3f}" for one in share), end="")
        print(f"   ({(time.process_time() - started) / RUNS:.2f} s a run)")
        ratio = error.mean(axis=0) / value.std(axis=0, ddof=1)
        print(f"  {'error / sd':12}", *(f"{one:.2f} " for one in ratio))
        bias = (value.mean(axis=0) - truth) / value.std(axis=0, ddof=1)
        print(f"  {'bias / sd':12}", *(f"{one:+.2f}" for one in bias))
        added = (value - of_sample).mean(axis=0) / of_sample.std(axis=0, ddof=1)
        print(f"  {'beyond own':12}", *(f"{one:+.2f}" for one in added), flush=True)


if __name__ == "__main__":
    main(Path(), tuple(sys.argv[1:]) or METHODS)
