"""Effects of the protection on the columns of a model that standard errors do not cover."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from veladura.core.lost_design import design_words, effect_words

if TYPE_CHECKING:
    from veladura.core.release import Release, Step


def suppressed_columns(release: Release) -> tuple[str, ...]:
    """Return the columns in which ``*`` stands for a suppressed value."""
    return tuple(
        name
        for step in release.steps
        if step.recipe is not None and step.recipe.suppresses
        for name in step.changed
    )


def cautions(
    release: Release, used: Collection[str] | None = None, formula: str = "", figure: str = ""
) -> list[str]:
    """Return what an analyst must know about the columns of an analysis, all by default.

    Parameters
    ----------
    figure
        What is estimated: with a declared design effect the lost design is in its interval.
    """
    said = [
        caution
        for step in release.steps
        for caution in cautions_of_step(release, step, used, formula)
    ]
    lost, effect = release.lost_design, release.rule.design_effect(figure)
    if not lost:
        return said
    return [*said, design_words(lost) if effect is None else effect_words(figure, effect)]


def cautions_of_step(
    release: Release, step: Step, used: Collection[str] | None, formula: str = ""
) -> Sequence[str]:
    """Return the cautions of one step: its recipe knows them."""
    columns = [name for name in step.changed if used is None or name in used]
    if step.recipe is None:
        return [f"{step.method}: unknown method, its effect on a model is not known."]
    return step.recipe.cautions(release, step, columns, formula)
