"""Standard estimates with intervals: by closed form, drawn in place, public without original."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.report.gather import gather
from veladura.report.intervals import interval_facts, written
from veladura.report.marks import WIDTH, Term, alone, beside
from veladura.report.render import render
from veladura.report.tally import tally_of

pytestmark = pytest.mark.quick

NORMAL = 1.959963984540054


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    age = rng.integers(20, 80, 400)
    return pd.DataFrame(
        {
            "age": age,
            "income": np.where(
                rng.random(400) < 0.1, np.nan, (age * 700 + rng.normal(0, 9000, 400)).round()
            ),
            "job": rng.choice(["clerk", "nurse", "cook", "smith"], 400, p=[0.5, 0.3, 0.15, 0.05]),
        }
    )


def groups(release, original=None):
    return {
        group.title.split(" ")[0]: {row.name: row for row in group.rows}
        for group in interval_facts(release, original)
    }


def test_means_and_shares_are_those_of_the_textbook(people):
    release = vd.TopCode(columns={"age": 79}).protect(people)
    found = groups(release, release.original)
    income = people["income"].dropna()
    half = NORMAL * income.std() / math.sqrt(len(income))
    assert found["Means"]["income"].original == written(
        Estimate(income.mean(), income.mean() - half, income.mean() + half), "number"
    )
    p = float((people["job"] == "clerk").mean())
    half = NORMAL * math.sqrt(p * (1 - p) / 400)
    assert found["Proportions"]["job: clerk"].original == written(
        Estimate(p, p - half, p + half), "share"
    )
    # the last proportion follows from the others
    assert list(found["Proportions"]) == ["job: clerk", "job: nurse", "job: cook"]
    assert found["Means"]["income"].overlap == "100 %"


def test_datasets_are_combined_by_the_rule_of_the_release(people):
    release = vd.Cart(columns=["income"], m=3).protect(people, seed=1)
    values = [dataset["income"].dropna() for dataset in release.datasets]
    expected = vd.combine(
        [v.mean() for v in values], [v.var() / len(v) for v in values], release.rule
    )
    told = written(Estimate(expected.value, expected.lower, expected.upper), "number")
    assert (
        groups(release, release.original)["Means"]["income"].released
        == told
        == groups(release)["Means"]["income"].released
    )


def test_slopes_are_those_of_the_overlap_measure(people):
    release = vd.Cart(columns=["income"], m=3).protect(people, seed=1)
    expected = vd.utility.overlap(release.original, release).terms
    found = groups(release, release.original)["Regression"]
    assert {name: row.released for name, row in found.items()} == {
        name: written(t.released, "number") for name, t in expected.items()
    }
    assert {name: row.original for name, row in found.items()} == {
        name: written(t.original, "number") for name, t in expected.items()
    }


def test_the_public_page_reads_nothing_of_the_original(people):
    """A canary among the original rows moves no character of the recipient's intervals."""
    release = vd.Noise(columns=["age", "income"]).protect(people, seed=1)
    other = vd.open(people.assign(age=people["age"] + 7391, job="canary-7391"))
    public = gather(release).intervals
    assert public == interval_facts(release, None)
    assert all(
        row.original == "" and row.overlap == "" and row.mark.band is None
        for group in public
        for row in group.rows
        if row.mark
    )
    moved = type(release)(release.tables, other, release.steps, release.promises, release.rule)
    assert gather(moved).intervals == public
    assert (
        gather(moved, audience="custodian").intervals != public
    )  # the control: there the original is read


@pytest.mark.usefixtures("lazy_files")
def test_a_file_says_the_same_as_its_rows_in_memory(people, tmp_path):
    path = tmp_path / "t.parquet"
    people.to_parquet(path, index=False)
    declared = {name: {"role": "quasi-identifier" if name == "job" else "other"} for name in people}
    recipe = vd.KAnonymity(quasi_identifiers=["job"], k=25, max_suppression=0.1)
    lazy, near = (
        recipe.protect(vd.open(source, declared)) for source in (path, pq.read_table(path))
    )
    assert not lazy.tables[0].table.in_memory
    far = groups(lazy, lazy.original)
    expected = groups(near, near.original)
    assert far == {
        title: rows for title, rows in expected.items() if title != "Regression"
    }  # a model needs rows


@given(st.lists(st.floats(-1e6, 1e6) | st.none(), min_size=1, max_size=30))
def test_moments_are_those_of_numpy(values):
    known = np.array([value for value in values if value is not None])
    rows, mean, variance = tally_of(
        vd.open(pd.DataFrame({"x": pd.array(values, dtype="Float64"), "y": 1.0})), "x"
    ).moments()
    assert rows == known.size
    if rows > 1:
        assert mean == pytest.approx(known.mean(), abs=1e-6)
        assert variance == pytest.approx(known.var(ddof=1), rel=1e-9, abs=1e-3)


def test_numbers_too_large_to_square_do_not_hurt(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 1e200, math.inf]})
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    for source in (frame, tmp_path / "t.parquet"):
        assert tally_of(vd.open(source, {"x": "number"}), "x").moments() == (3, 2.0, 1.0)


def test_marks_stand_where_the_intervals_are():
    original = Estimate(10, 10 - NORMAL, 10 + NORMAL)  # its standard error is 1
    marks, _ = beside(
        [
            Term("same", original, original),
            Term("off", Estimate(13, 12, 14), original),
            Term("far", Estimate(99, 98, 100), original),
        ]
    )
    same, off, far = marks
    assert (same.left, same.right) == pytest.approx(same.band)
    assert same.dot == same.line == WIDTH / 2
    assert (off.dot - off.left) / (same.band[1] - same.band[0]) == pytest.approx(1 / (2 * NORMAL))
    assert (far.beyond, far.left, far.right) == ("right", WIDTH, WIDTH)
    assert beside([Term("exact", original, Estimate.exact(1))])[0] == [None]
    shares, _ = alone(
        [
            Term("a", Estimate(0.2, 0.1, 0.4), None, 0.0),
            Term("b", Estimate(0.1, 0.0, 0.2), None, 0.0),
        ],
        "share",
    )
    assert [(m.left, m.dot, m.right) for m in shares] == [(50, 100, WIDTH), (0, 50, 100)]


def test_a_private_release_shows_its_posterior_beside_the_original_to_the_custodian_only():
    frame = pd.DataFrame({"sex": ["f", "m"] * 60, "job": ["a", "b", "c"] * 40})
    recipe = vd.DirichletMultinomial(
        columns=["sex", "job"], domain={"sex": ["f", "m"], "job": ["a", "b", "c"]}, epsilon=1.0
    )
    release = recipe.protect(frame)
    assert gather(release).intervals == ()
    (rows,) = groups(release, release.original).values()
    assert len(rows) == 3  # one of two, two of three
    assert all(row.original.startswith(("50.0 %", "33.3 %")) for row in rows.values())
    assert "from the exact posterior" in render(gather(release, audience="custodian"))


def test_private_columns_of_numbers_are_looked_up_and_recoded_ones_left_out():
    frame = pd.DataFrame({"rooms": [1, 2, 3, 3] * 30, "job": ["a", "b", "c"] * 40})
    numbers = vd.DirichletMultinomial(
        columns=["rooms"], domain={"rooms": [1, 2, 3]}, epsilon=1.0
    ).protect(frame, seed=1, unsafe_repeatable=True)
    (rows,) = groups(numbers, numbers.original).values()
    assert rows["rooms: 3"].original.startswith("50.0 %")
    merged = vd.Recode(columns={"job": {"groups": {"ab": ["a", "b"]}}})
    chained = vd.Steps(
        [merged, vd.DirichletMultinomial(columns=["job"], domain={"job": ["ab", "c"]}, epsilon=1.0)]
    ).protect(frame)
    assert interval_facts(chained, chained.original) == ()
