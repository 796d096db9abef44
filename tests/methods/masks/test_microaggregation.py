"""Groups are those of MDAV, and every released combination is shared by k rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.base.streams import Streams
from veladura.errors import DataError, PlanError
from veladura.methods.masks.kernels import mdav
from veladura.methods.masks.microaggregation import merged_patterns, standardised
from veladura.table.inspect import inspect_table
from veladura.table.source import open as open_table

pytestmark = pytest.mark.quick


def slow_mdav(points, k):
    """MDAV written down from Domingo-Ferrer and Torra (2005) with sorting and sets."""
    left, groups = list(range(len(points))), []

    def far(centre, among):
        return max(among, key=lambda i: (np.sum((points[i] - centre) ** 2), -i))

    def group_of(i):
        members = sorted(left, key=lambda j: (np.sum((points[j] - points[i]) ** 2), j))[:k]
        groups.append(set(members))
        for j in members:
            left.remove(j)

    while len(left) >= 3 * k:
        r = far(np.mean(points[left], axis=0), left)
        group_of(r)
        group_of(far(points[r], left))
    if len(left) >= 2 * k:
        group_of(far(np.mean(points[left], axis=0), left))
    return [*groups, set(left)]


def sets_of(groups) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(groups == g).tolist()) for g in np.unique(groups)}


@pytest.mark.parametrize("rows", [3, 7, 8, 9, 10, 11, 12, 53])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_groups_are_those_of_a_slow_transcription(rows, k):
    points = Streams(rows)("points").normal(size=(rows, 3))
    if rows >= k:
        assert sets_of(mdav(points, k)) == {frozenset(group) for group in slow_mdav(points, k)}


@given(st.integers(2, 5), st.integers(0, 40), st.integers(0, 6), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_groups_have_k_to_2k_less_1_points(k, more, spread, columns):
    """Also with many equal points, and with no column at all."""
    points = Streams(more)("points").integers(0, spread + 1, size=(k + more, columns)).astype(float)
    sizes = np.bincount(mdav(np.ascontiguousarray(points), k))
    assert sizes.min() >= k
    assert sizes.max() <= 2 * k - 1
    assert sizes.sum() == k + more


def release_of(frame: pd.DataFrame, k: int, **settings) -> pd.DataFrame:
    recipe = vd.Microaggregation(columns=list(frame), k=k, **settings)
    return recipe.protect(frame, seed=1).datasets[0]


def test_rows_hold_the_mean_of_their_group_and_totals_stay():
    frame = pd.DataFrame(
        Streams(3)("frame").normal(50, 10, size=(100, 2)).round(1), columns=["a", "b"]
    )
    fitted = vd.Microaggregation(columns=["a", "b"], k=4, min_people=0).fit(frame)
    released = fitted.sample().datasets[0]
    rows = fitted.codes.rows
    groups = np.empty(100, dtype=int)
    groups[rows] = fitted.groups
    expected = frame.groupby(groups).transform("mean").round(3)
    pd.testing.assert_frame_equal(released, expected)
    assert np.allclose(released.sum(), frame.sum(), atol=0.1)


@given(st.integers(2, 4), st.integers(0, 9), st.floats(0, 0.6))
@settings(max_examples=20, deadline=None)
def test_k_rows_share_every_combination_missing_or_not(k, seed, gaps):
    rng = Streams(seed)("gaps")
    frame = pd.DataFrame(rng.integers(0, 9, size=(30, 3)).astype(float), columns=list("abc")).mask(
        rng.random((30, 3)) < gaps
    )
    if frame.isna().all().any():
        return
    released = release_of(frame, k)
    assert released.groupby(list("abc"), dropna=False).size().min() >= k
    assert (released.isna() | frame.notna()).all().all()  # what was missing stays so


def test_rare_patterns_of_missing_values_join_the_cheapest():
    missing = np.array([[0, 0]] * 5 + [[0, 1]] * 3 + [[1, 1]], dtype=bool)
    merged = merged_patterns(missing, 2)
    assert merged.tolist() == [[False, False]] * 5 + [[True, True]] * 4
    assert np.array_equal(merged_patterns(missing[:8], 3), missing[:8])


def test_whole_numbers_and_dates_are_rounded_to_whole_ones():
    frame = pd.DataFrame(
        {
            "n": [1, 2, 2, 100, 101, 101],
            "day": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-04"] * 2),
        }
    )
    frame.loc[3:, "day"] += pd.Timedelta(days=100)
    frame["day"] = frame["day"].dt.date
    released = release_of(frame, 3, min_people=0)
    assert released["n"].tolist() == [2, 2, 2, 101, 101, 101]
    assert [str(day) for day in released["day"]] == ["2020-01-02"] * 3 + ["2020-04-11"] * 3


def test_large_constant_and_few_values_pass():
    ends = np.iinfo(np.int64)
    frame = pd.DataFrame({"n": [ends.max, ends.min, 5, 5], "still": [0.1] * 4})
    assert release_of(frame, 2)["still"].tolist() == [0.1] * 4
    assert release_of(frame.head(3), 3).nunique().tolist() == [1, 1]


def test_standardised_columns_have_mean_0_and_sd_1():
    points = standardised(np.array([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0], [np.nan, 5.0]]))
    assert np.nanmean(points[:, 0]) == pytest.approx(0)
    assert np.nanstd(points[:, 0], ddof=1) == pytest.approx(1)
    assert not points[:, 1].any()


def test_fewer_rows_than_k_have_no_solution():
    with pytest.raises(DataError, match="no solution exists"):
        release_of(pd.DataFrame({"n": [1, 2]}), 3)


@pytest.mark.parametrize("k", [1, 0, 2.5, True, "3"])
def test_k_is_checked(k):
    with pytest.raises(PlanError, match="k "):
        vd.Microaggregation(columns=["n"], k=k)


def test_columns_are_checked():
    with pytest.raises(PlanError, match="columns is empty"):
        vd.Microaggregation(columns=[])
    with pytest.raises(PlanError, match="kinds that this method does not support"):
        vd.Microaggregation(columns=["c"]).protect(pd.DataFrame({"c": ["a", "b", "c"]}))


def test_a_suggestion_runs_or_says_why_not():
    frame = pd.DataFrame(
        {"n": [1, 2, None], "day": pd.date_range("2020-01-01", periods=3), "c": ["a", "b", "c"]}
    )
    for names, expected in ((["n", "day"], ("n",)), (["day", "c"], ("day",))):
        table = open_table(frame[names])
        suggested = vd.Microaggregation.suggest(table.schema, inspect_table(table))
        assert suggested.columns == expected
        suggested.protect(frame)
    words = open_table(frame[["c"]])
    with pytest.raises(PlanError, match="nothing to microaggregate"):
        vd.Microaggregation.suggest(words.schema, inspect_table(words))


def test_a_table_with_a_lone_row_moved_is_refused():
    """Control for the promise: one changed cell must break it."""
    from veladura.core.promise import Evidence
    from veladura.core.violations import small_groups

    released = release_of(pd.DataFrame({"n": np.arange(9.0)}), 3)
    settings_ = {"columns": ["n"], "k": 3}
    assert small_groups(Evidence(open_table(released)), settings_) == 0
    released.loc[0, "n"] += 1
    assert small_groups(Evidence(open_table(released)), settings_) == 2


def test_means_are_of_moved_numbers_and_k_people_still_share_them():
    """An outlier does not carry its group; groups and the mean of the others stay as they were."""
    rng = Streams(14)("outlier")
    frame = pd.DataFrame({"x": np.round(np.append(rng.lognormal(7, 1, 999), 5e6), 2)})
    plain = release_of(frame, 4, min_people=0)["x"]
    released = vd.Microaggregation(columns=["x"], k=4).protect(frame, seed=1).datasets[0]["x"]
    assert released.value_counts().min() >= 4
    assert plain.max() > 1e6 > 10 * released.max()
    bulk = frame["x"] < frame["x"].quantile(0.9)
    error = frame["x"][bulk].std() / np.sqrt(bulk.sum())
    assert abs(released[bulk].mean() - plain[bulk].mean()) < error
