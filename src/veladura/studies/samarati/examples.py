"""The worked examples: hierarchies, minimal generalisations, policies, linking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import factorial, prod
from typing import TYPE_CHECKING

from veladura.methods.kanonymity.fitted import FittedKAnonymity
from veladura.methods.kanonymity.kanonymity import KAnonymity
from veladura.methods.kanonymity.pictures import drawn
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.studies.samarati import tables
from veladura.studies.study import Entry, Picture, Result, Results, Setting

if TYPE_CHECKING:
    import pandas as pd

    from veladura.methods.kanonymity.choice import Node

POLICIES = {
    "absolute distance": lambda node: node.distance,
    "relative distance": lambda node: node.relative_distance,
    "distribution": lambda node: -node.distinct,
    "suppression": lambda node: node.suppressed,
}


def searched(
    frame: pd.DataFrame,
    k: int,
    allowed: int = 0,
    hierarchies: Mapping[str, Hierarchy] | None = None,
) -> FittedKAnonymity:
    """Return the lattice of a table and its k-minimal generalisations."""
    hierarchies = tables.TWO if hierarchies is None else hierarchies
    recipe = KAnonymity(
        quasi_identifiers=list(hierarchies),
        k=k,
        max_suppression=allowed,
        hierarchies=dict(hierarchies),
        prefer="min-distance",
    )
    return recipe.fit(frame)  # type: ignore[return-value]


def written(vectors: Sequence[Sequence[int]]) -> str:
    """Return vectors in words, in the order of the document: [1, 0], [0, 1]."""
    return ", ".join(str(list(vector)) for vector in sorted(map(tuple, vectors), reverse=True))


def examples(_: Setting) -> Results:
    """Return the exhibits of the worked examples."""
    twelve, eight = tables.twelve(), tables.eight()
    return {
        "Figure 1": _linked(),
        "Figure 2": _hierarchies(),
        "Figure 3": _lattice(searched(twelve, 2)),
        "Example 1": _by_k(twelve),
        "Figure 4": _outlier(),
        "Figure 5": _generalised(searched(eight, 2, 7)),
        "Example 2": Result(
            ("rows that may go", "k-minimal"),
            [(str(rows), written(searched(eight, 2, rows).vectors)) for rows in range(6)],
        ),
        "Section 5": _policies(eight),
        "Theorem 1": _counterexample(),
    }


def _linked() -> Result:
    """Join the medical table with one voter, before and after generalisation."""
    frame = tables.medical()
    known = {**tables.VOTER, "birth": frame["birth"].iloc[-1]}
    found = frame[(frame[list(known)] == list(known.values())).all(axis=1)]
    release = KAnonymity(
        quasi_identifiers=["zip", "birth", "sex"],
        k=2,
        max_suppression=1,
        hierarchies={
            name: hierarchy
            for name, hierarchy in tables.medical_hierarchies().items()
            if name in known
        },
    ).protect(frame)
    after = release.datasets[0]
    least = int(after.groupby(["zip", "birth", "sex"], observed=True).size().min())
    return Result(
        ("", "rows of the voter"),
        [
            ("medical table", f"{len(found)}: {found['problem'].iloc[0]}"),
            (
                "release with k = 2",
                f"none alone: {len(after)} rows, each like {least - 1} other or more",
            ),
        ],
    )


def _hierarchies() -> Result:
    rows: list[Sequence[Entry]] = []
    for name, hierarchy in tables.TWO.items():
        levels = list(zip(*hierarchy.rows, strict=True))
        for level, values in enumerate(levels):
            domain = f"{name[0].upper()}{level}"
            rows.append((domain, ", ".join(dict.fromkeys(values))))
    return Result(("domain", "values"), rows)


def _lattice(fitted: FittedKAnonymity) -> Result:
    heights = fitted.lattice.heights.tolist()
    strategies = factorial(sum(heights)) // prod(map(factorial, heights))
    return Result(
        ("", "number"),
        [("nodes", str(fitted.lattice.nodes)), ("strategies", str(strategies))],
        Picture(lambda: drawn("lattice", fitted)),
    )


def _by_k(frame: pd.DataFrame) -> Result:
    return Result(
        ("k", "k-minimal"),
        [(str(k), written(searched(frame, k).vectors)) for k in range(2, len(frame) + 1)],
    )


def _outlier() -> Result:
    frame, hierarchies = tables.medical(), tables.medical_hierarchies()
    rows = []
    for name, part, allowed in (
        ("without the last row", frame.iloc[:-1], 0),
        ("all rows", frame, 0),
        ("all rows, one may be suppressed", frame, 1),
    ):
        fitted = searched(part, 2, allowed, hierarchies)
        rows.append((name, written(fitted.vectors)))
    return Result(("ethnicity, birth, sex, zip, status", "k-minimal, k = 2"), rows)


def _generalised(fitted: FittedKAnonymity) -> Result:
    vectors = [(e, z) for e in range(2) for z in range(3)]
    nodes = [fitted.node(vector) for vector in vectors]
    return Result(
        ("vector", "rows suppressed", "tuples left"),
        [
            (str(list(vector)), str(node.suppressed), str(node.distinct))
            for vector, node in zip(vectors, nodes, strict=True)
        ],
        Picture(lambda: drawn("lattice", fitted)),
    )


def _policies(frame: pd.DataFrame) -> Result:
    rows: list[Sequence[Entry]] = []
    for allowed in (1, 2):
        nodes = list(searched(frame, 2, allowed).minimal)
        for name, cost in POLICIES.items():
            best = _preferred(nodes, cost)
            told = written(best) if len(best) == 1 else f"{written(best)}: a tie"
            rows.append((f"MaxSup {allowed}, {name}", told))
    return Result(("policy", "preferred"), rows)


def _preferred(nodes: Sequence[Node], cost: object) -> list[tuple[int, ...]]:
    """Return the vectors that a policy prefers, all of those that tie."""
    assert callable(cost)  # noqa: S101
    least = min(cost(node) for node in nodes)
    return [tuple(node.levels.values()) for node in nodes if cost(node) == least]


def _counterexample() -> Result:
    """Four rows whose one k-minimal vector is no distance between two of them."""
    import pandas as pd

    frame = pd.DataFrame({"a": ["a1", "a2", "b", "b"], "b": ["c", "c", "d1", "d2"]})
    hierarchies = {
        "a": Hierarchy.explicit([("a1", "A", "*"), ("a2", "A", "*"), ("b", "B", "*")]),
        "b": Hierarchy.explicit([("c", "C", "*"), ("d1", "D", "*"), ("d2", "D", "*")]),
    }
    fitted = searched(frame, 2, 0, hierarchies)
    return Result(
        ("", "vectors"),
        [
            ("distances between rows", "[1, 0], [0, 1], [2, 2]"),
            ("k-minimal, k = 2", written(fitted.vectors)),
        ],
    )
