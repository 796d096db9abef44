"""Attack: tell from a private release whether the only person whom a filter keeps is in the table.

Two tables differ in one person, who alone satisfies the condition. The auditor runs the whole chain
on both and gets a lower bound of epsilon, as in test_private_audit. The broken control is a chain
that takes the number of filtered rows as public: it is built around the refusal.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.attacks.test_private_audit import lower_bound

import veladura as vd
from veladura.errors import VeladuraError

EPSILON, RUNS = 0.5, 60
DOMAIN = {"sex": ["f", "m"]}
WITH = pd.DataFrame({"age": [10, 12, 15, 40], "sex": ["f", "m", "f", "f"]})
WITHOUT = WITH[WITH["age"] < 18].reset_index(drop=True)
ADULTS = vd.Filter(where="age >= 18")


def recipe(neighbours: str) -> vd.NoisyCounts:
    return vd.NoisyCounts(columns=["sex"], domain=DOMAIN, epsilon=EPSILON, neighbours=neighbours)


def outputs(table: pd.DataFrame, chain: vd.Steps) -> np.ndarray:
    """Return the number of released rows of each run; -1 where the chain refuses."""
    rows = []
    for _ in range(RUNS):
        try:
            rows.append(len(chain.protect(table).datasets[0]))
        except VeladuraError:
            rows.append(-1)
    return np.array(rows, dtype=float)


@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_nobody_is_told_by_the_number_of_filtered_rows_nor_by_a_refusal():
    chain = vd.Steps([ADULTS, recipe("add-remove")])
    with_person, without = outputs(WITH, chain), outputs(WITHOUT, chain)
    assert (with_person >= 0).all()
    assert (without >= 0).all()  # an empty filter answers like any other
    assert lower_bound(with_person, without) < EPSILON


@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_the_control_that_takes_the_filtered_rows_as_public_tells_everything():
    broken = vd.Steps([ADULTS, recipe("add-remove")])
    object.__setattr__(broken, "recipes", (ADULTS, recipe("replace-one")))
    assert lower_bound(outputs(WITH, broken), outputs(WITHOUT, broken)) > EPSILON
