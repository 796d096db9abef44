"""What the balanced choice of k-anonymity costs next to the least loss, which ARX takes by default.

Run with ``VELADURA_DATA=<folder> python -m benchmarks.acceptance_balanced``; the folder holds
``adult/`` with the table and its hierarchies, and ``termlife.csv``.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import veladura as vd
from benchmarks import data_folder
from veladura.methods.kanonymity.coarse import CoarseColumnWarning
from veladura.methods.kanonymity.fitted import FittedKAnonymity
from veladura.methods.kanonymity.quality import measure, number_given_up
from veladura.numeric.hierarchies.suggest import suggest_from
from veladura.table.table import Table

MOST = 1.1  # times the least loss
HOUSEHOLDS = ("Gender", "Age", "MarStat", "Education", "Ethnicity", "NumHH")
Case = tuple[Table, Sequence[str], Mapping[str, vd.Hierarchy]]


def cases(data: Path) -> Iterator[tuple[str, Case]]:
    """Yield tables with sets of columns and their hierarchies."""
    adult = vd.open(data / "adult" / "adult.csv", {"age": "category"})
    names = [name for name in adult.names if name != "salary-class"]
    folder = data / "adult" / "hierarchies"
    for columns in (names, names[:7], names[:6], names[:5], names[:4], names[:3], names[1::3]):
        rules = {
            name: vd.Hierarchy.from_csv(folder / f"adult_hierarchy_{name}.csv") for name in columns
        }
        yield "adult", (adult, columns, rules)
    codes = dict.fromkeys(("Gender", "MarStat", "Ethnicity"), "category")
    households = vd.open(data / "termlife.csv", codes)
    drafted = {name: suggest_from(households.people_counts([name]), 5) for name in HOUSEHOLDS}
    for columns in (HOUSEHOLDS, HOUSEHOLDS[:5], HOUSEHOLDS[:3] + HOUSEHOLDS[4:]):
        yield "termlife", (households, columns, {name: drafted[name] for name in columns})


def ratio(case: Case, k: int, allowed: float) -> tuple[float, int, int]:
    """Return the loss over the least one, and how many columns each of the two ways gives up."""
    table, columns, rules = case
    recipe = vd.KAnonymity(
        quasi_identifiers=columns, k=k, max_suppression=allowed, hierarchies=rules
    )
    ways = [recipe.fit(table), replace(recipe, prefer=("loss",)).fit(table)]
    losses, given_up = [], []
    for fitted in ways:
        assert isinstance(fitted, FittedKAnonymity)
        quality = measure("loss", fitted.lattice, {})
        losses.append(quality.value(fitted.vector, fitted.criteria.at(fitted.vector)))
        given_up.append(number_given_up(fitted.lattice, fitted.vector))
    return losses[0] / losses[1], given_up[0], given_up[1]


def main(data: Path) -> None:
    warnings.simplefilter("ignore", CoarseColumnWarning)
    worst = 0.0
    for name, case in cases(data):
        for k, allowed in product((2, 5, 10), (0.0, 0.02, 0.05)):
            times, ours, theirs = ratio(case, k, allowed)
            worst = max(worst, times)
            print(
                f"{name:<9} {len(case[1])} columns, k = {k:<2} {100 * allowed:.0f} % suppression:"
                f" {times:.3f} times the least loss; columns given up: {ours}, by loss {theirs}"
            )
    print(f"\nat most {worst:.3f} times the least loss")
    if worst > MOST:
        sys.exit(f"more than {MOST} times the least loss.")


if __name__ == "__main__":
    main(data_folder())
