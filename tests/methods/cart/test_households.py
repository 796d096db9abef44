"""Cart draws rows one by one: it says so of columns that members of a household share."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import VeladuraWarning
from veladura.table.table import Table


@pytest.fixture
def people() -> Table:
    rng = np.random.default_rng(1)
    home = np.repeat(np.arange(100), 2)
    rent = rng.integers(3, 12, 100)[home] * 100
    frame = pd.DataFrame({"home": home, "rent": rent, "age": rng.integers(18, 80, 200)})
    return vd.open(frame, {"home": {"role": "household"}})


def test_a_column_of_households_is_warned_of(people):
    with pytest.warns(VeladuraWarning, match=r"\['rent'\] are the same for all members"):
        vd.Cart(columns=["rent", "age"], m=1).protect(people, seed=1)


def test_a_column_of_people_is_not(people):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vd.Cart(columns=["age"], m=1).protect(people, seed=1)
        vd.HouseholdCart(m=1).protect(people, seed=1)
