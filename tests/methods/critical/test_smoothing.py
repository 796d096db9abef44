"""Whether critical numbers move is a setting by column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from veladura.errors import PlanError
from veladura.methods.critical.critical import CriticalCart


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    wage = rng.lognormal(9, 0.5, 1500)
    rent = 0.3 * wage * rng.lognormal(0, 0.2, 1500)
    return pd.DataFrame({"wage": wage.round(2), "rent": rent.round(2)})


@pytest.mark.parametrize("groups", [[], [["wage", "rent"]]], ids=["trees", "tuples"])
def test_one_column_keeps_numbers_of_donors_and_the_other_does_not(people, groups):
    recipe = CriticalCart(critical=["wage", "rent"], groups=groups, m=1, smoothing={"wage": "none"})
    release = recipe.protect(people, seed=1)
    own = {name: release.datasets[0][name].isin(people[name]).mean() for name in people}
    assert own["wage"] > 0.75  # at most one in five comes back to its own row, and moves then
    assert own["rent"] < 0.1
    moved = next(one for one in release.promises if one.name == "critical-moved")
    assert moved.settings["about"] == ["rent"]


def test_a_setting_that_does_not_exist_is_refused_by_column():
    with pytest.raises(PlanError, match=r"smoothing\.wage"):
        CriticalCart(critical=["wage"], smoothing={"wage": "much"})
