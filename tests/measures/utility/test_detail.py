"""Tables at the detail of the original, against every row written out over its values."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import NotApplicable

ZIPS = ["0213", "0214", "0251", "0252", "1000"]
AGES = [20, 21, 30, 31, 40]


def people(rows, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "zip": rng.choice(ZIPS, rows),
            "age": rng.choice(AGES, rows),
            "sex": rng.choice(["f", "m"], rows),
        }
    )


def recipe(**settings):
    rules = {"zip": vd.Hierarchy.mask(4), "age": vd.Hierarchy.intervals([10])}
    return vd.KAnonymity(quasi_identifiers=["zip", "age"], hierarchies=rules, **settings)


def written_out(frame, release):
    """Every released row as all rows it covers, with weights: zips by prefix, ages by interval."""
    out = []
    for row in release.datasets[0].itertuples(index=False):
        zips = [
            z
            for z in frame["zip"].unique()
            if all(a in (b, "*") for a, b in zip(str(row.zip).ljust(4, "*"), z, strict=True))
        ]
        ages = [a for a in frame["age"].unique() if _within(a, row.age)]
        out += [(z, a, row.sex, 1 / len(zips) / len(ages)) for z, a in product(zips, ages)]
    return pd.DataFrame(out, columns=["zip", "age", "sex", "weight"])


def _within(age, label):
    """Whether an age is in "[20, 30)", or in "*", or is the label."""
    ends = [float(part) for part in str(label).strip("[)*").split(",") if part]
    return not ends or (ends[0] <= age < ends[1] if len(ends) > 1 else age == ends[0])


def brute(frame, release):
    spread, found = written_out(frame, release), []
    for names in map(list, combinations(frame.columns, 2)):
        before, after = (
            frame.groupby(names).size() / len(frame),
            spread.groupby(names)["weight"].sum() / len(frame),
        )
        found.append((before.subtract(after, fill_value=0).abs().sum() + 1 - after.sum()) / 2)
    return float(np.mean(found))


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 12), st.integers(0, 50))
def test_generalised_rows_are_spread_over_what_they_stand_for(k, seed):
    frame = people(60, seed)
    release = recipe(k=k, max_suppression=0.2).protect(frame)
    assert float(vd.utility.detail(frame, release).two) == pytest.approx(brute(frame, release))


def test_without_coarser_values_it_is_the_distance_of_tables():
    frame = people(80)
    release = vd.Swap(columns=["age"]).protect(frame, seed=1)
    expected = vd.utility.tables(frame, release)
    found = vd.utility.detail(frame, release)
    assert (float(found.one), float(found.two)) == pytest.approx(
        (float(expected.ways[1]), float(expected.ways[2]))
    )


def test_it_sees_what_a_comparison_at_the_released_level_does_not():
    """A table of which nothing is left: perfect at its own level, and known for what it is here."""
    frame = people(80)
    release = recipe(k=80).protect(frame)
    assert float(vd.utility.tables(frame, release).ways[1]) == 0.0
    uniform = [
        np.abs(frame[name].value_counts(normalize=True) - 1 / frame[name].nunique()).sum() / 2
        for name in ("zip", "age")
    ]
    assert float(vd.utility.detail(frame, release).one) == pytest.approx(sum(uniform) / 3)


def test_groups_of_categories_are_known_by_the_rows_they_were_made_of():
    frame = pd.DataFrame({"job": ["cook"] * 30 + ["smith"] * 10 + ["nurse"] * 60, "n": range(100)})
    release = vd.Recode(columns={"job": {"groups": {"other": ["cook", "smith"]}}}).protect(frame)
    assert float(vd.utility.detail(frame[["job"]], release).one) == pytest.approx(
        0.1 / 2
    )  # job moves 10 rows of 100, n none


@pytest.mark.parametrize(
    "settings_",
    [
        {"recoding": "local"},
        {"recoding": "mondrian"},
        {"suppressed": "star"},
        {"preserve_type": True},
    ],
    ids=str,
)
def test_every_kind_of_generalisation_lies_between_nothing_and_everything_lost(settings_):
    frame = people(200, 3)
    lost = float(vd.utility.detail(frame, recipe(k=200).protect(frame)).two)
    found = float(
        vd.utility.detail(frame, recipe(k=5, max_suppression=0.1, **settings_).protect(frame)).two
    )
    assert 0 < found < lost


def test_a_loaded_release_has_the_same_figure(tmp_path):
    frame = people(100)
    release = recipe(k=6, max_suppression=0.2).protect(frame)
    loaded = vd.load(release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c"))
    assert float(vd.utility.detail(frame, loaded).two) == pytest.approx(
        float(vd.utility.detail(frame, release).two)
    )


def test_free_text_alone_is_refused():
    table = vd.open(
        pd.DataFrame({"t": ["a b"] * 20, "x": range(20)}), {"t": "text", "x": "integer"}
    )
    release = vd.Noise(columns=["x"]).protect(table, seed=1)
    with pytest.raises(NotApplicable, match="no released column"):
        vd.utility.detail(table.select(["t"]), _only(release, "t"))


def _only(release, name):
    from dataclasses import replace

    return replace(
        release,
        tables=tuple(replace(d, table=d.table.select([name])) for d in release.tables),
        original=None,
    )
