"""The sampling design in an analysis: weights, strata, clusters, replicate weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from veladura.base.arrays import Floats
from veladura.core.replicates import declared_replication
from veladura.errors import ColumnError, PlanError
from veladura.table.replication import WORDS, Made, Replication

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

    def weighted_by(self, name: str | None) -> Sampling:
        """Return the design with another column of weights; strata and clusters are the same.

        Replicates belong to the weights that they were made from, and go with them.
        """
        if name == self.weights:
            return self
        return replace(self, weights=name).linearised()

    def linearised(self) -> Sampling:
        """Return the design without its replicate weights."""
        return replace(self, replicates=(), replication=None, rho=None, scales=())

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


def chosen_sampling(schema: Schema, weights: str | None, sampling: Sampling | None) -> Sampling:
    """Return the design of an analysis: as given, or as declared, with other weights if named."""
    if weights is not None and sampling is not None:
        msg = "give weights or sampling, not both.\n\nHint: Sampling(weights=...) has them too."
        raise PlanError(msg)
    if sampling is not None:
        return sampling
    declared = Sampling.declared(schema)
    return declared if weights is None else declared.weighted_by(weights)


def check_sampling(sampling: Sampling, names: Sequence[str]) -> None:
    """Refuse a design whose columns are not in the release."""
    if absent := [name for name in sampling.columns if name not in names]:
        setting = "sampling (weights, strata, cluster)"
        raise ColumnError.missing(setting, absent, list(names))
