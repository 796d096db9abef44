"""Privacy models that look at a population: who else could a group be, and who of them is in the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.methods.kanonymity.equivalence_classes import ROUNDING, Mask, View


@dataclass(frozen=True, kw_only=True)
class KMap:
    """Every released combination is shared by at least k persons of a population.

    Parameters
    ----------
    k
        Fewest persons of the population in a group.
    population
        A file with the quasi-identifiers of everyone the table could be about, such as a public
        register.

    References
    ----------
    Sweeney, L. (2002). k-anonymity: a model for protecting privacy. International Journal of
    Uncertainty,
    Fuzziness and Knowledge-Based Systems 10(5), 557-570.
    """

    k: int
    population: Path

    monotone = True
    monotone_unsuppressed = True
    smallest = 1
    name = "k-map"

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", Path(self.population))
        if not is_whole(self.k) or self.k < 2:  # noqa: PLR2004
            msg = f"k of k-map ({self.k}) must be a whole number of at least 2."
            raise PlanError(msg)

    def claim(self, names: Sequence[str]) -> str:
        """Say it in one sentence."""
        return (
            f"Every combination of {', '.join(names)} is shared by at least {self.k} of the"
            " population."
        )

    def fails(self, view: View) -> Mask:
        """Return which groups too few of the population share."""
        return np.asarray(view.population < self.k)


@dataclass(frozen=True, kw_only=True)
class DeltaPresence:
    """Of those who share a released combination, a share between two limits is in the table.

    Parameters
    ----------
    lower, upper
        Limits of the probability that someone of the population is in the table.
    population
        A file with the quasi-identifiers of everyone the table could be about; the table is a part
        of it.
    absent
        Whether a generalisation is refused at which some of the population share a combination with
        no row of the table at all, so that the lower limit fails for them ("refuse", as the model
        is defined), or they are left out of account ("ignore").

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

    @property
    def monotone_unsuppressed(self) -> bool:
        """Whether a node above a good one is good if none is suppressed: not if a group may merge with ignored people."""
        return self.lower == 0 or self.absent == "refuse"

    def __post_init__(self) -> None:
        object.__setattr__(self, "population", Path(self.population))
        if not 0 <= self.lower <= self.upper <= 1:
            msg = f"lower ({self.lower}) and upper ({self.upper}) must rise within [0, 1]."
            raise PlanError(msg)
        if self.absent not in ("refuse", "ignore"):
            raise PlanError.unknown("absent", str(self.absent), ("refuse", "ignore"))

    def claim(self, names: Sequence[str]) -> str:
        """Say it in one sentence."""
        return (
            f"Of the population that shares a combination of {', '.join(names)}, between"
            f" {self.lower} and {self.upper} are in the release."
        )

    def refuses(self, rows: NDArray[np.int64], people: NDArray[np.int64]) -> bool:
        """Whether people of whom none is in the table break the lower limit, given both by group."""
        return (
            self.absent == "refuse" and self.lower > 0 and bool(np.any((rows == 0) & (people > 0)))
        )

    def fails(self, view: View) -> Mask:
        """Return which groups tell too much about who is in the table."""
        share = view.sizes / np.maximum(view.population, 1)
        return np.asarray((share < self.lower - ROUNDING) | (share > self.upper + ROUNDING))


def is_whole(number: Any) -> bool:
    """Whether something is a whole number, and not a truth value."""
    return isinstance(number, int) and not isinstance(number, bool)
