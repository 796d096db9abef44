"""The gate of a drafted plan: limits on figures that suit the method, as comments."""

from __future__ import annotations

from collections.abc import Mapping

from veladura.base.limits import Limit
from veladura.core.gates import default_limits
from veladura.core.recipe import Recipe
from veladura.measures.registry import meaning_of, needs_rows
from veladura.plan.commented import comment
from veladura.plan.steps import recipes_of


def gate_text(
    recipe: Recipe, limits: Mapping[str, Limit] | None = None, *, held: bool = True
) -> str:
    """Return the gate of a drafted plan, every limit with the meaning of its figure.

    Parameters
    ----------
    limits
        Limits that hold from the start, beside those that hold by default; the others are proposed
        as comments.
    held
        Whether the rows of the source are held in memory. If not, no limit that needs them there
        is asked for: the run would refuse every release.
    """
    if recipe.private:
        reason = (
            "No [gate]: whether a differentially private release passes a limit would disclose"
            " something about the data."
        )
        return "\n".join([*comment(reason), ""])
    steps = recipes_of(recipe)
    defaults = default_limits(steps)
    left_open = {} if held else {name: defaults[name] for name in defaults if needs_rows(name)}
    limits = {**(limits or {}), **{k: v for k, v in defaults.items() if k not in left_open}}
    lines = [
        *comment(
            "Limits on risk and utility: the run refuses a release that fails one of them. The less"
            " favourable end of the figure's interval is compared. To use a limit, remove the first"
            " # of its line" + ("." if limits else " and of [gate].")
        ),
        "[gate]" if limits else "# [gate]",
    ]
    for figure, limit in limits.items():
        lines += [*comment(meaning_of(figure)), f'"{figure}" = {{{_ends(limit)}}}']
    if left_open:
        lines += comment(
            "These hold by default where the released rows are in memory. The source is too large,"
            " or on Spark: where its rows stay there, the run cannot compute these figures, and"
            " says so."
        )
    for figure, limit in left_open.items():
        lines += [*comment(meaning_of(figure), "# # "), f'# "{figure}" = {{{_ends(limit)}}}']
    proposed = {k: v for step in steps for k, v in step.proposed_gate().items()}
    for figure, limit in proposed.items():
        if figure not in limits and figure not in left_open:
            lines += [*comment(meaning_of(figure), "# # "), f'# "{figure}" = {{{_ends(limit)}}}']
    return "\n".join([*lines, ""])


def _ends(limit: Limit) -> str:
    return ", ".join(
        f"{word} = {end:g}"
        for word, end in (("min", limit.min), ("max", limit.max))
        if end is not None
    )
