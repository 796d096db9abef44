"""Swapping: each value is exchanged with one of nearby rank, or of a similar person."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.arrays import Ints
from veladura.base.checks import check_columns, is_number
from veladura.base.context import Context
from veladura.core.gates import MASKED, NO_OWN_EXTREMES
from veladura.core.linking import ROW_BY_ROW
from veladura.core.moved_numbers import people_of
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import PlanError, VeladuraWarning
from veladura.methods.masks.law import MIN_PEOPLE, check_min_people, law_of, moved
from veladura.methods.masks.number_codes import find_codes
from veladura.methods.masks.swap_claims import CHECKS, group_numbers, ranks_within
from veladura.numeric.trees.law import NumberLaw
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


@dataclass(frozen=True, kw_only=True)
class Swap(Recipe):
    """Rank swapping: the values of a column are exchanged between people (rows) of nearby rank.

    The distribution of each column stays the same. Missing values stay where they are. With
    ``within`` values are exchanged between similar people only (data swapping with match keys), and
    then categories can be swapped too, at random: the neighbourhood of people of the same age and
    sex, for instance.

    A swapped number of one person would come out as it is, in another row. So numbers and dates
    that fewer than ``min_people`` people share are moved by their own isolation (the law of the
    leaf, as in `Cart`) and exchanged by rank: ranks are those of the source. Values that more
    people share come out as often as before, and once more where a moved number lands on one.

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
        these keys and one swapped column stay the same, but for moved numbers. Who is alone with
        the keys keeps the value, or the moved one.
    min_people
        Numbers and dates that fewer people share are moved; with 0 none is, and every value comes
        out in another row. Codes written as numbers and ordered categories never move.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"x": range(100)})
    >>> plain = vd.Swap(columns=["x"], window=0.1, min_people=0)
    >>> released = plain.protect(table, seed=1).datasets[0]["x"]
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
    linked_tables = ROW_BY_ROW
    by_row = True
    decisive = ("window",)
    sentence = (
        "Swapping: values were exchanged between people (rows) of nearby rank, or who agree in the"
        " match keys. Most released values belong to another person; numbers that few people share"
        " were moved at random besides."
    )
    caution = (
        "rank swapping moved values to other rows; relations with other columns are weakened,"
        " slopes shrink towards 0"
    )
    checks = CHECKS
    gate = MASKED
    firm_gate = NO_OWN_EXTREMES

    columns: Sequence[str]
    window: float = 0.05
    within: Sequence[str] = ()
    min_people: int = MIN_PEOPLE

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
        check_min_people(self.min_people)

    def apply(self, table: Table, context: Context) -> FittedSwap:  # noqa: ARG002
        """Look at the columns: which of their numbers move, and who may swap with whom."""
        hint = "use Pram for categories, or name match keys: within=[...]."
        kinds = (*RANKED, "category") if self.within else RANKED
        check_kinds(table.schema, self.columns, kinds, hint)
        table.schema.check("within", self.within)
        codes = table.codes([*self.columns, *self.within])
        refuse_constant(constant_columns(table.codes(self.columns)), "have nothing to swap")
        groups = group_numbers([codes[name] for name in self.within], codes.rows.size)
        _warn_of_alone(groups, self.within)
        people = people_of(table)
        people = None if people is None else people[codes.rows]
        coded = find_codes(table, codes, self.columns)
        laws = {
            name: law_of(codes[name], people, 0 if name in coded else self.min_people)
            for name in self.columns
        }
        return FittedSwap(self, table, codes, groups, laws)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises: the values of the source, those of few people moved, none far."""
        columns, few = settings["columns"], settings.get("moved_numbers_in", ())
        within = {"within": list(settings["within"])} if settings.get("within") else {}
        promises = []
        if still := [name for name in columns if name not in few]:
            promises.append(Promise("same-values", "source", {"columns": still, **within}))
        if few:
            people = {"columns": list(few), "people": settings["min_people"]}
            promises.append(Promise("shared-values", "source", {**people, **within}))
            promises.append(Promise("moved-numbers", "source", people))
        if ranked := list(settings.get("ranked", columns)):
            near = {"columns": ranked, "window": settings["window"], **within}
            if few:
                near["moved"] = list(few)
            promises.append(Promise("rank-window", "source", near))
        return tuple(promises)

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
    """The columns, ready to be swapped, the group of each row, and how numbers move."""

    groups: Ints
    laws: Mapping[str, NumberLaw | None]

    def draw(self, context: Context) -> Drawn:
        """Swap each column by its own stream."""
        recipe = self.recipe
        columns = {name: self._swapped(context, name) for name in recipe.columns}
        settings = recipe.settings()
        ranked = [name for name in recipe.columns if self.codes[name].field.kind in RANKED]
        if recipe.within:
            settings |= {"ranked": ranked}
        else:
            settings.pop("within", None)
        if few := [name for name, law in self.laws.items() if law is not None]:
            settings |= {"moved_numbers_in": few}
        return Drawn(
            datasets=[Draw(columns)],
            changed=recipe.columns,
            settings=settings,
            promises=recipe.implied(settings, None),
        )

    def _swapped(self, context: Context, name: str) -> Column:
        """Return a column with its values moved and swapped."""
        column, law = self.codes[name], self.laws[name]
        fresh = column.values
        if law is not None:
            numbers = moved(law, column, context.streams("swap", name, "law"))
            fresh = column.rounded(numbers).values
        rng = context.streams("swap", name)
        return _swapped(rng, column, fresh, self.recipe.window, self.groups)


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


def _swapped(
    rng: Generator, column: Column, fresh: NDArray[Any], window: float, groups: Ints
) -> Column:
    """Return a column with its values swapped. Ties are ranked by chance, not by another column.

    Parameters
    ----------
    fresh
        The values after some were moved: within a group each rank takes the one of that rank.
    """
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
    values, ordered = column.values.copy(), fresh[ranked]
    if fresh is not column.values:
        ordered = ordered[np.lexsort((ordered, groups[ranked]))]
    values[ranked] = ordered[partner]
    return column.with_values(values)
