"""From a formula to one design matrix a dataset: the same columns, levels and knots in all of them."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.errors import ColumnError, DataError, PlanError
from veladura.numeric.hierarchies.bands import TOP, looks_banded, midpoint
from veladura.table.codes import label_text

if TYPE_CHECKING:
    import pandas as pd

    from veladura.table.schema import Field
    from veladura.table.table import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
_WORD = re.compile(
    r"(?<![\w.])([^\W\d]\w*)(?!\w|\s*[(.]|\s*=(?!=))"
)  # no function, no attribute, no keyword of a call
_SPARED = ("np", "pi", "e", "treatment", "Treatment", "Sum", "Poly", "Helmert", "Diff")
_BARE = re.compile(r"\[T?\.?(.*)\]$")


@dataclass(frozen=True, eq=False)
class Design:
    """What a model is fitted to: response, columns and weights of each dataset.

    Attributes
    ----------
    response
        What is modelled, as the formula or the event says it.
    names
        The columns, as the formula names them.
    terms
        Which columns each term of the formula has.
    columns
        The columns of the release that the formula uses.
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
    missing: int
    undefined: int
    starred: int

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of each dataset that are used."""
        return tuple(len(one) for one in self.y)


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
    arrow = pa.concat_tables([rows.select(used) for _, rows in tables])
    owner = np.repeat(np.arange(len(tables)), [rows.num_rows for _, rows in tables])
    known, starred = _known(arrow, suppressed)
    frame = _frame(arrow.filter(pa.array(known)), [schema[name] for name in used])
    owner = owner[known]
    _enough(owner, len(tables))
    left, right = _matrices(parsed, frame)
    sane = np.isfinite(left.to_numpy(dtype=float)).all(axis=1) & np.isfinite(
        right.to_numpy(dtype=float)
    ).all(axis=1)
    owner = owner[sane]
    _enough(owner, len(tables))
    response, y = _response(left, formula, binary=binary)
    x, load = (
        right.to_numpy(dtype=float)[sane],
        None if weights is None else _weights(frame[weights].to_numpy(dtype=float)[sane], weights),
    )
    parts = [np.flatnonzero(owner == i) for i in range(len(tables))]
    return Design(
        response,
        tuple(map(str, right.columns)),
        {_term(term): tuple(places) for term, places in right.model_spec.term_indices.items()},
        tuple(used),
        tuple(y[sane][part] for part in parts),
        tuple(x[part] for part in parts),
        None if load is None else tuple(load[part] for part in parts),
        int((~known).sum()) - starred,
        int((~sane).sum()),
        starred,
    )


def read_formula(formula: str, names: Sequence[str]) -> tuple[Any, list[str]]:
    """Return a parsed formula and the columns it names, in the order of the table."""
    from formulaic import Formula
    from formulaic.errors import FormulaicError

    try:
        parsed = Formula(formula)
        needed = _named(formula, names) | (
            {str(name) for name in parsed.required_variables} - set(_functions())
        )
    except (FormulaicError, SyntaxError, ValueError, TypeError):
        msg = (
            f"{formula!r} is no formula.\n\nHint: write response ~ term + term, as in 'log(income)"
            " ~ age + C(sex)'; odd names in backticks."
        )
        raise PlanError(msg) from None
    if not hasattr(parsed, "lhs") or not hasattr(parsed, "rhs"):
        msg = (
            f"{formula!r} has no response.\n\nHint: write response ~ term + term, as in"
            " 'log(income) ~ age + C(sex)'."
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
            ("log", "exp", "sqrt", "C", "I", "center", "scale", "poly", "bs", "cr", *_functions()),
        )
    if absent:
        raise ColumnError.missing("the formula", absent, list(names))
    return parsed, [name for name in names if name in needed]


def _named(formula: str, names: Sequence[str]) -> set[str]:
    """Return the names in a formula that stand for columns: formulaic does not list those inside its own transforms."""
    bare = _LITERAL.sub(" ", formula)
    quoted = set(re.findall(r"`([^`]+)`", bare))
    words = {
        found[1]
        for found in _WORD.finditer(re.sub(r"`[^`]+`", " ", bare))
        if not keyword.iskeyword(found[1])
    }
    return quoted | {word for word in words if word in names or word not in _SPARED}


def _functions() -> dict[str, Any]:
    """Return what a formula may call besides formulaic's own functions."""
    return {"midpoint": midpoint, "year": _year, "sqrt": np.sqrt, "number": midpoint}


def _year(dates: Any) -> Any:
    """Return dates as years with fractions."""
    found = dates.dt
    return found.year + (found.dayofyear - 1) / 365.25


def _known(arrow: pa.Table, suppressed: Sequence[str]) -> tuple[NDArray[np.bool_], int]:
    """Return the rows in which nothing is missing or suppressed, and how many only suppression takes."""
    import pyarrow.compute as pc

    known = np.ones(arrow.num_rows, dtype=bool)
    shown = known.copy()
    for name in arrow.column_names:
        column = arrow.column(name)
        known &= pc.is_valid(column).to_numpy()
        if name in suppressed and pa.types.is_string(column.type):
            stars = pc.fill_null(pc.equal(column, TOP), fill_value=False).to_numpy()
            if stars.all():
                msg = (
                    f"{name!r} was generalised to one value: it cannot be in a model.\n\nHint:"
                    " leave it out of the formula."
                )
                raise PlanError(msg)
            shown &= ~stars
    return known & shown, int((known & ~shown).sum())


def _frame(arrow: pa.Table, fields: Sequence[Field]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({one.name: _column(arrow.column(one.name), one) for one in fields})


def _column(column: pa.ChunkedArray, about: Field) -> Any:
    """Return a column as a formula takes it: categories with the levels that occur, numbers as numbers."""
    import pandas as pd

    if about.kind == "date":
        return pd.Series(column.cast(pa.timestamp("us")).to_pandas())
    if pa.types.is_integer(column.type) and about.kind == "integer":
        return (
            column.to_numpy()
        )  # nothing is missing here; C(column) then names its levels 1, 2 and not 1.0, 2.0
    if about.kind in ("integer", "number") and not pa.types.is_string(column.type):
        return column.cast(pa.float64(), safe=False).to_numpy()
    coded = column.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    levels = coded.dictionary.to_pylist()
    rank = {label: i for i, label in enumerate(about.order)}
    size = (
        midpoint(levels) if looks_banded(levels) else np.zeros(len(levels))
    )  # bands by size, not by their first digit
    order = sorted(
        range(len(levels)),
        key=lambda i: (rank.get(label_text(levels[i]), len(rank)), size[i], levels[i]),
    )
    place = np.empty(len(levels), dtype=np.int64)
    place[order] = np.arange(len(levels))
    return pd.Categorical.from_codes(
        place[coded.indices.to_numpy()], categories=pd.Index([levels[i] for i in order])
    )


def _matrices(parsed: Any, frame: pd.DataFrame) -> tuple[Any, Any]:
    from formulaic import model_matrix
    from formulaic.errors import FormulaicError

    try:
        with np.errstate(
            all="ignore"
        ):  # rows that a function is not defined for are counted and left out
            made = model_matrix(
                parsed, frame, context=_functions(), na_action="ignore", output="pandas"
            )
    except (FormulaicError, ValueError, TypeError, AttributeError, KeyError) as error:
        found = re.search(r"factor `([^`]*)`", str(error))
        told = f" at {found[1]!r}" if found else ""
        msg = (
            f"the formula cannot be evaluated{told}.\n\nHint: is a category taken for a number?"
            " midpoint(column) reads numbers and bands of text, year(column) dates."
        )
        raise PlanError(msg) from None
    return made.lhs, made.rhs


def _response(left: Any, formula: str, *, binary: bool) -> tuple[str, Floats]:
    """Return the name and the values of the response; of two levels the last is the event."""
    values, names = left.to_numpy(dtype=float), [str(name) for name in left.columns]
    if values.shape[1] == 1:
        name, y = names[0], values[:, 0]
        if binary and not set(np.unique(y[np.isfinite(y)])) <= {0.0, 1.0}:
            msg = (
                f"family binomial needs a response of two values, and {name!r} has others than 0"
                " and 1.\n\nHint: write I(column == value) ~ ..."
            )
            raise PlanError(msg)
        return name, y
    variable = formula.split("~", maxsplit=1)[0].strip()
    if not binary:
        msg = (
            f"the response {variable!r} is a category.\n\nHint: family='binomial' for two levels,"
            " midpoint(column) for numbers or bands in text."
        )
        raise PlanError(msg)
    if len(names) != 2:  # noqa: PLR2004
        msg = (
            f"family binomial needs a response of two values, and {variable!r} has"
            f" {len(names)}.\n\nHint: write I(column == value) ~ ..."
        )
        raise PlanError(msg)
    event = _BARE.search(names[-1])
    return f"{variable} = {event[1] if event else names[-1]}", values[:, 1]


def _weights(load: Floats, name: str) -> Floats:
    if not np.isfinite(load).all() or (load < 0).any() or not load.any():
        msg = f"weights {name!r} must be numbers that are not negative, and not all of them 0."
        raise DataError(msg)
    return load


def _enough(owner: Ints, datasets: int) -> None:
    if empty := [i + 1 for i in range(datasets) if not (owner == i).any()]:
        msg = (
            f"no row is left in datasets {empty}: in each row a column of the formula is missing,"
            " suppressed or not defined."
        )
        raise DataError(msg)


def _term(term: Any) -> str:
    return "Intercept" if str(term) == "1" else str(term)
