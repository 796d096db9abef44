"""beta-likeness, average risk, uniqueness and an estimated k-map are what their definitions say."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from tests.methods.kanonymity import brute
from tests.methods.kanonymity.test_privacy_models import found, whole

import veladura as vd
from veladura.core.promise import Evidence
from veladura.errors import PlanError
from veladura.methods.kanonymity.risk_models import fewest_of_sample

EXAMPLES = settings(max_examples=40, deadline=None)


def alike(secrets, every, beta, *, enhanced):
    """The definition, value by value (Cao and Karras 2012, definitions 2 and 3)."""
    shares = Counter(every)
    for value, number in Counter(secrets).items():
        p, q = shares[value] / len(every), number / len(secrets)
        gain = min(beta, -math.log(p)) if enhanced else beta
        if q > p and (q - p) / p > gain + 1e-9:
            return False
    return True


@pytest.mark.parametrize("enhanced", [False, True])
@given(table=brute.small_tables(), allowed=st.integers(0, 4), k=st.integers(1, 3))
@EXAMPLES
def test_beta_likeness_is_as_defined(enhanced, table, allowed, k):
    allowed = min(allowed, len(table.rows) - 1)
    model = vd.BetaLikeness(column="secret", beta=0.8, enhanced=enhanced)
    expected = brute.minimal(
        table,
        allowed,
        lambda s, _: len(s) >= k and alike(s, whole(table), 0.8, enhanced=enhanced),
    )
    assert found(table, allowed, k, [model]) == expected


def left_after(sizes, fine):
    """Rows of the smallest classes, size by size, that go until the rest is fine."""
    for least in sorted({0, *sizes, max(sizes) + 1}):
        rest = [size for size in sizes if size >= least]
        if not rest or fine(rest):
            return sum(sizes) - sum(rest)
    return sum(sizes)


def uniques_to_go(sizes, share):
    """Rows of one person that go, one by one, until the others are few enough."""
    alone = sizes.count(1)
    rows = sum(sizes)
    return next(gone for gone in range(alone + 1) if alone - gone <= (rows - gone) * share + 1e-12)


@pytest.mark.parametrize(
    ("model", "gone_of"),
    [
        (
            vd.AverageRisk(risk=0.4),
            lambda sizes: left_after(sizes, lambda rest: len(rest) / sum(rest) <= 0.4 + 1e-12),
        ),
        (vd.Uniqueness(share=0.1), lambda sizes: uniques_to_go(sizes, 0.1)),
        (vd.Uniqueness(share=0.3), lambda sizes: uniques_to_go(sizes, 0.3)),
    ],
    ids=["average", "uniqueness", "uniqueness-30"],
)
@given(table=brute.small_tables(), allowed=st.integers(0, 4))
@EXAMPLES
def test_models_of_the_whole_table_are_as_defined(model, gone_of, table, allowed):
    allowed = min(allowed, len(table.rows) - 1)

    def gone(node):
        return gone_of(list(Counter(table.raised(r, node) for r in table.rows).values()))

    good = [node for node in table.nodes if gone(node) <= allowed]
    below = lambda a, b: a != b and all(x <= y for x, y in zip(a, b, strict=True))  # noqa: E731
    expected = {node for node in good if not any(below(other, node) for other in good)}
    assert found(table, allowed, 1, [model]) == expected


def test_no_more_uniques_go_than_it_takes_and_they_are_spread_over_the_table():
    frame = pd.DataFrame({"q": [*range(40), *([100] * 60)]})
    recipe = vd.KAnonymity(
        quasi_identifiers=["q"],
        k=1,
        max_suppression=0.5,
        levels={"q": 0},
        suppressed="drop",
        hierarchies={"q": vd.Hierarchy.star()},
        models=[vd.Uniqueness(share=0.25)],
    )
    alone = recipe.protect(frame).datasets[0]["q"].astype(int).loc[lambda q: q < 100]
    assert len(alone) == 20  # of 80 left; 21 of 81 would be too many
    assert 8 <= (alone < 20).sum() <= 12


def test_the_average_holds_though_another_model_suppresses_large_classes():
    """Large classes that are not diverse go first, and with them what made the average low."""
    rows = [("a", "x")] * 30 + [("b", str(i % 2)) for i in range(4)] + [("c", "0"), ("c", "1")]
    frame = pd.DataFrame(rows, columns=["q", "secret"])
    recipe = vd.KAnonymity(
        quasi_identifiers=["q"],
        k=1,
        max_suppression=0.95,
        levels={"q": 0},
        suppressed="drop",
        hierarchies={"q": vd.Hierarchy.star()},
        models=[vd.LDiversity(column="secret", l=2), vd.AverageRisk(risk=0.3)],
    )
    released = recipe.protect(frame).datasets[0]
    assert set(released["q"]) == {"b"}  # with "c" the average would be 2 / 6


@given(k=st.integers(2, 30), fraction=st.floats(0.001, 1.0), alpha=st.sampled_from([0.01, 0.05]))
@EXAMPLES
def test_an_estimated_k_map_rejects_smaller_populations(k, fraction, alpha):
    f = fewest_of_sample(k, fraction, alpha)
    given_one = 1 - (1 - fraction) ** (k - 1)
    assert binom.sf(f - 1, k - 1, fraction) / given_one <= alpha + 1e-12
    assert f == 1 or binom.sf(f - 2, k - 1, fraction) / given_one > alpha
    assert 1 <= f <= k


def test_an_estimated_k_map_keeps_its_error_on_samples_of_a_population():
    """Of the classes that fewer than k people share, at most the significance pass."""
    rng = np.random.default_rng(3)
    people = np.full(200_000, 4)  # of each class of the population: just fewer than k = 5
    sample = rng.binomial(people, 0.3)
    f = fewest_of_sample(5, 0.3, 0.05)
    seen = sample[sample > 0]
    assert np.mean(seen >= f) <= 0.05
    assert np.mean(seen >= f - 1) > 0.05  # the control: one person fewer is not enough


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (vd.BetaLikeness(column="secret", beta=2.0), "beta-likeness"),
        (vd.AverageRisk(risk=0.05), "average-risk"),
        (vd.Uniqueness(share=0.0), "uniqueness"),
        (vd.Uniqueness(share=0.001, fraction=0.05, estimator="zayatz"), "uniqueness"),
        (vd.KMap(k=50, fraction=0.1), "estimated-k-map"),
    ],
)
def test_promises_are_proved_from_the_saved_release(model, name, tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"town": rng.geometric(0.2, 2_000), "age": rng.integers(0, 60, 2_000)})
    frame["secret"] = rng.choice(list("uvw"), 2_000)
    recipe = vd.KAnonymity(
        quasi_identifiers=["town", "age"], k=1, models=[model], suppressed="star"
    )
    release = recipe.protect(frame)
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "home")
    assert [promise.name for promise in release.promises] == [name]
    lines = vd.verify(tmp_path / "out" / "release")
    assert {line.status for line in lines} & {"broken", "unknown"} == set()
    check = vd.KAnonymity.checks[name]  # the original in its place breaks the promise
    assert check.count(Evidence(vd.open(frame), None, None), release.promises[0].settings) > 0


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: vd.BetaLikeness(column="x", beta=0), "above 0"),
        (lambda: vd.BetaLikeness(column="", beta=1), "name of a sensitive column"),
        (lambda: vd.AverageRisk(risk=1.0), "below 1"),
        (lambda: vd.Uniqueness(share=-0.1), "at least 0"),
        (lambda: vd.Uniqueness(share=0.1, fraction=2.0), "at most 1"),
        (lambda: vd.Uniqueness(share=0.1, estimator="other"), "estimator"),
        (lambda: vd.KMap(k=5), "population file, or the fraction"),
        (lambda: vd.KMap(k=5, fraction=0.0), "above 0"),
        (lambda: vd.KMap(k=5, fraction=0.1, significance=1.0), "between 0 and 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, match):
    with pytest.raises(PlanError, match=match):
        make()


def test_likeness_of_a_recoded_column_is_that_of_the_table_that_the_step_saw(tmp_path):
    """A drafted plan rounds incomes first: shares in the source are of other values."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 400),
            "sex": rng.choice(["f", "m"], 400),
            "income": rng.lognormal(8, 0.6, 400).round(),
        }
    )
    likeness = vd.BetaLikeness(column="income", beta=3.0)
    closeness = vd.TCloseness(column="income", t=0.3)
    for model, dropped in itertools.product((likeness, closeness), (0.0, 0.3)):
        steps = vd.Steps(
            [
                vd.Recode(columns={"income": {"digits": 1}}),
                vd.KAnonymity(
                    quasi_identifiers=["age", "sex"], k=5, models=[model], max_suppression=dropped
                ),
            ]
        )
        release = steps.protect(frame, seed=1)
        shares = frame["income"].map(lambda v: float(f"{v:.0e}")).value_counts(normalize=True)
        for _, rows in release.datasets[0].groupby(["age", "sex"], observed=True):
            own = rows["income"].value_counts(normalize=True)
            if isinstance(model, vd.BetaLikeness):
                assert (own <= 4 * shares[own.index] + 1e-9).all()
            else:
                apart = (own.reindex(shares.index, fill_value=0) - shares).abs().sum() / 2
                assert apart <= 0.3 + 1e-9
        name = f"{type(model).__name__}-{dropped}"
        folder = tmp_path / name / "r"
        release.save(folder, custodian=tmp_path / "home" / name)
        assert "broken" not in {line.status for line in vd.verify(folder)}
