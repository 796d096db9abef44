"""Sentences for people: what a method did, what a proof means, what may be concluded."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from veladura.base.limits import Limit
from veladura.measures.measure import Unit

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe

PROOFS = {
    ("holds", "package"): "Checked on the released files. Anyone who has them can check it again.",
    (
        "holds",
        "source",
    ): (
        "Checked against the original when the release was made. Only the holder can repeat this"
        " check."
    ),
    (
        "attested",
        "source",
    ): "Attested by the holder: it was checked against the original when the release was made.",
    ("broken", "package"): "The released files do not keep this promise.",
    ("broken", "source"): "Compared with the original, this promise is not kept.",
}
SMALLEST = 0.001
UNCHECKED = "Not checked for this page."

KINDS = {
    "category": "categories",
    "ordered": "ordered categories",
    "integer": "whole numbers",
    "number": "numbers",
    "date": "dates",
    "text": "free text",
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
    """Return a figure as people write it.

    Examples
    --------
    >>> number(0.1234, "share"), number(12345, "count"), number(0.00123)
    ('12.3 %', '12,345', '0.00123')
    """
    if not math.isfinite(value):
        return "not known"
    if unit == "share":
        return f"{number(100 * value)} %"
    if unit == "count":
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
    if abs(value) >= 1000:  # noqa: PLR2004
        return f"{value:,.0f}"
    return "under 0.001" if 0 < value < SMALLEST else f"{value:.3g}"


def limit(given: Limit, unit: Unit = "number") -> str:
    """Return what a figure may be, as people write it.

    Examples
    --------
    >>> limit(Limit(max=0.2), "share")
    'at most 20 %'
    """
    ends = (("at least", given.min), ("at most", given.max))
    return " and ".join(f"{word} {number(end, unit)}" for word, end in ends if end is not None)


def plural(count: int, word: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def setting(value: object) -> str:
    """Return a setting as text: lists without brackets, tables as pairs, what is not set left out.

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
