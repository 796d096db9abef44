"""The ways to reach k-anonymity as the page shows them: a list, a scatter, and a small lattice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from veladura.numeric.hierarchies.level_words import level_words

if TYPE_CHECKING:
    from veladura.methods.kanonymity.lattice import Vector
    from veladura.methods.kanonymity.ways import Ways

MOST_NODES = 90  # of a lattice that can be read as a picture
MOST_WAYS = 200  # points of a scatter; the list shows the first of them
ACROSS, UP = 76.0, 52.0  # between two nodes


def ways_facts(ways: Ways) -> dict[str, Any]:
    """Return the ways with what each does to every column, and the lattice where small."""
    rows = ways.fitted.lattice.rows
    return {
        "heading": ways.heading_of(MOST_WAYS),
        "rows": int(rows),
        "lattice": _nodes(ways),
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
            for way in ways.ranked(MOST_WAYS)
        ],
    }


def _nodes(ways: Ways) -> list[dict[str, Any]]:
    """Return every node of a small lattice; none of a large one.

    A node is a way where a minimal one is below it: going up a level never makes classes smaller.
    """
    fitted = ways.fitted
    if fitted.lattice.nodes > MOST_NODES:
        return []
    names = list(fitted.node(fitted.vector).levels)
    vectors = product(*(range(int(height) + 1) for height in fitted.lattice.heights))
    minimal = set(fitted.vectors)
    return [
        {
            "levels": dict(zip(names, vector, strict=True)),
            "minimal": vector in minimal,
            "way": any(_is_below(low, vector) for low in minimal),
            "words": "; ".join(
                f"{name}: {level_words(levels, level)}"
                for name, level, levels in zip(names, vector, fitted.lattice.levels, strict=True)
            ),
        }
        for vector in vectors
    ]


def _is_below(low: Sequence[int], high: Sequence[int]) -> bool:
    return all(a <= b for a, b in zip(low, high, strict=True))


def picture(nodes: Sequence[Mapping[str, Any]], chosen: Mapping[str, int]) -> dict[str, Any] | None:
    """Return where the nodes and lines of a lattice stand: the original below, all given up above.

    Parameters
    ----------
    chosen
        The levels in the plan; empty where its policy chooses.
    """
    if not nodes:
        return None
    vectors = [tuple(node["levels"].values()) for node in nodes]
    ranks: dict[int, list[Vector]] = {}
    for vector in vectors:
        ranks.setdefault(sum(vector), []).append(vector)
    widest, top = max(map(len, ranks.values())), max(ranks)
    at = {
        vector: (ACROSS * (i + (widest - len(rank)) / 2), UP * (top - height))
        for height, rank in ranks.items()
        for i, vector in enumerate(rank)
    }
    placed = [
        {
            **node,
            "x": at[vector][0],
            "y": at[vector][1],
            "name": ", ".join(map(str, vector)),
            "chosen": node["levels"] == chosen,
            "with": json.dumps({"levels": node["levels"]}),
        }
        for node, vector in zip(nodes, vectors, strict=True)
    ]
    lines = [
        (*at[vector], *at[above])
        for vector in vectors
        for c in range(len(vector))
        if (above := (*vector[:c], vector[c] + 1, *vector[c + 1 :])) in at
    ]
    return {
        "nodes": placed,
        "lines": lines,
        "names": list(nodes[0]["levels"]),
        "width": ACROSS * (widest - 1),
        "height": UP * top,
    }
