"""What generalisation and suppression do to a model, in words for its analyst."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veladura.numeric.hierarchies.bands import looks_banded

if TYPE_CHECKING:
    from veladura.core.release import Release, Step


def cautions_of(
    release: Release, step: Step, columns: Sequence[str], formula: str
) -> Iterator[str]:
    """Yield what generalisation and suppression do to a model."""
    told: Mapping[str, Any] = step.settings.get("datasets", [step.settings])[0]
    if rows := told.get("suppressed_rows"):
        kept = sum(dataset.table.rows for dataset in release.tables) / len(release.tables)
        fate = "left out" if told.get("suppressed") == "drop" else "blanked"
        share = rows / (kept + rows if fate == "left out" else kept)
        yield (
            f"{rows} rows ({share:.1%}) were {fate} because their combination of"
            f" {_listed(told['quasi_identifiers'])} was rare: rare groups are missing from the"
            " model."
        )
    first = release.tables[0]
    schema = first.table.schema
    banded = [
        name
        for name in columns
        if schema[name].kind not in ("integer", "number", "date") and _banded(first.fetched(), name)
    ]
    numbers = [name for name in columns if schema[name].kind in ("integer", "number", "date")]
    coarse = [name for name in columns if name not in banded and name not in numbers]
    if middles := [name for name in banded if f"midpoint({name})" in formula.replace(" ", "")]:
        yield (
            f"{_listed(middles)}: the middle of a band stands for every number in it; slopes are"
            " attenuated the more, the wider the bands."
        )
    if text := [name for name in banded if name not in middles]:
        yield (
            f"{_listed(text)}: generalised to bands of numbers, which are text; each band is a"
            f" category with a coefficient of its own. Suggestion: midpoint({text[0]}) takes the"
            " middle of each band as a number."
        )
    if numbers:
        yield (
            f"{_listed(numbers)}: generalised to one number for each band; slopes are shifted and"
            " attenuated the more, the wider the bands."
        )
    if coarse:
        yield (
            f"{_listed(coarse)}: generalised to coarser categories; effects that differ within a"
            " category are averaged."
        )


def _banded(arrow: Any, name: str) -> bool:
    return looks_banded(arrow.column(name).unique().to_pylist())


def _listed(names: Collection[str]) -> str:
    return ", ".join(map(repr, names))
