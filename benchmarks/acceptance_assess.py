"""assess on releases of real tables by several methods.

Every figure an estimate or a reason, and the order that utility must have.
"""

from __future__ import annotations

import math
import time
import warnings
from pathlib import Path
from typing import Any

import veladura as vd
from benchmarks import data_folder
from veladura.core.registry import find
from veladura.plan.guessed import look
from veladura.table.table import Table

TABLES = ("SD2011.csv", "nist/ma2019.csv", "adult/adult.csv")
METHODS = ("cart", "k-anonymity", "noise", "swap", "microaggregation", "pram")
SHOWN = (
    "utility.tables.two",
    "utility.pmse.ratio",
    "utility.pmse_tree.ratio",
    "utility.overlap.mean",
    "utility.prediction.lost",
)


def main(data: Path) -> None:
    for name in TABLES:
        table, facts = look(str(data / name), None)
        kept = table.without_identifiers()
        kept.arrow  # noqa: B018  # in memory: figures that look at rows are taken
        ratios = {method: assessed(kept, facts, name, method) for method in METHODS}
        alone = marginals_only(kept, name)
        assert ratios["cart"] is not None
        assert ratios["cart"] < alone, (
            "synthesis of a whole table must beat columns drawn each by itself"
        )


def assessed(table: Table, facts: Any, name: str, method: str) -> float | None:
    """Assess the release that `veladura init` would propose; return its pMSE ratio."""
    try:
        recipe = find(method).suggest_for(table, facts)
    except vd.errors.PlanError as reason:
        print(f"{name:16} {method:18} {str(reason).splitlines()[0]}")
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = recipe.protect(table, seed=7)
    return told(table, release, name, method)


def marginals_only(table: Table, name: str) -> float:
    """Control: every column drawn by itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = vd.Cart(m=3, model="sample").protect(table, seed=7)
    found = told(table, release, name, "marginals only")
    assert found is not None
    return found


def told(table: Table, release: vd.Release, name: str, method: str) -> float | None:
    """Print the figures; refuse one that is neither an estimate nor has a reason."""
    cpu = time.process_time()
    found = vd.assess(table, release)
    seconds = time.process_time() - cpu
    for figure in found:
        assert figure.why if figure.estimate is None else math.isfinite(figure.estimate.value), (
            figure.name
        )
    words = [
        f"{one.rpartition('.')[0].removeprefix('utility.')} {_short(found.figures[one])}"
        for one in SHOWN
    ]
    print(
        f"{name:16} {method:18} {'; '.join(words)}; {sum(f.estimate is not None for f in found)} of"
        f" {len(found)} figures, {seconds:.1f} s",
        flush=True,
    )
    ratio = found.figures["utility.pmse.ratio"].estimate
    return None if ratio is None else float(ratio)


def _short(figure: Any) -> str:
    return "-" if figure.estimate is None else f"{figure.estimate.value:.3g}"


if __name__ == "__main__":
    main(data_folder())
