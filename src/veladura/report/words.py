"""Sentences for people: what a method did, what a proof means, what may be concluded."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from veladura.base.limits import Limit
from veladura.core import registry
from veladura.errors import PlanError
from veladura.measures.measure import Unit

# One sentence a method; a method without one is told by the first line of its own documentation.
METHODS = {
    "noise": (
        "Random noise was added to the numbers, so that a value need not be the true one. Means and"
        " relations are kept on average."
    ),
    "swap": (
        "Values were exchanged between rows of nearby rank. The values themselves are true, but"
        " need not stand in the row they came from."
    ),
    "microaggregation": (
        "Rows were put into small groups of similar ones, and each value was replaced by that of"
        " its group."
    ),
    "top-code": (
        "Values beyond a limit were replaced, so that the highest or lowest ones cannot be told"
        " apart."
    ),
    "recode": "Values were replaced by coarser or other ones, by a fixed rule.",
    "pram": (
        "Categories were changed at random with known probabilities, so that a category need not be"
        " the true one."
    ),
    "k-anonymity": (
        "Values were made coarser, and some rows left out, until every combination is shared by"
        " several rows."
    ),
    "cart": "Values were replaced by artificial ones, drawn from a model of the original table.",
    "critical-cart": (
        "Critical values were replaced by artificial ones, drawn from a model of the original"
        " table. The other values are as they were."
    ),
    "geography": (
        "Places were replaced by artificial ones, drawn from a map of how people with these"
        " attributes are spread."
    ),
    "naive-geography": (
        "Places were moved at random within small areas of a grid. The area itself is the true one."
    ),
    "donut": "Places were moved at random, by a distance between a smallest and a largest one.",
    "dirichlet-multinomial": (
        "The rows are artificial. They were drawn from noisy counts, so that the release hardly"
        " depends on any one person."
    ),
    "beta-binomial": (
        "The rows are artificial. They were drawn from noisy counts, so that the release hardly"
        " depends on any one person."
    ),
    "noisy-counts": (
        "The rows are artificial. Noise was added to the number of rows of each kind, so that the"
        " release hardly depends on any one person."
    ),
    "marginals": (
        "The rows are artificial. They were drawn from a model of noisy counts, so that the release"
        " hardly depends on any one person."
    ),
}

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


@dataclass(frozen=True)
class Conclusions:
    """What a recipient may and may not conclude, how to analyse the data, and what its intervals hold."""

    may: tuple[str, ...]
    may_not: tuple[str, ...]
    how: str
    intervals: str = ""


_PERSON = (
    "Take a single row for a true statement about a person.",
    "Try to find out who a row is about, or link rows with other data for that purpose.",
)
_MANY = (
    "Treat one dataset as if it were the original, or stack the datasets into one: intervals come"
    " out too narrow."
)
_COMBINE = (
    "Analyse each dataset by itself in the same way, then combine the results with the rule named"
    " in the manifest. The library does both in one call."
)
_BOTH = (
    "Estimates are combined over the datasets by the rule named in the manifest: the intervals hold"
    " the chance of sampling and that of the synthesis."
)
RULES = {
    "none": Conclusions(
        (
            "Analyse the table with the usual tools: counts, means, tables, models.",
            (
                "Treat results as close to those of the original, as far as the figures of this"
                " page tell."
            ),
        ),
        (
            *_PERSON,
            (
                "Take standard errors as complete: they do not know of the change that the"
                " protection made."
            ),
        ),
        "Analyse the table as it is, and report with every result how the table was protected.",
        "Estimates are of the released table as it stands: the intervals hold the chance of"
        " sampling, not the change that the protection made.",
    ),
    "partial": Conclusions(
        ("Estimate means, tables and models with valid intervals, combined over the datasets.",),
        (
            *_PERSON,
            _MANY,
            "Conclude on relations that the model of the replaced columns did not contain.",
        ),
        _COMBINE,
        _BOTH,
    ),
    "full": Conclusions(
        ("Estimate means, tables and models with valid intervals, combined over the datasets.",),
        (*_PERSON, _MANY, "Conclude on relations that the synthesis model did not contain."),
        _COMBINE,
        _BOTH,
    ),
    "single": Conclusions(
        (
            (
                "Estimate means, tables and models of large samples, with intervals that the rule"
                " widens."
            ),
        ),
        (
            *_PERSON,
            "Take the standard errors of one dataset as they are: the rule must widen them.",
            "Conclude on relations that the synthesis model did not contain.",
        ),
        _COMBINE,
        _BOTH,
    ),
    "posterior": Conclusions(
        (
            (
                "Estimate the share of every combination of values, with the uncertainty of"
                " sampling and of the noise."
            ),
        ),
        (
            *_PERSON,
            "Take the released counts for those of the original: they carry noise on purpose.",
        ),
        "Use the exact posterior distribution; what it needs is in the manifest.",
        "Shares come from the exact posterior: the intervals hold the chance of sampling and that"
        " of the noise.",
    ),
    "private": Conclusions(
        (
            (
                "Estimate counts and shares of the columns that were measured together; their noise"
                " is told in the manifest."
            ),
        ),
        (
            *_PERSON,
            "Take standard errors as complete: they do not know of the noise.",
            "Conclude on relations that the manifest does not name as measured.",
        ),
        "Analyse the table as it is, and report with every result how the table was protected.",
    ),
}


def method_sentence(method: str) -> str:
    """Return what a method does, in words."""
    if method in METHODS:
        return METHODS[method]
    return _summary(_documentation(method)) or f"The method {method} was applied."


def setting_meanings(method: str) -> dict[str, str]:
    """Return the first sentence on each setting of a method, from the documentation of its recipe.

    Examples
    --------
    >>> setting_meanings("noise")["scale"]
    'Standard deviation of the noise, as a share of that of each column.'
    """
    lines = _documentation(method).splitlines()
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


def _documentation(method: str) -> str:
    try:
        return inspect.cleandoc(registry.find(method).__doc__ or "")
    except (PlanError, ImportError):  # a package made by a newer library
        return ""


def _first_sentence(text: str) -> str:
    return text if ". " not in text else f"{text.partition('. ')[0]}."


def _summary(documentation: str) -> str:
    return documentation.partition("\n")[0]


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
