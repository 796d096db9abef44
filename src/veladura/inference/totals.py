"""Means, totals and ratios of a release under its sampling design, combined by its rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats
from veladura.core.lost_design import design_words
from veladura.errors import DataError, PlanError, VeladuraWarning
from veladura.inference.cautions import cautions, cautions_of_step
from veladura.inference.combined import Combined
from veladura.inference.design_remarks import known_design, refuse_one_cluster
from veladura.inference.pooling import Pooling, analysed
from veladura.inference.sampled_rows import SampledRows, sampled_rows
from veladura.inference.streamed_totals import Part, streamed_totals
from veladura.inference.survey import Sampling, check_sampling, chosen_sampling
from veladura.table.codes import label_text
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.core.release import Release


def survey_mean(
    release: Release,
    column: str,
    *,
    by: str | None = None,
    level: float = 0.95,
    sampling: Sampling | None = None,
) -> Combined:
    """Return the mean of a column in the population, with an interval of the sampling design.

    Weighted; the variance is linearised over clusters within strata, or that of the replicate
    weights, in every dataset, and combined by the rule of the release. Rows in which the column is
    missing are a domain of their own and count as outside.

    Parameters
    ----------
    column
        A number column.
    by
        One estimate for each value of this column.
    level
        The confidence level.
    sampling
        Weights, strata, clusters and replicate weights. By default those that the roles of the
        columns declare.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> frame = pd.DataFrame({"y": [1.0, 3.0, 4.0, 8.0], "w": [10.0, 10.0, 10.0, 30.0]})
    >>> table = vd.open(frame, {"w": {"role": "weight"}})
    >>> release = vd.Reweight(column="w", digits=2).protect(table)
    >>> survey_mean(release, "y").value.round(3).tolist()
    [5.333]

    References
    ----------
    Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys.
    International Statistical Review 51(3), 279-292.
    Lohr, S. L. (2010). Sampling: Design and Analysis. Brooks/Cole.
    """
    return _estimated(
        release,
        lambda rows: _numbers(rows, column),
        [column],
        by,
        level,
        sampling,
        divide=True,
        figure=column,
    )


def survey_total(
    release: Release,
    column: str,
    *,
    by: str | None = None,
    level: float = 0.95,
    sampling: Sampling | None = None,
) -> Combined:
    """Return the total of a column in the population, with an interval of the sampling design.

    See `survey_mean` for the settings. Weights must say how many people a row stands for.
    """
    return _estimated(
        release,
        lambda rows: _numbers(rows, column),
        [column],
        by,
        level,
        sampling,
        divide=False,
        figure=f"total {column}",
    )


def survey_ratio(
    release: Release,
    numerator: str,
    denominator: str,
    *,
    by: str | None = None,
    level: float = 0.95,
    sampling: Sampling | None = None,
) -> Combined:
    """Return the ratio of two totals, with an interval of the sampling design.

    See `survey_mean` for the settings. Rows in which either column is missing count as outside.
    """

    def parts(rows: pa.Table) -> Part:
        (above, known), (below, given) = _numbers(rows, numerator), _numbers(rows, denominator)
        return above * given, below * known

    return _estimated(
        release,
        parts,
        [numerator, denominator],
        by,
        level,
        sampling,
        divide=True,
        figure=f"{numerator} / {denominator}",
    )


def _estimated(
    release: Release,
    parts: Callable[[pa.Table], Part],
    columns: Sequence[str],
    by: str | None,
    level: float,
    sampling: Sampling | None,
    *,
    divide: bool,
    figure: str,
) -> Combined:
    """Return estimates of every dataset, combined."""
    pooling = Pooling.of(release)
    datasets = analysed(release).tables
    schema = datasets[0].table.units.schema  # households may be the clusters
    schema.check("column", [*columns, *([by] if by else [])])
    if wrong := [name for name in columns if schema[name].kind not in NUMERIC]:
        msg = (
            f"columns {wrong} hold no numbers: they have no mean or total.\n\nHint: for the share"
            " of a category use release.analyze('I(column == value) ~ 1')."
        )
        raise PlanError(msg)
    design = chosen_sampling(schema, None, sampling)
    check_sampling(design, schema.names)
    used = [*columns, *([by] if by else []), *design.columns]
    for caution in _cautions(release, used, figure):
        warnings.warn(caution, VeladuraWarning, stacklevel=3)
    held = all(dataset.table.in_memory for dataset in datasets)
    if held or design.is_complex:
        release.refuse_large()
        tables = [dataset.fetched() for dataset in datasets]
        design, remarks = known_design(design, tables[0], schema)
        for remark in remarks:
            warnings.warn(remark, VeladuraWarning, stacklevel=3)
        groups = _groups([rows.column(by).unique() for rows in tables] if by else [])
        found = [_held(rows, parts, by, groups, design, divide=divide) for rows in tables]
    else:
        lazy = [dataset.table for dataset in datasets]
        groups = _groups([one.counts([by]).columns[0].to_arrow() for one in lazy] if by else [])
        found = [
            streamed_totals(one, parts, columns, by, groups, design.weights, divide=divide)
            for one in lazy
        ]
    estimates, variances = (np.array([each[place] for each in found]) for place in (0, 1))
    names = groups or [" / ".join(columns)]
    return pooling.combine(estimates, variances, level, names, found[-1][2], figure)


def _cautions(release: Release, used: Sequence[str], figure: str) -> list[str]:
    """Return what standard errors do not cover: a lost design, rows drawn one by one."""
    if release.rule.private:
        return cautions(release, used, " + ".join(used), figure)
    drawn = [step for step in release.steps if step.recipe is not None and step.recipe.synthesizes]
    said = [caution for step in drawn for caution in cautions_of_step(release, step, used)]
    return [*said, design_words(release.lost_design)] if release.lost_design else said


def _held(
    rows: pa.Table,
    parts: Callable[[pa.Table], Part],
    by: str | None,
    groups: Sequence[str],
    design: Sampling,
    *,
    divide: bool,
) -> tuple[Floats, Floats, float]:
    """Return the estimate of every group, its variance, and their degrees of freedom."""
    sampled = sampled_rows(rows, design)
    refuse_one_cluster(design, sampled)
    values = [
        _one(parts(rows), member, sampled, divide=divide) for member in _members(rows, by, groups)
    ]
    return (
        np.array([value for value, _ in values]),
        np.array([variance for _, variance in values]),
        sampled.df,
    )


def _one(part: Part, member: Floats, sampled: SampledRows, *, divide: bool) -> tuple[float, float]:
    """Return the estimate of one group and its variance."""
    above, below = (side * member for side in part)

    def estimate(weights: Floats) -> Floats:
        total = weights @ above
        return np.array([total / (weights @ below) if divide else total])

    if divide and not sampled.weights @ below:
        msg = "a dataset has no row for one of the estimates.\n\nHint: merge rare groups."
        raise DataError(msg)
    at = estimate(sampled.weights)
    if sampled.replicates.shape[1]:
        return float(at[0]), float(sampled.replicated(estimate, at)[0, 0])
    scores = sampled.weights * above
    if divide:
        scores = sampled.weights * (above - at[0] * below) / (sampled.weights @ below)
    return float(at[0]), float(sampled.variance(scores[:, None])[0, 0])


def _numbers(rows: pa.Table, name: str) -> Part:
    """Return the values of a column, 0 where missing, and whether each is there."""
    values = rows.column(name).cast(pa.float64(), safe=False).to_numpy()
    given = np.isfinite(values)
    return np.where(given, values, 0.0), given.astype(np.float64)


def _groups(values: Sequence[pa.Array]) -> list[str]:
    """Return the names of all groups, from the values of the column that makes them."""
    labels = {value for own in values for value in own.to_pylist()}
    return sorted(label_text(value) for value in labels if value is not None)


def _members(rows: pa.Table, by: str | None, groups: Sequence[str]) -> list[Floats]:
    if by is None:
        return [np.ones(rows.num_rows)]
    values = rows.column(by).to_pylist()
    texts = np.array(["" if value is None else label_text(value) for value in values])
    return [(texts == group).astype(np.float64) for group in groups]
