"""How replicate weights were made: jackknife, balanced half-samples, Fay's, or bootstrap.

The variance of an estimate is a sum of squared deviations of its replicates times a factor that
depends on how these were made: with the wrong one errors are wrong by a factor of several. What
each replicate does to the weight of a row tells the methods apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from veladura.base.arrays import Floats, Mask
from veladura.errors import PlanError

Replication = Literal["brr", "fay", "jackknife", "jkn", "jk2", "bootstrap"]
WORDS: Mapping[str, str] = {
    "brr": "balanced repeated replication",
    "fay": "balanced repeated replication by Fay's method",
    "jackknife": "jackknife, one cluster left out at a time (JK1)",
    "jkn": "jackknife within strata (JKn)",
    "jk2": "jackknife of pairs (JK2)",
    "bootstrap": "bootstrap",
}
_NEAR = 1e-3  # of a factor, relative
_MOST_DECIMALS = 6
_TWO = 2.0


@dataclass(frozen=True)
class Made:
    """How one column of replicate weights was made.

    Attributes
    ----------
    how
        The method.
    number
        Fay's coefficient, or the factor of a squared deviation of "jkn"; None where it is not said.
    """

    how: Replication
    number: float | None = None

    @classmethod
    def read(cls, text: str) -> Made:
        """Return what a plan or a manifest says, such as "jackknife", "fay 0.3" or "jkn 0.9".

        Examples
        --------
        >>> Made.read("fay 0.3")
        Made(how='fay', number=0.3)
        """
        how, _, number = text.strip().partition(" ")
        if how not in get_args(Replication):
            what = "replication"
            raise PlanError.unknown(what, how, get_args(Replication))
        if not number.strip():
            return cls(how)  # type: ignore[arg-type]  # checked above
        try:
            value = float(number)
        except ValueError:
            value = np.nan
        if how not in ("fay", "jkn") or not (0 <= value < 1):
            msg = (
                f"replication ({text!r}) must be one of {', '.join(get_args(Replication))}; Fay's"
                " coefficient or the factor of a squared deviation of jkn may follow, at least 0"
                " and below 1, as in 'fay 0.3'."
            )
            raise PlanError(msg)
        return cls(how, value)  # type: ignore[arg-type]  # checked above

    def __str__(self) -> str:
        return self.how if self.number is None else f"{self.how} {self.number:.9g}"


def recognised(weights: Floats, replicates: Floats) -> tuple[Made, ...]:
    """Return how replicate weights were made, by what they do to the weights; () where unclear.

    Parameters
    ----------
    weights
        The weight of each row.
    replicates
        One column each.

    Examples
    --------
    >>> weights = np.array([10.0, 20.0, 30.0])
    >>> left_out = 1.5 * (1 - np.eye(3))
    >>> [str(made) for made in recognised(weights, weights[:, None] * left_out)]
    ['jackknife', 'jackknife', 'jackknife']
    """
    used = weights > 0
    number = replicates.shape[1]
    if number < 2 or not used.any():  # noqa: PLR2004
        return ()
    rounded = _unit(weights), _unit(replicates)
    base, changed = weights[used][:, None], replicates[used]
    near = _Near(base, changed, rounded)
    zero = changed == 0
    once = zero.sum(axis=1)
    if (once == 1).all() and near.all(~zero, number / (number - 1)):
        return _alike(Made("jackknife"), replicates)
    if zero.any() and near.all(~zero, _TWO) and _is_half(zero):
        return _alike(Made("brr"), replicates)
    if zero.any() and (once <= 1).all():
        return _stratified(near, zero)
    return () if zero.any() else _fay(near)


@dataclass(frozen=True)
class _Near:
    """Whether replicates are their weights times a factor, as far as rounding lets one see it."""

    base: Floats
    changed: Floats
    rounded: tuple[float, float]

    def each(self, factor: float | Floats) -> Mask:
        """Return for each row and replicate whether a factor fits."""
        off = np.abs(self.changed - factor * self.base)
        room = np.maximum(
            _NEAR * factor * self.base, 0.51 * (factor * self.rounded[0] + self.rounded[1])
        )
        fits: Mask = off <= room
        return fits

    def all(self, where: Mask, factor: float | Floats) -> bool:
        """Whether a factor fits everywhere where it should."""
        return bool((self.each(factor) | ~where).all())

    def factors(self) -> Floats:
        """Return the factor of each row and replicate."""
        made: Floats = self.changed / self.base
        return made


def _is_half(zero: Mask) -> bool:
    """Whether about half of the rows are left out of each replicate."""
    shares = zero.mean(axis=0)
    return bool(abs(shares.mean() - 0.5) < 0.15)  # noqa: PLR2004


def _stratified(near: _Near, zero: Mask) -> tuple[Made, ...]:
    """Return JKn or JK2: in a replicate one cluster is left out, those of its stratum made up for.

    In JKn each cluster is left out once, and others of its stratum have n / (n - 1); in JK2 one of
    each pair of clusters is left out, and the other counts twice. Rows of strata with one cluster
    keep their weight in every replicate.
    """
    raised = ~zero & ~near.each(1.0)
    paired = (zero | raised).any(axis=1)
    factors = np.ones(zero.shape[1])
    for place, rows in enumerate(raised.T):
        if rows.any():
            factors[place] = float(np.median(near.factors()[rows, place]))
    fits = (near.each(factors) & raised) | (near.each(1.0) & ~raised) | zero
    if not fits.all() or (factors < 1).any():
        return ()
    if (zero[paired].sum(axis=1) == 1).all():
        clusters = np.maximum(np.round(factors / np.maximum(factors - 1, 1e-9)), 2)
        return tuple(Made("jkn", float(1 - 1 / n)) for n in clusters)
    if ((zero | raised)[paired].sum(axis=1) == 1).all() and near.all(raised, _TWO):
        return _alike(Made("jk2"), zero)
    return ()


def _fay(near: _Near) -> tuple[Made, ...]:
    """Return Fay's method: factors rho and 2 - rho, about half of the rows each."""
    factors = near.factors()
    low = factors < 1
    if not low.any() or low.all() or not _is_half(low):
        return ()
    rho = float(np.round(np.median(factors[low]), 4))
    if not near.all(low, rho) or not near.all(~low, 2 - rho):
        return ()
    return _alike(Made("fay", rho), factors)


def _alike(made: Made, columns: Floats | Mask) -> tuple[Made, ...]:
    return tuple(made for _ in range(columns.shape[1]))


def _unit(values: Floats) -> float:
    """Return the last decimal that weights are rounded to; 0 for many decimals."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.allclose(np.round(values, decimals), values, rtol=0, atol=1e-9):
            return float(10.0**-decimals)
    return 0.0
