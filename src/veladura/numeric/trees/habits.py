"""Rounding habits: people round numbers to fives, tens, fifties, hundreds and so on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints

CANDIDATES = tuple(sorted([5 * 10**k for k in range(12)] + [10**k for k in range(1, 13)]))
OFTENER, SURELY = 1.5, 4.0  # times the expected share, and standard errors above it
FEWEST = 50  # numbers that show how a whole column is written
ROOM = 4  # a rounded number needs so many places to go to, or the release would show the old one


@dataclass(frozen=True)
class Habits:
    """The units that numbers of a column are rounded to, in steps of its grid.

    The first divides them all: 1, unless the column is written in tens or in hundreds.
    """

    units: tuple[int, ...] = (1,)

    @classmethod
    def of(cls, steps: Ints) -> Habits:
        """Return the units that divide numbers oftener than chance explains.

        Examples
        --------
        >>> Habits.of(np.arange(1, 2000)).units
        (1,)
        >>> Habits.of(np.append(np.arange(1, 2000), 50 * np.arange(1, 999))).units
        (1, 5, 10, 50)
        >>> Habits.of(10 * np.arange(1, 2000)).units
        (10,)
        """
        some = steps[:FEWEST]  # most units do not divide these: nobody need divide the others
        whole = [
            unit
            for unit in CANDIDATES
            if steps.size >= FEWEST and not np.any(some % unit) and not np.any(steps % unit)
        ]
        units, left = [max(whole, default=1)], steps
        for unit in CANDIDATES:
            if not left.size:
                break
            if unit <= units[0] or unit % units[0]:
                continue
            divided = left[left % unit == 0]
            share = units[-1] / unit
            expected = share * left.size
            error = np.sqrt(expected * (1 - share))
            if divided.size > max(OFTENER * expected, expected + SURELY * error):
                units.append(unit)
                left = divided
        return cls(tuple(units))

    def classes(self, steps: Ints, room: Floats) -> Ints:
        """Return the place of the largest unit that divides a number and has room to move."""
        found = np.zeros(steps.size, dtype=np.int64)
        for place, unit in enumerate(self.units):
            if place:
                found[(steps % unit == 0) & (ROOM * unit <= room)] = place
        return found

    def landed(self, numbers: Floats, classes: NDArray[Any]) -> Floats:
        """Return the nearest numbers as round as asked: multiples of a unit, not of the next.

        Examples
        --------
        >>> Habits((1, 10)).landed(np.array([9.6, 22.0, 9.6]), np.array([0, 0, 1])).tolist()
        [9.0, 22.0, 10.0]
        """
        landed = np.rint(numbers)
        for place, unit in enumerate(self.units):
            here = np.flatnonzero(classes == place)
            if not here.size:
                continue
            near = np.rint(numbers[here] / unit)
            if place + 1 < len(self.units):
                times = self.units[place + 1] // unit
                rounder = near % times == 0
                aside = np.where(numbers[here] / unit >= near, 1.0, -1.0)
                near = np.where(rounder, near + aside, near)
            landed[here] = near * unit
        return landed
