"""Unique exact matches against sets of tuples; a copied table and a new sample."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", None]), st.integers(0, 3)),
    min_size=1,
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(rows, rows)
def test_people_are_those_of_a_search_by_hand(first, second):
    before, after = (pd.DataFrame(data, columns=["u", "v", "n"]) for data in (first, second))
    once = [row for row, count in Counter(first).items() if count == 1]
    found = vd.risk.exact_matches(before, after)
    assert float(found) * len(first) == pytest.approx(sum(row in set(second) for row in once))


def test_a_copy_gives_everybody_away_and_a_new_sample_nobody():
    rng = np.random.default_rng(1)

    def sample():
        return pd.DataFrame(rng.normal(size=(200, 3)).round(3), columns=list("abc"))

    people = sample()
    assert float(vd.risk.exact_matches(people, people.sample(frac=1, random_state=1))) == 1.0
    assert float(vd.risk.exact_matches(people, sample())) == 0.0
    half = pd.concat([people[:100], sample()[:100]], ignore_index=True)
    assert float(vd.risk.exact_matches(people, [people, half])) == pytest.approx(0.75)


def test_the_assessment_counts_people():
    people = pd.DataFrame({"age": range(30), "sex": ["f", "m"] * 15})
    release = vd.Swap(columns=["age"]).protect(people, seed=1)
    figure = vd.assess(people, release).figures["risk.exact_matches.people"]
    after = set(release.datasets[0].itertuples(index=False, name=None))
    matches = sum(row in after for row in people.itertuples(index=False, name=None))
    assert round(float(figure.estimate) * figure.base) == matches
    assert "All 2 columns" in figure.note
