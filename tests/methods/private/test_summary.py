"""Private statistics of numbers: sensitivities, intervals, bad input, and what a package proves."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.methods.private.bins import rising_edges
from veladura.methods.private.queries import STEPS, measured, queries
from veladura.methods.private.summary_rows import Below, Wanted, rows_of
from veladura.release.verify import holds, verify
from veladura.table.inspect import inspect_table

BOUNDS = {"age": (0.0, 100.0), "income": (0.0, 150_000.0)}
EDGES = {name: np.linspace(low, high, 31) for name, (low, high) in BOUNDS.items()}
ALL = ("count", "sum", "mean", "sd", "quantiles", "histogram")
CANARY = 98_765.25


def people(n: int = 1500, seed: int = 3) -> pd.DataFrame:
    """Rounded and skewed incomes with gaps, whole ages, two groups."""
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(10, 0.5, n), -2)
    income[rng.random(n) < 0.05] = np.nan
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 90, n), "income": income}
    )


def recipe(**settings: Any) -> vd.PrivateSummary:
    return vd.PrivateSummary(
        **{
            "columns": ["age", "income"],
            "bounds": BOUNDS,
            "by": ["sex"],
            "domain": {"sex": ["f", "m"]},
            "statistics": ALL,
            "epsilon": 2,
            **settings,
        }
    )


def asked(frame: pd.DataFrame) -> list[Any]:
    columns = {name: (frame[name].to_numpy(float), BOUNDS[name], EDGES[name]) for name in BOUNDS}
    return queries(columns, (frame["sex"] == "m").to_numpy(np.int64), 2, ALL)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_no_row_changes_the_sums_by_more_than_is_said(neighbours: str) -> None:
    """Brute force: all extreme rows put in the place of another, or left out."""
    rows = pd.DataFrame(
        [(s, a, i) for s in "fm" for a in (-50, 0, 37, 100, 900) for i in (np.nan, 0, 7e4, 1e9)],
        columns=["sex", "age", "income"],
    )
    base = people(20)
    worst: dict[tuple[str, str], np.ndarray] = {}
    for _, one in rows.iterrows():
        with_one = asked(pd.concat([base, one.to_frame().T.astype(base.dtypes)]))
        others = (
            [asked(base)]
            if neighbours == "add-remove"
            else [
                asked(pd.concat([base, other.to_frame().T.astype(base.dtypes)]))
                for _, other in rows.iterrows()
            ]
        )
        for another in others:
            for a, b in zip(with_one, another, strict=True):
                away = np.abs(a.values - b.values).astype(float)
                moved = np.array([away.sum(), (away**2).sum() ** 0.5])
                key = a.kind, a.column
                worst[key] = np.maximum(worst.get(key, np.zeros(2)), moved)
    for query in asked(base):
        amounts, root = query.change(neighbours)
        reached = worst[query.kind, query.column]
        assert reached[0] <= amounts
        assert reached[1] <= root + 1e-9
        assert reached[0] == amounts  # and some row reaches it
        assert reached[1] == pytest.approx(root)


def test_statistics_without_noise_are_those_of_pandas() -> None:
    frame = people()
    exact = [
        measured(query, "replace-one", epsilon=Fraction(10**6), rho=None) for query in asked(frame)
    ]
    rows = rows_of(exact, Wanted(ALL, (0.5,), BOUNDS, EDGES, 0.95))
    seen = {(row.group, row.column, row.statistic): row.value for row in rows}
    for number, sex in enumerate("fm"):
        own = frame[frame["sex"] == sex]
        assert seen[number, "", "rows"] == len(own)
        for name, bounds in BOUNDS.items():
            values = own[name].dropna().clip(*bounds)
            assert seen[number, name, "count"] == len(values)
            assert seen[number, name, "sum"] == pytest.approx(values.sum(), rel=1e-5)
            assert seen[number, name, "mean"] == pytest.approx(values.mean(), rel=1e-5)
            assert seen[number, name, "sd"] == pytest.approx(values.std(ddof=0), rel=1e-3)
            width = EDGES[name][1]
            assert abs(seen[number, name, "quantile 0.5"] - values.median()) < width
            inside = ((values >= EDGES[name][3]) & (values < EDGES[name][4])).mean()
            share = seen[number, name, f"share from {EDGES[name][3]:g} to {EDGES[name][4]:g}"]
            assert share == pytest.approx(inside, abs=1e-9)


def even(below: Below, q: float, level: float) -> tuple[float, float]:
    """A broken control: ends that take the numbers of a bin to be spread evenly."""
    share, away = below.shares(level)
    high, low = np.maximum.accumulate(share + away), np.maximum.accumulate(share - away)
    return float(np.interp(q, high, below.edges)), float(np.interp(q, low, below.edges))


def test_the_interval_of_a_quantile_is_where_the_share_below_can_be_it() -> None:
    below = Below(np.array([0.0, 10.0, 20.0]), np.array([50.0, 50.0]), 0.0)
    value, lower, upper = below.quantile(0.25, 0.95)
    half = 1.959964 * (0.5 * 0.5 / 100) ** 0.5  # at the only inner edge
    assert value == pytest.approx(5.0)
    assert (lower, upper) == (0.0, 10.0)  # .25 is below .5 - half
    assert below.quantile(0.5 - half - 0.001, 0.95)[1:] == (0.0, 10.0)
    assert below.quantile(0.5 - half + 0.001, 0.95)[1:] == (0.0, 20.0)


@pytest.mark.parametrize("place", [0.0, 0.5, 0.999])
def test_the_interval_of_a_quantile_holds_wherever_numbers_are_in_their_bins(place: float) -> None:
    edges, counts = np.array([0.0, 10.0, 100.0, 1000.0]), np.array([40_000.0, 50_000.0, 10_000.0])
    numbers = np.repeat(edges[:-1] + place * np.diff(edges), counts.astype(int))
    below = Below(edges, counts, 0.0)
    held, missed = [], []
    for q in (0.1, 0.3, 0.5, 0.7, 0.95):
        _, lower, upper = below.quantile(q, 0.95)
        low, high = even(below, q, 0.95)
        truth = np.quantile(numbers, q)
        held.append(lower <= truth <= upper)
        missed.append(not low <= truth <= high)
    assert all(held)
    assert sum(missed) >= 4  # even places within bins are right by chance only


def test_quantiles_between_wide_bounds_are_covered() -> None:
    """Incomes around 22,000 between bounds of ten millions: nearly all are in the first bin."""
    bounds, edges = (0.0, 1e7), np.linspace(0, 1e7, 51)
    hits = {q: [0, 0] for q in (0.25, 0.5, 0.75)}
    for seed in range(40):
        income = np.random.default_rng(seed).lognormal(10, 0.5, 3000)
        columns = {"income": (income, bounds, edges)}
        (_, query) = queries(columns, np.zeros(3000, np.int64), 1, ("quantiles",))
        noisy = measured(query, "replace-one", epsilon=Fraction(1, 2), rho=None)
        below = Below(edges, noisy.values[0], noisy.variance)
        for q, counted in hits.items():
            truth = np.exp(10 + 0.5 * norm.ppf(q))
            _, lower, upper = below.quantile(q, 0.95)
            low, high = even(below, q, 0.95)
            counted[0] += lower <= truth <= upper
            counted[1] += low <= truth <= high
    assert min(right for right, _ in hits.values()) >= 36  # of 40; 38 are nominal
    assert max(control for _, control in hits.values()) <= 4, hits


def test_a_drafted_summary_knows_incomes_of_a_long_tail() -> None:
    """Bins follow from the bounds alone, and are narrow where most amounts are."""
    rng = np.random.default_rng(2)
    income = np.round((rng.pareto(1.2, 20_000) + 1) * 8000)
    table = vd.open(pd.DataFrame({"income": income, "sex": rng.choice(["f", "m"], income.size)}))
    made = vd.PrivateSummary.suggest_for(table, inspect_table(table))
    assert made.edges("income").tolist() == [*rising_edges(*made.bounds["income"])]
    rows = made.protect(table).datasets[0]
    medians = rows[rows["statistic"] == "quantile 0.5"]
    truth = 8000 * 2 ** (1 / 1.2)
    assert len(medians) == 2
    assert ((medians["lower"] <= truth) & (truth <= medians["upper"])).all()
    assert ((medians["upper"] - medians["lower"]) < truth).all()


def coverage(repetitions: int, *, naive: bool = False) -> dict[str, float]:
    """Share of the intervals that hold what they are about, over samples and noise."""
    truth = np.clip(np.round(np.random.default_rng(0).lognormal(10, 0.5, 10**6), -2), 0, 150_000)
    known = {"mean": truth.mean(), "quantile 0.25": np.quantile(truth, 0.25)}
    known |= {"quantile 0.9": np.quantile(truth, 0.9)}
    hits: dict[str, list[bool]] = {}
    for seed in range(repetitions):
        frame = people(1500, seed)
        group = frame["sex"] == "m"
        columns = {"income": (frame["income"].to_numpy(), BOUNDS["income"], EDGES["income"])}
        listed = queries(columns, group.to_numpy(np.int64), 2, ("count", "mean", "quantiles"))
        each = Fraction(1, len(listed))
        noisy = [measured(query, "replace-one", epsilon=each, rho=None) for query in listed]
        if naive:  # a broken control: the noisy sums taken for exact ones
            noisy = [type(q)(q.kind, q.column, q.values, 1e-3, q.gaussian) for q in noisy]
        wanted = Wanted(("count", "mean", "quantiles"), (0.25, 0.9), BOUNDS, EDGES, 0.95)
        for row in rows_of(
            noisy, Wanted(**(vars(wanted) | {"bounds": {"income": BOUNDS["income"]}}))
        ):
            about = {
                "rows": float((group == bool(row.group)).sum()),
                "count": float(frame["income"][group == bool(row.group)].notna().sum()),
                **known,
            }[row.statistic]
            hits.setdefault(row.statistic, []).append(row.lower <= about <= row.upper)
    return {name: float(np.mean(held)) for name, held in hits.items()}


@pytest.mark.slow
def test_intervals_cover_with_the_noise_inside() -> None:
    """Nominal 95 % over 200 samples x 2 groups: within four standard errors (.044) of it."""
    held = coverage(200)
    assert min(held.values()) > 0.95 - 0.044, held
    control = coverage(60, naive=True)
    assert control["count"] < 0.5
    assert control["mean"] < 0.9


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"bounds": {"age": [0, 100]}}, "bounds declares nothing for 'income'"),
        ({"bounds": {**BOUNDS, "age": [100, 0]}}, "reversed"),
        ({"bounds": {**BOUNDS, "age": [0, float("inf")]}}, "two finite numbers"),
        ({"bounds": {**BOUNDS, "age": [1]}}, "two finite numbers"),
        ({"bounds": {**BOUNDS, "other": [0, 1]}}, "not summarised"),
        ({"statistics": []}, "statistics is empty"),
        ({"statistics": ["mode"]}, "statistics"),
        ({"quantiles": [0, 0.5]}, "quantiles"),
        ({"bins": 0}, "bins"),
        ({"bins": "narrow"}, "bins of 'age' must be"),
        ({"bins": {"age": "narrow"}}, "bins of 'age' must be"),
        ({"bins": {"age": [50, 20]}}, "bins"),
        ({"level": 1}, "level"),
        ({"by": ["age"], "domain": {"age": [1]}}, "at once"),
        ({"size": 5}, "size"),
        ({"fraction": 0.5}, "fraction"),
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 1}, "delta"),
    ],
)
def test_bad_settings_are_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        recipe(**wrong)


def test_undeclared_groups_are_counted_and_not_named() -> None:
    frame = people(50)
    frame.loc[0, "sex"] = "canary-value"
    with pytest.raises(DataError, match=r"\{'sex': 1\}") as error:
        recipe().protect(frame)
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("settings", [{}, {"delta": 1e-6}, {"by": [], "domain": None}])
def test_a_package_proves_that_it_holds_statistics_only(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    frame = people(400)
    frame.loc[0, "income"] = CANARY
    ledger = vd.Ledger(epsilon=2, delta=1e-6)
    release = recipe(**settings).protect(frame, ledger=ledger)
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe", format="csv")
    assert holds(verify(folder))
    assert float(ledger.spent) == pytest.approx(2, rel=1e-6)
    files = [file for file in folder.rglob("*") if file.suffix in (".csv", ".json", ".html")]
    assert not [file for file in files if "98765.25" in file.read_text()]
    loaded = vd.load(folder)
    with pytest.raises(PlanError, match="no rows of people"):
        loaded.analyze("value ~ lower")
    data = next((folder / "data").glob("*.csv"))
    data.write_text(data.read_text().replace("mean", "name of a person"))
    assert not holds(verify(folder))


def test_rows_of_a_person_are_bounded_and_charged() -> None:
    frame = people(300)
    frame["patient"] = np.repeat([f"p{i}" for i in range(100)], 3)
    ledger = vd.Ledger(epsilon=4)
    opened = vd.open(frame, {"patient": {"role": "person"}})
    with pytest.raises(PlanError, match="rows_per_person"):
        recipe().protect(opened, ledger=ledger)
    release = recipe(rows_per_person=2, neighbours="add-remove").protect(opened, ledger=ledger)
    assert ledger.spent == 4
    assert "adding or removing the rows of any one person (at most 2" in release.claims[0]
    assert "n" not in release.manifest["steps"][0]["settings"]  # one person decides it


def test_noise_has_the_scale_of_its_share_of_epsilon() -> None:
    listed = asked(people(50))
    noisy = measured(listed[2], "replace-one", epsilon=Fraction(1, 7), rho=None)
    assert (listed[2].kind, noisy.scale) == ("sum", 2 * STEPS * 7)
    gaussian = measured(listed[2], "replace-one", epsilon=None, rho=Fraction(1, 2))
    assert gaussian.scale == pytest.approx(2 * STEPS)
