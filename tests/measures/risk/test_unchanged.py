"""What stayed as it was, row by row."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.release import Dataset, Release, Step
from veladura.core.rules import AsReleased
from veladura.errors import NotApplicable


def release(before, *afters, rows=None, changed=None):
    tables = [vd.open(frame, {frame.columns[0]: {}}) for frame in afters]
    links = np.arange(len(afters[0])) if rows is None else np.array(rows)
    step = Step("test", {}, tuple(changed if changed is not None else before.columns))
    return Release(
        tuple(Dataset(table, links) for table in tables), None, (step,), (), AsReleased()
    )


def test_rows_cells_and_columns_by_hand():
    before = pd.DataFrame({"x": [1.5, 2.5, None, 4.5], "s": ["a", "b", None, "d"]})
    after = pd.DataFrame({"x": [1.5, 9.5, None, None], "s": ["a", "b", None, "e"]})
    found = vd.risk.unchanged(before, release(before, after))
    assert float(found.rows) == 0.5  # the first, and the third: missing equals missing
    assert float(found.cells) == 5 / 8
    assert {name: float(share) for name, share in found.columns.items()} == {"x": 0.5, "s": 0.75}


def test_only_columns_the_method_changes_count():
    before = pd.DataFrame({"x": [1, 2], "s": ["a", "b"]})
    found = vd.risk.unchanged(before, release(before, before.assign(x=[1, 3]), changed=["x"]))
    assert (float(found.rows), float(found.cells)) == (0.5, 0.5)


def test_rows_are_aligned_by_the_link():
    before = pd.DataFrame({"x": [1, 2, 3]})
    assert (
        float(
            vd.risk.unchanged(
                before, release(before, pd.DataFrame({"x": [3, 1]}), rows=[2, 0])
            ).rows
        )
        == 1.0
    )
    assert (
        float(
            vd.risk.unchanged(
                before, release(before, pd.DataFrame({"x": [3, 1]}), rows=[0, 2])
            ).rows
        )
        == 0.0
    )


def test_a_changed_type_is_compared_as_text():
    before = pd.DataFrame({"n": [41076, 41099], "d": [dt.date(2020, 1, 2), dt.date(2021, 1, 2)]})
    after = pd.DataFrame({"n": ["41076", "4109*"], "d": ["2020-01-02", "2021"]})
    found = vd.risk.unchanged(before, release(before, after))
    assert (float(found.rows), float(found.cells)) == (0.5, 0.5)


def test_several_datasets_give_an_interval_between_0_and_1():
    before = pd.DataFrame({"x": [1, 2]})
    found = vd.risk.unchanged(before, release(before, before, pd.DataFrame({"x": [8, 9]})))
    assert (found.rows.value, found.rows.lower, found.rows.upper) == (0.5, 0.0, 1.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_it_agrees_with_the_frames_of_a_real_release(seed):
    rng = np.random.default_rng(seed)
    before = pd.DataFrame(
        {"age": rng.integers(0, 90, 300), "income": rng.normal(0, 1, 300).round(1)}
    )
    made = vd.Noise(columns=["income", "age"], scale=0.05).protect(before, seed=seed)
    same = made.datasets[0].eq(before)
    found = vd.risk.unchanged(before, made)
    assert float(found.rows) == pytest.approx(same.all(axis=1).mean())
    assert float(found.cells) == pytest.approx(same.to_numpy().mean())
    assert 0 < float(found.cells) < 1


def test_it_needs_a_link_a_change_and_rows():
    before = pd.DataFrame({"x": [1, 2]})
    unlinked = release(before, before)
    unlinked = Release(
        tuple(Dataset(d.table) for d in unlinked.tables), None, unlinked.steps, (), AsReleased()
    )
    with pytest.raises(NotApplicable, match="not linked"):
        vd.risk.unchanged(before, unlinked)
    with pytest.raises(NotApplicable, match="changes no column"):
        vd.risk.unchanged(before, release(before, before, changed=[]))
    full = release(before, before)
    table = full.tables[0].table
    table = replace(table, data=table.data.slice(0, 0))
    empty = Release(
        (Dataset(table, np.array([], dtype=np.int64)),),
        None,
        full.steps,
        (),
        AsReleased(),
    )
    with pytest.raises(NotApplicable, match="no rows"):
        vd.risk.unchanged(before, empty)
