"""What a private release is a draw from, as its manifest states it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from veladura.base.arrays import Floats
from veladura.methods.private.domain import Domain


@dataclass(frozen=True, eq=False)
class ReleaseModel:
    """The mechanism and its output, from which the posterior is computed. All of it is public.

    Attributes
    ----------
    domain
        The declared domain.
    n
        Number of rows of the original.
    released
        What the mechanism released: datasets in rows, cells in columns.
    alpha
        The Dirichlet parameter of every cell, for a Dirichlet-multinomial.
    scale
        The scale of two-sided geometric noise.
    n_scale
        The scale of the noise of n; None where n is public, infinite where n is only what the
        noisy counts add up to.
    """

    domain: Domain
    n: int
    released: Floats
    alpha: Floats | None = None
    scale: float | None = None
    n_scale: float | None = None


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """A release of invented counts, to see what a design gives: nothing of it is private.

    Attributes
    ----------
    rows
        The rows of each cell that would be released.
    released
        What inference would start from: the rows, or the noisy counts.
    """

    rows: Floats
    released: Floats
    alpha: Floats | None = None
    scale: float | None = None


def positive_number(value: Any) -> Fraction:
    """Return a number of a manifest that must be above 0; a ValueError says that it is not."""
    number = Fraction(value)
    if number <= 0:
        raise ValueError
    return number
