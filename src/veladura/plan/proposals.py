"""The gate that a drafted plan proposes: limits on figures that suit the method, as comments to be taken or left."""

from __future__ import annotations

from veladura.base.limits import Limit
from veladura.core.recipe import Recipe
from veladura.measures.registry import meaning_of


def gate_text(recipe: Recipe) -> str:
    """Return the gate of a drafted plan, every limit with what its figure says."""
    if recipe.private:
        return (
            "# No [gate]: whether a differentially private release passes a limit on its data would"
            " tell something of them.\n"
        )
    lines = [
        (
            "# Limits on figures of the assessment: the run refuses a release that misses one, by"
            " the unfavourable end of its interval."
        ),
        (
            "# Take the ones you want by removing the #; `veladura assess` shows the figures beside"
            " them."
        ),
        "# [gate]",
    ]
    for figure, limit in recipe.proposed_gate().items():
        lines += [f"# # {meaning_of(figure)}", f'# "{figure}" = {{{_ends(limit)}}}']
    return "\n".join([*lines, ""])


def _ends(limit: Limit) -> str:
    return ", ".join(
        f"{word} = {end:g}"
        for word, end in (("min", limit.min), ("max", limit.max))
        if end is not None
    )
