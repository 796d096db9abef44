"""What the holder of a table may need, and the method that `veladura init` drafts for it."""

from __future__ import annotations

from collections.abc import Mapping

# The method by its name, a title and a sentence; "" protects the whole table.
NEEDS: Mapping[str, tuple[str, str]] = {
    "": (
        "k-anonymity: real people, made coarser",
        "The whole table: generalised keys, rounded numbers, merged tails.",
    ),
    "cart": (
        "Synthetic microdata: made-up people",
        "Rows drawn from trees; analyses are combined over m datasets.",
    ),
    "critical-cart": (
        "Partial synthesis: only the risky cells made up",
        "Everything else stays as it is.",
    ),
    "geography": (
        "Synthetic places",
        "Coordinates drawn from a spatial model of the region.",
    ),
    "dirichlet-multinomial": (
        "Differential privacy: a proof against everybody",
        "A table of categories with a privacy budget.",
    ),
    "marginals": (
        "Differential privacy for more columns",
        "Synthetic rows from noisy tables of few columns each.",
    ),
}
