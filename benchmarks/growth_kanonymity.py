"""How the cost of k-anonymity grows with rows, columns and nodes.

Processor seconds, as a table and a picture.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.people import QUASI, generate, recipe_of

ROWS = (100_000, 1_000_000, 10_000_000)
COLUMNS = (4, 6, 8, 10)
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "k-anonymity-cost.svg"


def growth() -> None:
    """Measure, print and draw."""
    seconds_by_rows(10_000)  # imports and compiled code warm
    by_rows = [(rows, *seconds_by_rows(rows)) for rows in ROWS]
    print(
        "      rows  search  protect to Parquet  (processor seconds, 8 quasi-identifiers, 2,304"
        " nodes)"
    )
    for rows, searched, written in by_rows:
        print(f"{rows:10,} {searched:7.2f} {written:9.2f}", flush=True)
    by_columns = [(columns, *seconds_by_columns(columns)) for columns in COLUMNS]
    print("   columns      nodes  minimal  search  (processor seconds, 100,000 rows)")
    for columns, nodes, found, searched in by_columns:
        print(f"{columns:10} {nodes:10,} {found:8,} {searched:7.2f}", flush=True)
    draw(by_rows, by_columns)


def spent(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a call, and what it returns."""
    start = process_time()
    made = function()
    return process_time() - start, made


def seconds_by_rows(rows: int) -> tuple[float, float]:
    """Return what searching takes.

    Protecting a Parquet file to another, all counting and proving within.
    """
    import veladura as vd
    from veladura.methods.kanonymity.search import walk_lattice
    from veladura.methods.kanonymity.settings import allowed_rows

    with tempfile.TemporaryDirectory() as home:
        source = Path(home) / "people.parquet"
        generate(source, rows, distinct=False)
        columns = {name: {"role": "quasi-identifier"} for name in QUASI}
        written, release = spent(lambda: recipe_of().protect(vd.open(source, columns)))
        assert (
            release.tables[0].table.stored is not None
        )  # proved from the file that a package takes
        lattice = recipe_of().fit(vd.open(source, columns)).lattice
        searched, _ = spent(lambda: walk_lattice(lattice, 5, allowed_rows(0.02, rows)))
    return searched, written


def seconds_by_columns(columns: int) -> tuple[int, int, float]:
    """Return nodes, minimal nodes and seconds of the search on columns with four levels each."""
    import veladura as vd
    from veladura.methods.kanonymity.search import walk_lattice
    from veladura.methods.kanonymity.settings import allowed_rows

    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {f"q{i}": (20 * rng.random(100_000) ** 3).astype(int) for i in range(columns)}
    )
    hierarchies = {name: vd.Hierarchy.intervals((5, 10)) for name in frame}
    recipe = vd.KAnonymity(
        quasi_identifiers=list(frame), k=2, max_suppression=len(frame) - 1, hierarchies=hierarchies
    )
    lattice = recipe.fit(vd.open(frame, dict.fromkeys(frame, "integer"))).lattice
    searched, (found, _) = spent(lambda: walk_lattice(lattice, 5, allowed_rows(0.02, len(frame))))
    return lattice.nodes, len(found), searched


def draw(
    by_rows: Sequence[tuple[int, float, float]], by_columns: Sequence[tuple[int, int, int, float]]
) -> None:
    """Draw both tables on logarithmic axes."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "veladura"
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    rows = [row[0] for row in by_rows]
    for place, label, colour in (
        (2, "protect, Parquet to Parquet", "#1f5a7a"),
        (1, "search alone", "#c8742b"),
    ):
        seconds = [row[place] for row in by_rows]
        left.loglog(rows, seconds, "o-", color=colour)
        left.annotate(
            label,
            (rows[-1], seconds[-1]),
            xytext=(-14, -2),
            textcoords="offset points",
            ha="right",
            color=colour,
        )
    left.set(title="8 quasi-identifiers, 2,304 nodes", xlabel="rows", ylabel="processor seconds")
    nodes, seconds = [row[1] for row in by_columns], [row[3] for row in by_columns]
    right.loglog(nodes, seconds, "o-", color="#c8742b")
    for columns, at, _, taken in by_columns:
        right.annotate(
            f"{columns} columns",
            (at, taken),
            xytext=(7, -9),
            textcoords="offset points",
            fontsize=9,
        )
    right.set(
        title="100,000 rows, four levels a column",
        xlabel="nodes of the lattice",
        ylabel="processor seconds, search alone",
    )
    right.margins(x=0.2, y=0.12)
    left.margins(y=0.12)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"drawn: docs/images/{PICTURE.name}")
