"""Replicated uniques against their definition, counted row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from(["x", "y", None])),
    min_size=1,
    max_size=14,
)


def frame(rows):
    return pd.DataFrame(rows, columns=["k", "q", "t"]).astype({"k": object, "t": object})


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_replicated_uniques_are_those_counted_by_hand(before, after):
    before, after = frame(before), frame(after)
    keys = [list(zip(f["k"], f["q"], strict=True)) for f in (before, after)]
    single = [key for key in keys[0] if keys[0].count(key) == 1]
    found = vd.risk.replicated(before, after, ["k", "q"])
    assert float(found.original) == pytest.approx(len(single) / len(before))
    assert float(found.released) == pytest.approx(
        sum(keys[1].count(key) == 1 for key in keys[1]) / len(after)
    )
    assert float(found.found) == pytest.approx(sum(key in keys[1] for key in single) / len(before))
    assert float(found.replicated) == pytest.approx(
        sum(keys[1].count(key) == 1 for key in single) / len(before)
    )


def test_coarser_keys_leave_those_alone_who_were_alone_before():
    """Uniques of a recoded release are uniques of the original: both tables counted by hand."""
    rng = np.random.default_rng(2)
    people = pd.DataFrame(
        {"zip": rng.integers(1000, 1400, 100).astype(str), "sex": rng.choice(list("fm"), 100)}
    )
    groups = {f"{first}*": [f"{first}{last}" for last in range(10)] for first in range(100, 140)}
    table = vd.open(people, {name: {"role": "quasi-identifier"} for name in people})
    release = vd.Recode(columns={"zip": {"groups": groups}}).protect(table)
    alone = ~release.datasets[0].duplicated(keep=False)
    assert 0 < alone.sum() < 100
    assert float(vd.assess(table, release)["risk.replicated.uniques"]) == pytest.approx(
        alone.mean()
    )
    assert not people[alone.to_numpy()].duplicated(keep=False).any()


def test_mistakes_are_told():
    people = pd.DataFrame({"k": ["a", "b"], "t": ["x", "y"]})
    with pytest.raises(PlanError, match="at least one column in known"):
        vd.risk.replicated(people, people, "k")
    with pytest.raises(DataError, match="no rows"):
        vd.risk.replicated(people.iloc[:0], people, ["k"])
