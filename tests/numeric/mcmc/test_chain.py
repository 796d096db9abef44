"""Chains: their own streams, any number of threads, draws as far apart as they can be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veladura.base.context import Context
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.numeric.mcmc.chain import check_lengths, run_chains, separated
from veladura.numeric.mcmc.diagnostics import ChainWarning, Diagnostics

pytestmark = pytest.mark.quick

ENOUGH = {"sweeps": 100, "burn": 20, "thin": 2, "chains": 4, "m": 5}


@given(st.integers(1, 60), st.integers(1, 8), st.integers(60, 500))
def test_draws_are_m_distinct_and_far_apart(m, chains, kept):
    places = separated(m, chains, kept)
    assert len(places) == chains
    assert sum(map(len, places)) == m
    for own in places:
        gaps = np.diff([-1, *own])
        assert all(0 <= at < kept for at in own)
        assert not own or gaps.min() >= kept // len(own)


def test_chains_have_streams_of_their_own_whatever_the_threads():
    one, four = (
        run_chains("x", lambda _, rng: rng.random(), 4, Context(Streams(3), threads=threads))
        for threads in (1, 4)
    )
    assert one == four
    assert len(set(one)) == 4


@pytest.mark.parametrize(
    "wrong",
    [{"burn": 0}, {"burn": 100}, {"thin": 0}, {"chains": 0}, {"m": 0}, {"thin": 30}, {"m": 300}],
)
def test_lengths_that_leave_nothing_are_refused(wrong):
    check_lengths(**ENOUGH)
    with pytest.raises(PlanError, match=r"must be above burn|too few for diagnostics"):
        check_lengths(**(ENOUGH | wrong))


def test_good_chains_bring_no_warning():
    traces = {"a": np.random.default_rng(0).normal(size=(4, 500)), "fixed": np.ones((4, 500))}
    found = Diagnostics.of(traces)
    found.warn("do more.")  # a warning would be an error here
    assert not found.poor
    assert set(found.rhat) == {"a"}


def shifted(rng):
    """One chain of four somewhere else."""
    return rng.normal(size=(4, 500)) + np.array([[0], [0], [0], [2]])


def sticky(rng):
    """Chains that agree but hardly move."""
    return np.repeat(rng.normal(size=(4, 10)), 50, axis=1)


@pytest.mark.parametrize("bad", [shifted, sticky])
def test_poor_chains_bring_a_warning_with_advice(bad):
    found = Diagnostics.of({"a": bad(np.random.default_rng(0))})
    with pytest.warns(
        ChainWarning, match=r"have not converged: R-hat is .* for 'a'[\s\S]*Hint: do more\."
    ):
        found.warn("do more.")


@pytest.mark.parametrize(
    ("ess", "longer"), [(400.0, 2), (75.0, 2), (50.0, 3), (30.0, 5), (1.0, 10)]
)
def test_poor_chains_are_told_how_long_to_run(ess, longer):
    """Half as much again as the effective sample size asks for, between 2 and 10 times."""
    assert Diagnostics({"a": 1.2}, {"a": ess}).longer == longer


def test_chains_without_a_sample_size_run_ten_times_as_long():
    assert Diagnostics({"a": float("nan")}, {"a": float("nan")}).longer == 10


def test_effective_sample_size_is_that_of_an_autoregression():
    """An AR(1) chain of n with coefficient r has n (1 - r) / (1 + r) effective draws."""
    rng = np.random.default_rng(1)
    trace = np.zeros((4, 5000))
    for t in range(1, 5000):
        trace[:, t] = 0.8 * trace[:, t - 1] + rng.normal(size=4)
    assert Diagnostics.of({"a": trace}).least_ess == pytest.approx(20_000 * 0.2 / 1.8, rel=0.15)
