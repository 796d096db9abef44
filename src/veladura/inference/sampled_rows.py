"""The rows of a dataset with their sampling design: weights, strata, clusters, replicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.errors import DataError
from veladura.inference.known_replicates import known_replicates
from veladura.inference.survey import Sampling
from veladura.inference.weight_columns import read_weights


@dataclass(frozen=True, eq=False)
class SampledRows:
    """The design of the rows that an analysis uses.

    Attributes
    ----------
    weights
        The weight of each row.
    stratum, unit
        Stratum and cluster of each row, numbered from 0; clusters are numbered within strata.
    replicates
        Replicate weights, one column each.
    fraction
        The sampled share of the clusters of each row's stratum; 0 for draws with replacement.
    scales
        The factors of the replicates.
    balanced
        Whether degrees of freedom are one less than the replicates; else the sum of the factors.
    """

    weights: Floats = field(repr=False)
    stratum: Ints = field(repr=False)
    unit: Ints = field(repr=False)
    replicates: Floats = field(repr=False)
    fraction: Floats = field(repr=False)
    scales: Floats = field(repr=False)
    balanced: bool = True

    @property
    def df(self) -> float:
        """Degrees of freedom: clusters less strata, or one less than the replicates.

        Those of a jackknife are the sum of its factors: (n - 1) / n for each of n clusters.
        """
        if self.replicates.shape[1] and self.balanced:
            return float(self.replicates.shape[1] - 1)
        if self.replicates.shape[1]:
            return float(max(self.scales.sum(), 1.0))
        units = np.unique(self.unit)
        strata = np.unique(self.stratum)
        return float(max(units.size - strata.size, 1))

    def lonely(self) -> tuple[int, int]:
        """Return how many strata have one cluster that is not all there is, and how many strata."""
        first = np.unique(self.unit, return_index=True)[1]
        size = np.bincount(self.stratum[first])
        all_taken = np.zeros(size.size, dtype=bool)
        all_taken[self.stratum] = self.fraction >= 1
        return int(np.sum((size == 1) & ~all_taken)), int(np.sum(size > 0))

    def variance(self, scores: Floats) -> Floats:
        """Return the linearised covariance of sums of scores.

        sum over strata of (1 - f_h) n_h / (n_h - 1) sum over clusters of (z - mean z)(z - mean z)'
        (Binder 1983; Wolter 2007, eq. 1.6.11 and 6.7.5). A stratum with one cluster is compared
        with the mean of all clusters.
        """
        number = int(self.unit.max()) + 1
        totals = np.column_stack(
            [np.bincount(self.unit, weights=column, minlength=number) for column in scores.T]
        )
        home = np.zeros(number, dtype=np.int64)
        home[self.unit] = self.stratum
        left = np.ones(number)
        left[self.unit] = 1 - self.fraction
        strata = int(home.max()) + 1
        size = np.bincount(home, minlength=strata)
        means = (
            np.column_stack(
                [np.bincount(home, weights=column, minlength=strata) for column in totals.T]
            )
            / np.maximum(size, 1)[:, None]
        )
        means[size == 1] = totals.mean(axis=0)
        off = totals - means[home]
        factor = np.where(size > 1, size / np.maximum(size - 1, 1), 1.0)[home] * left
        made: Floats = (off * factor[:, None]).T @ off
        return made

    def replicated(self, estimate: Callable[[Floats], Floats], at: Floats) -> Floats:
        """Return the covariance of an estimate from its values with every replicate weight."""
        every = np.array([estimate(column) for column in self.replicates.T])
        off = every - at
        made: Floats = (off * self.scales[:, None]).T @ off
        return made


def sampled_rows(rows: pa.Table, sampling: Sampling) -> SampledRows:
    """Return the design of all rows of a dataset."""
    sampling, _ = known_replicates(sampling, rows)
    number = rows.num_rows
    weights = (
        np.ones(number)
        if sampling.weights is None
        else read_weights(rows.column(sampling.weights), sampling.weights)
    )
    stratum = _numbered(rows, sampling.strata)
    own = _clusters(rows, sampling.cluster)
    unit = np.unique(stratum * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    kept = [read_weights(rows.column(name), name) for name in sampling.replicates]
    fraction = np.zeros(number)
    if sampling.fraction is not None:
        fraction = read_weights(rows.column(sampling.fraction), sampling.fraction)
        if (fraction > 1).any():
            msg = (
                f"the sampling fraction {sampling.fraction!r} must be at most 1: it is above it in"
                f" {int((fraction > 1).sum()):,} rows.\n\nHint: divide the clusters that were"
                " sampled in a stratum by those that it has."
            )
            raise DataError(msg)
    return SampledRows(
        weights,
        stratum,
        unit.astype(np.int64),
        np.column_stack(kept) if kept else np.zeros((number, 0)),
        fraction,
        sampling.factors if kept else np.empty(0),
        sampling.replication not in ("jackknife", "jkn", "jk2"),
    )


def _clusters(rows: pa.Table, name: str | None) -> Ints:
    """Return the cluster of every row; who lives in no household is one alone."""
    alone = np.arange(rows.num_rows, dtype=np.int64)
    if name is None:
        return alone
    missing = rows.column(name).is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, rows.num_rows + alone, _numbered(rows, name))


def _numbered(rows: pa.Table, name: str | None) -> Ints:
    if name is None:
        return np.zeros(rows.num_rows, dtype=np.int64)
    column = rows.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
    coded = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    codes: Ints = coded.indices.to_numpy().astype(np.int64)
    return codes
