"""Cell suppression: as few cells as a greedy choice finds, and what is left holds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.kanonymity.recount import people, recipe

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.methods.kanonymity.cell_suppression import MOST_SETS, blank_cells
from veladura.methods.kanonymity.tuples import group_numbers, group_rows, matching_rows

tables = st.tuples(
    st.lists(
        st.lists(st.integers(0, 2), min_size=4, max_size=4),
        min_size=1,
        max_size=12,
        unique_by=tuple,
    ),
    st.integers(0, 10_000),
)


def blanked(codes, sizes, k, *, wildcard):
    nothing = np.zeros(codes.shape, dtype=bool)
    blank, lost = blank_cells(codes, nothing, sizes, k, wildcard=wildcard)
    return np.where(blank, -1, codes), lost


@given(tables, st.integers(2, 6))
def test_every_row_matches_k_rows_and_none_is_lost(table, k):
    codes, seed = np.array(table[0]), table[1]
    sizes = np.random.default_rng(seed).integers(1, 4, len(codes))
    left, lost = blanked(codes, sizes, k, wildcard=True)
    assert not lost.any() or sizes.sum() < k
    assert lost.any() or matching_rows(left, sizes).min() >= k


@given(tables, st.integers(2, 6))
def test_every_combination_is_shared_by_k_rows(table, k):
    codes, seed = np.array(table[0]), table[1]
    sizes = np.random.default_rng(seed).integers(1, 4, len(codes))
    left, lost = blanked(codes, sizes, k, wildcard=False)
    assert sizes[lost].sum() < k
    assert lost.all() or group_rows(left[~lost], sizes[~lost]).min() >= k


@given(tables, st.integers(2, 6))
def test_frequent_rows_are_left_alone(table, k):
    codes, seed = np.array(table[0]), table[1]
    sizes = np.random.default_rng(seed).integers(1, 8, len(codes))
    for wildcard in (True, False):
        left, _ = blanked(codes, sizes, k, wildcard=wildcard)
        frequent = group_rows(codes, sizes) >= k
        assert np.array_equal(left[frequent], codes[frequent])


def test_one_cell_is_enough_where_one_column_makes_a_row_rare():
    codes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1]])
    left, lost = blanked(codes, np.array([1, 9, 9]), 3, wildcard=True)
    assert left.tolist() == [[0, 0, -1], [0, 0, 1], [1, 1, 1]]
    assert not lost.any()


def test_wildcards_need_no_more_cells_than_a_value_of_their_own():
    for seed in range(20):
        frame = people(seed, missing=0.1)
        told = [
            recipe(k=4, suppressed="cells", missing=reading).protect(frame).steps[0].settings
            for reading in ("wildcard", "category")
        ]
        assert (
            sum(told[0]["suppressed_cells"].values())
            <= sum(told[1]["suppressed_cells"].values()) + 4 * told[1]["suppressed_rows"]
        )


def test_many_columns_are_done_in_time():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 5, (300, 25))
    left, lost = blanked(codes, np.ones(300, dtype=np.int64), 3, wildcard=True)
    assert not lost.any()
    assert matching_rows(left, np.ones(300, dtype=np.int64)).min() >= 3
    assert MOST_SETS < 2**25


def test_precision_is_told_by_cell():
    release = recipe(k=4, suppressed="cells", max_suppression=0.5).protect(people(2))
    told = release.steps[0].settings
    frame = release.datasets[0]
    loss = 0.0
    for name in ("zip", "age", "sex"):
        share = told["levels"][name] / told["heights"][name]
        loss += float(np.where(frame[name].isna(), 1.0, share).mean()) / 3
    assert told["precision_by_cell"] == pytest.approx(1 - loss)
    assert told["completeness"] == 1 - told["suppressed_rows"] / 60


def test_groups_are_numbered_whatever_the_codes():
    assert group_numbers(np.array([[-1, 5], [3, 5], [-1, 5]])).tolist() == [0, 1, 0]
    assert group_rows(np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)).size == 0
    assert vd.KAnonymity(quasi_identifiers=["a"], suppressed="cells").suppressed == "cells"


def surveyed(seed=3, number=600):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "region": rng.choice(list("abcd"), number, p=[0.5, 0.3, 0.15, 0.05]),
            "age": rng.integers(20, 80, number),
            "sex": rng.choice(["f", "m"], number),
            "work": rng.choice(["none", "part", "full", "own"], number, p=[0.3, 0.2, 0.45, 0.05]),
        }
    )


WITHIN = {
    "quasi_identifiers": ["region", "age", "sex", "work"],
    "k": 4,
    "hierarchies": {"age": vd.Hierarchy.intervals(widths=[10, 20, 40])},
    "suppressed": "cells",
    "max_suppression": 0.5,
}


@pytest.mark.parametrize("prefer", [["balanced"], ["min-distance"], ["discernibility"]])
def test_cells_are_suppressed_within_strata_only(prefer):
    """k holds in every region, and no region is generalised or suppressed."""
    frame = surveyed()
    release = vd.KAnonymity(**WITHIN, strata=["region"], prefer=prefer).protect(frame)
    data = release.datasets[0]
    assert release.steps[0].settings["levels"]["region"] == 0
    assert (data["region"].to_numpy() == frame["region"].iloc[release.rows].to_numpy()).all()
    for _, inside in data.groupby("region"):
        assert inside.groupby(["age", "sex", "work"], dropna=False).size().min() >= 4
    assert data[["age", "sex", "work"]].isna().any().any()
    loose = vd.KAnonymity(**WITHIN).protect(frame).datasets[0]  # a control: regions go too
    assert loose["region"].isna().any() or "*" in set(loose["region"].astype(str))


def test_strata_that_make_no_sense_are_refused():
    with pytest.raises(PlanError, match="not quasi-identifiers"):
        vd.KAnonymity(**WITHIN, strata=["income"])
    with pytest.raises(PlanError, match='suppressed = "cells"'):
        vd.KAnonymity(**(WITHIN | {"suppressed": "drop"}), strata=["region"])
    levels = dict.fromkeys(["region", "age", "sex", "work"], 1)
    with pytest.raises(PlanError, match="never generalised"):
        vd.KAnonymity(**WITHIN, strata=["region"], levels=levels)
    lone = surveyed(4, 8).assign(region=list("abcdefgh"))
    strict = vd.KAnonymity(**(WITHIN | {"max_suppression": 0.1}), strata=["region"])
    with pytest.raises(DataError, match="within region"):
        strict.protect(lone)
