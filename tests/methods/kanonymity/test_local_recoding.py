"""Local recoding: rows that would be suppressed are kept at higher levels of their own."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity.recount import COLUMNS, people, recipe, smallest_group

import veladura as vd


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 8), st.sampled_from([0.0, 0.15]))
def test_fewer_rows_are_lost_and_frequent_ones_stay_as_they_were(seed, k, missing):
    frame = people(seed, missing=missing)
    plain, local = (
        recipe(k=k, max_suppression=0.4).protect(frame),
        recipe(k=k, max_suppression=0.4, recoding="local").protect(frame),
    )
    assert local.steps[0].settings["suppressed_rows"] < k
    assert set(plain.rows.tolist()) <= set(local.rows.tolist())
    assert smallest_group(local.datasets[0]) >= k
    before = plain.datasets[0][COLUMNS].astype(object).astype(str)
    after = local.datasets[0].loc[before.index, COLUMNS].astype(object).astype(str)
    pd.testing.assert_frame_equal(before, after, check_dtype=False)


def test_rare_rows_go_up_only_as_far_as_they_must():
    frame = pd.DataFrame(
        {"zip": ["02138"] * 5 + ["02139", "02139", "02141", "02141", "10001"], "sex": ["f"] * 10}
    )
    rules = {"zip": vd.Hierarchy.mask(5), "sex": vd.Hierarchy.star()}
    asked = vd.KAnonymity(
        quasi_identifiers=["zip", "sex"],
        k=4,
        max_suppression=5,
        hierarchies=rules,
        recoding="local",
    )
    release = asked.protect(frame)
    assert release.datasets[0]["zip"].tolist() == ["02138"] * 5 + ["021**"] * 4
    told = release.steps[0].settings
    assert told["levels"] == {"zip": 0, "sex": 0}
    assert told["suppressed_rows"] == 1
    assert told["precision_by_cell"] == pytest.approx(1 - (4 * 2 / 5) / (9 * 2))


def test_starred_rows_are_those_no_level_can_keep():
    frame = people(4)
    release = recipe(k=5, max_suppression=0.4, recoding="local", suppressed="star").protect(frame)
    starred = (release.datasets[0][COLUMNS] == "*").all(axis=1)
    assert len(release.datasets[0]) == len(frame)
    assert int(starred.sum()) >= release.steps[0].settings["suppressed_rows"]
