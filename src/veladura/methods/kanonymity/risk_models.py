"""Privacy models by risk: beta-likeness of classes, average risk and uniqueness of the table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import PlanError
from veladura.methods.kanonymity.equivalence_classes import EquivalenceClasses
from veladura.numeric.population_uniques import share_by

ROUNDING = 1e-12  # a class at its limit must not fail by the last digit of a logarithm
ESTIMATORS = ("dankar", "pitman", "zayatz", "snb")


@dataclass(frozen=True, kw_only=True)
class BetaLikeness:
    """beta-likeness: in no equivalence class is a sensitive value much more frequent than overall.

    With p the share of a value in the table and q in a class, q <= (1 + beta) p: an outsider's
    belief that a person has the value rises at most so far, rare values included.

    Parameters
    ----------
    column
        The sensitive column; it must not be a quasi-identifier.
    beta
        Largest relative gain (q - p) / p, above 0.
    enhanced
        Bound the gain by -log p too, so that a frequent value never becomes certain.

    References
    ----------
    Cao, J. and Karras, P. (2012). Publishing microdata with a robust privacy guarantee. Proceedings
    of the VLDB Endowment 5(11), 1388-1399.
    """

    column: str
    beta: float
    enhanced: bool = False

    monotone = False
    monotone_unsuppressed = True
    smallest = 1
    name = "beta-likeness"

    def __post_init__(self) -> None:
        check_column(self)
        if not self.beta > 0:
            msg = f"beta ({self.beta}) must be above 0."
            raise PlanError(msg)

    def claim(self, names: Sequence[str]) -> str:
        """Return the promise in one sentence."""
        more = ", and by less than its own rarity (-log) allows" if self.enhanced else ""
        return (
            f"beta-likeness: among people (rows) who share {', '.join(names)} no value of"
            f" {self.column!r} is more than {1 + self.beta:g} times as frequent as in the original"
            f" table{more}."
        )

    def fails(self, classes: EquivalenceClasses) -> Mask:
        """Return which equivalence classes tell too much about a value."""
        counts, reference = classes.counts(self.column), classes.reference(self.column)
        share = reference / max(int(reference.sum()), 1)
        with np.errstate(divide="ignore"):
            gain = np.minimum(self.beta, -np.log(share)) if self.enhanced else self.beta
        most = (share * (1 + gain))[counts.code]
        over = counts.size > (most + ROUNDING) * classes.sizes[counts.group]
        return np.bincount(counts.group[over], minlength=classes.sizes.size) > 0


@dataclass(frozen=True, kw_only=True)
class AverageRisk:
    """Average re-identification risk: the mean over released people of 1 / size of their class.

    The smallest equivalence classes are suppressed, all of one size together, until the mean is low
    enough.

    Parameters
    ----------
    risk
        Largest average prosecutor risk, above 0 and below 1.

    References
    ----------
    El Emam, K. (2013). Guide to the De-Identification of Personal Health Information. CRC Press.
    """

    risk: float

    monotone = False
    monotone_unsuppressed = True
    smallest = 1
    name = "average-risk"

    def __post_init__(self) -> None:
        if not 0 < self.risk < 1:
            msg = f"risk ({self.risk}) must be above 0 and below 1."
            raise PlanError(msg)

    def claim(self, names: Sequence[str]) -> str:
        """Return the promise in one sentence."""
        return (
            f"Average risk: someone who knows {', '.join(names)} of a random person in the release"
            f" picks the right one with a probability of at most {100 * self.risk:.4g} %."
        )

    def fails(self, classes: EquivalenceClasses) -> Mask:
        """Return which equivalence classes are too small for the average to be low enough."""
        size, number = np.unique(classes.sizes[classes.sizes > 0], return_counts=True)
        people = np.cumsum((size * number)[::-1])[::-1]
        left = np.cumsum(number[::-1])[::-1]
        enough = left <= (self.risk + ROUNDING) * people
        least = size[int(np.argmax(enough))] if enough.any() else np.inf
        return np.asarray((classes.sizes > 0) & (classes.sizes < least))


@dataclass(frozen=True, kw_only=True)
class Uniqueness:
    """Uniqueness: at most a small share of the released people, or of the population, is unique.

    Where it is more, as many uniques of the table are suppressed as that takes, spread evenly over
    the classes in their order. Where the share of a population is estimated all uniques are: an
    estimate from a sample that lacks some of its uniques is not valid.

    Parameters
    ----------
    share
        Largest share of people who are unique on the quasi-identifiers, at least 0 and below 1.
    fraction
        The share of the population that is in the table. 1: uniques of the table itself are
        counted; below, the share of the population that is unique is estimated.
    estimator
        The model of the population: "pitman", "zayatz", "snb", or "dankar" for the rule that
        chooses between them; see `veladura.risk.population_uniqueness`. Where one does not
        converge the table's own uniques are counted.

    References
    ----------
    Dankar, F. K., El Emam, K., Neisa, A. and Roffey, T. (2012). Estimating the re-identification
    risk of clinical data sets. BMC Medical Informatics and Decision Making 12, 66.
    """

    share: float
    fraction: float = 1.0
    estimator: Literal["dankar", "pitman", "zayatz", "snb"] = "dankar"

    monotone = False
    smallest = 1
    name = "uniqueness"

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            msg = f"share ({self.share}) must be at least 0 and below 1."
            raise PlanError(msg)
        if not 0 < self.fraction <= 1:
            msg = f"fraction ({self.fraction}) must be above 0 and at most 1."
            raise PlanError(msg)
        if self.estimator not in ESTIMATORS:
            raise PlanError.unknown("estimator", str(self.estimator), ESTIMATORS)

    @property
    def monotone_unsuppressed(self) -> bool:
        """Whether a node above a good one is good if no row is suppressed: for counts it is."""
        return self.fraction == 1

    def claim(self, names: Sequence[str]) -> str:
        """Return the promise in one sentence."""
        if self.fraction == 1:
            return (
                f"Sample uniqueness: at most {100 * self.share:.4g} % of the released people are"
                f" unique in {', '.join(names)}."
            )
        return (
            f"Population uniqueness: at most an estimated {100 * self.share:.4g} % of the"
            f" population, of which {100 * self.fraction:.4g} % are in the table, are unique in"
            f" {', '.join(names)} ({self.estimator})."
        )

    def fails(self, classes: EquivalenceClasses) -> Mask:
        """Return the uniques that are too many."""
        alone = np.flatnonzero(classes.sizes == 1)
        fails = np.zeros(classes.sizes.size, dtype=bool)
        too_many = self._too_many(classes.sizes[classes.sizes > 0], alone.size)
        if too_many:
            fails[alone[np.arange(too_many) * alone.size // too_many]] = True
        return fails

    def _too_many(self, sizes: Ints, uniques: int) -> int:
        """Return how many uniques must go."""
        most = self.share + ROUNDING
        if not uniques:
            return 0
        if self.fraction == 1:
            return max(math.ceil((uniques - most * int(sizes.sum())) / (1 - most)), 0)
        size, number = np.unique(sizes, return_counts=True)
        share = _estimated(tuple(size.tolist()), tuple(number.tolist()), self)
        return uniques if share > most else 0


@lru_cache(maxsize=100_000)
def _estimated(sizes: tuple[int, ...], number: tuple[int, ...], model: Uniqueness) -> float:
    """Return the share of the population that is unique, by a model."""
    every = np.repeat(np.array(sizes, dtype=np.int64), number)
    share = share_by(every, model.fraction, model.estimator)
    return number[0] / int(every.sum()) if share is None else float(share)


@lru_cache(maxsize=64)
def fewest_of_sample(k: int, fraction: float, significance: float) -> int:
    """Return how many people of a sample show that at least k of the population share a class.

    The smallest f with P(at least f of k - 1 people are in the sample, given that one is) at most
    the significance: people are in it independently, with the sampling fraction as probability
    (after El Emam and Dankar 2008).

    Examples
    --------
    >>> fewest_of_sample(5, 1.0, 0.05), fewest_of_sample(5, 0.01, 0.05), fewest_of_sample(2, 0.1, 0)
    (5, 2, 2)
    """
    from scipy.stats import binom

    chance: Floats = binom.sf(np.arange(k), k - 1, fraction)  # of more than 0, 1, ... people
    given = chance / chance[0]
    return int(np.argmax(given <= significance)) + 1


def check_column(model: Any) -> None:
    """Refuse a model without the name of its sensitive column."""
    if not isinstance(model.column, str) or not model.column:
        msg = f"{type(model).__name__} needs the name of a sensitive column."
        raise PlanError(msg)
