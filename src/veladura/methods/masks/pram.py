"""Post-randomisation (PRAM): categories changed at random with known probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base import shapes
from veladura.base.checks import check_columns, check_fit_rows, is_number
from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.gates import MASKED
from veladura.core.linking import ROW_BY_ROW
from veladura.core.promise import CATEGORIES, Check, Promise, listed
from veladura.core.recipe import Draw, Drawn, Recipe
from veladura.errors import DataError, PlanError
from veladura.methods.masks.pram_matrix import (
    Transition,
    drawn,
    from_table,
    improbable_changes,
    invariant,
    matrix_faults,
)
from veladura.table.codes import label_texts
from veladura.table.schema import LABELLED, WEIGHTS, check_kinds
from veladura.table.variation import constant_columns, refuse_constant

if TYPE_CHECKING:
    from veladura.base.arrays import Ints
    from veladura.core.chunks import FittedChunks
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

MOST_CATEGORIES = 1000
FEW_CATEGORIES = 50
Declared = Mapping[str, Mapping[str, float]]


def _pram_matrix(settings: Mapping[str, Any]) -> str:
    return (
        f"PRAM: the transition probabilities of {listed(settings)} add up to 1 and cover every"
        " value."
    )


def _pram_changes(settings: Mapping[str, Any]) -> str:
    return (
        f"PRAM: categories of {listed(settings)} changed as often as the transition probabilities"
        " say."
    )


_MATRIX = shapes.mapped(shapes.mapped(shapes.number(0, 1), 1))
_MATRICES = shapes.table({"columns": shapes.mapped(_MATRIX, 1, keys=shapes.name)})
PRAM_MATRIX = Check(matrix_faults, _pram_matrix, _MATRICES)
PRAM_CHANGES = Check(improbable_changes, _pram_changes, _MATRICES)


@dataclass(frozen=True, kw_only=True)
class Pram(Recipe):
    """Post-randomisation (PRAM): categories change at random, with published probabilities.

    Without a declared transition matrix an invariant one is made from the data: the expected number
    of rows in each category stays the same, so that tables of the release need no correction. The
    matrix gives those numbers away, so categories of fewer than ten rows are treated as if they had
    ten: their expected number then rises a little.

    The manifest has the transition probabilities among the categories that occur in the release.

    Parameters
    ----------
    columns
        The columns of categories to mask. Missing values stay missing.
    retain
        Expected share of rows that keep their category, where no matrix is declared. It is higher
        where one category is so common that even independent draws keep more.
    matrix
        By column the transition matrix: for each category, the probability of each category it may
        become, as in ``{"sex": {"f": {"f": 0.9, "m": 0.1}, "m": {"f": 0.1, "m": 0.9}}}``. A
        category not named has probability 0.
    fit_rows
        Most rows that are held: those of a larger table pass chunk by chunk, and categories are
        counted where they live. By default all rows, or those that a quarter of ``[run] memory``
        holds where they do not fit.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> release = vd.Pram(columns=["sex"]).protect(pd.DataFrame({"sex": ["f", "m"] * 50}), seed=1)
    >>> release.steps[0].settings["matrix"]
    {'sex': {'f': {'f': 0.8, 'm': 0.2}, 'm': {'f': 0.2, 'm': 0.8}}}

    References
    ----------
    Gouweleeuw, J. M., Kooiman, P., Willenborg, L. C. R. J. and de Wolf, P.-P. (1998). Post
    randomisation for statistical disclosure control: theory and implementation. Journal of
    Official Statistics 14(4), 463-478.
    """

    method = "pram"
    linked_tables = ROW_BY_ROW
    by_row = True
    decisive = ("retain",)
    sentence = (
        "Post-randomisation (PRAM): categories were changed at random with known probabilities,"
        " so a released category may differ from the true one."
    )
    caution = (
        "post-randomisation changed categories at random; differences between categories shrink"
        " towards 0"
    )
    checks = {
        "categories": CATEGORIES,
        "pram-matrix": PRAM_MATRIX,
        "pram-changes": PRAM_CHANGES,
    }
    gate = MASKED
    chunked = True

    columns: Sequence[str]
    retain: float = 0.8
    matrix: Mapping[str, Mapping[str, Mapping[str, float]]] | None = field(
        default=None, repr=False, metadata={"private": True}
    )
    fit_rows: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the columns of categories to mask")
        check_fit_rows(self.fit_rows)
        if not is_number(self.retain) or not 0 <= self.retain < 1:
            msg = (
                f"retain ({self.retain}) must be at least 0 and below 1: it is the expected share"
                " of rows that keep their category."
            )
            raise PlanError(msg)
        for name, rows in (self.matrix or {}).items():
            if name not in self.columns:
                msg = f"matrix has a column that columns does not name: {name!r}."
                raise PlanError(msg)
            _check_matrix(name, rows)

    def apply(self, table: Table, context: Context) -> FittedPram:  # noqa: ARG002
        """Settle the matrix of each column."""
        check_kinds(
            table.schema, self.columns, LABELLED, "use Noise or Swap for numbers, Swap for dates."
        )
        codes = table.codes(self.columns)
        declared = self.matrix or {}
        refuse_constant(
            [name for name in constant_columns(codes) if name not in declared],
            "have no other category to change to",
        )
        transitions = {
            name: self._transition(column, declared.get(name)) for name, column in codes.items()
        }
        return FittedPram(self, table, codes, transitions)

    def apply_to_sample(self, table: Table, number: int, context: Context) -> FittedChunks[Pram]:
        """Settle the matrix of each column from its categories in all rows, counted there."""
        from veladura.core.chunks import FittedChunks, fit_to_sample

        check_kinds(
            table.schema, self.columns, LABELLED, "use Noise or Swap for numbers, Swap for dates."
        )
        near, sample, whole = fit_to_sample(self, table, number, context, self.columns)
        declared, transitions = self.matrix or {}, {}
        for name in self.columns:
            counts = near.counts([name])
            column = counts.columns[0]
            if np.count_nonzero(~column.missing) < 2 and name not in declared:  # noqa: PLR2004
                refuse_constant([name], "have no other category to change to")
            transitions[name] = self._transition(column, declared.get(name), counts.size)
        codes = whole.relabelled(sample.codes(self.columns))
        return FittedChunks.of(self, near, FittedPram(self, sample, codes, transitions))

    def _transition(
        self, column: Column, declared: Declared | None, size: Ints | None = None
    ) -> Transition:
        """Return the matrix of a column, given the rows of each of its values if not one each."""
        present = ~column.missing
        used, place = np.unique(column.values[present], return_inverse=True)
        counts = np.bincount(place, None if size is None else size[present], used.size)
        texts = label_texts(column)
        labels = [texts[code] for code in used.tolist()]
        if declared is None and used.size > MOST_CATEGORIES:
            msg = (
                f"column {column.name!r} has {used.size} categories: PRAM works with at most"
                f" {MOST_CATEGORIES}.\n\nHint: recode it first."
            )
            raise DataError(msg)
        if declared is None:
            return Transition(labels, invariant(counts.astype(np.int64), self.retain))
        if lacking := sum(label not in declared for label in labels):
            msg = (
                f"the matrix of {column.name!r} lacks {lacking} categories of the"
                " column.\n\nHint: give every category a row."
            )
            raise DataError(msg)
        return from_table(declared)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises: known categories, a proper matrix, and changes that follow it."""
        matrix = settings["matrix"]
        labels = {name: list(rows) for name, rows in matrix.items()}
        return (
            Promise("categories", "package", {"columns": labels}),
            Promise("pram-matrix", "package", {"columns": matrix}),
            Promise("pram-changes", "source", {"columns": matrix}),
        )

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Pram:
        """Suggest every column of few categories; the one with fewest where all have many."""
        fields = [f for f in schema if f.kind in ("category", "ordered") and f.role not in WEIGHTS]
        varying = sorted(
            (facts[f.name].distinct, f.name)
            for f in fields
            if 1 < facts[f.name].distinct <= MOST_CATEGORIES
        )
        if not varying:
            msg = (
                f"the table has no column of 2 to {MOST_CATEGORIES} categories: there is nothing to"
                " change."
            )
            raise PlanError(msg)
        few = {name for distinct, name in varying if distinct <= FEW_CATEGORIES} or {varying[0][1]}
        return cls(columns=tuple(name for name in schema.names if name in few))


@dataclass(frozen=True, eq=False, repr=False)
class FittedPram(RowWise[Pram]):
    """The transition matrices of the masked columns."""

    transitions: Mapping[str, Transition]

    @property
    def kept_beside(self) -> Sequence[str]:
        """All columns that change: how often is proved row for row."""
        return self.recipe.columns

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Return columns with categories drawn anew, one uniform number a row."""
        return {name: self._changed(columns[name], stream) for name in self.recipe.columns}

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Name only categories that occur in the release."""
        del rows
        draw = datasets[0]
        matrices = {name: self._matrix(name, draw).to_json() for name in self.recipe.columns}
        settings = {**self.recipe.settings(), "matrix": matrices}
        return Drawn(
            datasets=datasets,
            changed=self.recipe.columns,
            settings=settings,
            promises=self.recipe.implied(settings, None),
        )

    def _changed(self, column: Column, stream: ChunkStream) -> Column:
        transition = self.transitions[column.name]
        old = label_texts(column)
        labels = [*old, *(label for label in transition.labels if label not in old)]
        row = np.array(
            [transition.labels.index(label) if label in transition.labels else 0 for label in old]
            or [0]
        )
        uniforms = stream("pram", column.name).random(column.size)
        new = drawn(uniforms, row[column.values], transition.matrix)
        code = np.array([labels.index(label) for label in transition.labels])
        values = np.where(column.missing, 0, code[new])
        return replace(
            column, values=values, labels=pa.array(labels, pa.string()).cast(column.field.type)
        )

    def _matrix(self, name: str, draw: Draw) -> Transition:
        """Return the transition matrix among the categories that occur in a released column."""
        column = draw.columns[name] if draw.table is None else draw.table.counts([name]).columns[0]
        labels = label_texts(column)
        out = {labels[code] for code in np.unique(column.values[~column.missing]).tolist()}
        return self.transitions[name].among(out)


def _check_matrix(name: str, rows: Declared) -> None:
    """Refuse a declared matrix whose rows are no probabilities over its own categories."""
    if (
        not isinstance(rows, Mapping)
        or not rows
        or not all(isinstance(row, Mapping) and row for row in rows.values())
    ):
        msg = f"the matrix of {name!r} must give each category a row of transition probabilities."
        raise PlanError(msg)
    if not all(
        is_number(share) and 0 <= share <= 1 for row in rows.values() for share in row.values()
    ):
        msg = f"the matrix of {name!r} must hold probabilities between 0 and 1."
        raise PlanError(msg)
    if wrong := sum(abs(sum(row.values()) - 1) > 1e-9 for row in rows.values()):  # noqa: PLR2004
        msg = f"the matrix of {name!r} has {wrong} rows whose probabilities do not add up to 1."
        raise PlanError(msg)
    if others := len({label for row in rows.values() for label in row} - set(rows)):
        msg = f"the matrix of {name!r} leads to {others} categories that have no row of their own."
        raise PlanError(msg)
