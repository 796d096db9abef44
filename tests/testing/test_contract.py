"""The contract suite accepts every method and refuses every named way of breaking it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura import example, testing
from veladura.core import registry
from veladura.core.recipe import Draw, Recipe
from veladura.core.release import Release
from veladura.methods.masks.noise import FittedNoise, Noise

pytestmark = pytest.mark.quick

DOMAIN = {"sex": ["female", "male"], "marital": ["single", "married", "divorced", "widowed"]}
ALONE = {"groups": {"alone": ["single", "divorced", "widowed"]}}
QUARTERS = {
    "north-west": [-72, 42.4, -71.2, 43],
    "north-east": [-71.2, 42.4, -70, 43],
    "south": [-72, 42, -70, 42.4],
}
CLINIC_MAP = {
    "x": "lon",
    "y": "lat",
    "region": example.path("region.geojson"),
    "exclude": example.path("lake.geojson"),
    "coordinates": "degrees",
}
# What needs the extra dp; without it these tests say loudly that they did not run.
WITH_EXTRA: Sequence[Recipe] = (
    vd.NoisyCounts(columns=["sex", "marital"], domain=DOMAIN, epsilon=2),
    vd.Marginals(columns=["sex", "marital"], domain=DOMAIN, epsilon=2, rounds=1, fits=1),
    vd.PrivateRegression(
        outcome="income",
        columns=["sex"],
        bounds={"income": [0, 100_000]},
        domain={"sex": DOMAIN["sex"]},
        epsilon=2,
    ),
    vd.PrivateSummary(
        columns=["income"],
        bounds={"income": [0, 100_000]},
        by=["sex"],
        domain={"sex": DOMAIN["sex"]},
        epsilon=2,
    ),
)
RECIPES: Sequence[Recipe] = (
    vd.Noise(columns=["income", "stay"], scale=0.3),
    vd.Noise(columns=["stay"], scale=0.3, correlated=False),
    vd.Swap(columns=["income", "stay"], window=0.1),
    vd.Microaggregation(columns=["income", "stay"], k=4),
    vd.TopCode(columns={"income": 60_000}),
    vd.TopCode(columns=["stay"], quantile=0.9),
    vd.Recode(columns={"income": {"round": 5000}, "birth": {"date": "year"}}),
    vd.Recode(columns={"marital": ALONE}),
    vd.Recode(columns={"stay": {"cuts": [2, 5]}, "birth": {"cuts": ["1950-01-01", "1990-01-01"]}}),
    vd.Filter(where='sex == "female" and stay >= 2'),
    vd.Suppress(cells={"income": "income > 60_000", "diagnosis": "stay > 9 or income is missing"}),
    vd.Suppress(risk=0.2, known=["sex", "zip", "marital"]),
    vd.Sample(number=50, strata=["sex"]),
    vd.Steps(
        [
            vd.Filter(where="stay > 1"),
            vd.Recode(columns={"income": {"cuts": [30_000, 60_000]}}),
            vd.Sample(fraction=0.5),
            vd.KAnonymity(quasi_identifiers=["income", "sex"], k=3),
        ]
    ),
    vd.Pram(columns=["sex", "marital"]),
    vd.Reweight(column="income", total=1_000_000),
    vd.Calibrate(
        column="income",
        totals={"sex": {"female": 6_000_000, "male": 5_000_000}},
        lower=0.0,
        upper=10.0,
    ),
    vd.KAnonymity(quasi_identifiers=["sex", "marital", "zip"], k=3),
    vd.KAnonymity(quasi_identifiers=[["birth", "sex"], ["zip", "marital"]], k=3, suppressed="star"),
    vd.KAnonymity(
        quasi_identifiers=["sex", "zip"],
        k=2,
        models=[
            vd.LDiversity(column="diagnosis", l=3, kind="entropy"),
            vd.TCloseness(column="income", t=0.5, distance="ordered"),
        ],
        prefer="loss",
    ),
    vd.DirichletMultinomial(columns=["sex", "marital"], domain=DOMAIN, epsilon=2, m=2, size=300),
    vd.BetaBinomial(columns=["sex"], domain=DOMAIN, epsilon=1),
    vd.Steps(
        [
            vd.Recode(columns={"marital": ALONE}),
            vd.DirichletMultinomial(
                columns=["marital"], domain={"marital": ["alone", "married"]}, epsilon=1
            ),
        ]
    ),
    vd.HouseholdCart(m=2),
    vd.Cart(
        columns=["income", "stay", "diagnosis"],
        m=2,
        predictors=["sex", "birth", "marital", "income"],
    ),
    vd.CriticalCart(
        critical={
            "income": "income > 50_000",
            "stay": "stay > 5",
            "diagnosis": 'diagnosis in ["cancer", "depression"]',
        },
        groups=[["income", "stay"]],
        m=2,
        predictors=["sex", "birth", "marital", "income", "stay"],
    ),
    vd.Steps(
        [
            vd.TopCode(columns={"income": 60_000}),
            vd.Pram(columns=["sex"]),
            vd.Noise(columns=["stay"]),
        ]
    ),
    vd.Areas(x="lon", y="lat", areas=QUARTERS),
    vd.NaiveGeography(**CLINIC_MAP, grid=(6, 6)),
    vd.Donut(**CLINIC_MAP, inner=300, outer=3000),
    vd.Geography(
        **CLINIC_MAP,
        attributes=["sex"],
        continuous=["stay"],
        grid=(4, 4),
        m=2,
        sweeps=120,
        burn=20,
        chains=2,
    ),
)


@pytest.mark.filterwarnings(
    "ignore::veladura.numeric.mcmc.diagnostics.ChainWarning"
)  # short chains test the contract, not the map
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: repr(recipe)[:60])
def test_every_method_keeps_the_contract(recipe):
    vd.testing.check_recipe(recipe)


@pytest.mark.parametrize("recipe", WITH_EXTRA, ids=lambda recipe: recipe.method)
def test_every_method_of_an_extra_keeps_the_contract(recipe):
    for module in recipe.needs:
        pytest.importorskip(
            module, reason=f"the extra dp is not installed: {recipe.method} DID NOT RUN"
        )
    vd.testing.check_recipe(recipe)


def test_no_method_is_forgotten():
    tried = {
        one.method
        for recipe in (*RECIPES, *WITH_EXTRA)
        for one in (recipe.recipes if isinstance(recipe, vd.Steps) else (recipe,))
    } | {"steps"}
    assert tried == set(registry.METHODS)


# Each broken recipe is Noise with one slip, and the rule that must name it.


class Broken(Noise):
    """Noise whose release is spoilt before it is handed out."""

    def protect(self, table: Any, *args: Any, **kwargs: Any) -> Release:
        return self.spoil(super().protect(table, *args, **kwargs), table)

    def spoil(self, release: Release, table: Any) -> Release:
        return release


class KeepsACategory(Broken):
    """Leaks a suppressed value through a category no row holds."""

    def spoil(self, release, table):
        frame = release.datasets[0]
        release.datasets[0] = frame.assign(
            marital=frame["marital"].cat.add_categories([f"{testing.CANARY}-unused"])
        )
        return release


class IgnoresTheSeed(Broken):
    """Draws the same noise whatever the seed."""

    def protect(self, table, seed=None, **kwargs):
        return super().protect(table, 1, **kwargs)


class DrawsAnew(Broken):
    """Takes the system's entropy although a seed was given."""

    def protect(self, table, seed=None, **kwargs):
        return super().protect(table, None, **kwargs)


class SortsTheRows(Broken):
    """Hands the rows back in another order."""

    def spoil(self, release, table):
        first = release.tables[0]
        order = np.argsort(first.table.arrow["stay"].to_numpy(), kind="stable")
        arrow = first.table.arrow.take(order)
        from veladura.table.table import from_arrow

        return replace(
            release,
            tables=(
                replace(first, table=from_arrow(arrow, first.table.schema), rows=first.rows[order]),
            ),
        )


class DoesNothing(Broken):
    """Releases the table as it is."""

    def spoil(self, release, table):
        first = release.tables[0]
        return replace(release, tables=(replace(first, table=release.original),))


class ModifiesTheInput(Broken):
    """Writes into the caller's frame."""

    def spoil(self, release, table):
        if isinstance(table.frame, pd.DataFrame):
            table.frame.loc[table.frame.index[0], "stay"] += 1
        return release


@dataclass(frozen=True, eq=False, repr=False)
class FittedInRowOrder(FittedNoise):
    """Gives the first draw to the first row of the input."""

    def draw(self, context):
        drawn = super().draw(context)
        columns = drawn.datasets[0].columns
        place = np.argsort(np.argsort(self.codes.rows))
        noise = {name: column.values - self.codes[name].values for name, column in columns.items()}
        moved = {
            name: column.with_values(self.codes[name].values + noise[name][place])
            for name, column in columns.items()
        }
        return replace(drawn, datasets=[Draw(moved)])


class FollowsTheInputsOrder(Noise):
    """Draws in the order of the input, so that the order moves the draws."""

    def apply(self, table, context):
        fitted = super().apply(table, context)
        return FittedInRowOrder(
            self, table, fitted.codes, fitted.laws, fitted.spread, fitted.correlation
        )


class LooksAtEveryColumn(Noise):
    """Seeds its draws with the number of columns in the table."""

    def protect(self, table, seed=None, **kwargs):
        return super().protect(table, int(seed) + len(table.names), **kwargs)


class DependsOnThreads(Noise):
    """Draws differently with another number of threads."""

    def protect(self, table, seed=None, *, threads=None, **kwargs):
        return super().protect(
            table, int(seed) * 1000 + int(threads or 2), threads=threads, **kwargs
        )


@dataclass(frozen=True, eq=False)
class FittedThatShows(FittedNoise):
    """Prints its numbers."""

    def __repr__(self) -> str:
        return f"FittedThatShows({[int(c.values.max()) for c in self.codes.values()]})"


class ShowsData(Noise):
    """Has a fitted object whose repr shows original values."""

    def apply(self, table, context):
        fitted = super().apply(table, context)
        return FittedThatShows(
            self, table, fitted.codes, fitted.laws, fitted.spread, fitted.correlation
        )


class ChangesADtype(Broken):
    """Turns whole numbers into floats."""

    def spoil(self, release, table):
        frame = release.datasets[0]
        release.datasets[0] = frame.assign(stay=frame["stay"].astype(float))
        return release


class HidesAChange(Broken):
    """Changes a column it does not tell of."""

    def spoil(self, release, table):
        frame = release.datasets[0]
        if "lat" in frame:
            release.datasets[0] = frame.assign(lat=frame["lat"].iloc[::-1].to_numpy())
        return release


class ForgetsItsColumns(Noise):
    """Does not say which columns it answers for: a plan would take them for exact ones."""

    def changes(self, names):
        return ()


@dataclass(frozen=True, eq=False, repr=False)
class FittedThatTells(FittedNoise):
    """Tells the largest original value in the manifest."""

    def draw(self, context):
        settings = {
            **self.recipe.settings(),
            "largest": max(int(c.values.max()) for c in self.codes.values()),
        }
        return replace(super().draw(context), settings=settings)


class TellsTooMuch(Noise):
    """Puts an original value into the manifest."""

    def apply(self, table, context):
        fitted = super().apply(table, context)
        return FittedThatTells(
            self, table, fitted.codes, fitted.laws, fitted.spread, fitted.correlation
        )


@dataclass(frozen=True, kw_only=True)
class NotInAPlan(Noise):
    """Has a setting that a plan cannot hold."""

    noise_function: Any = field(default_factory=object)


BROKEN = {
    KeepsACategory: "category that no row holds",
    IgnoresTheSeed: "seed is ignored",
    DrawsAnew: "same seed gives other bytes",
    SortsTheRows: "order of the input",
    DoesNothing: "does nothing",
    ModifiesTheInput: "different",
    FollowsTheInputsOrder: "permuting the input",
    LooksAtEveryColumn: "unused column moves the draws",
    DependsOnThreads: "number of threads",
    ShowsData: "repr of FittedThatShows shows data",
    ChangesADtype: "dtype of 'stay'",
    HidesAChange: "not told as changed",
    ForgetsItsColumns: "does not name columns that it replaces",
    TellsTooMuch: "holds something of the original",
    NotInAPlan: "TOML serializable",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_suite_sees(broken):
    with pytest.raises((AssertionError, TypeError), match=BROKEN[broken]):
        vd.testing.check_recipe(broken(columns=("income", "stay")))
