"""The gate of a drafted plan: limits on figures that suit the method, as comments."""

from __future__ import annotations

from collections.abc import Mapping

from veladura.base.limits import Limit
from veladura.core.gates import default_limits
from veladura.core.recipe import Recipe
from veladura.measures.registry import meaning_of
from veladura.plan.commented import comment
from veladura.plan.steps import recipes_of


def gate_text(recipe: Recipe, limits: Mapping[str, Limit] | None = None) -> str:
    """Return the gate of a drafted plan, every limit with the meaning of its figure.

    Parameters
    ----------
    limits
        Limits that hold from the start, beside those that hold by default; the others are proposed
        as comments.
    """
    if recipe.private:
        reason = (
            "No [gate]: whether a differentially private release passes a limit would disclose"
            " something about the data."
        )
        return "\n".join([*comment(reason), ""])
    steps = recipes_of(recipe)
    limits = {**(limits or {}), **default_limits(steps)}
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
    proposed = {k: v for step in steps for k, v in step.proposed_gate().items()}
    for figure, limit in proposed.items():
        if figure not in limits:
            lines += [*comment(meaning_of(figure), "# # "), f'# "{figure}" = {{{_ends(limit)}}}']
    return "\n".join([*lines, ""])


def _ends(limit: Limit) -> str:
    return ", ".join(
        f"{word} = {end:g}"
        for word, end in (("min", limit.min), ("max", limit.max))
        if end is not None
    )
