"""What generalisation and suppression cost: precision, completeness, discernibility, class size, entropy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.core.promise import starred_tuples
from veladura.measures.domain import generalising_step, levels_of, released_levels
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
)
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.core.recipe import Release, Step
    from veladura.table.table import Table


@dataclass(frozen=True)
class Generalisation:
    """What a generalised release keeps of its original.

    Attributes
    ----------
    precision
        1 less the mean share of the way up its hierarchy that a column went; the mean over columns.
    completeness
        Share of the rows that are released.
    discernibility
        Sum over groups of their squared size, a suppressed row counting as many as there are rows.
    indistinct
        The same over the squared number of rows: the chance that two rows cannot be told apart.
    average_class
        Released rows over groups.
    entropy
        Information on the columns that is kept: 1 as they were, 0 with every value suppressed. Not
        a number where levels differ from row to row.
    columns
        Precision of each column.

    References
    ----------
    Sweeney, L. (2002). Achieving k-anonymity privacy protection using generalization and
    suppression. International Journal of Uncertainty, Fuzziness and Knowledge-based Systems 10(5),
    571-588, sec. 4.2 (precision).
    Bayardo, R. and Agrawal, R. (2005). Data privacy through optimal k-anonymization. ICDE, eq. 1
    (discernibility).
    de Waal, A. and Willenborg, L. (1999). Information loss through global recoding and local
    suppression.
    Netherlands Official Statistics 14, 17-20 (entropy).
    """

    precision: Estimate
    completeness: Estimate
    discernibility: Estimate
    indistinct: Estimate
    average_class: Estimate
    entropy: Estimate
    columns: Mapping[str, Estimate] = field(repr=False)


def generalisation(original: Any, release: Release) -> Generalisation:
    """Return what generalisation and suppression cost.

    Parameters
    ----------
    original
        The table that was generalised: anything `veladura.open` takes.
    release
        Its release, from memory or from a package; one without a generalising step is refused.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"zip": ["02138", "02139", "02141", "02142"]})
    >>> release = vd.KAnonymity(quasi_identifiers=["zip"], k=2, hierarchies={"zip": vd.Hierarchy.mask(5)}).protect(people)
    >>> found = generalisation(people, release)
    >>> float(found.precision), int(found.discernibility), float(found.entropy)
    (0.8, 8, 0.5)
    """
    step = generalising_step(release)
    if step is None:
        msg = "no step of this release generalises values."
        raise NotApplicable(msg)
    before = open_quietly(original)
    sizes = _class_sizes(release.tables[0].table, step)
    lost = int(step.settings.get("suppressed_rows", 0))
    rows, kept = before.rows, int(sizes.sum())
    squares = float((sizes.astype(float) ** 2).sum()) + float(lost) * rows
    by_column = {name: float(value) for name, value in step.settings["precision"].items()}
    overall = float(step.settings.get("precision_by_cell", np.mean(list(by_column.values()))))
    return Generalisation(
        Estimate.exact(overall),
        Estimate.exact(1 - lost / rows if rows else 0.0),
        Estimate.exact(squares),
        Estimate.exact(squares / rows**2 if rows else 0.0),
        Estimate.exact(kept / sizes.size if sizes.size else 0.0),
        Estimate.exact(_entropy_kept(before, release, step)),
        {name: Estimate.exact(value) for name, value in by_column.items()},
    )


def _class_sizes(table: Table, step: Step) -> Any:
    """Return the sizes of the groups, suppressed rows that stand there with ``*`` apart."""
    names = list(step.settings["quasi_identifiers"])
    counts = table.counts(names)
    blank = [name for name in names if table.schema[name].kind not in LABELLED]
    starred = starred_tuples(
        counts,
        {"starred": step.settings.get("suppressed") == "star", "columns": names, "blank": blank},
    )
    return counts.size[~starred]


def _entropy_kept(original: Table, release: Release, step: Step) -> float:
    """Return 1 - sum over rows and columns of log2(n of the generalised value / n of the original) over that of full suppression.

    Suppressed rows are left to completeness.
    """
    if step.settings.get("recoding") != "global":
        return float("nan")
    levels, spent, all_ = released_levels(release), 0.0, 0.0
    for name in step.settings["quasi_identifiers"]:
        found = levels_of(original, release, name) if name in original.names else None
        if found is None:
            return float("nan")
        column, sizes = found
        codes = column.codes[levels.get(name, 0)]
        merged = np.bincount(codes, weights=sizes)[codes]
        spent += float(np.sum(sizes * np.log2(merged / sizes)))
        all_ += float(np.sum(sizes * np.log2(sizes.sum() / sizes)))
    return 1 - spent / all_ if all_ > 0 else 1.0


@measure(
    "utility.generalisation",
    figures={
        "precision": Meaning(
            "How little the values were coarsened: 100 % not at all, 0 % to nothing.",
            "high",
            "share",
            headline=True,
        ),
        "completeness": Meaning(
            "Rows of the original that are in the release.", "high", "share", headline=True
        ),
        "discernibility": Meaning(
            "Chance that two rows cannot be told apart, suppressed ones from no other"
            " (discernibility over n squared).",
            "low",
            "share",
        ),
        "average_class": Meaning(
            "Released rows that share a combination of values, mean over combinations.", "low"
        ),
        "entropy": Meaning(
            "Information on the generalised columns that is kept (non-uniform entropy).",
            "high",
            "share",
        ),
    },
    counted=True,
)
def measure_generalisation(subject: Subject) -> Measured:
    """Measure the generalising step, column by column."""
    found = generalisation(subject.original, subject.release)
    why = "levels differ from row to row, or the table is not the one that was generalised."
    entropy = NotApplicable(why) if np.isnan(found.entropy.value) else found.entropy
    rows = tuple((name, f"{float(value):.3f}") for name, value in found.columns.items())
    return Measured(
        {
            "precision": found.precision,
            "completeness": found.completeness,
            "discernibility": found.indistinct,
            "average_class": found.average_class,
            "entropy": entropy,
        },
        {"discernibility": f"Discernibility: {found.discernibility.value:,.0f}."},
        Detail("Precision of each column", ("Column", "Precision"), rows),
    )
