"""Private linear and logistic regression, from noisy sufficient statistics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats
from veladura.base.checks import check_choice
from veladura.base.context import Context
from veladura.core.recipe import Recipe, no_codes
from veladura.errors import PlanError
from veladura.methods.private import propose
from veladura.methods.private.domain import Domain, declare
from veladura.methods.private.expected import Expected, Reading
from veladura.methods.private.libraries import opendp
from veladura.methods.private.numbers import bounds_of
from veladura.methods.private.private import refuse_seed
from veladura.methods.private.queries import STEPS, Noisy, Query
from veladura.methods.private.regression_draw import FittedRegression
from veladura.methods.private.regression_outlook import (
    READINGS,
    Reference,
    expected_of,
    half_width_of,
    invented,
)
from veladura.methods.private.regression_rows import (
    Products,
    products,
)
from veladura.methods.private.statistics_recipe import StatisticsRecipe
from veladura.methods.private.summary import numbers_of
from veladura.table.schema import LABELLED, NUMERIC, check_kinds
from veladura.table.table import from_arrow

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

FAMILIES = ("linear", "logistic")
MOST_CELLS = 5000
MOST_BINS = 100
USUAL_CELLS = 1000  # that numbers are cut into where nobody says how many bins
FEWEST_BINS = 10


@dataclass(frozen=True, kw_only=True)
class PrivateRegression(StatisticsRecipe):
    """Release the coefficients of a regression with noise, and intervals that include it.

    Differential privacy: the sufficient statistics get integer noise from OpenDP (``pip install
    'veladura[dp]'``), Gaussian with a delta and two-sided geometric without; coefficients and
    intervals are computed from these alone. Linear: sums of products of all terms and the outcome.
    Logistic: counts of every cell of the terms, numbers in bins.

    Parameters
    ----------
    outcome
        The column to explain: numbers with bounds, or for "logistic" a category of two values.
    columns
        The columns that explain it: numbers with bounds, categories with a domain.
    family
        "linear" or "logistic".
    bounds
        By column of numbers the least and the greatest value that can occur, from public
        knowledge: values beyond are clipped.
    domain
        By column of categories the values that can occur; the first is the reference. Of a logistic
        outcome: the two values, the second is the one to explain.
    bins
        Bins of equal width of each number, for "logistic". As many as 1,000 cells allow, from 10 to
        100, unless given. Intervals are widened by how far fits shift with the numbers at the ends
        of their bins: wide bins make them wide, with two bins they have no ends.
    epsilon
        The privacy loss of the release.
    delta
        The probability by which the bound of epsilon may be exceeded; 0 for geometric noise.
    level
        Of the intervals.
    rows_per_person
        With a person column, the most rows of a person that are counted, drawn at random.
    neighbours
        "replace-one" or "add-remove".
    missing, fraction, size
        Not used: rows with a missing value are left out.

    References
    ----------
    Bernstein, G. and Sheldon, D. (2019). Differentially private Bayesian linear regression.
    NeurIPS 32.
    """

    method = "private-regression"
    sentence = (
        "Differential privacy: no rows are released. Coefficients come from sums and counts with"
        " random noise, so that they hardly depend on any one person's row."
    )
    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain", "bounds")
    proposed: ClassVar[tuple[str, ...]] = ("columns", "outcome")
    most_cells: ClassVar[int | None] = None

    outcome: str
    family: str = "linear"
    bins: int | None = None
    delta: float = 1e-9

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("family", self.family, FAMILIES)
        if self.outcome in self.columns:
            msg = f"the outcome {self.outcome!r} is among the columns that explain it."
            raise PlanError(msg)
        if self.bins is not None and (
            isinstance(self.bins, bool)
            or not isinstance(self.bins, int)
            or not 1 < self.bins <= MOST_BINS
        ):
            msg = f"bins ({self.bins}) must be a whole number from 2 to {MOST_BINS}."
            raise PlanError(msg)
        if self.missing:
            msg = "missing was given: rows with a missing value are left out of a regression."
            raise PlanError(msg)
        if isinstance(self.domain, str):
            return
        for name in (*self.columns, *((self.outcome,) if self.family == "linear" else ())):
            if name not in (self.domain or {}):
                bounds_of(name, self.bounds)
        self._check_outcome()

    def _check_outcome(self) -> None:
        two = (self.domain if isinstance(self.domain, Mapping) else None) or {}
        if self.family == "logistic" and len(two.get(self.outcome, ())) != 2:  # noqa: PLR2004
            msg = f"domain must declare the two values of the outcome {self.outcome!r}."
            raise PlanError(msg)
        self._check_cells()

    def _check_cells(self) -> None:
        """Refuse a logistic regression of too many cells, before any of them is listed."""
        if self.family == "logistic" and (cells := math.prod(self._sizes())) > MOST_CELLS:
            msg = (
                f"the terms have {cells:,} cells, more than {MOST_CELLS:,}.\n\nHint: fewer columns"
                " or bins."
            )
            raise PlanError(msg)

    def declared(self) -> Domain:
        """Return the domain of the columns of categories."""
        given = self.domain
        names = [n for n in (*self.columns, self.outcome) if not given or n in given]
        if isinstance(given, str):
            from veladura.methods.private.domain import read_values

            given = read_values(given)
            names = [n for n in (*self.columns, self.outcome) if n in given]
        if not given:
            return Domain({})
        return declare(names, given, (), (), None)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the columns that the regression is of: no row of them is released."""
        return (self.outcome, *self.columns)

    def terms(self) -> list[str]:
        """Return the names of the coefficients: the constant, numbers, categories but the first."""
        domain, listed = self.declared(), ["constant"]
        for name in self.columns:
            if name in domain.names:
                listed += [f"{name} = {text}" for text in domain.texts(name)[1:]]
            else:
                listed.append(name)
        return listed

    def _sizes(self) -> list[int]:
        """Return the number of categories or bins of each column."""
        shape = dict(zip((domain := self.declared()).names, domain.shape, strict=True))
        return [shape.get(name, self.number_of_bins) for name in self.columns]

    @property
    def number_of_bins(self) -> int:
        """The bins of each number: as declared, or as many as the usual number of cells allows."""
        if self.bins is not None:
            return self.bins
        domain = self.declared()
        shape = dict(zip(domain.names, domain.shape, strict=True))
        numbers = sum(name not in shape for name in self.columns)
        left = USUAL_CELLS / math.prod(shape.get(name, 1) for name in self.columns)
        most = int(left ** (1 / numbers) + 1e-9) if numbers else FEWEST_BINS
        return min(max(most, FEWEST_BINS), MOST_BINS)

    def terms_by_column(self) -> list[list[list[float]]]:
        """Return the terms of every category or bin of each column, on the scale from -1 to 1."""
        domain, parts = self.declared(), []
        for name in self.columns:
            if name in domain.names:
                size = len(domain.texts(name))
                parts.append([[float(i == j) for j in range(1, size)] for i in range(size)])
            else:
                bins = self.number_of_bins
                parts.append([[-1 + (2 * i + 1) / bins] for i in range(bins)])
        return parts

    def cells(self) -> list[list[float]]:
        """Return the terms of every cell, the last column fastest."""
        return [
            [1.0, *(t for part in cell for t in part)] for cell in product(*self.terms_by_column())
        ]

    def back(self) -> tuple[Floats, float]:
        """Return how coefficients of scaled terms become those of the columns.

        A number x is scaled as u = (2 x - high - low) / (high - low), the outcome of a linear
        regression likewise; the second part is what the constant gets besides.
        """
        names, domain = self.terms(), self.declared()
        half, middle = 1.0, 0.0
        if self.family == "linear":
            low, high = bounds_of(self.outcome, self.bounds)
            half, middle = (high - low) / 2, (high + low) / 2
        matrix = np.eye(len(names)) * half
        for i, name in enumerate(names):
            if name in self.columns and name not in domain.names:
                least, most = bounds_of(name, self.bounds)
                matrix[i, i] = half * 2 / (most - least)
                matrix[0, i] = -half * (most + least) / (most - least)
        return matrix, middle

    def apply(self, table: Table, context: Context) -> FittedRegression:
        """Add up the sufficient statistics."""
        opendp()
        refuse_seed(context, seedable=self.seedable)
        self._check_cells()  # the values of a file are not known before
        domain = self.declared()
        used = [self.outcome, *self.columns]
        numbers = [name for name in used if name not in domain.names]
        check_kinds(table.schema, numbers, NUMERIC, "declare the domain of categories.")
        labelled = [name for name in used if name in domain.names]
        check_kinds(table.schema, labelled, (*LABELLED, "integer"), "categories have a domain.")
        chosen = table.select(used)
        counted = self.contributed(chosen, context).fetched()
        gone = np.any([counted.column(name).missing for name in used], axis=0)
        whole = counted.arrow.filter(pa.array(~gone))
        query = self._query(from_arrow(whole, counted.schema, counted.source), domain)
        counts = np.array([counted.rows], dtype=np.int64)
        return FittedRegression(self, chosen, no_codes(), domain, counts, query)

    def _query(self, table: Table, domain: Domain) -> Query:
        codes = {name: Domain({name: domain.values[name]}).of_rows(table) for name in domain.names}
        scaled = {
            name: self._scaled(table, name)
            for name in (self.outcome, *self.columns)
            if name not in domain.names
        }
        if self.family == "linear":
            columns = [np.ones(table.rows)]
            for name in self.columns:
                if name in codes:
                    size = len(domain.texts(name))
                    columns += [(codes[name] == i).astype(float) for i in range(1, size)]
                else:
                    columns.append(scaled[name])
            return products(np.column_stack(columns), scaled[self.outcome], self._norm)
        places = [
            codes[name] if name in codes else self._bins(scaled[name]) for name in self.columns
        ]
        shape = self._sizes()
        flat = np.ravel_multi_index(places, shape) * 2 + codes[self.outcome]
        table_ = np.bincount(flat, minlength=2 * int(np.prod(shape))).astype(np.int64)
        return Query("histogram", "", 1, table_.reshape(-1, 2))

    def _scaled(self, table: Table, name: str) -> Floats:
        low, high = bounds_of(name, self.bounds)
        clipped = np.clip(numbers_of(table, name), low, high)
        scaled: Floats = 2 * (clipped - low) / (high - low) - 1
        return scaled

    def _bins(self, scaled: Floats) -> Any:
        # an edge belongs to the bin above it, whatever the last digit of the scale
        bins = self.number_of_bins
        places = np.floor((scaled + 1) / 2 * bins + 1e-9).astype(np.int64)
        return np.clip(places, 0, bins - 1)

    @property
    def reading(self) -> Reading:
        """How the outlook of a regression is read."""
        return READINGS[self.family]

    def table_cells(self) -> int:
        """Return how many sums or counts get noise."""
        if self.family == "logistic":
            return 2 * math.prod(self._sizes())
        terms = len(self.terms()) + 1
        return terms * (terms + 1) // 2

    def _outlook(self) -> tuple[Reference, Noisy]:
        """Return invented rows, and nobody's statistics with the scale of their noise."""
        self._check_cells()
        reference = invented(self.family, self.terms_by_column(), lambda: np.array(self.cells()))
        nobody = np.zeros((1, self.table_cells()), dtype=np.int64)
        query = (
            Query("histogram", "", 1, nobody)
            if self.family == "logistic"
            else Products("products", "", STEPS, nobody, self._norm)
        )
        return reference, self.noise_of(query, 1)

    def expected(self, n: int) -> Expected:
        """Return by how much noise moves predictions, for n invented rows."""
        return expected_of(*self._outlook(), n)

    def half_width(self, n: int) -> float | None:
        """Return half the average width of 95 % intervals of effects, for n invented rows."""
        return half_width_of(*self._outlook(), n)

    @property
    def _norm(self) -> float:
        """The largest squared length of a row: constant, outcome and columns, each at most 1."""
        return 2.0 + len(self.columns)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest a linear regression of the first number on the next and a category."""
        given = propose.summary_settings(table, facts)
        outcome, *numbers = given["columns"]
        categories = propose.narrowest(table, facts)
        given["columns"], given["domain"] = (*numbers, *categories), categories or None
        del given["by"], given["missing"], given["bins"]
        if not given["columns"]:
            msg = "the table has one number and no category: nothing explains it."
            raise PlanError(msg)
        return cls(outcome=outcome, **given)
