"""Privacy loss: what one private draw costs, and what several cost together (composition)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from veladura.errors import BudgetError
from veladura.methods.private import accountant
from veladura.methods.private.exact import text

REPLACE_ONE = "replace-one"  # neighbouring tables: one row replaced; the number of rows is public
REPLACE_PERSON = "replace-person"  # one person replaced; the number of people is public
ADD_REMOVE = "add-remove"  # one row more or less; nothing about the number of rows is public
ADD_REMOVE_PERSON = "add-remove-person"  # one person more or less
RELATIONS = (REPLACE_ONE, ADD_REMOVE)  # what a holder chooses from
_ADDED = (ADD_REMOVE, ADD_REMOVE_PERSON)
_IN_WORDS = {
    REPLACE_ONE: "one row replaced",
    REPLACE_PERSON: "one person replaced",
    ADD_REMOVE: "one row added or removed",
    ADD_REMOVE_PERSON: "one person added or removed",
}
_UP = Fraction(10**12 + 1, 10**12)  # rounds a conversion up by more than floating point can err


@dataclass(frozen=True)
class Event:
    """One private draw and its privacy loss: epsilon, epsilon and delta, or rho (zCDP).

    Attributes
    ----------
    mechanism
        The method that drew, for example "dirichlet-multinomial".
    about
        The columns that it used; never a value.
    neighbours
        Which tables count as neighbouring.
    """

    mechanism: str
    about: str = ""
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    neighbours: str = REPLACE_ONE

    def __post_init__(self) -> None:
        if min(self.epsilon, self.delta, self.rho) < 0 or self.delta >= 1:
            msg = (
                f"a draw by {self.mechanism} cannot cost less than nothing: epsilon, delta and rho"
                " must be at least 0, and delta below 1."
            )
            raise BudgetError(msg)

    def to_json(self) -> dict[str, str]:
        """Return the event as manifest and ledger hold it, fractions as text."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            name: text(value) if isinstance(value, Fraction) else value
            for name, value in values.items()
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Event:
        """Return the event of an entry in a manifest or ledger."""
        costs = {name: Fraction(entry[name]) for name in ("epsilon", "delta", "rho")}
        return cls(entry["mechanism"], entry["about"], **costs, neighbours=entry["neighbours"])

    def __str__(self) -> str:
        costs = [
            f"{name} = {text(cost)}"
            for name in ("epsilon", "delta", "rho")
            if (cost := getattr(self, name))
        ]
        relation = _IN_WORDS.get(self.neighbours, self.neighbours)
        return f"{self.mechanism} of {self.about} ({relation}): {', '.join(costs)}"

    def for_a_replaced_one(self) -> Event:
        """Return the loss when one is replaced, of an event about one added or removed.

        One is removed and another added: two steps, so 2 epsilon, 4 rho and (1 + exp(epsilon))
        delta (group privacy: Dwork and Roth 2014, theorem 2.2; Bun and Steinke 2016, prop. 1.9).
        """
        if self.neighbours not in _ADDED:
            return self
        person = self.neighbours == ADD_REMOVE_PERSON
        delta = self.delta
        if delta:
            grown = delta * (1 + Fraction(math.exp(min(float(self.epsilon), 700.0)))) * _UP
            delta = min(grown, 1 - Fraction(1, 10**12))
        return replace(
            self,
            epsilon=2 * self.epsilon,
            delta=delta,
            rho=4 * self.rho,
            neighbours=REPLACE_PERSON if person else REPLACE_ONE,
        )


def alike(events: Iterable[Event]) -> tuple[Event, ...]:
    """Return events about the same neighbouring tables, so that their losses can be added.

    Events of one relation stay as they are. Where some are about one added or removed and others
    about one replaced, all are taken for one replaced: of the former these cost twice as much, and
    the latter say nothing about one added.
    """
    listed = tuple(events)
    if len({event.neighbours in _ADDED for event in listed}) < 2:  # noqa: PLR2004
        return listed
    return tuple(event.for_a_replaced_one() for event in listed)


@dataclass(frozen=True)
class Total:
    """What events cost together."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction


def rho_of(events: Iterable[Event]) -> Fraction | None:
    """Return the total rho in zero-concentrated privacy; None when an event has a delta.

    Pure epsilon is rho = epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4); an event with a
    delta has no rho.
    """
    listed = list(events)
    if any(event.delta for event in listed):
        return None
    return sum((event.rho + event.epsilon**2 / 2 for event in listed), Fraction(0))


def epsilon_of(events: Iterable[Event], delta: Fraction = Fraction(0)) -> Fraction | None:
    """Return the epsilon of several events together at a delta; None where there is none.

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
    finest = 10 ** (15 + 2 * max(0, math.ceil(-math.log10(epsilon))))  # rho goes with its square
    for _ in range(60):
        middle = Fraction(math.floor((low + high) / 2 * finest), finest)
        if zcdp_epsilon(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True)
class Budget:
    """A privacy loss budget: an epsilon with a delta, or a rho."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def spent(self, events: Iterable[Event]) -> Fraction | None:
        """Return the cost of events in the unit of the budget; None where they have none in it.

        Events about unlike neighbouring tables are counted for one replaced (see `alike`).
        """
        same = alike(events)
        return rho_of(same) if self.rho is not None else epsilon_of(same, self.delta)

    @property
    def limit(self) -> Fraction | None:
        """The number that may be reached; None for no limit."""
        return self.epsilon if self.rho is None else self.rho

    @property
    def unit(self) -> str:
        """The unit of the limit: epsilon or rho."""
        return "epsilon" if self.rho is None else "rho"

    def require(self, events: tuple[Event, ...], event: Event) -> None:
        """Refuse an event that would bring the spending above the limit."""
        if self.limit is None:
            return
        after = self.spent((*events, event))
        if after is None:
            msg = (
                f"{event}: this needs a budget with a delta.\n\nHint: give the budget a delta."
                if self.rho is None
                else f"{event}: a budget of rho cannot be charged with a delta.\n\nHint: use a"
                " budget of epsilon and delta."
            )
            raise BudgetError(msg)
        same = alike((*events, event))
        if accountant.vetted(after, same, self.delta, self.unit) > self.limit:
            left = rest(self.limit, self.spent(events) or Fraction(0))
            mixed = (
                " Draws with one added or removed count twice beside those with one replaced."
                if same != (*events, event)
                else ""
            )
            msg = (
                f"{event} exceeds the privacy loss budget: {short(left)} of"
                f" {self.unit} = {short(self.limit)} is left.{mixed} Nothing was drawn.\n\nHint:"
                " use a smaller epsilon, or let the holder decide on a larger budget."
            )
            raise BudgetError(msg)


def rest(limit: Fraction, spent: Fraction) -> Fraction:
    """Return what is left of a budget, for people: nothing where only rounding is."""
    left = limit - spent
    return left if left > accountant.ROUNDING * limit else Fraction(0)


def short(value: Fraction) -> str:
    """Return a fraction for people: exact where it is short, else to six digits."""
    exact = text(value)
    return exact if len(exact) <= 10 else f"about {float(value):.6g}"  # noqa: PLR2004
