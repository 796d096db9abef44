"""Local recoding: rows that would be suppressed are kept at higher levels of their own."""

from __future__ import annotations

import warnings

import numpy as np
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


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 3), st.floats(0.5, 0.97))
def test_every_class_is_diverse_and_nobody_is_lost(seed, k, fewest, common):
    """Distinct l-diversity holds row by row; recounted from the released rows."""
    frame = people(seed, rows=80)
    rng = np.random.default_rng(seed)
    rare = (1 - common) / 3
    frame["illness"] = rng.choice(["none", "flu", "hiv", "tb"], 80, p=[common, rare, rare, rare])
    if frame["illness"].nunique() < fewest:
        return
    asked = recipe(
        k=k,
        max_suppression=0.5,
        recoding="local",
        models=[vd.LDiversity(column="illness", l=fewest)],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = asked.protect(frame)
    rows = release.datasets[0]
    classes = rows.groupby(COLUMNS, dropna=False, observed=True)["illness"]
    assert classes.nunique().min() >= fewest
    assert classes.size().min() >= k
    assert len(rows) > len(frame) - max(k, fewest)


def test_rows_that_are_all_alike_join_others():
    """Classes of one diagnosis are merged with others, not left out."""
    frame = pd.DataFrame(
        {"zip": ["02138"] * 5 + ["02139"] * 5, "illness": ["flu"] * 5 + ["flu", "hiv"] * 2 + ["tb"]}
    )
    release = vd.KAnonymity(
        quasi_identifiers=["zip"],
        k=5,
        max_suppression=0.5,
        hierarchies={"zip": vd.Hierarchy.mask(5)},
        models=[vd.LDiversity(column="illness", l=2)],
        recoding="local",
    ).protect(frame)
    assert release.datasets[0]["zip"].tolist() == ["0213*"] * 10
