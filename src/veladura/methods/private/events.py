"""What private draws cost, and what they cost together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from veladura.errors import BudgetError
from veladura.methods.private.exact import text

REPLACE_ONE = (  # neighbouring tables differ in one row replaced; the number of rows is public
    "replace-one"
)
_UP = Fraction(
    10**12 + 1, 10**12
)  # floating point of a conversion is rounded up by more than it can be off


@dataclass(frozen=True)
class Event:
    """One private draw and its cost: epsilon, epsilon with delta, or rho (zero-concentrated).

    Attributes
    ----------
    mechanism
        What drew, as in "dirichlet-multinomial".
    about
        What it looked at, in names of columns; never a value.
    neighbours
        Which tables the promise is about.
    """

    mechanism: str
    about: str = ""
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    neighbours: str = REPLACE_ONE

    def to_json(self) -> dict[str, str]:
        """Return the event as manifest and ledger hold it, fractions as text."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: text(value) if isinstance(value, Fraction) else value
            for name, value in values.items()
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Event:
        """Return the event that a manifest or ledger tells."""
        exact = {name: Fraction(told[name]) for name in ("epsilon", "delta", "rho")}
        return cls(told["mechanism"], told["about"], **exact, neighbours=told["neighbours"])

    def __str__(self) -> str:
        costs = [
            f"{name} = {text(cost)}"
            for name in ("epsilon", "delta", "rho")
            if (cost := getattr(self, name))
        ]
        return f"{self.mechanism} of {self.about}: {', '.join(costs)}"


@dataclass(frozen=True)
class Total:
    """What events cost together."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction


def rho_of(events: Iterable[Event]) -> Fraction | None:
    """Return the sum in zero-concentrated privacy; None when an event has a delta, which has no rho.

    Pure epsilon is rho = epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4).
    """
    listed = list(events)
    if any(event.delta for event in listed):
        return None
    return sum((event.rho + event.epsilon**2 / 2 for event in listed), Fraction(0))


def epsilon_of(events: Iterable[Event], delta: Fraction = Fraction(0)) -> Fraction | None:
    """Return the epsilon that events cost together at a delta; None when there is none at that delta.

    Sums are exact. Zero-concentrated events are added first and converted once; pure ones are
    counted either way, whichever is less.
    """
    listed = list(events)
    left = delta - sum((event.delta for event in listed), Fraction(0))
    if left < 0:
        return None
    plain = sum((event.epsilon for event in listed if not event.delta), Fraction(0))
    fixed = sum((event.epsilon for event in listed if event.delta), Fraction(0))
    rho = sum((event.rho for event in listed), Fraction(0))
    if not rho:
        return plain + fixed
    if not left:
        return None
    every = rho + sum((event.epsilon**2 for event in listed if not event.delta), Fraction(0)) / 2
    return fixed + min(plain + zcdp_epsilon(rho, left), zcdp_epsilon(every, left))


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon that rho-zCDP keeps with delta, rounded up.

    The least over a > 1 of a rho + (log(1/(a delta)) + (a - 1) log(1 - 1/a)) / (a - 1) (Canonne,
    Kamath and Steinke 2020, proposition 12). Every a gives a valid bound, so the search need not be
    exact.

    Examples
    --------
    >>> round(float(zcdp_epsilon(Fraction(1, 2), Fraction(1, 10**6))), 3)
    5.222
    """
    r, d = float(rho), math.log(float(delta))

    def bound(log_step: float) -> float:
        step = math.exp(log_step)  # a - 1
        a = 1 + step
        return a * r + (-math.log(a) - d) / step + math.log1p(-1 / a)

    from scipy.optimize import minimize_scalar  # loading it takes longer than many a release

    best = minimize_scalar(bound, bounds=(-12, 30), method="bounded", options={"xatol": 1e-10})
    return max(Fraction(0), Fraction(float(best.fun))) * _UP


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, to about ten digits and from below, that keeps epsilon with delta.

    Examples
    --------
    >>> rho = rho_for(Fraction(1), Fraction(1, 10**9))
    >>> zcdp_epsilon(rho, Fraction(1, 10**9)) <= 1
    True
    """
    low, high = Fraction(0), epsilon**2 + epsilon  # rho <= epsilon always holds for the least a
    for _ in range(60):
        middle = Fraction(math.floor((low + high) / 2 * 10**15), 10**15)
        if zcdp_epsilon(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Budget:
    """What may be spent: an epsilon with a delta, or a rho."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def spent(self, events: Iterable[Event]) -> Fraction | None:
        """Return what events cost in the budget's own terms; None where they have no cost in them."""
        return rho_of(events) if self.rho is not None else epsilon_of(events, self.delta)

    @property
    def limit(self) -> Fraction | None:
        """The number that may be reached; None for no limit."""
        return self.epsilon if self.rho is None else self.rho

    @property
    def unit(self) -> str:
        """What the limit counts."""
        return "epsilon" if self.rho is None else "rho"

    def require(self, events: tuple[Event, ...], event: Event) -> None:
        """Refuse an event that would bring the spending above the limit."""
        if self.limit is None:
            return
        after = self.spent((*events, event))
        if after is None:
            needed = "a delta" if self.rho is None else "no delta"
            msg = (
                f"{event}: this needs a budget with {needed}.\n\nHint:"
                f" {'give the budget a delta.' if self.rho is None else 'use a budget of epsilon and delta.'}"
            )
            raise BudgetError(msg)
        if after > self.limit:
            left = self.limit - (self.spent(events) or Fraction(0))
            msg = (
                f"{event} is more than is left: {short(max(left, Fraction(0)))} of {self.unit} ="
                f" {short(self.limit)}. Nothing was drawn.\n\nHint: spend less, or let the holder"
                " decide on a larger budget."
            )
            raise BudgetError(msg)


def short(value: Fraction) -> str:
    """Return a fraction for people: exact where it is short, else to six digits."""
    exact = text(value)
    return exact if len(exact) <= 10 else f"about {float(value):.6g}"  # noqa: PLR2004
