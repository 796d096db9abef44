"""The sampling design in an analysis: weights, strata, clusters, replicate weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, get_args

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.core.replicates import declared_replication
from veladura.errors import ColumnError, DataError, PlanError
from veladura.table.replication import WORDS, Made, Replication, recognised

if TYPE_CHECKING:
    from veladura.table.schema import Role, Schema


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How people were sampled, by the columns of a release that say it.

    Parameters
    ----------
    weights
        The column of sampling weights; None for equal weights.
    strata
        The column of strata: variances are of clusters within each of them.
    cluster
        The column of primary sampling units; without one every row is one.
    replicates
        Columns of replicate weights: the variance is then that of the estimates with each of them,
        and strata and clusters are not used.
    replication
        How the replicates were made: "brr" (balanced repeated replication), "fay" (with ``rho``),
        "jackknife" (one cluster left out at a time, JK1), "jkn" (the same within strata), "jk2"
        (one of each pair of clusters), or "bootstrap". By default it is recognised from the
        weights; where that is not possible the replicates are not used, with a warning.
    rho
        Fay's coefficient; by default that of the weights, else 0.5.
    scales
        The factor of the squared deviation of each replicate, for "jkn"; by default by the weights.
    fraction
        A column with the share of the clusters of a stratum that was sampled: the finite population
        correction. Without it clusters count as drawn with replacement.

    References
    ----------
    Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys.
    International Statistical Review 51(3), 279-292.
    Wolter, K. M. (2007). Introduction to Variance Estimation. Springer.
    Fay, R. E. (1989). Theory and application of replicate weighting for variance calculations.
    Proceedings of the Survey Research Methods Section, ASA, 212-217.
    """

    weights: str | None = None
    strata: str | None = None
    cluster: str | None = None
    replicates: tuple[str, ...] = ()
    replication: Replication | None = None
    rho: float | None = None
    scales: tuple[float, ...] = ()
    fraction: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.replicates, str):
            msg = "replicates must be a list of columns.\n\nHint: put the name into brackets."
            raise PlanError(msg)
        object.__setattr__(self, "replicates", tuple(self.replicates))
        object.__setattr__(self, "scales", tuple(self.scales))
        if self.replication is not None and self.replication not in get_args(Replication):
            raise PlanError.unknown("replication", str(self.replication), get_args(Replication))
        if self.rho is not None and not 0 <= self.rho < 1:
            msg = f"rho ({self.rho}) must be at least 0 and below 1."
            raise PlanError(msg)
        if len(self.replicates) == 1:
            msg = "one column of replicate weights shows no variance: at least two are needed."
            raise PlanError(msg)
        if self.scales and len(self.scales) != len(self.replicates):
            msg = (
                f"scales has {len(self.scales)} numbers for {len(self.replicates)} columns of"
                " replicate weights: one each is needed."
            )
            raise PlanError(msg)

    @classmethod
    def declared(cls, schema: Schema) -> Sampling:
        """Return the design that the roles of the columns declare.

        Without a declared cluster the household is one, and without that the person: their rows are
        no independent draws.
        """

        def first(*roles: Role) -> str | None:
            return next((name for role in roles for name in schema.of_role(role)), None)

        replicates = tuple(schema.of_role("replicate weight"))
        design = cls(
            weights=first("weight"),
            strata=first("strata"),
            cluster=first("cluster", "household", "person"),
            replicates=replicates if len(replicates) > 1 else (),
        )
        return design.made(declared_replication(schema)) if design.replicates else design

    def made(self, how: Sequence[Made | None]) -> Sampling:
        """Return the design with what is said, or seen, of how its replicates were made."""
        said = [own for own in how if own is not None]
        if len({own.how for own in said}) > 1:
            words = ", ".join(sorted({own.how for own in said}))
            msg = (
                f"the replicate weights are declared to be made in several ways ({words}).\n\nHint:"
                " declare the same replication for all of them."
            )
            raise PlanError(msg)
        if not said:
            return self
        rho = said[0].number if said[0].how == "fay" else None
        scales = [own.number for own in said if own.how == "jkn" and own.number is not None]
        full = len(scales) == len(self.replicates)
        return replace(
            self,
            replication=said[0].how,
            rho=self.rho if rho is None else rho,
            scales=tuple(scales) if full else self.scales,
        )

    @property
    def is_simple(self) -> bool:
        """Whether there is nothing but independent rows of equal weight."""
        return not self.columns

    @property
    def is_complex(self) -> bool:
        """Whether variances need more than the weight of each row."""
        return bool(self.strata or self.cluster or self.replicates or self.fraction)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs."""
        named = (self.weights, self.strata, self.cluster, self.fraction)
        return tuple(name for name in (*named, *self.replicates) if name is not None)

    @property
    def factors(self) -> Floats:
        """What the squared deviation of each replicate estimate is multiplied with.

        1 / R for balanced replicates, 1 / (R (1 - rho)^2) for Fay's, (R - 1) / R for the jackknife,
        (n - 1) / n within a stratum of n clusters, 1 for pairs of clusters, 1 / (R - 1) for the
        bootstrap (Wolter 2007, ch. 3-5).
        """
        number, rho = len(self.replicates), 0.5 if self.rho is None else self.rho
        if self.replication == "jkn":
            return np.array(self.scales)
        return np.full(
            number,
            {
                "brr": 1 / number,
                "fay": 1 / (number * (1 - rho) ** 2),
                "jackknife": (number - 1) / number,
                "jk2": 1.0,
                "bootstrap": 1 / (number - 1),
            }[str(self.replication)],
        )

    @property
    def is_known(self) -> bool:
        """Whether it is known how the replicates were made, with the numbers that this takes."""
        return self.replication is not None and (self.replication != "jkn" or bool(self.scales))

    def __str__(self) -> str:
        parts = [f"weights {self.weights}"] if self.weights else []
        if self.replicates:
            how = WORDS[self.replication] if self.replication else "made in a way that is not known"
            return ", ".join([*parts, f"{len(self.replicates)} replicate weights: {how}"])
        parts += [f"strata {self.strata}"] if self.strata else []
        parts += [f"clusters {self.cluster}"] if self.cluster else []
        return ", ".join(parts)


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
        else _weights(rows.column(sampling.weights), sampling.weights)
    )
    stratum = _numbered(rows, sampling.strata)
    own = _clusters(rows, sampling.cluster)
    unit = np.unique(stratum * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    kept = [_weights(rows.column(name), name) for name in sampling.replicates]
    fraction = np.zeros(number)
    if sampling.fraction is not None:
        fraction = _weights(rows.column(sampling.fraction), sampling.fraction)
        if (fraction > 1).any():
            msg = f"the sampling fraction {sampling.fraction!r} must be at most 1."
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


UNKNOWN = (
    "it is not known how the replicate weights were made, and the weights do not show it: they are"
    " not used, and errors are those of the weights, strata and clusters that the release has. Name"
    " it as the survey's documentation does: replication='bootstrap' (--replication bootstrap), or"
    " one of brr, fay, jackknife, jkn, jk2."
)


def known_replicates(sampling: Sampling, rows: pa.Table) -> tuple[Sampling, tuple[str, ...]]:
    """Return a design that knows how its replicates were made, and what an analyst must know.

    What is declared counts; else what the weights of the rows show. Where neither tells it the
    replicates are left out: a guess may be wrong by a factor of several.
    """
    if not sampling.replicates:
        return sampling, ()
    seen = _seen(sampling, rows)
    shown = sampling.made(seen)
    if sampling.replication is None:
        design = shown
    elif seen and seen[0].how == sampling.replication:  # the weights may show its numbers
        design = replace(
            sampling,
            rho=shown.rho if sampling.rho is None else sampling.rho,
            scales=sampling.scales or shown.scales,
        )
    else:
        one = sampling.replication == "jkn" and seen and seen[0].how == "jackknife"
        design = shown if one and not sampling.scales else sampling  # of one stratum
    if not design.is_known:
        return replace(design, replicates=(), replication=None, scales=()), (UNKNOWN,)
    if seen and not np.allclose(design.factors, shown.factors, rtol=0.01):
        return design, (_otherwise(design, shown),)
    return design, ()


def _seen(sampling: Sampling, rows: pa.Table) -> tuple[Made, ...]:
    """Return how the replicates were made, by the weights of the rows; () where unclear."""
    if sampling.weights is None:
        return ()
    base = _weights(rows.column(sampling.weights), sampling.weights)
    every = [_weights(rows.column(name), name) for name in sampling.replicates]
    return recognised(base, np.column_stack(every))


def _otherwise(design: Sampling, shown: Sampling) -> str:
    ratio = float(np.sqrt(shown.factors.sum() / design.factors.sum()))
    told, seen = (WORDS[str(each.replication)] for each in (design, shown))
    return (
        f"replicate weights are taken as {told}, as was said, but look like {seen}: errors would"
        f" then be {ratio:.3g} times as large."
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


def _weights(column: pa.ChunkedArray, name: str) -> Floats:
    numeric = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    values = column.cast(pa.float64(), safe=False).to_numpy() if numeric else np.full(1, np.nan)
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        msg = f"weights {name!r} must be numbers of at least 0, and not all 0."
        raise DataError(msg)
    made: Floats = values
    return made


def chosen_sampling(schema: Schema, weights: str | None, sampling: Sampling | None) -> Sampling:
    """Return the design of an analysis: as given, by its weights alone, or as declared."""
    if weights is not None and sampling is not None:
        msg = "give weights or sampling, not both.\n\nHint: Sampling(weights=...) has them too."
        raise PlanError(msg)
    if sampling is not None:
        return sampling
    return Sampling.declared(schema) if weights is None else Sampling(weights=weights)


def check_sampling(sampling: Sampling, names: Sequence[str]) -> None:
    """Refuse a design whose columns are not in the release."""
    if absent := [name for name in sampling.columns if name not in names]:
        setting = "sampling (weights, strata, cluster)"
        raise ColumnError.missing(setting, absent, list(names))
