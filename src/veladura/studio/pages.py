"""Templates of the studio: every text escaped, no style and no script inside a page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

from veladura.base.visible import visible

MOST_NAMED = 6  # columns in a sentence


@cache
def _environment() -> Environment:
    from veladura.report import words
    from veladura.report.codebook import in_words

    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("veladura.studio"),
                PrefixLoader({"report": PackageLoader("veladura.report")}),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = lambda value: f"{value:,}"
    environment.filters["px"] = lambda length: f"{length:.1f}"
    environment.filters["share"] = lambda value: words.number(value, "share")
    environment.filters["in_words"] = in_words
    environment.filters["people"] = lambda n: "1 person" if n == 1 else f"{n:,} people"
    environment.filters["listed"] = lambda names: words.enumerated(list(names))
    environment.filters["shortly"] = lambda names: words.enumerated(_first(list(names)))
    environment.globals["plural"] = words.plural
    return environment


def _first(names: list[str]) -> list[str]:
    """Return the first names of a long list, and how many more there are."""
    if len(names) <= MOST_NAMED + 1:
        return names
    return [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]


def fragment(template: str, **facts: Any) -> str:
    """Return a part of a page."""
    return visible(_environment().get_template(f"{template}.html.j2").render(**facts))


def spread(values: Sequence[float], length: float, pad: float = 0.08) -> list[float]:
    """Return where numbers stand on an axis of a length, with room at both ends.

    Examples
    --------
    >>> spread([0, 5, 10], 100, pad=0)
    [0.0, 50.0, 100.0]
    >>> spread([3, 3], 100)
    [50.0, 50.0]
    """
    if not values:
        return []
    low, high = min(values), max(values)
    if high == low:
        return [length / 2 for _ in values]
    inner = length * (1 - 2 * pad)
    return [length * pad + inner * (value - low) / (high - low) for value in values]
