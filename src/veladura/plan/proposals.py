"""The gate that a drafted plan proposes: limits on figures that suit the method, as comments to be taken or left."""

from __future__ import annotations

from typing import Any

from veladura.base.limits import Limit
from veladura.core.recipe import Recipe
from veladura.measures.registry import meaning_of

# Starting points, not standards: the holder knows what the release is for.
ALWAYS = {"risk.uniqueness.average_prosecutor": Limit(max=0.2)}
GENERALISED = {
    "risk.classes.at_risk": Limit(max=0.05),
    "utility.generalisation.completeness": Limit(min=0.95),
    "utility.generalisation.precision": Limit(min=0.5),
}
SYNTHETIC = {
    "utility.pmse.ratio": Limit(max=10),
    "utility.tables.two": Limit(max=0.1),
    "utility.overlap.mean": Limit(min=0.5),
    "utility.prediction.lost": Limit(max=0.1),
}
MASKED = {
    "risk.unchanged.rows": Limit(max=0.5),
    "utility.columns.worst": Limit(max=0.1),
    "utility.correlations.largest": Limit(max=0.1),
}


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
    for figure, limit in proposals(recipe).items():
        lines += [f"# # {meaning_of(figure)}", f'# "{figure}" = {{{_ends(limit)}}}']
    return "\n".join([*lines, ""])


def proposals(recipe: Recipe) -> dict[str, Limit]:
    """Return figures worth a limit for a method, with one to start from."""
    k: Any = getattr(recipe, "k", None)
    if hasattr(recipe, "max_suppression") and isinstance(k, int):
        return ALWAYS | {"risk.classes.smallest": Limit(min=k)} | GENERALISED
    return (SYNTHETIC if recipe.synthesizes else ALWAYS | MASKED).copy()


def _ends(limit: Limit) -> str:
    return ", ".join(
        f"{word} = {end:g}"
        for word, end in (("min", limit.min), ("max", limit.max))
        if end is not None
    )
