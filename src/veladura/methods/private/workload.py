"""The workload: which tables a private release must keep well, and which cells are impossible."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Mask
from veladura.base.expression import Expression, literals, parse
from veladura.errors import ColumnError, PlanError, VeladuraWarning
from veladura.methods.private.domain import MOST_CELLS, Domain, Zero
from veladura.methods.private.numbers import listed
from veladura.numeric.graphical.junction import Columns, model_megabytes
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_TABLE = 20_000  # cells of a table that gets noise
MOST_NAMED = 8  # pairs that a warning names


def check_workload(
    columns: Sequence[str],
    workload: Sequence[Sequence[str]] | None,
    weights: Sequence[float] | None,
) -> None:
    """Refuse a workload that names unknown or repeated columns, and weights that do not fit it."""
    if workload is None:
        if weights is not None:
            msg = "weights were given without a workload.\n\nHint: one weight for each table of it."
            raise PlanError(msg)
        return
    if isinstance(workload, str) or not isinstance(workload, Sequence) or not workload:
        msg = 'workload must be a list of tables.\n\nHint: workload=[["age", "sex"], ...].'
        raise PlanError(msg)
    for table in workload:
        if not table or not listed(table, str):
            msg = (
                "every table of the workload must be a list of columns.\n\nHint:"
                ' workload=[["age", "sex"], ["age", "income"]].'
            )
            raise PlanError(msg)
        if unknown := [name for name in table if name not in columns]:
            setting = "workload"
            raise ColumnError.missing(setting, unknown, list(columns))
        if len(set(table)) < len(table):
            msg = f"a table of the workload names a column twice: {list(table)}."
            raise PlanError(msg)
    if weights is None:
        return
    if (
        not listed(weights, float)
        or len(weights) != len(workload)
        or not all(0 < weight < math.inf for weight in weights)
    ):
        msg = (
            f"weights must be {len(workload)} numbers above 0, one for each table of the workload."
        )
        raise PlanError(msg)


def compiled(
    domain: Domain,
    workload: Sequence[Sequence[str]] | None,
    weights: Sequence[float] | None,
) -> dict[Columns, float]:
    """Return the tables of the workload by the positions of their columns, with weights.

    Without a workload, all pairs of columns of at most 20,000 cells.
    """
    place = {name: i for i, name in enumerate(domain.names)}
    if workload is None:
        pairs = combinations(range(len(place)), 2)
        return {pair: 1.0 for pair in pairs if cells_of(domain, pair) <= MOST_TABLE}
    result: dict[Columns, float] = {}
    for number, names in enumerate(workload):
        columns = tuple(sorted(place[name] for name in names))
        if (cells := cells_of(domain, columns)) > MOST_TABLE:
            msg = (
                f"the table of {list(names)} has {cells:,} cells, more than {MOST_TABLE:,}: noise"
                " would bury it.\n\nHint: take a column out of it, or recode its columns into"
                " fewer values."
            )
            raise PlanError(msg)
        result[columns] = result.get(columns, 0.0) + (1.0 if weights is None else weights[number])
    return result


def cells_of(domain: Domain, columns: Columns) -> int:
    """Return the number of cells of a table."""
    return math.prod(domain.shape[column] for column in columns)


def check_size(
    domain: Domain, megabytes: float, workload: Sequence[Sequence[str]] | None = None
) -> None:
    """Refuse columns, structural zeros and named tables that need a larger model than declared."""
    if large := [
        name for name, k in zip(domain.names, domain.shape, strict=True) if k > MOST_TABLE
    ]:
        msg = (
            f"columns of more than {MOST_TABLE:,} declared values: {large}.\n\nHint: recode them"
            " into groups first."
        )
        raise PlanError(msg)
    needed = _megabytes(domain)
    if needed > megabytes:
        msg = (
            f"the columns and their structural zeros need a model of {needed:,.1f} megabytes, and"
            f" model_size allows {megabytes:g}.\n\nHint: raise model_size, recode columns into"
            " fewer values, or use rules between fewer columns."
        )
        raise PlanError(msg)
    for names in workload or ():
        needed = _megabytes(domain, tuple(domain.names.index(name) for name in names))
        if needed > megabytes:
            msg = (
                f"the table of {list(names)}, which the workload names, needs a model of"
                f" {needed:,.1f} megabytes, and model_size allows {megabytes:g}: it could never be"
                " measured.\n\nHint: raise model_size, take a column out of the table, or recode"
                " its columns into fewer values."
            )
            raise PlanError(msg)


def _megabytes(domain: Domain, *tables: Columns) -> float:
    """Return the size of the least model: columns, structural zeros, and some tables."""
    singles = [(column,) for column in range(len(domain.shape))]
    zeros = [tuple(sorted(domain.names.index(name) for name in zero)) for zero in domain.zeros]
    return model_megabytes(domain.shape, [*singles, *zeros, *tables])


def crowded(domain: Domain, megabytes: float, workload: Sequence[Sequence[str]]) -> str:
    """Say that named tables do not fit into one model together; nothing where they do.

    Each fits alone, and which are measured is a private choice: declared values alone decide what
    is said, so it tells nothing about the data.
    """
    tables = [tuple(sorted(domain.names.index(name) for name in names)) for names in workload]
    needed = _megabytes(domain, *tables)
    if needed <= megabytes:
        return ""
    return (
        f"the {len(tables)} tables of the workload need a model of {needed:,.1f} megabytes"
        f" together, and model_size allows {megabytes:g}: some of them will not be measured; the"
        " manifest lists those that were.\n\nHint: raise model_size, name fewer tables, take a"
        " column out of a table, or recode columns into fewer values."
    )


def warn_of_dropped(
    domain: Domain, megabytes: float, workload: Sequence[Sequence[str]] | None = None
) -> None:
    """Name the pairs that are never measured, or say that a named workload does not fit.

    Declared values alone decide it: the warning tells nothing about the data.
    """
    if workload is not None:
        if words := crowded(domain, megabytes, workload):
            warnings.warn(words, VeladuraWarning, stacklevel=2)
        return
    dropped = [
        f"{domain.names[a]} x {domain.names[b]} ({cells_of(domain, (a, b)):,} cells)"
        for a, b in combinations(range(len(domain.shape)), 2)
        if cells_of(domain, (a, b)) > MOST_TABLE or _megabytes(domain, (a, b)) > megabytes
    ]
    if not dropped:
        return
    more = f" and {len(dropped) - MOST_NAMED} more" if len(dropped) > MOST_NAMED else ""
    warnings.warn(
        f"pairs of columns that are too large to be measured: {', '.join(dropped[:MOST_NAMED])}"
        f"{more}. In the release these columns are related only through others.\n\nHint: recode"
        f" them into fewer values (at most {MOST_TABLE:,} cells a pair), raise model_size, or"
        " declare a workload without them.",
        VeladuraWarning,
        stacklevel=2,
    )


def rule_zeros(table: Table, domain: Domain, rules: Sequence[str]) -> list[Zero]:
    """Return the combinations of declared values that rules between columns exclude."""
    zeros: list[Zero] = []
    for text in rules:
        rule = parse(text)
        names = [name for name in domain.names if name in rule.columns]
        if absent := [name for name in rule.columns if name not in domain.names]:
            setting = "rules"
            raise ColumnError.missing(setting, absent, list(domain.names))
        part = Domain(
            {name: domain.values[name] for name in names},
            tuple(name for name in domain.missing if name in names),
            edges={name: domain.edges[name] for name in names if name in domain.edges},
        )
        if part.cells > MOST_CELLS:
            msg = (
                f"the columns of the rule {text!r} have {part.cells:,} combinations, more than"
                f" {MOST_CELLS:,}.\n\nHint: write it as rules between fewer columns."
            )
            raise PlanError(msg)
        kept = _kept(table.select(names), part, rule)
        if not kept.any():
            msg = f"the rule {text!r} holds for no combination of the declared values."
            raise PlanError(msg)
        zeros += _listed_zeros(part, ~kept)
    return zeros


def _kept(table: Table, domain: Domain, rule: Expression) -> Mask:
    """Return which cells keep a rule; refuse one that parts a bin of numbers.

    Where all of a bin is on one side of every limit, it is enough to try some of its numbers: its
    ends, the limits in it, and one between any two of these.
    """
    codes = np.unravel_index(np.arange(domain.cells), domain.shape)
    if not domain.edges:
        return holds(rule, domain.columns_of(table, codes))
    limits = sorted(literals(rule))
    tried = {name: _tried(table, domain, name, limits) for name in domain.edges}
    some, every = np.zeros(domain.cells, dtype=bool), np.ones(domain.cells, dtype=bool)
    columns = domain.columns_of(table, codes)
    for places in product(*(range(len(values)) for values in tried.values())):
        moved = {
            name: columns[name].with_values(
                np.append(values[place], 0)[codes[domain.names.index(name)]]
            )
            for place, (name, values) in zip(places, tried.items(), strict=True)
        }
        now = holds(rule, {**columns, **moved})
        some, every = some | now, every & now
    if (some != every).any():
        msg = (
            f"the rule {rule.text!r} parts a bin of numbers: it holds for some of them"
            f" only.\n\nHint: give the inner edges of {list(domain.edges)} in bins, with the limits"
            " of the rule among them."
        )
        raise PlanError(msg)
    return every


def _tried(table: Table, domain: Domain, name: str, limits: Sequence[float]) -> Floats:
    """Return numbers of every bin (in columns) that tell on which side of limits it is."""
    whole = table.schema[name].kind == "integer"
    edges = np.asarray(domain.edges[name])
    rows = []
    for first, last in pairwise(edges.tolist()):
        top = last if last == edges[-1] else (last - 1 if whole else np.nextafter(last, -np.inf))
        ends = {first, top, *(limit for limit in limits if first <= limit <= top)}
        points = sorted(ends)
        points += [(a + b) / 2 for a, b in pairwise(points)]
        if whole:
            points = [p for p in (float(np.ceil(v)) for v in points) if first <= p <= top] or [top]
        rows.append(points)
    longest = max(map(len, rows))
    return np.array([points + points[:1] * (longest - len(points)) for points in rows]).T


def _listed_zeros(domain: Domain, never: object) -> list[Zero]:
    """Return impossible cells as structural zeros: values of the last column by the others."""
    table = np.asarray(never).reshape(-1, domain.shape[-1])
    *first, last = domain.names
    labels = [[*domain.values[name], *([None] * (name in domain.missing))] for name in domain.names]
    zeros: list[Mapping[str, Sequence[object]]] = []
    for row in np.flatnonzero(table.any(axis=1)).tolist():
        places = np.unravel_index(row, domain.shape[:-1]) if first else ()
        zero: dict[str, Sequence[object]] = {
            name: (labels[i][int(place)],)
            for i, (name, place) in enumerate(zip(first, places, strict=True))
        }
        zero[last] = tuple(labels[-1][i] for i in np.flatnonzero(table[row]).tolist())
        zeros.append(zero)
    return _merged(zeros)


def _merged(zeros: Sequence[Mapping[str, Sequence[object]]]) -> list[Zero]:
    """Return structural zeros, those that differ in the first column only put together."""
    groups: dict[tuple[object, ...], dict[str, Sequence[object]]] = {}
    for zero in zeros:
        first, *others = zero.items()
        key = (first[0], *others)
        if key in groups and others:
            groups[key][first[0]] = (*groups[key][first[0]], *first[1])
        else:
            groups[key if others else (len(groups), first)] = dict(zero)
    return list(groups.values())  # type: ignore[arg-type]
