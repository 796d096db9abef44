"""Information loss of generalisation: precision, discernibility, class size, entropy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.core.violations import starred_tuples
from veladura.errors import NotApplicable
from veladura.measures.domain import columns_of, generalising_step, levels_of, released_levels
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.table.schema import LABELLED
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Release, Step
    from veladura.table.table import Table


@dataclass(frozen=True)
class Generalisation:
    """Information that a generalised release keeps.

    Attributes
    ----------
    precision
        1 minus level / height of the hierarchy, mean over columns.
    completeness
        Share of the original's people who are in the release.
    discernibility
        Sum over classes of their squared size; a suppressed row counts n.
    indistinct
        Discernibility / n^2: probability that two random rows fall into the same class.
    average_class
        Average class size: released rows over classes.
    entropy
        Non-uniform entropy that is kept: 1 for unchanged columns, 0 with every value suppressed.
        Not a number where levels differ from row to row.
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
    suppression. Netherlands Official Statistics 14, 17-20 (entropy).
    """

    precision: Estimate
    completeness: Estimate
    discernibility: Estimate
    indistinct: Estimate
    average_class: Estimate
    entropy: Estimate
    columns: Mapping[str, Estimate] = field(repr=False)


def generalisation(original: Any, release: Release) -> Generalisation:
    """Return the information loss of generalisation and suppression.

    Parameters
    ----------
    original
        The table that was generalised: anything `veladura.open` takes.
    release
        Its release, from memory or from a package; it must have a step that generalises.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"zip": ["02138", "02139", "02141", "02142"]})
    >>> recipe = vd.KAnonymity(
    ...     quasi_identifiers=["zip"], k=2, hierarchies={"zip": vd.Hierarchy.mask(5)}
    ... )
    >>> kept = generalisation(people, recipe.protect(people))
    >>> float(kept.precision), int(kept.discernibility), float(kept.entropy)
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
    """Return the sizes of the classes, without suppressed rows that are released as ``*``."""
    names = list(step.settings["quasi_identifiers"])
    counts = table.counts(names)
    blank = [name for name in names if table.schema[name].kind not in LABELLED]
    starred = starred_tuples(
        counts,
        {"starred": step.settings.get("suppressed") == "star", "columns": names, "blank": blank},
    )
    return counts.size[~starred]


def _entropy_kept(original: Table, release: Release, step: Step) -> float:
    """Return the non-uniform entropy that is kept, suppressed rows left aside.

    1 - sum over rows and columns of log2(n of the generalised value / n of the original one), over
    the same sum for full suppression.
    """
    if step.settings.get("recoding") != "global":
        return float("nan")
    levels, lost, most = released_levels(release), 0.0, 0.0
    for name in step.settings["heights"]:
        here = set(columns_of(step, name)) <= set(original.names)
        counted = levels_of(original, release, name) if here else None
        if counted is None:
            return float("nan")
        column, sizes = counted
        codes = column.codes[levels.get(name, 0)]
        merged = np.bincount(codes, weights=sizes)[codes]
        lost += float(np.sum(sizes * np.log2(merged / sizes)))
        most += float(np.sum(sizes * np.log2(sizes.sum() / sizes)))
    return 1 - lost / most if most > 0 else 1.0


def measure(subject: Subject) -> Measured:
    """Measure the generalising step, column by column."""
    kept = generalisation(subject.original, subject.release)
    why = "levels differ from row to row, or the table is not the one that was generalised."
    entropy = NotApplicable(why) if np.isnan(kept.entropy.value) else kept.entropy
    rows = tuple((name, f"{float(value):.3f}") for name, value in kept.columns.items())
    complete = kept.completeness
    if subject.original.people < subject.original.rows:  # of a person, some rows may be left out
        complete = Estimate.exact(subject.tables[0].people / subject.original.people)
    return Measured(
        {
            "precision": kept.precision,
            "completeness": complete,
            "discernibility": kept.indistinct,
            "average_class": kept.average_class,
            "entropy": entropy,
        },
        {"discernibility": f"Discernibility: {kept.discernibility.value:,.0f}."},
        Detail("Precision of each column", ("Column", "Precision"), rows),
    )


MEASURE = Measure(
    "utility.generalisation",
    figures={
        "precision": Meaning(
            "Precision: 100 % when no value is generalised, 0 % when every value is suppressed.",
            "high",
            "share",
            headline=True,
        ),
        "completeness": Meaning(
            "Completeness: people of the original who are in the release.",
            "high",
            "people",
            headline=True,
        ),
        "discernibility": Meaning(
            "Discernibility / n²: probability that two random rows fall into the same class.",
            "low",
            "share",
        ),
        "average_class": Meaning(
            "Average class size: people who share a combination of quasi-identifiers.", "low"
        ),
        "entropy": Meaning(
            "Non-uniform entropy: information on the generalised columns that is kept.",
            "high",
            "share",
        ),
    },
    counted=True,
    function=measure,
)
