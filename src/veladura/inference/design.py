"""Design matrices of a formula, one a dataset, with the same columns, levels and knots."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import ColumnError, DataError, PlanError
from veladura.inference.formula import check_formula
from veladura.inference.weight_columns import read_weights
from veladura.numeric.hierarchies.bands import TOP, looks_banded, midpoint
from veladura.table.codes import label_text

if TYPE_CHECKING:
    import pandas as pd

    from veladura.table.schema import Field
    from veladura.table.table import Table

MOST_COLUMNS, MOST_CELLS = 20_000, 250_000_000  # of a design matrix: two gigabytes
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
# A name that is no function, no attribute and no keyword of a call.
_WORD = re.compile(r"(?<![\w.])([^\W\d]\w*)(?!\w|\s*[(.]|\s*=(?!=))")
_SPARED = ("np", "pi", "e", "treatment", "Treatment", "Sum", "Poly", "Helmert", "Diff")
_FORMULAIC = ("log", "exp", "sqrt", "C", "I", "center", "scale", "poly", "bs", "cr")
_BARE = re.compile(r"\[T?\.?(.*)\]$")


@dataclass(frozen=True, eq=False)
class Design:
    """Response, columns and weights of each dataset, ready for a fit.

    Attributes
    ----------
    response
        The response, as the formula or the event names it.
    names
        The columns, as the formula names them.
    terms
        The columns of each term of the formula.
    columns
        The columns of the release that the formula uses.
    places
        Which rows of each dataset are used.
    rows
        Rows of each dataset that are used.
    missing, undefined, starred
        Rows left out: a value is missing, a function of it is not defined, or it was suppressed.
    """

    response: str
    names: tuple[str, ...]
    terms: Mapping[str, tuple[int, ...]]
    columns: tuple[str, ...]
    y: tuple[Floats, ...] = field(repr=False)
    x: tuple[Floats, ...] = field(repr=False)
    weights: tuple[Floats, ...] | None = field(repr=False)
    places: tuple[Ints, ...] = field(repr=False)
    missing: int
    undefined: int
    starred: int

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of each dataset that are used."""
        return tuple(len(response) for response in self.y)


def build_design(
    formula: str,
    tables: Sequence[tuple[Table, pa.Table]],
    *,
    binary: bool,
    weights: str | None = None,
    suppressed: Sequence[str] = (),
) -> Design:
    """Return the design of a formula for all datasets.

    The matrix is made once for the rows of all datasets together: levels of categories, centres and
    knots are then the same everywhere, and coefficients of different datasets mean the same.

    Parameters
    ----------
    tables
        Each dataset: its table for the schema, and its rows.
    binary
        Whether the response has two values, so that a category may be one: its last level is the
        event.
    weights
        A column of sampling weights.
    suppressed
        Columns in which ``*`` stands for a suppressed value.
    """
    schema = tables[0][0].schema
    parsed, needed = read_formula(formula, schema.names)
    used = [*needed, *([weights] if weights is not None and weights not in needed else [])]
    if weights is not None and weights not in schema.names:
        raise ColumnError.missing("weights", [weights], schema.names)
    if weights is not None:
        for _, rows in tables:
            read_weights(rows.column(weights), weights)
    arrow = pa.concat_tables([rows.select(used) for _, rows in tables])
    owner = np.repeat(np.arange(len(tables)), [rows.num_rows for _, rows in tables])
    place = np.concatenate([np.arange(rows.num_rows) for _, rows in tables])
    complete, starred = complete_rows(arrow, suppressed)
    frame = _frame(arrow.filter(pa.array(complete)), [schema[name] for name in used])
    owner, place = owner[complete], place[complete]
    _enough(owner, len(tables))
    left, right = matrices(parsed, frame)
    sane = np.isfinite(left.to_numpy(dtype=float)).all(axis=1) & np.isfinite(
        right.to_numpy(dtype=float)
    ).all(axis=1)
    owner, place = owner[sane], place[sane]
    _enough(owner, len(tables))
    response, y = response_of(left, formula, binary=binary)
    x, load = (
        right.to_numpy(dtype=float)[sane],
        None if weights is None else frame[weights].to_numpy(dtype=float)[sane],
    )
    parts = [np.flatnonzero(owner == i) for i in range(len(tables))]
    return Design(
        response,
        tuple(map(str, right.columns)),
        {term_name(term): tuple(places) for term, places in right.model_spec.term_indices.items()},
        tuple(used),
        tuple(y[sane][part] for part in parts),
        tuple(x[part] for part in parts),
        None if load is None else tuple(load[part] for part in parts),
        tuple(place[part] for part in parts),
        int((~complete).sum()) - starred,
        int((~sane).sum()),
        starred,
    )


def read_formula(formula: str, names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a parsed formula and the columns it names, in the order of the table."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    check_formula(formula)
    try:
        parsed = Formula(formula)
        needed = _named(formula, names) | (
            {str(name) for name in parsed.required_variables} - set(formula_functions())
        )
    except (FormulaicError, SyntaxError, ValueError, TypeError):
        msg = (
            f"{formula!r} is not a valid formula.\n\nHint: write response ~ term + term, such as"
            " 'log(income) ~ age + C(sex)'; put names with spaces in backticks."
        )
        raise PlanError(msg) from None
    if not hasattr(parsed, "lhs") or not hasattr(parsed, "rhs"):
        msg = (
            f"{formula!r} has no response.\n\nHint: write response ~ term + term, such as"
            " 'log(income) ~ age + C(sex)'."
        )
        raise PlanError(msg)
    if isinstance(parsed.lhs, tuple) or isinstance(parsed.rhs, tuple) or not list(parsed.rhs):
        msg = (
            f"{formula!r} has no term, or several parts.\n\nHint: write response ~ term + term;"
            " response ~ 1 is a mean."
        )
        raise PlanError(msg)
    absent = sorted(needed - set(names))
    if calls := [
        name for name in absent if re.search(rf"(?<![\w.`]){re.escape(name)}\s*\(", formula)
    ]:
        what = "function"
        raise PlanError.unknown(
            what,
            calls[0],
            (
                "log",
                "exp",
                "sqrt",
                "C",
                "I",
                "center",
                "scale",
                "poly",
                "bs",
                "cr",
                *formula_functions(),
            ),
        )
    if absent:
        raise ColumnError.missing("the formula", absent, list(names))
    return parsed, [name for name in names if name in needed]


def _named(formula: str, names: Sequence[str]) -> set[str]:
    """Return the columns that a formula names, also those inside formulaic's own transforms."""
    bare = _LITERAL.sub(" ", formula)
    quoted = set(re.findall(r"`([^`]+)`", bare))
    words = {
        match[1]
        for match in _WORD.finditer(re.sub(r"`[^`]+`", " ", bare))
        if not keyword.iskeyword(match[1])
    }
    return quoted | {word for word in words if word in names or word not in _SPARED}


def formula_functions() -> dict[str, Any]:
    """Return the functions that a formula may call besides formulaic's own."""
    return {"midpoint": midpoint, "year": _year, "sqrt": np.sqrt, "number": midpoint}


def _year(dates: Any) -> Any:
    """Return dates as years with fractions."""
    parts = dates.dt
    return parts.year + (parts.dayofyear - 1) / 365.25


def complete_rows(arrow: pa.Table, suppressed: Sequence[str]) -> tuple[Mask, int]:
    """Return the rows without missing or suppressed values, and how many are only suppressed."""
    import pyarrow.compute as pc

    given = np.ones(arrow.num_rows, dtype=bool)
    shown = given.copy()
    for name in arrow.column_names:
        column = arrow.column(name)
        given &= pc.is_valid(column).to_numpy()
        if name in suppressed and pa.types.is_string(column.type):
            stars = pc.fill_null(pc.equal(column, TOP), fill_value=False).to_numpy()
            if stars.all():
                msg = (
                    f"{name!r} was generalised to a single value (*) and cannot be in a"
                    " model.\n\nHint: leave it out of the formula."
                )
                raise PlanError(msg)
            shown &= ~stars
    return given & shown, int((given & ~shown).sum())


def _frame(arrow: pa.Table, fields: Sequence[Field]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {field.name: formula_column(arrow.column(field.name), field) for field in fields}
    )


def formula_column(column: pa.ChunkedArray, about: Field) -> Any:
    """Return a column for a formula: categories with the levels that occur, or numbers."""
    import pandas as pd

    if about.kind == "date":
        return pd.Series(column.cast(pa.timestamp("us")).to_pandas())
    if pa.types.is_integer(column.type) and about.kind == "integer":
        return column.to_numpy()  # nothing is missing: C(column) has levels 1, 2 and not 1.0, 2.0
    if about.kind in ("integer", "number") and not pa.types.is_string(column.type):
        return column.cast(pa.float64(), safe=False).to_numpy()
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    levels = coded.dictionary.to_pylist()
    rank = {label: i for i, label in enumerate(about.order)}
    # bands are ordered by size, not by their first digit
    size = midpoint(levels) if looks_banded(levels) else np.zeros(len(levels))
    order = sorted(
        range(len(levels)),
        key=lambda i: (rank.get(label_text(levels[i]), len(rank)), size[i], levels[i]),
    )
    place = np.empty(len(levels), dtype=np.int64)
    place[order] = np.arange(len(levels))
    return pd.Categorical.from_codes(
        place[coded.indices.to_numpy()], categories=pd.Index([levels[i] for i in order])
    )


def matrices(parsed: Any, frame: pd.DataFrame) -> tuple[Any, Any]:
    """Return the matrices of the two sides of a formula."""
    from formulaic import model_matrix
    from formulaic.errors import FormulaicError

    _refuse_wide(parsed, frame)
    try:
        with np.errstate(all="ignore"):  # rows without a defined value are counted and left out
            made = model_matrix(
                parsed, frame, context=formula_functions(), na_action="ignore", output="pandas"
            )
    except (FormulaicError, ValueError, TypeError, AttributeError, KeyError) as error:
        match = re.search(r"factor `([^`]*)`", str(error))
        place = f" at {match[1]!r}" if match else ""
        msg = (
            f"the formula cannot be evaluated{place}.\n\nHint: is a category used as a number?"
            " midpoint(column) turns bands of text into numbers, year(column) dates."
        )
        raise PlanError(msg) from None
    return made.lhs, made.rhs


def _refuse_wide(parsed: Any, frame: pd.DataFrame) -> None:
    """Refuse a model whose matrix would not fit: categories that are crossed multiply."""
    for side in (parsed.lhs, parsed.rhs):
        wide = sum(
            math.prod(_width(str(factor), frame) for factor in term.factors) for term in side
        )
        if wide > MOST_COLUMNS or wide * len(frame) > MOST_CELLS:
            msg = (
                f"the model has about {wide:,} coefficients, too many for {len(frame):,}"
                " rows.\n\nHint: cross fewer categories, or use bands instead of C(...) of many"
                " values."
            )
            raise PlanError(msg)


def _width(factor: str, frame: pd.DataFrame) -> int:
    """Return how many columns a factor of a term has at most: the levels of a category."""
    if factor.startswith("C("):
        named = [name for name in frame if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", factor)]
    else:
        named = [name for name in (factor.strip("`"),) if name in frame]
        named = [name for name in named if frame[name].dtype == "category"]
    return max((int(frame[name].nunique()) for name in named), default=1)


def response_of(left: Any, formula: str, *, binary: bool) -> tuple[str, Floats]:
    """Return the name and the values of the response; of two levels the last is the event."""
    values, names = left.to_numpy(dtype=float), [str(name) for name in left.columns]
    if values.shape[1] == 1:
        name, y = names[0], values[:, 0]
        if binary and not set(np.unique(y[np.isfinite(y)])) <= {0.0, 1.0}:
            msg = (
                f"family binomial needs a response with two values, but {name!r} has values other"
                " than 0 and 1.\n\nHint: write I(column == value) ~ ..."
            )
            raise PlanError(msg)
        return name, y
    variable = formula.split("~", maxsplit=1)[0].strip()
    if not binary:
        msg = (
            f"the response {variable!r} is a category, and the family needs numbers.\n\nHint: use"
            " family='binomial' for two categories, midpoint(column) for bands of text."
        )
        raise PlanError(msg)
    if len(names) != 2:  # noqa: PLR2004
        msg = (
            f"family binomial needs a response with two values, but {variable!r} has"
            f" {len(names)}.\n\nHint: write I(column == value) ~ ..."
        )
        raise PlanError(msg)
    event = _BARE.search(names[-1])
    return f"{variable} = {event[1] if event else names[-1]}", values[:, 1]


def _enough(owner: Ints, datasets: int) -> None:
    if empty := [i + 1 for i in range(datasets) if not (owner == i).any()]:
        msg = (
            f"datasets {empty} have no rows for this model: in every row a value is missing,"
            " suppressed or not defined.\n\nHint: leave out the column with most missing values."
        )
        raise DataError(msg)


def term_name(term: Any) -> str:
    """Return a term as people write it."""
    return "Intercept" if str(term) == "1" else str(term)
