"""Additive noise on numbers, independent or with the correlations of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.bounds import Bounds, bounds_of
from veladura.base.checks import check_columns, check_fit_rows, check_named, is_number
from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.gates import MASKED, NO_OWN_EXTREMES
from veladura.core.linking import ROW_BY_ROW
from veladura.core.moved_numbers import MOVED_NUMBERS, people_of
from veladura.core.promise import LIMITS, Promise
from veladura.core.recipe import Draw, Drawn, Recipe
from veladura.errors import PlanError
from veladura.methods.masks.column_law import ColumnLaw, counted_numbers, spread_of
from veladura.methods.masks.law import (
    MIN_PEOPLE,
    check_min_people,
    habits_of,
    law_of,
    moved,
    smoothed,
)
from veladura.methods.masks.limits import (
    added,
    ends_of,
    limits_between,
    limits_of,
    refuse_narrow,
)
from veladura.methods.masks.noise_promises import NOISE_SCALE, noise_promises
from veladura.methods.masks.number_codes import refuse_codes, warn_of_reserved, without_codes
from veladura.numeric.trees.habits import ROOM, Habits
from veladura.numeric.trees.law import NumberLaw
from veladura.table.frequencies import counted_in
from veladura.table.schema import NUMERIC, WEIGHTS, check_kinds
from veladura.table.variation import refuse_constant, standard_deviation

if TYPE_CHECKING:
    from veladura.core.chunks import FittedChunks
    from veladura.table.codes import Codes, Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Noise(Recipe):
    """Additive noise: normal noise is added to numbers.

    Missing values stay missing. Results are written with the decimals of the source, whole
    numbers as whole numbers: noise much smaller than that is rounded away. Numbers that people
    rounded, to hundreds for instance, stay as round where the noise is larger than that. A column
    that is never negative stays so. Noise that would lead outside the limits of a column has the
    other sign: it keeps its size, and nothing piles up at a limit.

    A number that fewer than ``min_people`` people share is moved by its own isolation first (the
    law of the leaf, as in `Cart`), and people who stand out count neither for the size of the noise
    nor for its correlations: an outlier would be an outlier still, and noise of its size would tell
    it.

    Parameters
    ----------
    columns
        The number columns to mask.
    scale
        Standard deviation of the noise, as a share of that of each column.
    correlated
        True: the noise has the correlations of the columns, so that the release keeps them
        (Kim 1986). False: the noise of each column is independent, and correlations shrink by
        1 / (1 + scale^2).
    limits
        Smallest and largest value that a column may have, ``{"age": (0, 110)}``, from public
        knowledge and never from the data. By default 0 for columns without negative values;
        ``(-inf, inf)`` for none.
    min_people
        A number that fewer people share is moved by its isolation before noise is added; 0 for
        noise alone.
    keep_shared
        True: a number that at least ``min_people`` people share stays as it is, without noise. So
        do heaps, codes such as -8 and the ends of coded scales.
    fit_rows
        Most rows that are held: those of a larger table pass chunk by chunk. Spread, limits, which
        numbers few people share and how far these are from others are counted where the rows live;
        with ``min_people`` correlations are those of the rows that are held. By default all rows,
        or those that a quarter of ``[run] memory`` holds where they do not fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"x": range(100)})
    >>> vd.Noise(columns=["x"], scale=0.5).protect(table, seed=1).datasets[0].shape
    (100, 1)

    References
    ----------
    Kim, J. J. (1986). A method for limiting disclosure in microdata based on random noise and
    transformation. Proceedings of the ASA Section on Survey Research Methods, 370-374.
    """

    method = "noise"
    linked_tables = ROW_BY_ROW
    by_row = True
    decisive = ("scale",)
    sentence = (
        "Random noise was added to the numbers (additive noise), so that a released value may"
        " differ from the true one; numbers that few people share were moved as far as others are"
        " away. Means are kept on average, but for values near a limit and people who stand out."
    )
    caution = (
        "additive noise shrinks the slope of a noisy predictor towards 0 and moves those of"
        " correlated columns; a noisy response has larger errors"
    )
    checks = {
        "noise-scale": NOISE_SCALE,
        "moved-numbers": replace(MOVED_NUMBERS, untouched=True),
        "limits": LIMITS,
    }
    gate = MASKED
    firm_gate = NO_OWN_EXTREMES
    chunked = True

    columns: Sequence[str]
    scale: float = 0.1
    correlated: bool = True
    limits: Mapping[str, Bounds] = field(default_factory=dict)
    min_people: int = MIN_PEOPLE
    keep_shared: bool = False
    fit_rows: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the number columns to mask")
        limits = {name: bounds_of(pair, "limits") for name, pair in self.limits.items()}
        object.__setattr__(self, "limits", limits)
        check_named("limits", list(limits), list(self.columns))
        if not is_number(self.scale) or self.scale <= 0:
            msg = (
                f"scale ({self.scale}) must be above 0: it is the standard deviation of the noise"
                " as a share of that of the column."
            )
            raise PlanError(msg)
        check_fit_rows(self.fit_rows)
        check_min_people(self.min_people)
        if self.keep_shared and not self.min_people:
            msg = "keep_shared needs min_people: how many people share a number that stays."
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedNoise:  # noqa: ARG002
        """Learn how numbers move, and the covariance of the columns."""
        check_kinds(table.schema, self.columns, NUMERIC, "use Pram for categories.")
        codes = table.codes(self.columns)
        refuse_codes(table, codes, self.columns)
        self._warn(codes)
        people = people_of(table)
        people = None if people is None else people[codes.rows]
        laws = {name: law_of(codes[name], people, self.min_people) for name in self.columns}
        numbers = np.column_stack([smoothed(law, codes[name]) for name, law in laws.items()])
        scales = np.array([standard_deviation(column) for column in numbers.T])
        self._refuse_constant(scales)
        limits = limits_of([codes[name] for name in self.columns], self.limits)
        correlation = _correlation(numbers / scales)
        return self._fitted(table, codes, laws, scales, correlation, limits)

    def apply_to_sample(self, table: Table, number: int, context: Context) -> FittedChunks[Noise]:
        """Learn spread, limits and which numbers few people share from all rows."""
        from veladura.core.chunks import FittedChunks, fit_to_sample

        check_kinds(table.schema, self.columns, NUMERIC, "use Pram for categories.")
        near, sample, _ = fit_to_sample(self, table, number, context, ())
        codes = sample.codes(self.columns)
        refuse_codes(table, codes, self.columns)
        self._warn(codes)
        learn = self._by_frequencies if self.min_people else self._by_figures
        fitted = learn(near, sample, codes)
        return FittedChunks.of(self, near, fitted)

    def _warn(self, codes: Codes) -> None:
        """Warn of codes for no answer, which would become amounts."""
        if not self.keep_shared:
            warn_of_reserved(codes, self.columns)

    def _by_figures(self, near: Table, sample: Table, codes: Codes) -> FittedNoise:
        """Return noise alone: two queries for figures of all rows."""
        from veladura.table.whole import number_facts

        facts = number_facts(near, self.columns)
        self._refuse_constant(facts.deviation)
        ends = np.column_stack([facts.low, facts.high])
        laws = dict.fromkeys(self.columns)
        codes, limits = self._of_all(codes, facts.decimals, ends)
        return self._fitted(sample, codes, laws, facts.deviation, facts.correlation, limits)

    def _by_frequencies(self, near: Table, sample: Table, codes: Codes) -> FittedNoise:
        """Return noise by the law of the leaf: one query a column counts its numbers in all rows.

        Correlations are those of the sample, without people of all who stand out.
        """
        laws: dict[str, ColumnLaw | None] = {}
        spread, decimals, ends = [], [], []
        for name in self.columns:
            counted = counted_numbers(near, name)
            laws[name] = ColumnLaw.of(counted, self.min_people, codes[name])
            spread.append(spread_of(laws[name], counted))
            decimals.append(counted.column.decimals)
            ends.append(counted.column.numbers()[[0, -1]] if counted.rows.size else [0.0, 0.0])
        scales = np.array(spread)
        self._refuse_constant(scales)
        codes, limits = self._of_all(codes, decimals, np.array(ends))
        numbers = np.column_stack(
            [
                codes[n].numbers() if law is None else law.smoothed(codes[n])
                for n, law in laws.items()
            ]
        )
        return self._fitted(sample, codes, laws, scales, _correlation(numbers / scales), limits)

    def _of_all(
        self, codes: Codes, decimals: Sequence[int | None], ends: Floats
    ) -> tuple[Codes, dict[str, Bounds]]:
        """Return the sample with the decimals of all rows, and the limits of the columns."""
        of_all = {
            name: codes[name].with_decimals(places)
            for name, places in zip(self.columns, decimals, strict=True)
        }
        pairs = {name: (float(a), float(b)) for name, (a, b) in zip(of_all, ends, strict=True)}
        return replace(codes, columns=of_all), limits_between(pairs, self.limits)

    def _refuse_constant(self, spread: Floats) -> None:
        refuse_constant(
            [name for name, scale in zip(self.columns, spread, strict=True) if scale == 0],
            "have no spread to scale noise by",
        )

    def _fitted(
        self,
        table: Table,
        codes: Codes,
        laws: Mapping[str, NumberLaw | ColumnLaw | None],
        spread: Floats,
        correlation: Floats,
        limits: Mapping[str, Bounds],
    ) -> FittedNoise:
        by_name = dict(zip(self.columns, spread.tolist(), strict=True))
        refuse_narrow(limits, by_name, self.scale)
        if not self.correlated:
            correlation = np.eye(len(self.columns))
        habits = {name: habits_of(codes[name]) for name in self.columns if self.min_people}
        return FittedNoise(self, table, codes, laws, spread, correlation, limits, habits)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise of the noise, and of the limits that were declared."""
        declared = {name: bounds_of(given, "limits") for name, given in settings["limits"].items()}
        return noise_promises(settings, declared)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Noise:
        """Suggest every number column that varies, except weights."""
        names = [
            f.name
            for f in schema
            if f.kind in NUMERIC and f.role not in WEIGHTS and facts[f.name].distinct > 1
        ]
        if not names:
            msg = (
                "the table has no number column with more than one value: there is nothing to add"
                " noise to."
            )
            raise PlanError(msg)
        return cls(columns=tuple(names))

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Noise:
        """Suggest no column of codes that are written as numbers."""
        return cls.suggest(without_codes(table), facts)


@dataclass(frozen=True, eq=False, repr=False)
class FittedNoise(RowWise[Noise]):
    """How the numbers move; standard deviations, correlations and limits of the columns."""

    laws: Mapping[str, NumberLaw | ColumnLaw | None]
    spread: Floats
    correlation: Floats
    limits: Mapping[str, Bounds] = field(default_factory=dict)
    habits: Mapping[str, Habits] = field(default_factory=dict)

    @property
    def kept_beside(self) -> Sequence[str]:
        """All columns that carry noise: how much is proved row for row."""
        return self.recipe.columns

    def by_value(self) -> FittedNoise:
        """Return the noise with laws that are looked up by numbers, not by rows of the table."""
        by_row = any(isinstance(law, NumberLaw) for law in self.laws.values())
        return self._by_value if by_row else self

    @cached_property
    def _by_value(self) -> FittedNoise:
        laws = {
            name: ColumnLaw.of(counted_in(self.codes[name]), self.recipe.min_people, column)
            for name, column in self.codes.items()
        }
        return replace(self, laws=laws)

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Add noise: one stream a column, then mixed by the root of the correlation matrix."""
        recipe = self.recipe
        rows = columns[recipe.columns[0]].size
        white = np.column_stack(
            [stream("noise", name).standard_normal(rows) for name in recipe.columns]
        )
        noise = white @ _root(self.correlation).T * self.spread * recipe.scale
        return {
            name: self._noisy(columns[name], noise[:, j], self.spread[j] * recipe.scale, stream)
            for j, name in enumerate(recipe.columns)
        }

    def _noisy(
        self, column: Column, noise: Floats, deviation: float, stream: ChunkStream
    ) -> Column:
        """Return a column with its noise, as round as it was and within its limits."""
        name, model = column.name, self.codes[column.name]
        given = self.laws[name]
        law = given.at(column) if isinstance(given, ColumnLaw) else given
        low, high = ends_of(model, self.limits.get(name, Bounds()))
        if self.recipe.keep_shared and law is not None:  # no number is beyond a coded end
            ends = [law.grid.base + end * law.grid.unit for end in law.ends]
            low, high = max(low, ends[0]), min(high, ends[1])
        numbers = moved(law, column, stream("noise", name, "law"))
        masked = added(np.clip(numbers, low, high), noise, low, high)
        if self.recipe.min_people:
            habits = self.habits.get(name, Habits())
            coarse = _as_round(column, masked, deviation, habits, model.decimals)
            masked = np.where((coarse < low) | (coarse > high), masked, coarse)
        if self.recipe.keep_shared:
            shared = ~column.missing if law is None else ~column.missing & ~law.moves
            masked = np.where(shared, column.numbers(), masked)
        return model.rounded(masked)

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Promise the size of the noise, numbers of few people moved, and the limits."""
        del rows
        few = [name for name, law in self.laws.items() if law is not None]
        settings = self.recipe.settings() | ({"moved_numbers_in": few} if few else {})
        return Drawn(
            datasets=datasets,
            changed=self.recipe.columns,
            settings=settings,
            promises=noise_promises(settings, self.limits),
        )


def _as_round(
    column: Column, numbers: Floats, deviation: float, habits: Habits, decimals: int | None
) -> Floats:
    """Return numbers as round as those of a column, where the noise has room for it."""
    if habits.units == (1,) or decimals is None:
        return numbers
    unit = 10.0**decimals
    if ROOM * habits.units[0] > 2 * np.sqrt(3.0) * deviation * unit:
        return numbers  # all numbers are rounder than the noise is large
    rows = np.flatnonzero(~column.missing)
    steps = np.rint(column.numbers()[rows] * unit).astype(np.int64)
    room = np.full(rows.size, 2 * np.sqrt(3.0) * deviation * unit)
    rounded = numbers.copy()
    rounded[rows] = habits.landed(numbers[rows] * unit, habits.classes(steps, room)) / unit
    return rounded


def _correlation(numbers: Floats) -> Floats:
    """Return the correlations of complete rows; identity where there are too few."""
    complete = numbers[~np.isnan(numbers).any(axis=1)]
    if numbers.shape[1] == 1 or len(complete) <= numbers.shape[1]:
        return np.eye(numbers.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.atleast_2d(np.corrcoef(complete, rowvar=False))
    correlation[~np.isfinite(correlation)] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _root(matrix: Floats) -> Floats:
    """Return the symmetric square root; tiny negative eigenvalues of a singular matrix are cut."""
    values, vectors = np.linalg.eigh(matrix)
    root: Floats = vectors * np.sqrt(np.clip(values, 0.0, None)) @ vectors.T
    return root
