"""What a holder declares about numbers: bounds from public knowledge, bins, private cuts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veladura.base.expression import parse
from veladura.errors import PlanError
from veladura.table.schema import LABELLED, NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.schema import Schema

USUAL_BINS = 10
MOST_WHOLE = 2**53  # whole numbers up to here are exact as numbers with a point


def as_tuples(given: Any) -> Any:
    """Return a mapping with tuples for lists, which are what people type."""
    if not isinstance(given, Mapping):
        return given
    return {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}


def listed(given: object, kind: type) -> bool:
    """Return whether a setting is a list of texts, or of numbers where the kind is float.

    Examples
    --------
    >>> listed(["a"], str), listed("a", str), listed([1, 0.5], float), listed([True], float)
    (True, False, True, False)
    """
    kinds = (int, float) if kind is float else (kind,)
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and all(isinstance(v, kinds) and not isinstance(v, bool) for v in given)
    )


def check_list(setting: str, given: object, hint: str) -> None:
    """Refuse a setting that is no list."""
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence):
        msg = f"{setting} must be a list, got {type(given).__name__}.\n\nHint: {hint}."
        raise PlanError(msg)


def check_bounds(bounds: object) -> None:
    """Refuse bounds that are not given by column."""
    if not isinstance(bounds, Mapping):
        msg = (
            f"bounds must give each column of numbers its least and greatest value, got"
            f" {type(bounds).__name__}.\n\nHint: bounds={{'income': [0, 200000]}}."
        )
        raise PlanError(msg)


def bounds_of(name: str, bounds: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """Return the declared bounds of a column, or say what is wrong with them."""
    given = bounds.get(name)
    if given is None:
        msg = (
            f"bounds declares nothing for {name!r}: give the least and the greatest value that can"
            f" occur, from public knowledge.\n\nHint: bounds={{{name!r}: [0, 100]}}."
        )
        raise PlanError(msg)
    pair = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
    numbers = [v for v in pair if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(pair) != 2 or len(numbers) != 2 or not all(map(math.isfinite, numbers)):  # noqa: PLR2004
        msg = f"bounds of {name!r} must be two finite numbers."
        raise PlanError(msg)
    low, high = map(float, numbers)
    if low >= high:
        msg = f"bounds of {name!r} are reversed or equal: the first must be below the second."
        raise PlanError(msg)
    return low, high


def check(
    columns: Sequence[str],
    bounds: Mapping[str, Sequence[float]],
    bins: int | str | Mapping[str, Any],
    private_cuts: Sequence[str],
) -> None:
    """Refuse bounds, bins and private cuts that name other columns, or contradict each other."""
    if beyond := [name for name in bounds if name not in columns]:
        msg = f"bounds names columns that are not released: {beyond}."
        raise PlanError(msg)
    if isinstance(bins, Mapping) and (beyond := [name for name in bins if name not in bounds]):
        msg = f"bins names columns without bounds: {beyond}.\n\nHint: numbers need bounds too."
        raise PlanError(msg)
    check_bins(bins)
    if (
        isinstance(private_cuts, str)
        or not isinstance(private_cuts, Sequence)
        or any(name not in bounds for name in private_cuts)
    ):
        msg = (
            "private_cuts must be a list of columns that have bounds.\n\nHint: declare the least"
            " and the greatest value that can occur, from public knowledge."
        )
        raise PlanError(msg)
    if isinstance(bins, Mapping) and (
        both := [name for name in private_cuts if isinstance(bins.get(name), (list, tuple))]
    ):
        msg = f"{both} have declared inner edges and private cuts: leave one out."
        raise PlanError(msg)


def check_bins(bins: object) -> None:
    """Refuse a number of bins that is none, also where no column has bounds yet."""
    if isinstance(bins, (str, Mapping)):  # a word or columns: read with the bounds
        return
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        msg = (
            f"bins ({bins}) must be a whole number of at least 1, or give columns their"
            " bins.\n\nHint: bins=10, or bins={'age': [18, 65]}."
        )
        raise PlanError(msg)


def check_table(
    schema: Schema,
    columns: Sequence[str],
    edges: Mapping[str, Sequence[float]],
    private_cuts: Sequence[str],
) -> None:
    """Refuse columns that are neither categories nor numbers with bounds; no value decides it."""
    from veladura.methods.private.bins import check_whole

    categories = [name for name in columns if name not in edges]
    hint = "declare bounds for numbers; recode dates into groups first."
    check_kinds(schema, categories, (*LABELLED, "integer"), hint)
    check_kinds(schema, list(edges), NUMERIC, "bounds are for numbers.")
    for name, ends in edges.items():
        if schema[name].kind != "integer":
            continue
        if max(-ends[0], ends[-1]) > MOST_WHOLE:
            msg = (
                f"bounds of {name!r} reach beyond {MOST_WHOLE:,}, and the column has whole"
                " numbers.\n\nHint: numbers beyond the bounds are clipped; give closer ones."
            )
            raise PlanError(msg)
        if name not in private_cuts:
            check_whole(name, ends)


def check_rules(rules: Sequence[str]) -> None:
    """Refuse rules that are not a list of conditions."""
    if not listed(rules, str):
        msg = (
            "rules must be a list of conditions.\n\nHint:"
            ' rules=[\'age == "0-14" implies income == "none"\'].'
        )
        raise PlanError(msg)
    for rule in rules:
        parse(rule)


def refuse_private_rules(rules: Sequence[str], private_cuts: Sequence[str]) -> None:
    """Refuse rules about numbers whose cuts are private: they cannot be kept before they exist."""
    if both := sorted({name for rule in rules for name in parse(rule).columns} & {*private_cuts}):
        msg = (
            f"rules name {both}, whose cuts are chosen privately.\n\nHint: declare their inner"
            " edges in bins, with the limits of the rules among them."
        )
        raise PlanError(msg)
