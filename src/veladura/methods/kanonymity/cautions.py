"""What generalisation and suppression do to an analyst's model, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veladura.numeric.hierarchies.bands import looks_banded

if TYPE_CHECKING:
    from veladura.core.release import Release, Step

NUMBERS = ("integer", "number", "date")


def cautions_of(
    release: Release, step: Step, columns: Sequence[str], formula: str
) -> Iterator[str]:
    """Yield what generalisation and suppression do to a model."""
    settings: Mapping[str, Any] = step.settings.get("datasets", [step.settings])[0]
    if rows := settings.get("suppressed_rows"):
        yield _of_suppression(release, rows, settings)
    first = release.tables[0]
    kinds = {name: first.table.schema[name].kind for name in columns}
    numbers = [name for name in columns if kinds[name] in NUMBERS]
    others = [name for name in columns if name not in numbers]
    banded = [name for name in others if _is_banded(first.fetched(), name)]
    middles = [name for name in banded if f"midpoint({name})" in formula.replace(" ", "")]
    if middles:
        yield (
            f"{_listed(middles)}: generalised to intervals, and the midpoint stands for every"
            " number of an interval. Slopes shrink towards 0, the more the wider the intervals."
        )
    if text := [name for name in banded if name not in middles]:
        yield (
            f"{_listed(text)}: generalised to intervals, which are text. Each interval is a"
            " category with a coefficient of its own. Suggestion:"
            f" midpoint({text[0]}) takes the midpoint of each interval as a number."
        )
    if numbers:
        yield (
            f"{_listed(numbers)}: generalised to one number for each interval. Slopes are shifted"
            " and shrink towards 0, the more the wider the intervals."
        )
    if coarse := [name for name in others if name not in banded]:
        yield (
            f"{_listed(coarse)}: generalised to coarser categories. Effects that differ within a"
            " category are averaged."
        )


def _of_suppression(release: Release, rows: int, settings: Mapping[str, Any]) -> str:
    released = sum(dataset.table.rows for dataset in release.tables) / len(release.tables)
    dropped = settings.get("suppressed") == "drop"
    total = released + rows if dropped else released
    return (
        f"{rows:,} of {total:,.0f} people (rows) were {'left out' if dropped else 'blanked'}: few"
        f" share their combination of {_listed(settings['quasi_identifiers'])}. Rare groups are"
        " missing from the model."
    )


def _is_banded(arrow: Any, name: str) -> bool:
    return looks_banded(arrow.column(name).unique().to_pylist())


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names))
