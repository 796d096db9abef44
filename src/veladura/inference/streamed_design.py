"""The design of a formula for rows that are not held: made piece by piece, as they stream by.

Levels of categories are counted where the rows live. A small frame that has every level stands for
the rows when the formula is read; each piece is then made as that frame says. Transforms that look
at all rows at once (centres, knots) cannot be made so.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base.arrays import Floats
from veladura.errors import ColumnError, DataError, PlanError
from veladura.inference.design import (
    Design,
    complete_rows,
    formula_column,
    formula_functions,
    matrices,
    read_formula,
    response_of,
    term_name,
)
from veladura.inference.weight_columns import check_weights, weight_numbers
from veladura.numeric.hierarchies.bands import TOP
from veladura.table.counts import count_sets
from veladura.table.database.connection import fetch
from veladura.table.database_errors import without_values
from veladura.table.pieces import pieces
from veladura.table.profiles import many_valued
from veladura.table.schema import LABELLED, Schema

if TYPE_CHECKING:
    import pandas as pd

    from veladura.table.table import Table

WHOLE = re.compile(
    r"(?<![\w.])(center|scale|standardize|poly|bs|cs|cc|cr|basis_spline|lag|hashed"
    r"|cyclic_cubic_spline|natural_cubic_spline|cubic_spline)\s*\("
)
MOST_LEVELS = 10_000


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a dataset, ready for a fit."""

    y: Floats
    x: Floats
    weights: Floats


@dataclass(frozen=True, eq=False)
class StreamedDesign(Design):
    """The design of a formula whose rows stay where they are.

    Attributes
    ----------
    used
        Rows of each dataset that are used.
    """

    used: tuple[int, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of each dataset that are used."""
        return self.used


@dataclass(frozen=True, eq=False)
class Stream:
    """What is needed to make the design of a piece of rows."""

    formula: str
    schema: Schema
    columns: tuple[str, ...]
    levels: Mapping[str, pa.Array] = field(repr=False)
    made: Any = field(repr=False)  # how formulaic made the matrices of the frame of levels
    names: tuple[str, ...]
    terms: Mapping[str, tuple[int, ...]]
    response: str
    binary: bool
    weights: str | None
    suppressed: tuple[str, ...]

    def pieces(self, table: Table, lost: Lost | None = None) -> Iterator[Piece]:
        """Yield the design of one dataset; rows that are left out are added to ``lost``."""
        for rows in pieces(table, self.columns):
            complete, starred = complete_rows(rows, self.suppressed)
            every = self._loads(rows)
            kept = rows.filter(pa.array(complete))
            if lost is not None:
                lost.missing += int((~complete).sum()) - starred
                lost.starred += starred
            if not kept.num_rows:
                continue
            left, right = self._matrices(self._frame(kept))
            x = right.to_numpy(dtype=float)
            sane = np.isfinite(left.to_numpy(dtype=float)).all(axis=1) & np.isfinite(x).all(axis=1)
            if lost is not None:
                lost.undefined += int((~sane).sum())
            _, y = response_of(left, self.formula, binary=self.binary)
            yield Piece(y[sane], x[sane], every[complete][sane])

    def _loads(self, rows: pa.Table) -> Floats:
        if self.weights is None:
            return np.ones(rows.num_rows)
        weights = weight_numbers(rows.column(self.weights), self.weights)
        check_weights(weights, self.weights)
        return weights

    def _frame(self, rows: pa.Table) -> pd.DataFrame:
        import pandas as pd

        made = {}
        for name in self.columns:
            column = rows.column(name)
            if name in self.levels:
                codes = pc.index_in(column, value_set=self.levels[name]).to_numpy()
                made[name] = pd.Categorical.from_codes(
                    codes, categories=pd.Index(self.levels[name].to_pylist())
                )
            else:
                made[name] = formula_column(column, self.schema[name])
        return pd.DataFrame(made)

    def _matrices(self, frame: pd.DataFrame) -> tuple[Any, Any]:
        from formulaic.errors import DataMismatchWarning, FormulaicError

        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error", DataMismatchWarning)
                made = self.made.get_model_matrix(frame, context=formula_functions())
        except (DataMismatchWarning, FormulaicError, ValueError, TypeError, KeyError):
            raise PlanError(in_words(self.formula)) from None
        return made.lhs, made.rhs


@dataclass
class Lost:
    """Rows that are left out."""

    missing: int = 0
    undefined: int = 0
    starred: int = 0


def in_words(formula: str) -> str:
    """Say that a formula needs all rows at once."""
    return (
        f"the rows are not held in memory, and {formula!r} has a term that needs all of them at"
        " once (a centre, a spline, or categories made of many numbers).\n\nHint: write the term"
        " with plain functions such as log(x), I(x - 40) or I(x**2), or hold the rows:"
        " vd.load(folder, lazy=False)."
    )


def needs_all_rows(formula: str) -> bool:
    """Whether a formula has a transform that looks at all rows at once.

    Examples
    --------
    >>> needs_all_rows("log(y) ~ x + I(x**2)"), needs_all_rows("y ~ bs(x, df=4)")
    (False, True)
    """
    return WHOLE.search(formula) is not None


def open_stream(
    formula: str,
    tables: Sequence[Table],
    *,
    binary: bool,
    weights: str | None = None,
    suppressed: Sequence[str] = (),
) -> Stream:
    """Return how the design of a formula is made of pieces of some datasets."""
    schema = tables[0].schema
    parsed, needed = read_formula(formula, schema.names)
    used = [*needed, *([weights] if weights is not None and weights not in needed else [])]
    if weights is not None and weights not in schema.names:
        raise ColumnError.missing("weights", [weights], schema.names)
    complete = [_complete(table, used, suppressed) for table in tables]
    for number, table in enumerate(complete, start=1):
        if not table.rows:
            msg = (
                f"dataset {number} has no rows for this model: in every row a value is missing or"
                " suppressed.\n\nHint: leave out the column with most missing values."
            )
            raise DataError(msg)
    examples = {name: _values(complete, name) for name in used}
    longest = max(len(values) for values in examples.values())
    rows = pa.table(
        {name: v.take(pa.array(np.arange(longest) % len(v))) for name, v in examples.items()}
    )
    import pandas as pd

    frame = pd.DataFrame({name: formula_column(rows.column(name), schema[name]) for name in used})
    levels = {
        name: pa.array(frame[name].cat.categories.tolist(), schema[name].type)
        for name in used
        if hasattr(frame[name], "cat")
    }
    left, right = matrices(parsed, frame)
    response, _ = response_of(left, formula, binary=binary)
    return Stream(
        formula,
        schema,
        tuple(used),
        levels,
        _specs(left, right),
        tuple(map(str, right.columns)),
        {term_name(term): tuple(at) for term, at in right.model_spec.term_indices.items()},
        response,
        binary,
        weights,
        tuple(suppressed),
    )


def _specs(left: Any, right: Any) -> Any:
    from formulaic import ModelSpecs

    return ModelSpecs(lhs=left.model_spec, rhs=right.model_spec)


def _complete(table: Table, used: Sequence[str], suppressed: Sequence[str]) -> Table:
    """Return the columns of a model in the rows that have them all, as a query."""
    chosen = table.select(list(used))
    rows = chosen.expression
    for i, name in enumerate(used):
        kept = rows[f"c{i}"].notnull()  # noqa: PD004  # of Ibis
        if name in suppressed and pa.types.is_string(table.schema[name].type):
            kept &= rows[f"c{i}"] != TOP
        rows = rows.filter(kept)
    return replace(chosen, data=rows, whole=None, stored=None)


def _values(tables: Sequence[Table], name: str) -> pa.Array:
    """Return every value of a column of categories or few whole numbers, and the ends of others."""
    about = tables[0].schema[name]
    few = about.kind in LABELLED or (
        about.kind == "integer" and not any(many_valued(table, [name]) for table in tables)
    )
    if not few:
        return pa.concat_arrays([_ends(table, name) for table in tables])
    found = [count_sets(table, [(name,)])[name,].columns[0].to_arrow() for table in tables]
    values = pa.chunked_array(found, about.type).unique()
    if len(values) > MOST_LEVELS and about.kind in LABELLED:
        msg = (
            f"{name!r} has {len(values):,} categories, each of which would be a term of the"
            " model.\n\nHint: leave it out of the formula, or merge categories."
        )
        raise PlanError(msg)
    return values


def _ends(table: Table, name: str) -> pa.Array:
    column = table.expression[f"c{table.schema.position(name)}"]
    with without_values(table.source.name):
        row = fetch(table.expression.aggregate(low=column.min(), high=column.max()))
    type_ = table.schema[name].type
    return pa.concat_arrays([row.column(i).combine_chunks().cast(type_) for i in (0, 1)])
