"""Attack: find out a person's income from the cuts of bins that a private release states.

The intruder knows everybody's income but one person's, who has one of two: a small or a large one.
The others are chosen so that this person decides where the median is. From the manifest alone the
intruder guesses "large" when the middle cut is at the large end. Whoever guesses right more often
than exp(epsilon) / (1 + exp(epsilon)) of the time has broken the promise (Bayes' theorem, from even
odds); with cuts at exact quantiles the intruder always does.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd

pytest.importorskip(
    "opendp",
    reason="the extra dp is not installed: pip install 'veladura[dp]'; these tests DID NOT RUN",
)
EPSILON, RELEASES, LEVEL = 1.0, 60, 1e-5
LOW, HIGH = 1000.0, 9000.0
OTHERS = np.repeat([LOW, HIGH], 20)  # the median is wherever the one more is


def private_cut(income: float) -> float:
    """Return the middle cut that a release states."""
    frame = pd.DataFrame({"income": np.append(OTHERS, income)})
    recipe = vd.Marginals(
        columns=["income"],
        bounds={"income": [0, 10_000]},
        bins=2,
        private_cuts=["income"],
        epsilon=EPSILON,
        rounds=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few people: the release says little
        settings = recipe.protect(frame).manifest["steps"][0]["settings"]
    return float(settings["edges"]["income"][1])


def exact_cut(income: float) -> float:
    """Return the median: a broken control, which costs no budget and tells everything."""
    return float(np.median(np.append(OTHERS, income)))


def right_guesses(cut: Callable[[float], float]) -> int:
    """Return how often the intruder is right, of as many releases of either income."""
    middle = (LOW + HIGH) / 2
    return sum(
        (cut(income) > middle) == (income == HIGH)
        for income in (LOW, HIGH)
        for _ in range(RELEASES)
    )


def test_cuts_tell_no_more_than_epsilon_allows() -> None:
    allowed = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    most = stats.binom.ppf(1 - LEVEL, 2 * RELEASES, allowed)
    assert right_guesses(private_cut) <= most
    assert right_guesses(exact_cut) == 2 * RELEASES > most
