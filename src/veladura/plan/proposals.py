"""The gate of a drafted plan: limits on figures that suit the method, as comments."""

from __future__ import annotations

from veladura.base.limits import Limit
from veladura.core.recipe import Recipe
from veladura.measures.registry import meaning_of
from veladura.plan.commented import comment


def gate_text(recipe: Recipe) -> str:
    """Return the gate of a drafted plan, every limit with the meaning of its figure."""
    if recipe.private:
        reason = (
            "No [gate]: whether a differentially private release passes a limit would disclose"
            " something about the data."
        )
        return "\n".join([*comment(reason), ""])
    lines = [
        *comment(
            "Limits on risk and utility: the run refuses a release that fails one of them. The less"
            " favourable end of the figure's interval is compared. To use a limit, remove the first"
            " # of its line and of [gate]."
        ),
        "# [gate]",
    ]
    for figure, limit in recipe.proposed_gate().items():
        lines += [*comment(meaning_of(figure), "# # "), f'# "{figure}" = {{{_ends(limit)}}}']
    return "\n".join([*lines, ""])


def _ends(limit: Limit) -> str:
    return ", ".join(
        f"{word} = {end:g}"
        for word, end in (("min", limit.min), ("max", limit.max))
        if end is not None
    )
