"""What a protection did to the columns of a model, said in words: standard errors do not know of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from veladura.inference.bands import looks_banded

if TYPE_CHECKING:
    from veladura.core.recipe import Release, Step

# What a step that no combining rule knows of does to a model that uses its columns.
EFFECTS = {
    "noise": (
        "noise was added; the slope of a noisy predictor shrinks towards 0 and those of related"
        " columns move, a noisy response has larger errors"
    ),
    "swap": (
        "values were exchanged between rows; relations with other columns are weakened, slopes"
        " shrink towards 0"
    ),
    "microaggregation": (
        "values are those of small groups; their spread is too small, and so are standard errors"
    ),
    "top-code": "values were cut at a limit; means lie too close to the middle, and slopes are off",
    "recode": "values were replaced by a fixed rule; coefficients are about the new values",
    "pram": "categories were changed at random; differences between categories shrink towards 0",
}
UNKNOWN = "values were changed"


def suppressed_columns(release: Release) -> tuple[str, ...]:
    """Return the columns in which ``*`` stands for a value that was taken out."""
    return tuple(
        name for step in release.steps if step.method == "k-anonymity" for name in step.changed
    )


def cautions(release: Release, used: Collection[str] | None = None, formula: str = "") -> list[str]:
    """Return what an analyst must know of the columns that an analysis uses; None for all of them."""
    found: list[str] = []
    for step in release.steps:
        if "original_rows" in step.settings:  # the combining rule knows of it
            continue
        columns = [name for name in step.changed if used is None or name in used]
        if step.method == "k-anonymity":
            found += _generalised(release, step, columns, formula)
        elif columns:
            found.append(
                f"{_listed(columns)}: {EFFECTS.get(step.method, UNKNOWN)}. The standard errors do"
                " not know of it."
            )
    return found


def _generalised(release: Release, step: Step, columns: list[str], formula: str) -> Iterator[str]:
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
