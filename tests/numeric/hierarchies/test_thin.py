"""Hierarchies lose levels until their lattice is small enough, useful ones last."""

from __future__ import annotations

from math import prod

import pytest

import veladura as vd
from veladura.numeric.hierarchies.thin import thin

AGE = vd.Hierarchy.intervals((5, 10, 20, 40))
BIRTH = vd.Hierarchy.dates(("month", "year", "5 years", "decade", "20 years"))
TOWN = vd.Hierarchy.keep(["a", "b", "c"], ["a", "b"], ["a"])
PLACE = vd.Hierarchy.grid(0.1, 6)


@pytest.mark.parametrize("most", [500, 200, 100, 50, 30, 20])
def test_the_lattice_is_as_small_as_asked(most):
    thinned = thin({"age": AGE, "birth": BIRTH, "town": TOWN, "place": PLACE}, most)
    assert prod(hierarchy.height + 1 for hierarchy in thinned.values()) <= most


def test_the_last_level_of_a_number_is_in_the_middle():
    assert thin({"age": AGE}, 3)["age"].widths == (20.0,)
    assert thin({"birth": BIRTH}, 3)["birth"].periods == ("5 years",)


def test_categories_lose_their_groups_before_numbers_lose_their_bands():
    thinned = thin({"age": AGE, "town": TOWN}, 6)
    assert thinned["age"].widths == (20.0,)
    assert thinned["town"] == vd.Hierarchy.star()


def test_what_fits_is_left_alone():
    assert thin({"age": AGE}, 6) == {"age": AGE}
