"""OpenDP's accountant: what events cost together, by its own composition and conversion."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from veladura.methods.private.libraries import opendp

if TYPE_CHECKING:
    from veladura.methods.private.events import Event

ROUNDING = Fraction(1, 10**9)  # by which floating point may exceed an exact sum


def vetted(ours: Fraction, events: Sequence[Event], delta: Fraction, unit: str) -> Fraction:
    """Return our cost of events, or OpenDP's where it states more than rounding would add.

    Pure epsilon needs no second opinion: its sum is exact, and floating point would only spoil it
    (three tenths come to more than .3). Without OpenDP nothing else can be drawn.
    """
    if not any(event.rho for event in events) or find_spec("opendp") is None:
        return ours
    theirs = composed_rho(events) if unit == "rho" else composed_epsilon(events, delta)
    return theirs if theirs > ours * (1 + ROUNDING) else ours


def composed_rho(events: Sequence[Event]) -> Fraction:
    """Return the rho of events without a delta, as OpenDP composes their noise."""
    return Fraction(float(_composition(events, pure=True).map(1)))


def composed_epsilon(events: Sequence[Event], delta: Fraction) -> Fraction:
    """Return the epsilon of events at a delta, some of it left for their rho.

    An event with an epsilon and a delta of its own is added as it is (basic composition). Pure
    events count as they are or as rho, whichever is less.
    """
    left = float(delta - sum((event.delta for event in events), Fraction(0)))
    fixed = sum((event.epsilon for event in events if event.delta), Fraction(0))
    plain = sum((event.epsilon for event in events if not event.delta), Fraction(0))
    as_they_are = plain + _epsilon(_composition(events, pure=False), left)
    return fixed + min(as_they_are, _epsilon(_composition(events, pure=True), left))


def _epsilon(noise: Any, delta: float) -> Fraction:
    return Fraction(float(opendp().c.make_zCDP_to_approxDP(noise).map(1).epsilon(delta)))


def _composition(events: Sequence[Event], *, pure: bool) -> Any:
    """Return OpenDP's composition of noise on one count that costs as much as each event."""
    dp = opendp()
    one = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    noise = [dp.m.make_gaussian(*one, scale=float(2 * e.rho) ** -0.5) for e in events if e.rho]
    if pure:
        plain = [e.epsilon for e in events if e.epsilon and not e.delta]
        made = [dp.m.make_laplace(*one, scale=float(1 / epsilon)) for epsilon in plain]
        noise += [dp.c.make_pureDP_to_zCDP(laplace) for laplace in made]
    return dp.c.make_composition(noise)
