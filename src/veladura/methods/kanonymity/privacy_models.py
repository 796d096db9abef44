"""Privacy models besides k-anonymity: what an equivalence class must fulfil to be released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.errors import PlanError
from veladura.methods.kanonymity.equivalence_classes import EquivalenceClasses
from veladura.methods.kanonymity.risk_models import (
    ROUNDING,
    AverageRisk,
    BetaLikeness,
    Uniqueness,
    check_column,
    fewest_of_sample,
)
from veladura.numeric.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class LDiversity:
    """l-diversity: every equivalence class has at least l well-represented sensitive values.

    Parameters
    ----------
    column
        The sensitive column; it must not be a quasi-identifier.
    l
        Number of values.
    kind
        "distinct": l different values. "entropy": the entropy of the values is at least log l, that
        of l equally frequent values. "recursive": the most frequent value occurs less than ``c``
        times as often as the l-th most frequent and all rarer ones together.
    c
        The factor of recursive (c, l)-diversity.
    estimator
        How entropy is estimated: from the shares ("shannon"), or with Grassberger's correction for
        small classes ("grassberger").

    Examples
    --------
    >>> LDiversity(column="diagnosis", l=3, kind="recursive", c=4.0).name
    'recursive-l-diversity'

    References
    ----------
    Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007). l-diversity:
    privacy beyond k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1), 3.
    Stammler, S., Katzenbeisser, S. and Hamacher, K. (2016). Correcting finite sampling issues in
    entropy l-diversity. Privacy in Statistical Databases, 135-146.
    """

    column: str
    l: int  # noqa: E741  # the letter of the model's name
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None
    estimator: Literal["shannon", "grassberger"] = "shannon"

    def __post_init__(self) -> None:
        check_column(self)
        if not _is_whole(self.l) or self.l < 2:  # noqa: PLR2004
            msg = (
                f"l ({self.l}) must be a whole number of at least 2: every table has"
                " 1-diversity already."
            )
            raise PlanError(msg)
        if self.kind not in ("distinct", "entropy", "recursive"):
            raise PlanError.unknown(
                "kind of l-diversity", str(self.kind), ("distinct", "entropy", "recursive")
            )
        if (self.kind == "recursive") != (self.c is not None):
            msg = (
                "c belongs to recursive l-diversity and only to it; got"
                f" kind = {self.kind!r} and c = {self.c}."
            )
            raise PlanError(msg)
        if self.c is not None and not self.c > 0:
            msg = f"c ({self.c}) must be above 0."
            raise PlanError(msg)
        if self.estimator not in ("shannon", "grassberger") or (
            self.estimator != "shannon" and self.kind != "entropy"
        ):
            msg = (
                f'estimator ({self.estimator!r}) must be "shannon", or "grassberger" with'
                ' kind = "entropy".'
            )
            raise PlanError(msg)

    @property
    def name(self) -> str:
        """Name of the promise."""
        return f"{self.kind}-l-diversity"

    @property
    def monotone(self) -> bool:
        """Whether a node above a good one is good even if rows are suppressed."""
        return self.kind == "distinct"

    @property
    def monotone_unsuppressed(self) -> bool:
        """Whether a node above a good one is good if no row is suppressed.

        The corrected entropy is not concave, so it is not.
        """
        return self.estimator == "shannon"

    @property
    def smallest(self) -> int:
        """Fewest rows that an equivalence class can have."""
        return self.l

    def claim(self, names: Sequence[str]) -> str:
        """Return the promise in one sentence."""
        people = f"People (rows) who share {', '.join(names)} have"
        if self.kind == "entropy":
            return (
                f"Entropy l-diversity: {people} values of {self.column!r} with an entropy of at"
                f" least log {self.l}, that of {self.l} equally frequent values."
            )
        if self.kind == "recursive":
            return (
                f"Recursive ({self.c}, {self.l})-diversity: {people} values of {self.column!r} of"
                f" which the most frequent occurs less than {self.c} times as often as all from"
                f" the {_ordinal(self.l)} most frequent on together."
            )
        return f"l-diversity: {people} at least {self.l} different values of {self.column!r}."

    def fails(self, classes: EquivalenceClasses) -> Mask:
        """Return which equivalence classes are not diverse enough."""
        counts = classes.counts(self.column)
        distinct = np.bincount(counts.group, minlength=classes.sizes.size)
        if self.kind == "distinct":
            return np.asarray(distinct < self.l)
        if self.kind == "recursive":
            top, tail = counts.top_and_tail(self.l, classes.sizes.size)
            return np.asarray((distinct < self.l) | (top >= float(self.c or 0.0) * tail))
        entropy = counts.entropy(classes.sizes, corrected=self.estimator == "grassberger")
        return np.asarray((distinct < self.l) | (entropy < math.log(self.l) - ROUNDING))


@dataclass(frozen=True, kw_only=True)
class TCloseness:
    """t-closeness: in every equivalence class a sensitive column is distributed as in the table.

    The earth mover's distance between the shares in the class and those in the original table is at
    most t.

    Parameters
    ----------
    column
        The sensitive column; it must not be a quasi-identifier.
    t
        Largest distance, in [0, 1].
    distance
        What moving a share costs: "equal", the same between any two values; "ordered", the
        difference of their ranks; "hierarchical", the height of their closest common ancestor in
        ``hierarchy``.
    hierarchy
        For the hierarchical distance.

    References
    ----------
    Li, N., Li, T. and Venkatasubramanian, S. (2007). t-closeness: privacy beyond k-anonymity and
    l-diversity. ICDE.
    """

    column: str
    t: float
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    hierarchy: Hierarchy | None = None

    monotone = False
    monotone_unsuppressed = True
    smallest = 1
    name = "t-closeness"

    def __post_init__(self) -> None:
        check_column(self)
        if not 0 <= self.t <= 1:
            msg = f"t ({self.t}) must be between 0 and 1."
            raise PlanError(msg)
        if self.distance not in ("equal", "ordered", "hierarchical"):
            raise PlanError.unknown(
                "distance of t-closeness", str(self.distance), ("equal", "ordered", "hierarchical")
            )
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            msg = (
                "hierarchy belongs to the hierarchical distance and only to it; got"
                f" distance = {self.distance!r}."
            )
            raise PlanError(msg)

    def claim(self, names: Sequence[str]) -> str:
        """Return the promise in one sentence."""
        return (
            f"t-closeness: among people (rows) who share {', '.join(names)} the distribution of"
            f" {self.column!r} is within {self.t} of that in the original table"
            f" ({self.distance} distance)."
        )

    def fails(self, classes: EquivalenceClasses) -> Mask:
        """Return which equivalence classes are too far from the whole table."""
        if self.distance == "equal":
            reference = classes.reference(self.column)
            distance = classes.counts(self.column).total_variation(reference, classes.sizes)
        elif self.distance == "ordered":
            distance = classes.ordered_distance(self.column)
        else:
            distance = classes.hierarchical_distance(self.column)
        return np.asarray(distance > self.t + ROUNDING)


@dataclass(frozen=True, kw_only=True)
class KMap:
    """k-map: every released combination is shared by at least k people of a population.

    Parameters
    ----------
    k
        Fewest people of the population who share a combination.
    population
        A file with the quasi-identifiers of everyone the table could be about, such as a public
        register.
    fraction
        Without such a file: the share of the population that is in the table, a random sample.
        Then a class needs so many people that fewer than k in the population are implausible.
    significance
        Probability up to which a class of k - 1 people of the population may pass by chance, where
        the population is estimated.

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of
    Uncertainty, Fuzziness and Knowledge-Based Systems 10(5), 557-570.
    El Emam, K. and Dankar, F. K. (2008). Protecting privacy using k-anonymity. Journal of the
    American Medical Informatics Association 15(5), 627-637.
    """

    k: int
    population: Path | None = None
    fraction: float | None = None
    significance: float = 0.05

    monotone = True
    monotone_unsuppressed = True

    def __post_init__(self) -> None:
        if self.population is not None:
            object.__setattr__(self, "population", Path(self.population))
        if not _is_whole(self.k) or self.k < 2:  # noqa: PLR2004
            msg = f"k of k-map ({self.k}) must be a whole number of at least 2."
            raise PlanError(msg)
        if (self.population is None) == (self.fraction is None):
            msg = "k-map needs a population file, or the fraction of the population in the table."
            raise PlanError(msg)
        if self.fraction is not None and not 0 < self.fraction <= 1:
            msg = f"fraction ({self.fraction}) must be above 0 and at most 1."
            raise PlanError(msg)
        if not 0 < self.significance < 1:
            msg = f"significance ({self.significance}) must be between 0 and 1."
            raise PlanError(msg)

    @property
    def name(self) -> str:
        """Name of the promise."""
        return "k-map" if self.fraction is None else "estimated-k-map"

    @property
    def smallest(self) -> int:
        """Fewest rows that an equivalence class can have."""
        if self.fraction is None:
            return 1
        return fewest_of_sample(self.k, self.fraction, self.significance)

    def claim(self, names: Sequence[str]) -> str:
        """Return the promise in one sentence."""
        shared = (
            f"k-map: every combination of {', '.join(names)} is shared by at least {self.k} people"
            " of the population"
        )
        if self.fraction is None:
            return f"{shared}."
        return (
            f"{shared}, as far as a sample of {100 * self.fraction:.4g} % of it shows: each class"
            f" has at least {self.smallest} people (significance {self.significance:g})."
        )

    def fails(self, classes: EquivalenceClasses) -> Mask:
        """Return which equivalence classes too few people of the population share."""
        if self.fraction is not None:
            return np.asarray(classes.sizes < self.smallest)
        return np.asarray(classes.population < self.k)


@dataclass(frozen=True, kw_only=True)
class DeltaPresence:
    """delta-presence: of the people who share a combination, a limited share is in the table.

    Parameters
    ----------
    lower, upper
        Limits of the probability that a person of the population is in the table.
    population
        A file with the quasi-identifiers of everyone the table could be about; the table is a part
        of it.
    absent
        What happens at a generalisation where people of the population share a combination that no
        row of the table has, so that the lower limit fails for them: it is refused ("refuse", as
        the model is defined), or these people are not counted ("ignore").

    References
    ----------
    Nergiz, M. E., Atzori, M. and Clifton, C. (2007). Hiding the presence of individuals from shared
    databases. SIGMOD.
    """

    lower: float
    upper: float
    population: Path
    absent: Literal["refuse", "ignore"] = "refuse"

    monotone = False
    smallest = 1
    name = "delta-presence"

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", Path(self.population))
        if not 0 <= self.lower <= self.upper <= 1:
            msg = (
                f"lower ({self.lower}) and upper ({self.upper}) must be between 0 and 1, lower not"
                " above upper."
            )
            raise PlanError(msg)
        if self.absent not in ("refuse", "ignore"):
            raise PlanError.unknown("absent", str(self.absent), ("refuse", "ignore"))

    @property
    def monotone_unsuppressed(self) -> bool:
        """Whether a node above a good one is good if no row is suppressed.

        It is not where a class may merge with people who were not counted below.
        """
        return self.lower == 0 or self.absent == "refuse"

    def claim(self, names: Sequence[str]) -> str:
        """Return the promise in one sentence."""
        return (
            "delta-presence: of the people of the population who share a combination of"
            f" {', '.join(names)}, a share between {self.lower} and {self.upper} is in the release."
        )

    def refuses(self, rows: Ints, people: Ints) -> bool:
        """Whether a class with people of the population but no row breaks the lower limit."""
        absent = bool(np.any((rows == 0) & (people > 0)))
        return self.absent == "refuse" and self.lower > 0 and absent

    def fails(self, classes: EquivalenceClasses) -> Mask:
        """Return which equivalence classes tell too much about who is in the table."""
        share = classes.sizes / np.maximum(classes.population, 1)
        return np.asarray((share < self.lower - ROUNDING) | (share > self.upper + ROUNDING))


Model = LDiversity | TCloseness | BetaLikeness | AverageRisk | Uniqueness | KMap | DeltaPresence
OF_TABLE = (AverageRisk, Uniqueness)  # what they ask of a class depends on all others


def column_of(model: Model) -> str | None:
    """Return the sensitive column of a model, if it has one."""
    return getattr(model, "column", None)


def population_of(models: Sequence[Model]) -> Path | None:
    """Return the one population file that the models name, if any."""
    named = [model.population for model in models if isinstance(model, (KMap, DeltaPresence))]
    files = {file for file in named if file is not None}
    if len(files) > 1:
        msg = "models name different population files.\n\nHint: give all models the same file."
        raise PlanError(msg)
    return next(iter(files), None)


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _ordinal(number: int) -> str:
    teens = 10 <= number % 100 <= 20  # noqa: PLR2004
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
