"""The ways to reach k-anonymity as the page shows them: a list, and points on a scatter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veladura.methods.kanonymity.ways import Ways


def ways_facts(ways: Ways) -> dict[str, Any]:
    """Return the best ways with what each does to every column."""
    rows = ways.fitted.lattice.rows
    return {
        "heading": ways.heading,
        "rows": int(rows),
        "ways": [
            {
                "rank": way.rank,
                "loss": float(way.loss),
                "suppressed": int(way.node.suppressed),
                "levels": {name: int(level) for name, level in way.node.levels.items()},
                "columns": way.columns,
                "words": way.words,
                "marks": way.cells[0].partition(" ")[2],
                "chosen": way.chosen,
            }
            for way in ways.best
        ],
    }
