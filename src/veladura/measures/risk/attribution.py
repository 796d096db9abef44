"""DiSCO and TCAP: what someone who knows a person's keys learns of another column from the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.errors import DataError, PlanError
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    over_datasets,
)
from veladura.measures.pairing import pair
from veladura.measures.risk.replicated import comparable_keys
from veladura.numeric.coding import Ints, column_of, common_cells, common_codes, dense, is_recoded

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

GROUPS = 20
MOST_TARGETS = 20


@dataclass(frozen=True)
class Attribution:
    """What the release tells of a column to those who know the keys.

    Attributes
    ----------
    disco
        Share of original rows whose keys have one value only of the target in the release, and the
        right one.
    tcap
        Of the original rows whose keys have one value only in the release, the share for which it
        is right.
    dcap
        Chance to get a row's target right by taking that of a released row with its keys; 0 without
        one.
    disclosive
        Share of released rows whose keys have one value only of the target there.
    original
        Share of original rows whose keys have one value only of the target in the original itself.
    """

    disco: Estimate
    tcap: Estimate
    dcap: Estimate
    disclosive: Estimate
    original: Estimate


def attribution(
    original: Any, released: Any, keys: Sequence[str], target: str, *, groups: int = GROUPS
) -> Attribution:
    """Return how much the release tells of a target column to someone who knows the keys of a person.

    With d_tq original and s_tq released rows of target t and keys q, keys are disclosive in the
    release when one target has them all: DiSCO = sum of d_tq over those with s_tq = s_.q, over all
    original rows; TCAP is the same over the sum of d_.q of disclosive keys; DCAP = sum of d_tq s_tq
    / s_.q over all original rows.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    released
        A release, one released table, or a list of them: then figures are means over the tables.
    keys
        What the intruder knows. Missing counts as a value of its own.
    target
        What he wants to learn.
    groups
        Numbers and dates with more different values are cut at as many quantiles of the original.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"zip": [1, 1, 2, 3], "ill": ["yes", "no", "yes", "no"]})
    >>> after = pd.DataFrame({"zip": [1, 2, 2, 3], "ill": ["yes", "yes", "yes", "yes"]})
    >>> found = attribution(before, after, ["zip"], "ill")
    >>> float(found.disco), float(found.tcap), float(found.dcap)
    (0.5, 0.5, 0.5)

    References
    ----------
    Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
    arXiv:2406.16826.
    Taub, J., Elliot, M., Pampaka, M. and Smith, D. (2018). Differential correct attribution
    probability for synthetic data: an exploration. Privacy in Statistical Databases, 122-137.
    """
    if isinstance(keys, str) or not keys or target in keys:
        msg = "attribution needs a list of at least one key, and a target that is not one of them."
        raise PlanError(msg)
    if groups < 2:  # noqa: PLR2004
        msg = f"groups ({groups}) must be at least 2."
        raise PlanError(msg)
    both = pair(original, released)
    tables = [both.original, *both.released]
    for table in tables:
        table.schema.check("keys", [*keys, target])
    if both.original.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    cells, number = common_cells(tables, list(keys))
    return _attribution(cells, number, *_targets(tables, target, groups))


def _targets(tables: Sequence[Table], name: str, groups: int) -> tuple[list[Ints], int]:
    """Return the target of every table as codes, numbers of many values by quantiles."""
    columns = [column_of(table, name) for table in tables]
    codes, levels = common_codes(columns)
    if (
        all(column.labels is None for column in columns)
        and np.unique(columns[0].values[~columns[0].missing]).size > groups
    ):
        cuts = _cuts(columns[0], groups)
        grouped = [
            np.where(column.missing, groups, np.searchsorted(cuts, column.values, "right"))
            for column in columns
        ]
        codes, levels = np.concatenate(grouped), groups + 1
    return np.split(codes, np.cumsum([column.size for column in columns])[:-1]), levels


def _cuts(column: Column, groups: int) -> NDArray[np.float64]:
    known = column.values[~column.missing].astype(np.float64)
    return (
        np.unique(np.quantile(known, np.arange(1, groups) / groups)) if known.size else np.zeros(0)
    )


def _attribution(cells: list[Ints], number: int, targets: list[Ints], levels: int) -> Attribution:
    sizes = [part.size for part in cells]
    flat, pairs = dense(np.concatenate(cells) * levels + np.concatenate(targets), number * levels)
    joint = np.split(flat, np.cumsum(sizes)[:-1])
    rows = sizes[0]
    before, together = (
        np.bincount(cells[0], minlength=number),
        np.bincount(joint[0], minlength=pairs),
    )
    found = []
    for cell, both in zip(cells[1:], joint[1:], strict=True):
        have, same = np.bincount(cell, minlength=number), np.bincount(both, minlength=pairs)
        only = same[both] == have[cell]  # every row with these keys has this target
        single = np.zeros(number, dtype=bool)
        single[cell[only]] = True
        known = single[cells[0]]
        right = known & (same[joint[0]] > 0)
        chance = np.divide(
            same[joint[0]], have[cells[0]], out=np.zeros(rows), where=have[cells[0]] > 0
        )
        reached = int(np.count_nonzero(known))
        correct = int(np.count_nonzero(right))
        found.append(
            (
                correct / rows,
                correct / reached if reached else 0.0,
                float(chance.mean()),
                float(only.mean()) if only.size else 0.0,
            )
        )
    disco, tcap, dcap, disclosive = (
        over_datasets(values, upper=1.0) for values in zip(*found, strict=True)
    )
    own = float(np.mean(together[joint[0]] == before[cells[0]]))
    return Attribution(disco, tcap, dcap, disclosive, Estimate.exact(own))


@measure(
    "risk.attribution",
    figures={
        "disco": Meaning(
            "Rows whose replaced value the release tells, rightly and without doubt, to those who"
            " know the rest.",
            unit="share",
            headline=True,
        ),
        "tcap": Meaning(
            "Of the rows for which it seems to tell it without doubt, those for which it is right.",
            unit="share",
        ),
    },
)
def measure_attribution(subject: Subject) -> Measured:
    """Measure every replaced column, and tell the worst."""
    known = comparable_keys(subject)
    targets = [
        name
        for name in subject.changed
        if not is_recoded(subject.original, subject.tables[0], name)
    ][:MOST_TARGETS]
    others = {name: [key for key in known if key != name] for name in targets}
    found = {
        name: attribution(subject.original, subject.release, keys, name)
        for name, keys in others.items()
        if keys
    }
    if not found:
        msg = "no replaced column can be guessed from other columns that an intruder may know."
        raise NotApplicable(msg)
    worst = max(found, key=lambda name: float(found[name].disco))
    tcap = max(found, key=lambda name: float(found[name].tcap))
    rows = tuple(
        (
            name,
            *(f"{float(figure):.4f}" for figure in (one.disco, one.tcap, one.dcap, one.original)),
        )
        for name, one in found.items()
    )
    detail = Detail(
        "What the release tells of each replaced column",
        ("Column", "DiSCO", "TCAP", "DCAP", "In the original"),
        rows,
    )
    notes = {
        "disco": f"Column: {worst}. Known: {', '.join(others[worst])}.",
        "tcap": f"Column: {tcap}.",
    }
    return Measured({"disco": found[worst].disco, "tcap": found[tcap].tcap}, notes, detail)
