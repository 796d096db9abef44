"""Attack: the sampling weight of a person who was left out, by the factor of `Reweight`.

Released weights are rounded ones times one factor, which an intruder finds because all of them are
multiples of it; the declared total over the factor is then the sum of the rounded weights that are
released. If the total is that of the data, what lacks is the weight of those who were left out,
beneath what rounding moved the others by.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import veladura as vd
from veladura.methods.masks.reweight import significant


def left_out(seed, digits, total_of_data):
    """Return the weight of the one who was left out, and what the intruder says it is."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(4, 300, 801)
    total = float(f"{weights.sum():.6g}") if total_of_data else 1_000_000.0
    released = vd.Reweight(column="w", total=total, digits=digits).protect(
        pd.DataFrame({"w": weights[1:]})
    )
    rounded = significant(weights[1:], digits)
    factor = float(np.median(released.datasets[0]["w"] / rounded))  # as if he had found it
    return weights[0], total - total / factor


def told(digits, *, total_of_data):
    """Return the correlation of guess and truth over 60 releases."""
    pairs = [left_out(seed, digits, total_of_data) for seed in range(60)]
    return float(np.corrcoef(np.array(pairs).T)[0, 1])


def test_a_total_from_public_knowledge_says_nothing_of_who_was_left_out():
    """The total of the data does: nearly all with three digits or more, less with two."""
    assert told(3, total_of_data=True) > 0.95  # the attack works
    assert told(2, total_of_data=True) < 0.9
    assert abs(told(3, total_of_data=False)) < 0.56  # at a level of 1e-5, 60 pairs
