"""Tables of one, two and three columns against pandas crosstabs, and chance by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import NotApplicable

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("pq")),
    min_size=4,
    max_size=40,
)


def by_pandas(before, after, names):
    shares = [frame.groupby(list(names)).size() / len(frame) for frame in (before, after)]
    return shares[0].subtract(shares[1], fill_value=0).abs().sum() / 2


@settings(max_examples=25, deadline=None)
@given(rows, rows)
def test_distances_are_those_of_crosstabs(first, second):
    before, after = (pd.DataFrame(data, columns=["u", "v", "w"]) for data in (first, second))
    found = vd.utility.tables(before, after)
    for names, distance in found.tables.items():
        assert float(distance) == pytest.approx(by_pandas(before, after, names))
    assert {len(names) for names in found.tables} == {1, 2, 3}
    assert len(found.tables) == 7


def test_missing_is_a_value_and_numbers_are_cut_where_the_original_is():
    before = pd.DataFrame({"x": np.arange(100.0), "s": ["a"] * 100})
    after = before.assign(x=[np.nan] * 10 + list(np.arange(10.0, 100.0)))
    found = vd.utility.tables(before, after)
    assert float(found.tables["x",]) == pytest.approx(0.1)
    assert float(found.tables["s",]) == 0.0


def test_chance_alone_is_what_a_fresh_sample_gives():
    rng = np.random.default_rng(1)

    def sample():
        return pd.DataFrame({name: rng.choice(list("abcde"), 2000) for name in "uvw"})

    found = [vd.utility.tables(sample(), sample()) for _ in range(20)]
    for way in (1, 2, 3):
        moved, expected = (
            np.mean([float(one.ways[way]) for one in found]),
            np.mean([one.expected[way] for one in found]),
        )
        assert moved == pytest.approx(expected, rel=0.1)


def test_a_stated_number_of_tables_is_drawn_when_there_are_many():
    rng = np.random.default_rng(2)
    wide = pd.DataFrame({f"x{i}": rng.choice(["a", "b"], 60) for i in range(30)})
    found = vd.utility.tables(wide, wide)
    assert found.drawn[3] == (300, 4060)
    assert "300 of 4060 3-way tables" in found.note
    assert float(found.ways[3]) == 0.0


def test_free_text_alone_cannot_be_compared():
    with pytest.raises(NotApplicable, match="no released column"):
        vd.utility.tables(
            vd.open(pd.DataFrame({"t": ["a b"]}), {"t": "text"}),
            vd.open(pd.DataFrame({"t": ["c d"]}), {"t": "text"}),
        )
