"""Sampling: only a random part of the rows, people, households or clusters is released."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.random import Generator

from veladura.base import shapes
from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.checks import check_choice, is_number
from veladura.base.context import Context
from veladura.core.promise import Check, Evidence, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import DataError, PlanError
from veladura.numeric.coding import common_cells
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

Unit = Literal["rows", "people", "households", "clusters"]
UNITS_OF = ("rows", "people", "households", "clusters")


def units_too_many(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many units are beyond the fraction, and rows that are released twice."""
    assert evidence.original is not None  # noqa: S101  # proved against the source only
    assert evidence.rows is not None  # noqa: S101
    units = unit_numbers(evidence.original, settings["unit"], settings.get("cluster"))
    wanted = settings["drawn"] * np.unique(units).size
    drawn, twice = np.unique(units[evidence.rows]).size, evidence.rows.size
    return int(max(0, drawn - math.ceil(wanted - 1e-6)) + twice - np.unique(evidence.rows).size)


def _sentence(settings: Mapping[str, Any]) -> str:
    return (
        f"Sampling: at most {100 * settings['drawn']:.4g} % of the {settings['unit']} of the source"
        " are in the release, and no row twice."
    )


SAMPLED = Check(
    units_too_many,
    _sentence,
    shapes.table(
        {
            "columns": shapes.listed(shapes.name),
            "unit": shapes.one_of(*UNITS_OF),
            "drawn": shapes.number(0, 1, above=True),
        },
        {"cluster": shapes.name},
    ),
)


@dataclass(frozen=True, kw_only=True)
class Sample(Recipe):
    """Sampling: release a simple random sample, drawn without replacement.

    An intruder who finds a combination in the release no longer knows whether the person who was
    looked for is the one, or somebody who was not drawn. The fraction is told in the manifest, and
    risk measures use it.

    Parameters
    ----------
    fraction
        The share of the units that is drawn, above 0 and at most 1.
    number
        The number of units that is drawn, instead of a fraction.
    unit
        What is drawn: single "rows", "people" with all their rows, "households" with all their
        people, or "clusters". People are those of the column with the role person, rows where
        there is none.
    cluster
        The column of clusters; by default the one with the role cluster.
    strata
        Columns whose combinations are sampled separately, in proportion: in each stratum the
        number drawn differs from its share by less than 1, and is right on average.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"age": range(100)})
    >>> release = vd.Sample(fraction=0.1).protect(table, seed=1)
    >>> len(release.datasets[0]), release.fraction
    (10, 0.1)

    References
    ----------
    Duncan, G. T. and Lambert, D. (1989). The risk of disclosure for microdata. Journal of Business
    and Economic Statistics 7(2), 207-217.
    Cochran, W. G. (1977). Sampling Techniques, 3rd ed. Wiley (stratified sampling).
    """

    method = "sample"
    sentence = "Sampling: a random part of the source was released."
    caution = (
        "the release is a random sample of its source; totals need the factor 1 / fraction of the"
        " manifest, and weights are those of the source"
    )
    checks = {"sample": SAMPLED}

    fraction: float | None = None
    number: int | None = None
    unit: Unit = "rows"
    cluster: str | None = None
    strata: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("unit", self.unit, UNITS_OF)
        if (self.fraction is None) == (self.number is None):
            msg = "a sample needs either a fraction, as in 0.1, or a number of units, as in 500."
            raise PlanError(msg)
        if self.fraction is not None and not (is_number(self.fraction) and 0 < self.fraction <= 1):
            msg = f"fraction ({self.fraction}) must be above 0 and at most 1."
            raise PlanError(msg)
        if self.number is not None and (not isinstance(self.number, int) or self.number < 1):
            msg = f"number ({self.number}) must be a whole number of at least 1."
            raise PlanError(msg)
        if self.cluster is not None and self.unit != "clusters":
            msg = 'cluster names the column of clusters, and goes with unit = "clusters" only.'
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedSample:  # noqa: ARG002
        """Number the units and the strata."""
        table.schema.check("strata", self.strata)
        codes = table.codes(self.strata)
        units = unit_numbers(table, self.unit, self.cluster)[codes.rows]
        strata = common_cells([table], self.strata)[0][0][codes.rows] if self.strata else None
        first = np.unique(units, return_index=True)[1]
        if strata is not None and np.any(strata != strata[first][units]):
            several = int(np.unique(units[strata != strata[first][units]]).size)
            msg = (
                f"{several} {self.unit} lie in several strata: they cannot be drawn in one of them."
                "\n\nHint: use strata that are constant for each unit, or draw rows."
            )
            raise DataError(msg)
        of_unit = np.zeros(first.size, dtype=np.int64) if strata is None else strata[first]
        if self.fraction is not None and self.fraction * first.size < 1:
            msg = (
                f"fraction ({self.fraction}) of {first.size} {self.unit} is less than one.\n\nHint:"
                " give a larger fraction, or a number."
            )
            raise DataError(msg)
        if self.number is not None and self.number > first.size:
            msg = (
                f"number ({self.number}) is more than the {first.size} {self.unit} of the table."
                "\n\nHint: give a smaller number, or a fraction."
            )
            raise DataError(msg)
        return FittedSample(self, table, codes, units, of_unit)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return nothing: values stay as they are."""
        return ()

    @classmethod
    def sampled(cls, settings: Mapping[str, Any]) -> float:
        """Return the share of the units that was drawn, on average over the datasets."""
        every = settings.get("datasets", [settings])
        return sum(float(own["drawn"]) for own in every) / len(every)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise that no more than the fraction is released."""
        told = {"columns": [], "unit": settings["unit"], "drawn": settings["drawn"]}
        cluster = {"cluster": settings["cluster"]} if settings.get("cluster") else {}
        return (Promise("sample", "source", told | cluster),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Sample:  # noqa: ARG003
        """Suggest half of the people."""
        return cls(fraction=0.5, unit="people" if schema.person else "rows")


def unit_numbers(table: Table, unit: str, cluster: str | None) -> Ints:
    """Return the unit of each row, numbered from 0, in the order of the table."""
    if unit == "rows":
        return np.arange(table.rows, dtype=np.int64)
    if unit == "people":
        return person_numbers(table)
    column = _unit_column(table, unit, cluster)
    if missing := int(column.missing.sum()):
        msg = f"{unit} are missing in {missing} rows: nobody can say what they belong to."
        raise DataError(msg)
    return np.unique(column.values, return_inverse=True)[1].astype(np.int64)


def _unit_column(table: Table, unit: str, cluster: str | None) -> Column:
    """Return the column of households or clusters."""
    schema = table.units.schema
    if unit == "households":
        name = schema.household
    else:
        name = cluster or next(iter(schema.of_role("cluster")), None)
    if name is None:
        role = unit.removesuffix("s")
        msg = (
            f"no column says which {role} a row belongs to.\n\nHint: declare it, as in"
            f' [columns.school] role = "{role}"'
            + (", or name it in cluster." if role == "cluster" else ".")
        )
        raise PlanError(msg)
    schema.check("cluster", [name])
    return table.units.column(name)


@dataclass(frozen=True, eq=False, repr=False)
class FittedSample(Fitted[Sample]):
    """The unit of each row and the stratum of each unit, numbered from 0."""

    units: Ints
    strata: Ints

    def draw(self, context: Context) -> Drawn:
        """Draw the units, and return their rows."""
        rng, size = context.streams("sample"), self.strata.size
        wanted = self.recipe.number
        share = float(self.recipe.fraction or 0) if wanted is None else wanted / size
        # the units in the order of their rows: their numbers may not move the draw
        first = np.unique(self.units, return_index=True)[1]
        order = np.argsort(first, kind="stable")
        drawn = np.zeros(size, dtype=bool)
        drawn[order] = drawn_units(self.strata[order], share, rng)
        settings = {**self.recipe.settings(), "drawn": share}
        kept = np.flatnonzero(drawn[self.units])
        return Drawn(
            datasets=[Draw(kept=kept)],
            changed=(),
            settings=settings,
            promises=self.recipe.implied(settings, None),
        )


def drawn_units(strata: Ints, share: float, rng: Generator) -> Mask:
    """Return which units are drawn: a simple random sample within each stratum.

    The size of each stratum's sample is its share rounded up or down, by systematic sampling of
    the cumulated shares from one uniform start: right on average for every stratum and, rounded, in
    total (Cochran 1977, sec. 8.1). Strata are in random order, so that no two are tied.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> drawn_units(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 0.5, rng).reshape(2, 4).sum(axis=1).tolist()
    [2, 2]
    """
    keys: Floats = rng.random(strata.size)
    sizes = np.bincount(strata)
    shuffled = rng.permutation(sizes.size)
    ends = np.cumsum(share * sizes[shuffled])
    total = share * strata.size
    ends[-1] = round(total) if abs(total - round(total)) < 1e-9 else total  # noqa: PLR2004
    counts = np.empty(sizes.size, dtype=np.int64)
    places = np.floor(ends + rng.random() + 1e-12)
    counts[shuffled] = np.diff(places, prepend=0.0).astype(np.int64)
    counts = np.clip(counts, 0, sizes)
    order = np.lexsort((keys, strata))
    rank = np.empty(strata.size, dtype=np.int64)
    rank[order] = np.arange(strata.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rank < counts[strata]
