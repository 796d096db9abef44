"""Releases that nobody can use, said in words, with what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.estimate import Estimate
from veladura.table.codes import label_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from veladura.core.release import Release
    from veladura.measures.assessment import Assessment
    from veladura.table.table import Table

STAR = "*"
FAR_RATIO = 100.0  # pMSE over its expectation
# The ratio grows with the rows: in a million rows it is large for a difference that nobody would
# notice. The largest pMSE there is, for as many released rows as original ones, is 0.25.
FAR_VALUE = 0.01
NEARLY_ALL = 0.95
FEW_PEOPLE = 0.5


def useless(assessment: Assessment, release: Release) -> list[str]:
    """Return in words why a release is of no use, each with what to change; empty if it may be.

    Parameters
    ----------
    assessment
        The figures of the release.
    release
        The release that was assessed.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"zip": ["02138", "02139", "02141", "02142"]})
    >>> recipe = vd.KAnonymity(
    ...     quasi_identifiers=["zip"], k=4, hierarchies={"zip": vd.Hierarchy.star()}
    ... )
    >>> release = recipe.protect(people)
    >>> for sentence in useless(vd.assess(people, release), release):
    ...     print(sentence.partition(".")[0])
    zip is suppressed (*) in all rows: it tells nothing
    """
    return [*_columns(release), *_rows(assessment), *_model(assessment)]


def _columns(release: Release) -> Iterator[str]:
    """Say which columns hold nothing any more, those of one kind together."""
    changed, before = set(release.changed), release.original
    tables = [dataset.table for dataset in release.tables]
    emptied: dict[str, list[str]] = {}
    for name in tables[0].names:
        told = name in changed and (
            before is None
            or name not in before.names
            or (_varies(before, name) and not _emptied([before], name))
        )
        if told and (what := _emptied(tables, name)):
            emptied.setdefault(what, []).append(name)
    for what, names in emptied.items():
        who, it = (names[0], "it tells") if len(names) == 1 else (_each(names), "they tell")
        yield (
            f"{who} {what}: {it} nothing. Leave it out, or let more of it through: a smaller k, a"
            " hierarchy with finer levels, more suppression of rows, or fewer quasi-identifiers."
        )


def _each(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}: each"


def _varies(table: Table, name: str) -> bool:
    column = table.profile(name).columns[0]
    return int(np.count_nonzero(~column.missing)) > 1


def _emptied(tables: list[Table], name: str) -> str:
    """Return what is left of a column in words, where that is nothing."""
    starred, missing, largest = np.mean([_shares(table, name) for table in tables], axis=0)
    for share, what in ((starred, f"is suppressed ({STAR})"), (missing, "is missing")):
        if share >= NEARLY_ALL:
            return f"{what} in {'all' if share == 1 else 'nearly all'} rows"
    return "has one value in all rows" if largest == 1 else ""


def _shares(table: Table, name: str) -> tuple[float, float, float]:
    """Return the shares of ``*``, of missing values and of the commonest value."""
    counts = table.profile(name)
    column, rows = counts.columns[0], max(int(counts.size.sum()), 1)
    star = np.zeros(column.size, dtype=bool)
    if column.labels is not None:
        labels = np.array([text == STAR for text in label_texts(column)] or [False])
        star = labels[column.values] & ~column.missing
    return (
        float(counts.size[star].sum()) / rows,
        float(counts.size[column.missing].sum()) / rows,
        float(counts.size.max(initial=0)) / rows,
    )


def _rows(assessment: Assessment) -> Iterator[str]:
    kept = _value(assessment, "utility.generalisation.completeness")
    if kept is not None and kept.value < FEW_PEOPLE:
        people = assessment.figures["utility.generalisation.completeness"].base
        yield (
            f"Only {round(kept.value * people):,} of {people:,} people are in the release: who is"
            " left is not the population. Lower max_suppression, so that values are generalised"
            " instead, or choose a smaller k."
        )


def _model(assessment: Assessment) -> Iterator[str]:
    value, ratio = (_value(assessment, f"utility.pmse.{figure}") for figure in ("value", "ratio"))
    if value is None or ratio is None or value.value < FAR_VALUE or ratio.value < FAR_RATIO:
        return
    yield (
        f"The pMSE ratio is {ratio.value:,.0f}, where 1 is ideal: a simple model tells released"
        " rows from original ones, so analyses of the release can be far from those of the"
        " original. Change less: less noise, fewer columns, a larger privacy budget, more"
        " predictors of a synthesis. veladura compare tries several settings at once."
    )


def _value(assessment: Assessment, name: str) -> Estimate | None:
    figure = assessment.figures.get(name)
    return None if figure is None else figure.estimate
