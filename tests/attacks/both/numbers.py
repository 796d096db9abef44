"""Attacks on released numbers, against any version: holes, spikes, the nearest number, outliers.

A number that is avoided tells as much as one that is repeated: an attack wins where what it names
differs from the numbers around, to either side.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.attacks.both.common import Attack, Outcome
from tests.attacks.test_numbers import (
    GAIN,
    GRIDS,
    holes,
    incomes,
    lattice,
    lone_outlier,
    nearer,
    odds,
    protected,
    spikes,
    told,
)

import veladura as vd

TABLES, SLACK = 3, 4.0


def named(method: str, attack: Callable[[np.ndarray], np.ndarray], most: int) -> Outcome:
    """Name numbers on dense to sparse grids; they should be held by one to so many people."""
    won, words = False, []
    for grid, median in GRIDS.items():
        found = []
        for seed in range(TABLES):
            frame = incomes(median, seed)
            held, count = lattice(frame, protected(method, frame, seed))
            which = attack(count)
            target = ((held > 0) & (held <= most)).astype(float)
            found.append(odds(which, target) if which.any() else (0.0, 0.0, 0))
        precision, base, size = np.array(found).T
        total = max(size.sum(), 1)
        share, chance = (precision @ size) / total, (base @ size) / total
        slack = SLACK * np.sqrt(chance * (1 - chance) / total)
        won |= bool(abs(share - chance) > max((GAIN - 1) * chance, slack))
        words.append(f"{grid} {share:.2f} ({chance:.2f} around)")
    return won, ", ".join(words)


def holes_of_cart(_home: Path) -> Outcome:
    return named("cart", holes, 1)


def spikes_of_critical(_home: Path) -> Outcome:
    return named("critical", spikes, 4)


def nearest(_home: Path) -> Outcome:
    """Compare each number of one person with a place beside it; half are nearer by chance."""
    shares, people = [], 0
    for seed in range(2 * TABLES):
        frame = incomes(100_000, seed)
        share, size = nearer(frame, protected("cart", frame, seed))
        shares.append(share)
        people += size
    found = float(np.mean(shares))
    return abs(found - 0.5) > SLACK * np.sqrt(0.25 / people), f"{found:.3f} of {people} are nearer"


def outlier(_home: Path) -> Outcome:
    """Look for the one large income: by a released number, or by a sum."""
    apart = []
    for seed in range(5):
        frame, value = lone_outlier(seed)
        apart.append(told(frame, vd.Cart(m=5).protect(frame, seed=seed).datasets, value))
    return min(apart) < 0.1, f"told within {min(apart):.2g} of its value"


ATTACKS: dict[str, Attack] = {
    "holes in a column, Cart": holes_of_cart,
    "spikes in a column, CriticalCart": spikes_of_critical,
    "nearest number, Cart": nearest,
    "lone outlier, Cart": outlier,
}
