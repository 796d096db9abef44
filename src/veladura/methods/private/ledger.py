"""The ledger of a privacy loss budget: a draw is charged before it is made, or refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from threading import Lock
from typing import Any

from veladura.errors import PlanError
from veladura.methods.private.events import Budget, Event, short
from veladura.methods.private.exact import positive, share


@dataclass(eq=False, repr=False)
class Ledger:
    """A privacy loss budget in memory, handed to ``protect``: every draw is charged to it first.

    Parameters
    ----------
    epsilon
        The largest total privacy loss; without one, draws are recorded and never refused.
    delta
        The probability by which the bound of epsilon may be exceeded. Gaussian noise needs one
        above 0.
    rho
        The largest total in zero-concentrated differential privacy, instead of epsilon.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> ledger = vd.Ledger(epsilon=1)
    >>> recipe = vd.DirichletMultinomial(columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=0.6)
    >>> release = recipe.protect(pd.DataFrame({"sex": ["f", "m"] * 50}), ledger=ledger)
    >>> ledger
    Ledger(epsilon=1, spent=0.6, events=1)
    """

    epsilon: Any = None
    delta: Any = 0
    rho: Any = None
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.rho is not None:
            msg = (
                "a ledger takes a budget of epsilon (and delta) or of rho, and both were given."
                "\n\nHint: leave one out."
            )
            raise PlanError(msg)
        self.budget = Budget(
            None if self.epsilon is None else positive(self.epsilon, "epsilon"),
            share(self.delta),
            None if self.rho is None else positive(self.rho, "rho"),
        )
        self._events: tuple[Event, ...] = ()
        self._lock = Lock()

    @property
    def events(self) -> tuple[Event, ...]:
        """The draws that were charged, in order."""
        return self._events

    @property
    def spent(self) -> Fraction:
        """The privacy loss so far, in the unit of the budget."""
        return self.budget.spent(self.events) or Fraction(0)

    @property
    def left(self) -> Fraction | None:
        """What is left of the budget; None without a limit."""
        return None if self.budget.limit is None else self.budget.limit - self.spent

    def charge(self, event: Event) -> None:
        """Record an event, or refuse it before anything is drawn."""
        with self._lock:
            self.budget.require(self._events, event)
            self._events = (*self._events, event)

    def __repr__(self) -> str:
        limit = "none" if self.budget.limit is None else short(self.budget.limit)
        return (
            f"Ledger({self.budget.unit}={limit}, spent={short(self.spent)},"
            f" events={len(self.events)})"
        )


def allowance(recipes: Iterable[Any]) -> Budget:
    """Return the budget that lets private recipes run once."""
    costs = [recipe.loss() for recipe in recipes]
    return Budget(
        sum((epsilon for epsilon, _ in costs), Fraction(0)),
        sum((delta for _, delta in costs), Fraction(0)),
    )
