"""Streams: draws by name, the same for the same seed, and none of it visible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from veladura.base.streams import Streams
from veladura.errors import PlanError

paths = st.lists(st.one_of(st.text(max_size=5), st.integers(0, 99)), min_size=1, max_size=4)


@given(st.integers(0, 2**128), paths)
def test_the_same_path_gives_the_same_draws(seed, path):
    assert np.array_equal(Streams(seed)(*path).random(3), Streams(seed)(*path).random(3))


@given(paths, paths)
def test_other_paths_give_other_draws(one, other):
    same = [(type(part), part) for part in one] == [(type(part), part) for part in other]
    assert np.array_equal(Streams(1)(*one).random(3), Streams(1)(*other).random(3)) == same


def test_streams_below_a_path_are_the_streams_of_the_longer_path():
    assert Streams(1).within("step", 0)("noise").random() == Streams(1)("step", 0, "noise").random()


def test_streams_look_independent():
    draws = np.array([[Streams(5)("column", j, i).random() for i in range(400)] for j in range(2)])
    assert stats.pearsonr(*draws).pvalue > 1e-5
    assert stats.kstest(draws.ravel(), "uniform").pvalue > 1e-5


def test_without_a_seed_the_entropy_is_the_systems():
    assert Streams.of(None).entropy != Streams.of(None).entropy


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(PlanError, match="whole number"):
        Streams.of(seed)


def test_the_repr_hides_the_entropy():
    assert "12345" not in repr(Streams(12345))
