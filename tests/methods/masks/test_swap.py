"""Swapping moves values, changes none, and carries none too far."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import veladura as vd
from veladura.base.streams import Streams
from veladura.core.promise import Evidence
from veladura.errors import DataError, PlanError
from veladura.methods.masks.kernels import swap_partners
from veladura.methods.masks.swap_claims import (
    carried_too_far,
    foreign_values,
    lost_values,
    rank_moves,
    ranks_within,
)
from veladura.table.inspect import inspect_table
from veladura.table.source import open as open_table

pytestmark = pytest.mark.quick

LEVEL = 1e-5


def slow_partners(uniforms, window):
    """Moore's swap, read off the paper: scan the window above for partners that are free."""
    size = len(uniforms)
    free, partner = set(range(size)), list(range(size))
    for rank in range(size):
        above = [r for r in range(rank + 1, min(rank + window, size - 1) + 1) if r in free]
        if rank in free and above:
            other = above[int(uniforms[rank] * len(above))]
            partner[rank], partner[other] = other, rank
            free -= {rank, other}
    return np.array(partner)


@given(st.integers(0, 60), st.integers(1, 70), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_partners_are_a_pairing_within_the_window(size, window, seed):
    partner = swap_partners(Streams(seed)("u").random(size), window)
    ranks = np.arange(size)
    assert np.array_equal(partner[partner], ranks)
    assert np.all(np.abs(partner - ranks) <= window)
    assert np.count_nonzero(partner == ranks) == size % 2 or (
        size > 1 and np.count_nonzero(partner == ranks) <= 2
    )


def law_of(choose, window: int, size: int, draws: int = 3000) -> dict[tuple[int, ...], int]:
    rng = Streams(4)("law")
    found: dict[tuple[int, ...], int] = {}
    for _ in range(draws):
        key = tuple(int(p) for p in choose(rng.random(size), window))
        found[key] = found.get(key, 0) + 1
    return found


def law_pvalue(choose) -> float:
    """Chi-squared test that two ways to choose partners have one law over seven ranks."""
    one, other = law_of(slow_partners, 3, 7), law_of(choose, 3, 7)
    keys = sorted(set(one) | set(other))
    counts = np.array([[law.get(key, 0) for key in keys] for law in (one, other)])
    return float(stats.chi2_contingency(counts).pvalue)


def nearest(uniforms, window):
    """Slip: the nearest free rank, whatever the draw."""
    return slow_partners(np.zeros_like(uniforms), window)


def narrow(uniforms, window):
    """Slip: a window of one rank less."""
    return slow_partners(uniforms, window - 1)


def test_partners_have_the_law_of_the_paper():
    assert law_pvalue(swap_partners) > LEVEL


@pytest.mark.parametrize("broken", [nearest, narrow])
def test_the_law_test_sees(broken):
    assert law_pvalue(broken) < LEVEL


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_ties_are_ranked_as_well_as_they_can_be(old, random):
    """Against every way to rank ties on both sides."""
    new = random.sample(old, len(old))
    places = range(len(old))
    ways = [
        [p for p in permutations(places) if all(side[a] <= side[b] for a, b in pairwise(p))]
        for side in (old, new)
    ]
    inverse = [[np.argsort(p) for p in way] for way in ways]
    best = min(int(np.abs(a - b).max()) for a in inverse[0] for b in inverse[1])
    assert int(rank_moves(np.array(old), np.array(new)).max()) == best


@given(
    st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=2, max_size=40),
    st.floats(0.01, 1.0),
    st.integers(0, 5),
)
@settings(max_examples=25, deadline=None)
def test_every_value_stays_and_none_goes_far(values, window, seed):
    frame = pd.DataFrame({"n": pd.array(values, dtype="Int64"), "other": range(len(values))})
    if frame["n"].nunique() < 2:
        with pytest.raises(DataError, match="nothing to swap"):
            vd.Swap(columns=["n"], window=window).protect(frame, seed=seed)
        return
    recipe = vd.Swap(columns=["n"], window=window, min_people=0)
    released = recipe.protect(frame, seed=seed).datasets[0]  # promises are proved
    assert (released["n"].isna() == frame["n"].isna()).all()
    assert sorted(released["n"].dropna()) == sorted(frame["n"].dropna())
    assert released["other"].equals(frame["other"])


def test_dates_ordered_categories_and_the_ends_of_64_bits_can_be_swapped():
    rows = 60
    grades = pd.Categorical(
        ["low", "mid", "high"] * 20, categories=["low", "mid", "high"], ordered=True
    )
    ends = np.iinfo(np.int64)
    frame = pd.DataFrame(
        {
            "day": pd.date_range("1950-01-01", periods=rows),
            "grade": grades,
            "n": [ends.max, ends.min, 0] * 20,
        }
    )
    recipe = vd.Swap(columns=["day", "grade", "n"], window=0.3, min_people=0)
    release = recipe.protect(frame, seed=2)
    released = release.datasets[0]
    assert (released["day"] - frame["day"]).abs().max() <= pd.Timedelta(days=18)
    assert released["grade"].cat.ordered
    for name in frame:
        assert sorted(released[name]) == sorted(frame[name])
        assert not released[name].equals(frame[name])


def test_ties_are_not_ranked_by_another_column():
    """A half-and-half column swapped over a wide window says nothing about the column beside it."""
    frame = pd.DataFrame({"a": np.arange(2000.0), "b": [0, 1] * 1000})
    released = vd.Swap(columns=["a", "b"], window=0.2).protect(frame, seed=1).datasets[0]
    moved = released["b"] != frame["b"]
    assert stats.ks_2samp(frame["a"][moved], frame["a"][~moved]).pvalue > LEVEL


def evidence_of(before, after, rows=None) -> Evidence:
    original, released = (
        open_table(pd.DataFrame({"n": before})),
        open_table(pd.DataFrame({"n": after})),
    )
    return Evidence(released, original, np.arange(len(after)) if rows is None else np.array(rows))


def test_the_checks_count_what_is_wrong():
    names = {"columns": ["n"]}
    assert foreign_values(evidence_of([1, 2, 3], [3, 1, 2]), names) == 0
    assert foreign_values(evidence_of([1, 2, 3], [3, 3, 4]), names) == 2
    assert foreign_values(evidence_of([1.0, 2.0, None], [1.0, None, 2.0]), names) == 2
    far = {**names, "window": 0.1}
    assert carried_too_far(evidence_of(range(20), [*range(18), 19, 18]), far) == 0
    assert carried_too_far(evidence_of(range(20), [5, *range(1, 5), 0, *range(6, 20)]), far) == 2
    assert (
        carried_too_far(evidence_of([0] * 10 + [1] * 10, [1] + [0] * 9 + [0] + [1] * 9), far) == 0
    )


def test_the_checks_still_hold_when_a_later_step_drops_rows():
    frame = pd.DataFrame({"n": range(40)})
    release = vd.Swap(columns=["n"], window=0.1, min_people=0).protect(frame, seed=1)
    kept = np.arange(0, 40, 3)
    some = Evidence(open_table(release.datasets[0].iloc[kept]), open_table(frame), kept)
    assert foreign_values(some, {"columns": ["n"]}) == 0
    assert carried_too_far(some, {"columns": ["n"], "window": 0.1}) == 0
    assert (
        carried_too_far(
            Evidence(some.released, some.original, kept[::-1]), {"columns": ["n"], "window": 0.1}
        )
        > 0
    )


def test_the_window_is_rounded_down_safely():
    assert ranks_within(0.07, 100) == 7
    assert ranks_within(0.29, 100) == 29
    assert ranks_within(1e-9, 100) == 1


@pytest.mark.parametrize("window", [0, -0.1, 1.1, float("nan"), "wide", True])
def test_the_window_is_checked(window):
    with pytest.raises(PlanError, match="window"):
        vd.Swap(columns=["n"], window=window)


def test_columns_are_checked():
    with pytest.raises(PlanError, match="columns is empty"):
        vd.Swap(columns=[])
    with pytest.raises(PlanError, match="use Pram for categories"):
        vd.Swap(columns=["c"]).protect(pd.DataFrame({"c": ["a", "b"]}))
    with pytest.raises(DataError, match="nothing to swap"):
        vd.Swap(columns=["n"]).protect(pd.DataFrame({"n": [1]}))


def test_a_suggestion_runs_or_says_why_not():
    table = open_table(pd.DataFrame({"n": [1, 2], "c": ["a", "b"], "still": [1.0, 1.0]}))
    assert vd.Swap.suggest(table.schema, inspect_table(table)).columns == ("n",)
    words = table.select(["c", "still"])
    with pytest.raises(PlanError, match="nothing to swap"):
        vd.Swap.suggest(words.schema, inspect_table(words))


def test_two_columns_draw_from_streams_of_their_own():
    frame = pd.DataFrame({"a": range(50), "b": range(50)})
    released = vd.Swap(columns=["a", "b"], window=0.2).protect(frame, seed=1).datasets[0]
    assert not released["a"].equals(released["b"])


def lone_and_shared(rows: int = 600) -> pd.DataFrame:
    """Incomes of which half are rounded to thousands, the others of one person each."""
    rng = Streams(9)("incomes")
    exact = np.round(rng.lognormal(8, 0.5, rows), 2)
    income = np.where(rng.random(rows) < 0.5, np.round(exact, -3), exact)
    return pd.DataFrame({"income": income, "sex": rng.choice(["f", "m"], rows)})


@pytest.mark.parametrize("within", [(), ("sex",)])
def test_numbers_of_few_people_move_and_shared_ones_stay_as_frequent(within):
    frame = lone_and_shared()
    release = vd.Swap(columns=["income"], window=0.1, within=within).protect(frame, seed=3)
    after = release.datasets[0]["income"]
    names = [promise.name for promise in release.promises]
    assert names == ["shared-values", "moved-numbers", "rank-window"]
    count, again = frame["income"].value_counts(), after.value_counts()
    cents = count.index[count.index % 1000 != 0]
    assert not after.isin(cents).any()  # none comes back by chance; a rounded one may
    shared = count[count >= 5]
    assert (again.reindex(shared.index) >= shared).all()
    assert again[again.index.isin(shared.index)].sum() <= shared.sum() + 5
    for _, part in frame.groupby(list(within) or np.zeros(len(frame))):
        ranks = part["income"].rank(method="average"), after[part.index].rank(method="average")
        ties = part["income"].map(part["income"].value_counts()).max()
        assert (ranks[0] - ranks[1]).abs().max() <= 0.1 * len(part) + ties


def test_the_checks_see_a_lost_shared_value_and_a_number_carried_too_far():
    frame = lone_and_shared()
    release = vd.Swap(columns=["income"], window=0.05).protect(frame, seed=3)
    (evidence,) = release.evidence()
    few = {"columns": ["income"], "people": 5}
    far = {"columns": ["income"], "window": 0.05, "moved": ["income"]}
    assert lost_values(evidence, few) == carried_too_far(evidence, far) == 0
    values = release.datasets[0]["income"].to_numpy(copy=True)
    common = frame["income"].mode()[0]
    fewer = np.where(values == common, common + 1, values)
    assert lost_values(evidence_in(frame, fewer), few) >= (frame["income"] == common).sum()
    values[values.argmin()], values[values.argmax()] = values.max(), values.min()
    assert carried_too_far(evidence_in(frame, values), far) > 0


def evidence_in(frame, values) -> Evidence:
    """Evidence of a release with other incomes, row for row."""
    released = open_table(frame.assign(income=values))
    return Evidence(released, open_table(frame), np.arange(len(frame)))


def test_codes_and_ordered_categories_never_move():
    rng = Streams(10)("codes")
    grade = pd.Categorical(rng.choice(list("abcd"), 300), categories=list("abcd"), ordered=True)
    frame = pd.DataFrame({"grade": grade, "shared": rng.integers(1, 9, 300) * 10})
    release = vd.Swap(columns=["grade", "shared"]).protect(frame, seed=1)
    assert [promise.name for promise in release.promises] == ["same-values", "rank-window"]
