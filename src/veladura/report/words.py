"""Numbers, names and proofs as sentences for people."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from veladura.base.limits import Limit
from veladura.measures.measure import Figure, Unit

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.core.rules import Rule

HOLDS_BY_SOURCE = (
    "Checked against the original when the release was made. Only the holder can repeat the check."
)
PROOFS = {
    (
        "holds",
        "package",
    ): "Checked on the released files. Anyone who has them can repeat the check.",
    ("holds", "source"): HOLDS_BY_SOURCE,
    ("attested", "source"): (
        "Attested by the holder, who checked it against the original when the release was made."
    ),
    ("attested", "package"): (
        "Stated by the holder. The released files do not contradict it, but no row shows how it was"
        " made: they cannot prove it."
    ),
    ("broken", "package"): "The released files break this promise.",
    ("broken", "source"): "The comparison with the original breaks this promise.",
}
SMALLEST = 0.001
UNCHECKED = "Not checked for this page."

COUNTED = ("people", "rows")  # shares of so many people, or of so many released rows
SHARES = ("share", *COUNTED)
KINDS = {
    "category": "categories",
    "ordered": "ordered categories",
    "integer": "whole numbers",
    "number": "numbers",
    "date": "dates",
    "text": "free text",
}


FOUND = {  # what a method found out, and tells beside its settings
    "moved_numbers_in": "Columns with numbers that few people shared: these were moved.",
    "rare_levels_merged_in": "Columns with categories that few people held: these people were given"
    " another category.",
}


def setting_meanings(recipe: type[Recipe] | None) -> dict[str, str]:
    """Return the first sentence on each setting of a method, from the docstring of its recipe.

    Examples
    --------
    >>> import veladura as vd
    >>> setting_meanings(vd.Noise)["scale"]
    'Standard deviation of the noise, as a share of that of each column.'
    """
    lines = inspect.cleandoc((recipe and recipe.__doc__) or "").splitlines()
    if "Parameters" not in lines:
        return {}
    meanings: dict[str, list[str]] = {}
    names: list[str] = []
    for line in lines[lines.index("Parameters") + 2 :]:
        if line.startswith("---") or not (line or names):
            break
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(":")[0].split(",")]
            meanings |= {name: [] for name in names}
        elif line:
            for name in names:
                meanings[name].append(line.strip())
    return {
        name: _first_sentence(" ".join(text).replace("`", ""))
        for name, text in meanings.items()
        if text
    }


def _first_sentence(text: str) -> str:
    return text if ". " not in text else f"{text.partition('. ')[0]}."


def enumerated(names: Sequence[str]) -> str:
    """Return names as a phrase.

    Examples
    --------
    >>> enumerated(["a", "b", "c"])
    'a, b and c'
    """
    return (
        names[0]
        if len(names) == 1
        else f"{', '.join(names[:-1])} and {names[-1]}"
        if names
        else "none"
    )


def number(value: float, unit: Unit = "number") -> str:
    """Return a figure as people write it; a share of people in per cent.

    Examples
    --------
    >>> number(0.1234, "share"), number(12345, "count"), number(0.00123)
    ('12.3 %', '12,345', '0.00123')
    """
    if not math.isfinite(value):
        return "unknown"
    if unit in SHARES:
        return f"{number(100 * value)} %"
    if unit == "count":
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    if abs(value) >= 1000:  # noqa: PLR2004
        return f"{value:,.0f}"
    return "under 0.001" if 0 < value < SMALLEST else f"{value:.3g}"


def figure(shown: Figure) -> str:
    """Return the value of a figure: the number of people first, where it is a share of people.

    Examples
    --------
    >>> from veladura.base.estimate import Estimate
    >>> figure(Figure("risk.x.y", "", "low", Estimate.exact(3 / 33600), unit="people", base=33600))
    '3 of 33,600 people (0.00893 %)'
    """
    estimate, unit, base = shown.estimate, shown.unit, shown.base
    if estimate is None:
        return "not applicable"
    share = number(estimate.value, unit)
    if unit not in COUNTED or not base or not math.isfinite(estimate.value):
        return share
    about = "" if estimate.is_exact else "about "
    return f"{about}{_whole(estimate.value * base)} of {base:,} {unit} ({share})"


def interval(shown: Figure) -> str:
    """Return the interval of a figure, as numbers of people where it is a share of them.

    Empty for a figure without uncertainty.
    """
    estimate, unit, base = shown.estimate, shown.unit, shown.base
    if estimate is None or estimate.is_exact:
        return ""
    if unit in COUNTED and base and math.isfinite(estimate.upper):
        return f"{_whole(estimate.lower * base)} to {_whole(estimate.upper * base)} {unit}"
    return f"{number(estimate.lower, unit)} to {number(estimate.upper, unit)}"


def _whole(count: float) -> str:
    """Return an expected number of people: at least 1 unless it is 0."""
    return "under 1" if 0 < count < 0.5 else f"{round(count):,}"  # noqa: PLR2004


def rule(used: Rule) -> str:
    """Return a combining rule with what it is for.

    Examples
    --------
    >>> from veladura.core.rules import AsReleased
    >>> rule(AsReleased())
    'none: one table, analysed as it is'
    """
    return f"{used.name}: {used.title.removeprefix('no combining rule: ')}"


def limit(given: Limit, unit: Unit = "number") -> str:
    """Return the limit of a figure as people write it.

    Examples
    --------
    >>> limit(Limit(max=0.2), "share")
    'at most 20 %'
    """
    ends = (("at least", given.min), ("at most", given.max))
    return " and ".join(f"{word} {number(end, unit)}" for word, end in ends if end is not None)


def capital(text: str) -> str:
    """Return a text as a sentence begins."""
    return text[:1].upper() + text[1:]


def plural(count: int, word: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def setting(value: object) -> str:
    """Return a setting as text: lists without brackets, tables as pairs.

    Examples
    --------
    >>> setting({"income": {"round": 1000, "date": None}, "groups": ["a", "b"]})
    'income (round: 1000); groups: a, b'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        given = {
            key: item
            for key, item in value.items()
            if item is not None and item not in ({}, [], ())
        }
        return "; ".join(
            f"{key} ({setting(item)})" if isinstance(item, Mapping) else f"{key}: {setting(item)}"
            for key, item in given.items()
        )
    if isinstance(value, (list, tuple)):
        return ", ".join(setting(item) for item in value)
    return "none" if value is None else str(value)


def term(meaning: str) -> str:
    """Return the field's term for a figure: what stands before its explanation.

    Examples
    --------
    >>> term("Marketer risk: expected share of released rows.")
    'Marketer risk'
    >>> term("Total variation distance of two-way tables (values spread evenly), mean over pairs.")
    'Total variation distance of two-way tables'
    """
    return meaning.partition(":")[0].partition(" (")[0].rstrip(".")
