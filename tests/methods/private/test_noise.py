"""The baselines on OpenDP: privacy loss, manifests, and closeness to the data."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import BudgetError, PlanError
from veladura.methods.private.events import Event, epsilon_of
from veladura.methods.private.noisy import nearest, whole_numbers

pytestmark = pytest.mark.quick

REASON = "the extra dp is not installed: pip install 'veladura[dp]'; these tests DID NOT RUN"
DOMAIN = {"a": ["x", "y"], "b": [1, 2, 3], "c": ["u", "v"]}
RNG = np.random.default_rng(5)
A = RNG.choice(["x", "y"], 4000, p=[0.7, 0.3])
FRAME = pd.DataFrame(
    {
        "a": A,
        "b": np.where(A == "x", RNG.choice([1, 2], 4000), 3),
        "c": RNG.choice(["u", "v"], 4000),
    }
)


@given(st.lists(st.floats(-50, 100), min_size=2, max_size=12), st.integers(1, 500))
def test_post_processing_gives_whole_numbers_that_add_up(counts, total):
    near = nearest(np.array(counts), float(total))
    assert near.min() >= 0
    assert near.sum() == pytest.approx(total)
    rows = whole_numbers(near, total)
    assert rows.sum() == total
    assert np.abs(rows - near).max() <= 1


def test_noisy_counts_tell_their_noise_and_have_an_exact_posterior(tmp_path):
    pytest.importorskip("opendp", reason=REASON)
    release = vd.NoisyCounts(
        columns=["a", "b"],
        domain=DOMAIN,
        epsilon=1,
        structural_zeros=[{"a": "y", "b": [1, 2]}, {"a": "x", "b": 3}],
    ).protect(FRAME)
    settings = release.manifest["steps"][0]["settings"]
    assert (settings["scale"], settings["n"], len(settings["noisy"])) == ("2", 4000, 3)
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    posterior = vd.posterior(vd.load(tmp_path / "out" / "release"))
    truth = (
        FRAME.groupby(["a", "b"])
        .size()
        .reindex(pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]]), fill_value=0)
        .to_numpy()
    )
    assert np.abs(posterior.counts - truth).max() < 60
    assert posterior.counts.sum() == pytest.approx(4000)
    assert posterior.mean[2] == posterior.mean[3] == posterior.mean[4] == 0


def test_opendp_states_the_cost_that_is_charged():
    pytest.importorskip("opendp", reason=REASON)
    from veladura.methods.private.noisy import geometric

    assert float(geometric(Fraction(2), 2)[1]) == pytest.approx(1)
    assert float(geometric(Fraction(2), 1)[1]) == pytest.approx(0.5)
    ledger = vd.Ledger(epsilon=1)
    vd.NoisyCounts(columns=["a"], domain=DOMAIN, epsilon=0.7).protect(FRAME, ledger=ledger)
    with pytest.raises(BudgetError):
        vd.NoisyCounts(columns=["a"], domain=DOMAIN, epsilon=0.7).protect(FRAME, ledger=ledger)
    with pytest.raises(PlanError, match="takes none"):
        vd.NoisyCounts(columns=["a"], domain=DOMAIN, epsilon=0.7).protect(
            FRAME, seed=1, unsafe_repeatable=True
        )


def test_marginals_keep_a_strong_pair_and_their_budget():
    pytest.importorskip("opendp", reason=REASON)
    ledger = vd.Ledger(epsilon=1, delta=1e-9)
    recipe = vd.Marginals(columns=["a", "b", "c"], domain=DOMAIN, epsilon=1, rounds=1, fits=1)
    release = recipe.protect(FRAME, ledger=ledger)
    made = release.datasets[0]
    joint = pd.crosstab(made["a"], made["b"], normalize=True)
    truth = pd.crosstab(FRAME["a"], FRAME["b"], normalize=True)
    assert float(np.abs(joint.to_numpy() - truth.to_numpy()).sum()) < 0.15
    settings = release.manifest["steps"][0]["settings"]
    assert settings["measured"][-1]["columns"] == ["a", "b"]
    events = [Event.from_json(event) for event in settings["events"]]
    assert Fraction(99, 100) < epsilon_of(events, Fraction(1, 10**9)) <= 1
    assert release.rule.name == "noise-aware"
    with pytest.raises(BudgetError):
        recipe.protect(FRAME, ledger=ledger)
    with pytest.raises(BudgetError, match="needs a budget with a delta"):
        recipe.protect(FRAME, ledger=vd.Ledger(epsilon=10))


def test_the_noisy_maximum_prefers_the_best_and_costs_what_it_says():
    pytest.importorskip("opendp", reason=REASON)
    from veladura.methods.private.libraries import noisy_maximum

    assert [noisy_maximum([0.0, 1000.0, 3.0], 2.0, 0.5) for _ in range(5)] == [1] * 5
    chosen = [noisy_maximum([0.0, 1.0], 2.0, 1e-6) for _ in range(200)]
    assert 60 < sum(chosen) < 140


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delta": 0}, "delta must be above 0"),
        ({"delta": 1.0}, "below 1"),
        ({"rounds": -1}, "rounds"),
        ({"fits": 0}, "fits"),
        ({"model_size": 0}, "model_size"),
    ],
)
def test_bad_settings_of_marginals_are_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        vd.Marginals(columns=["a"], domain=DOMAIN, epsilon=1, **settings)
