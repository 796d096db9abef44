"""Swapping: each value is exchanged with one of nearby rank, or of a similar person."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base import shapes
from veladura.base.arrays import Ints
from veladura.base.checks import check_columns, is_number
from veladura.base.context import Context
from veladura.core.gates import MASKED
from veladura.core.promise import Check, Evidence, Promise, listed, source_column
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import PlanError, VeladuraWarning
from veladura.table.codes import label_texts
from veladura.table.schema import NUMERIC, WEIGHTS, check_kinds
from veladura.table.variation import constant_columns, refuse_constant

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


class SwapWarning(VeladuraWarning):
    """Some people have nobody to swap with."""


RANKED = (*NUMERIC, "ordered", "date")


def foreign_values(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the values more frequent in the release than in the source, or turned missing."""
    foreign = 0
    groups, here = _groups(evidence, settings)
    for name in settings["columns"]:
        source, old, new = _comparable(evidence, name)
        foreign += int(np.count_nonzero((old < 0) != (new < 0)))
        wide = source.size + new.size + 1
        both = np.concatenate([groups * wide + source, here * wide + new])
        held = np.concatenate([source, new]) >= 0
        cells, place = np.unique(both, return_inverse=True)
        sign = np.repeat([-1, 1], [source.size, new.size])
        surplus = np.bincount(place.reshape(-1)[held], sign[held], cells.size)
        foreign += int(np.clip(surplus, 0, None).sum())
    return foreign


def carried_too_far(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the values outside the window of their row's rank, however ties are broken."""
    far = 0
    groups, here = _groups(evidence, settings)
    for name in settings["columns"]:
        source, old, new = _comparable(evidence, name)
        for group in np.unique(groups):
            mine = here == group
            far += _too_far(source[groups == group], old[mine], new[mine], settings["window"])
    return far


def _too_far(source: Ints, old: Ints, new: Ints, window: float) -> int:
    """Return how many values of one group are outside the window."""
    size, present = int(np.count_nonzero(source >= 0)), (old >= 0) & (new >= 0)
    if np.count_nonzero(present) == size:
        moves = rank_moves(old[present], new[present])
    else:
        moves = _least_moves(source[source >= 0], old[present], new[present])
    return int(np.count_nonzero(moves > ranks_within(window, size)))


def _groups(evidence: Evidence, settings: Mapping[str, Any]) -> tuple[Ints, Ints]:
    """Return the group of similar people of each row of the source, and of its released rows."""
    names = settings.get("within", [])
    first = source_column(evidence, settings["columns"][0])
    columns = [source_column(evidence, name) for name in names]
    groups = group_numbers(columns, first.size)
    return groups, groups[evidence.rows]


def group_numbers(columns: Sequence[Column], rows: int) -> Ints:
    """Return the number of the combination of values that each row has; missing is a value."""
    groups = np.zeros(rows, dtype=np.int64)
    for column in columns:
        _, code = np.unique(column.key(), return_inverse=True)
        both = groups * (int(code.max(initial=0)) + 2) + np.where(
            column.missing, int(code.max(initial=0)) + 1, code.reshape(-1)
        )
        groups = np.unique(both, return_inverse=True)[1].reshape(-1)
    return groups


def _same_values(settings: Mapping[str, Any]) -> str:
    return (
        f"{_kind(settings)}: the values of {listed(settings)} are those of the source, in other"
        f" rows{_among(settings)}."
    )


def _rank_window(settings: Mapping[str, Any]) -> str:
    return (
        f"Rank swapping: no value of {listed(settings)} moved by more than"
        f" {100 * settings['window']:g} % of the ranks{_among(settings)}."
    )


def _kind(settings: Mapping[str, Any]) -> str:
    return "Swapping" if settings.get("within") else "Rank swapping"


def _among(settings: Mapping[str, Any]) -> str:
    names = settings.get("within")
    return f" of people with the same {', '.join(names)}" if names else ""


SAME_VALUES = Check(
    foreign_values,
    _same_values,
    shapes.table({"columns": shapes.names}, {"within": shapes.names}),
)
RANK_WINDOW = Check(
    carried_too_far,
    _rank_window,
    shapes.table(
        {"columns": shapes.names, "window": shapes.number(0, 1, above=True)},
        {"within": shapes.names},
    ),
)


@dataclass(frozen=True, kw_only=True)
class Swap(Recipe):
    """Rank swapping: the values of a column are exchanged between people (rows) of nearby rank.

    The distribution of each column stays exactly the same. Missing values stay where they are. With
    ``within`` values are exchanged between similar people only (data swapping with match keys), and
    then categories can be swapped too, at random: the neighbourhood of people of the same age and
    sex, for instance.

    Parameters
    ----------
    columns
        The columns to mask: numbers, dates, ordered categories; with ``within`` also categories
        without an order. Each is swapped by itself.
    window
        The largest difference of the two ranks, as a share of the values of the column (within a
        group of similar people); at least one rank. A wider window protects more and keeps less of
        the relation to other columns.
    within
        Match keys: columns in which two people must agree to exchange their values. Tables with
        these keys and one swapped column stay exactly the same. Who is alone with the keys keeps
        the value.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"x": range(100)})
    >>> released = vd.Swap(columns=["x"], window=0.1).protect(table, seed=1).datasets[0]["x"]
    >>> sorted(released) == list(range(100)), bool((released - table["x"]).abs().max() <= 10)
    (True, True)

    References
    ----------
    Moore, R. A. (1996). Controlled data-swapping techniques for masking public use microdata
    sets. US Bureau of the Census, Statistical Research Division, RR 96/04.
    Dalenius, T. and Reiss, S. P. (1982). Data-swapping: a technique for disclosure control. Journal
    of Statistical Planning and Inference 6(1), 73-85.
    """

    method = "swap"
    decisive = ("window",)
    sentence = (
        "Swapping: values were exchanged between people (rows) of nearby rank, or who agree in the"
        " match keys. The values are true, but most of them belong to another person."
    )
    caution = (
        "rank swapping moved values to other rows; relations with other columns are weakened,"
        " slopes shrink towards 0"
    )
    checks = {"same-values": SAME_VALUES, "rank-window": RANK_WINDOW}
    gate = MASKED

    columns: Sequence[str]
    window: float = 0.05
    within: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the number, date or ordered columns to swap")
        if not is_number(self.window) or not 0 < self.window <= 1:
            msg = (
                f"window ({self.window}) must be above 0 and at most 1: it is a share of the ranks."
            )
            raise PlanError(msg)
        if isinstance(self.within, str) or len(set(self.within)) < len(self.within):
            msg = (
                'within must be a list of different columns.\n\nHint: write within=["age", "sex"].'
            )
            raise PlanError(msg)
        if both := sorted({*self.columns} & {*self.within}):
            msg = f"columns both swapped and in within: {both}.\n\nHint: leave them out of one."
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedSwap:  # noqa: ARG002
        """Look at the columns; swapping has nothing to learn."""
        hint = "use Pram for categories, or name match keys: within=[...]."
        kinds = (*RANKED, "category") if self.within else RANKED
        check_kinds(table.schema, self.columns, kinds, hint)
        table.schema.check("within", self.within)
        codes = table.codes([*self.columns, *self.within])
        refuse_constant(constant_columns(table.codes(self.columns)), "have nothing to swap")
        groups = group_numbers([codes[name] for name in self.within], codes.rows.size)
        _warn_of_alone(groups, self.within)
        return FittedSwap(self, table, codes, groups)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises: the same values as in the source, none of them moved far."""
        columns, window = settings["columns"], settings["window"]
        within = {"within": list(settings["within"])} if settings.get("within") else {}
        ranked = settings.get("ranked", columns)
        same = Promise("same-values", "source", {"columns": columns, **within})
        if not ranked:
            return (same,)
        near = Promise("rank-window", "source", {"columns": ranked, "window": window, **within})
        return same, near

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Swap:
        """Suggest every column with ranks that varies, except weights."""
        names = [
            f.name
            for f in schema
            if f.kind in RANKED and f.role not in WEIGHTS and facts[f.name].distinct > 1
        ]
        if not names:
            msg = (
                "the table has no number, date or ordered column with more than one value: there is"
                " nothing to swap."
            )
            raise PlanError(msg)
        return cls(columns=tuple(names))


@dataclass(frozen=True, eq=False, repr=False)
class FittedSwap(Fitted[Swap]):
    """The columns, ready to be swapped, and the group of similar people of each row."""

    groups: Ints

    def draw(self, context: Context) -> Drawn:
        """Swap each column by its own stream."""
        recipe = self.recipe
        columns = {
            name: _swapped(
                context.streams("swap", name), self.codes[name], recipe.window, self.groups
            )
            for name in recipe.columns
        }
        settings = recipe.settings()
        ranked = [name for name in recipe.columns if self.codes[name].field.kind in RANKED]
        if recipe.within:
            settings |= {"ranked": ranked}
        else:
            settings.pop("within", None)
        return Drawn(
            datasets=[Draw(columns)],
            changed=recipe.columns,
            settings=settings,
            promises=recipe.implied(settings, None),
        )


def _warn_of_alone(groups: Ints, within: Sequence[str]) -> None:
    """Warn of people who are alone with their match keys: nobody can swap with them."""
    alone = int(np.count_nonzero(np.bincount(groups) == 1)) if groups.size else 0
    if within and alone:
        warnings.warn(
            f"{alone} people (rows) are alone with their {', '.join(within)}: they keep their"
            " values.\n\nHint: recode the match keys into wider groups first.",
            SwapWarning,
            stacklevel=4,
        )


def ranks_within(window: float, size: int) -> int:
    """Return the window in ranks, rounded down safely against 4.999999; never less than one.

    Examples
    --------
    >>> ranks_within(0.07, 100), ranks_within(0.01, 10)
    (7, 1)
    """
    return max(1, math.floor(window * size + 1e-9))


def _swapped(rng: Generator, column: Column, window: float, groups: Ints) -> Column:
    """Return a column with its values swapped. Ties are ranked by chance, not by another column."""
    from veladura.methods.masks.kernels import swap_partners

    rows = rng.permutation(np.flatnonzero(~column.missing))
    has_ranks = column.field.kind in RANKED
    order = (column.values[rows], groups[rows]) if has_ranks else (groups[rows],)
    ranked = rows[np.lexsort(order)]  # by group, then by value or in random order
    uniforms = rng.random(ranked.size)
    partner = np.arange(ranked.size)
    starts = np.flatnonzero(np.diff(groups[ranked], prepend=-1))
    for start, end in pairwise([*starts.tolist(), ranked.size]):
        far = ranks_within(window, end - start) if has_ranks else end - start
        partner[start:end] = start + swap_partners(uniforms[start:end], far)
    values = column.values.copy()
    values[ranked] = column.values[ranked[partner]]
    return column.with_values(values)


def rank_moves(old: Ints, new: Ints) -> Ints:
    """Return how far each row moved, under the ranks that make the longest move shortest.

    Rows of one old value take its ranks in the order of their new values, and the other way
    round. Sorting both sides never lengthens the longest move, so if any ranks keep within a
    window, these do.

    Examples
    --------
    >>> rank_moves(np.array([0, 0, 1]), np.array([1, 0, 0])).tolist()
    [1, 0, 1]
    """
    before, after = np.empty(old.size, dtype=np.int64), np.empty(old.size, dtype=np.int64)
    before[np.lexsort((new, old))] = np.arange(old.size)
    after[np.lexsort((old, new))] = np.arange(old.size)
    moves: Ints = np.abs(before - after)
    return moves


def _least_moves(source: Ints, old: Ints, new: Ints) -> Ints:
    """Return the least move of each row by itself, for a release without some of the rows."""
    counts = np.bincount(source, minlength=int(max(source.max(), new.max(initial=0))) + 1)
    last = np.cumsum(counts) - 1
    first = last - counts + 1
    least: Ints = np.maximum(0, np.maximum(first[new] - last[old], first[old] - last[new]))
    return least


def _comparable(evidence: Evidence, name: str) -> tuple[Ints, Ints, Ints]:
    """Return ordered codes, -1 where missing: of the source, its released rows, and the release."""
    source, after = source_column(evidence, name), evidence.column(name)
    values = np.concatenate([_ordered_values(source, source), _ordered_values(after, source)])
    missing = np.concatenate([source.missing, after.missing])
    codes = np.where(missing, -1, np.unique(values, return_inverse=True)[1])
    return codes[: source.size], codes[: source.size][evidence.rows], codes[source.size :]


def _ordered_values(column: Column, source: Column) -> NDArray[Any]:
    """Return values that compare across tables: for labels, codes into those of the source."""
    if column.labels is None or source.labels is None:
        return column.values
    number = {label: code for code, label in enumerate(label_texts(source))}
    codes = [number.get(label, len(number)) for label in label_texts(column)] or [0]
    values: NDArray[Any] = np.array(codes, dtype=np.int64)[column.values]
    return values
