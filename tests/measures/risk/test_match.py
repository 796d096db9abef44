"""Match risk against a direct transcription of its definition."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.core.release import Dataset, Release, Step
from veladura.core.rules import AsReleased
from veladura.errors import ColumnError, DataError, NotApplicable, PlanError

pytestmark = pytest.mark.quick

GUARD = 1e-9


def same(a, b):
    return (a == b) or (pd.isna(a) and pd.isna(b))


def near(value, target, radius, *, relative):
    if pd.isna(value) or pd.isna(target):
        return pd.isna(value) and pd.isna(target)
    half = radius * abs(target) if relative else radius
    return abs(value - target) <= half + GUARD * (abs(target) + half)


def by_definition(
    original, datasets, known, sensitive, radius, *, relative=False, people=None, decline=False
):
    """The definition word by word: a probability for every target and row."""
    n, m = len(original), len(datasets)
    emr = k = q = s = 0.0
    ratios = []
    for t in range(n):
        matched = np.zeros((m, n), dtype=bool)
        for i, data in enumerate(datasets):
            for j in range(n):
                exact = all(same(data[c][j], original[c][t]) for c in known)
                rough = all(
                    (
                        near(data[c][j], original[c][t], radius, relative=relative)
                        if data[c].dtype.kind in "if"
                        else same(data[c][j], original[c][t])
                    )
                    for c in sensitive
                )
                matched[i, j] = exact and rough
        probability = np.zeros(n)
        for i in range(m):
            size = max(int(matched[i].sum()), 0 if people is None else people[t])
            if matched[i].any():
                probability += matched[i] / size / m
        best = probability.max()
        ratio = 0.0
        if best > 0 and not (decline and 1 - probability.sum() > best + 1e-9):
            most = probability >= best - 1e-9
            c, right = int(most.sum()), bool(most[t])
            ratio = right / c
            k += c * right == 1
            q += c * (not right) == 1
            s += c == 1
        emr += ratio
        ratios.append(ratio)
    return emr / n, k / n, q / s if s else 0.0, ratios


@st.composite
def tables(draw, numbers=("y",)):
    n, m = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    cells = st.sampled_from(["a", "b", None])
    values = st.one_of(st.integers(-4, 4).map(lambda v: v / 2), st.just(np.nan))

    def frame():
        columns = {
            "x": draw(st.lists(cells, min_size=n, max_size=n)),
            "g": draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)),
        }
        columns |= {name: draw(st.lists(values, min_size=n, max_size=n)) for name in numbers}
        return pd.DataFrame(columns).astype({"x": "object", **dict.fromkeys(numbers, float)})

    original = frame()
    return original, [original.copy() if draw(st.booleans()) and i else frame() for i in range(m)]


def check(found, expected):
    assert float(found.emr) == pytest.approx(expected[0], abs=1e-12)
    assert float(found.tmr) == pytest.approx(expected[1], abs=1e-12)
    assert float(found.fmr) == pytest.approx(expected[2], abs=1e-12)
    np.testing.assert_allclose(found.per_record, expected[3], atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.booleans())
def test_one_number_equals_the_definition(data, radius, relative):
    original, datasets = data
    relative = relative and radius <= 1
    found = vd.risk.match(
        original, datasets, known=["x", "g"], sensitive="y", radius=radius, relative=relative
    )
    check(found, by_definition(original, datasets, ["x", "g"], ["y"], radius, relative=relative))


@settings(max_examples=40, deadline=None)
@given(tables(numbers=("y", "z")), st.sampled_from([0.0, 0.5, 1.0]))
def test_several_numbers_and_a_category_equal_the_definition(data, radius):
    original, datasets = data
    found = vd.risk.match(original, datasets, known=["g"], sensitive=["x", "y", "z"], radius=radius)
    check(found, by_definition(original, datasets, ["g"], ["x", "y", "z"], radius))


@settings(max_examples=30, deadline=None)
@given(tables())
def test_categories_alone_equal_the_definition(data):
    original, datasets = data
    check(
        vd.risk.match(original, datasets, known="g", sensitive="x"),
        by_definition(original, datasets, ["g"], ["x"], 0.0),
    )


@settings(max_examples=40, deadline=None)
@given(tables(), tables(), st.booleans(), st.sampled_from([0.5, 1.0]))
def test_an_intruder_who_does_not_know_the_target_is_there(data, others, decline, radius):
    original, datasets = data
    population = others[0]
    people = [
        sum(
            same(population["x"][p], original["x"][t])
            and near(population["y"][p], original["y"][t], radius, relative=False)
            for p in range(len(population))
        )
        for t in range(len(original))
    ]
    found = vd.risk.match(
        original,
        datasets,
        known="x",
        sensitive="y",
        radius=radius,
        population=population,
        decline=decline,
    )
    check(
        found,
        by_definition(original, datasets, ["x"], ["y"], radius, people=people, decline=decline),
    )


def test_a_population_without_the_sensitive_column_is_counted_by_the_known_ones():
    original = pd.DataFrame({"x": ["a", "a", "b"], "y": [1.0, 2.0, 3.0]})
    population = pd.DataFrame({"x": ["a"] * 4 + ["b"]})
    found = vd.risk.match(
        original,
        [original],
        known="x",
        sensitive="y",
        radius=0,
        population=population,
        decline=True,
    )
    # a: one match, four persons: 3/4 that it is another, so no one is picked; b: one person, surely
    # the one.
    assert found.per_record.tolist() == [0.0, 0.0, 1.0]


def test_a_target_without_match_is_no_tie_of_all():
    original = pd.DataFrame({"x": ["a", "b", "c", "d"], "y": [0.0, 0.0, 0.0, 0.0]})
    released = original.assign(y=[9.0, 9.0, 9.0, 0.0])
    found = vd.risk.match(original, [released], known="x", sensitive="y", radius=1)
    assert (float(found.emr), float(found.tmr), float(found.fmr), float(found.unmatched)) == (
        0.25,
        0.25,
        0.0,
        0.75,
    )
    assert found.ties.tolist() == [0, 0, 0, 1]


def test_no_claim_gives_a_false_match_rate_of_nought():
    original = pd.DataFrame({"x": ["a", "a"], "y": [0.0, 0.0]})
    found = vd.risk.match(original, [original, original], known="x", sensitive="y", radius=1)
    assert (float(found.emr), float(found.tmr), float(found.fmr)) == (0.5, 0.0, 0.0)


def test_a_decimal_radius_includes_its_ends():
    original = pd.DataFrame({"y": [23.1, 50.0]})
    assert (
        float(
            vd.risk.match(
                original, [pd.DataFrame({"y": [22.8, 50.3]})], sensitive="y", radius=0.3
            ).tmr
        )
        == 1.0
    )


def test_released_rows_are_found_by_their_link_and_dropped_rows_are_targets_too():
    original = pd.DataFrame({"x": ["a", "b", "c"], "y": [1.0, 2.0, 3.0]})
    table = vd.open(pd.DataFrame({"x": ["c", "a"], "y": [3.0, 1.0]}))
    release = Release(
        (Dataset(table, np.array([2, 0])),), None, (Step("test", {}, ("y",)),), (), AsReleased()
    )
    assert vd.risk.match(
        original, release, known="x", sensitive="y", radius=0
    ).per_record.tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(NotApplicable, match="not linked"):
        vd.risk.match(original, Release((Dataset(table),), None, (), (), AsReleased()), known="x")


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(3)
    original = pd.DataFrame({"x": rng.integers(0, 4, 300), "y": rng.normal(size=300)})
    datasets = [original.assign(y=original["y"] + rng.normal(size=300)) for _ in range(3)]
    mixed = rng.permutation(300)
    one = vd.risk.match(original, datasets, known="x", sensitive="y", radius=0.5)
    other = vd.risk.match(
        original.iloc[mixed],
        [d.iloc[mixed] for d in datasets],
        known="x",
        sensitive="y",
        radius=0.5,
    )
    np.testing.assert_allclose(one.per_record[mixed], other.per_record)


def test_a_sample_of_targets_has_intervals_around_the_whole():
    rng = np.random.default_rng(5)
    original = pd.DataFrame({"x": rng.integers(0, 30, 2000), "y": rng.normal(size=2000)})
    datasets = [original.assign(y=original["y"] + 0.1 * rng.normal(size=2000)) for _ in range(2)]
    whole, some = (
        vd.risk.match(original, datasets, known="x", sensitive="y", radius=0.2, targets=t)
        for t in (None, 500)
    )
    assert whole.emr.is_exact
    assert some.targets.size == 500
    np.testing.assert_allclose(some.per_record, whole.per_record[some.targets])
    for name in ("emr", "tmr", "fmr"):
        part = getattr(some, name)
        assert part.lower < part.upper
        assert part.lower - 0.05 < float(getattr(whole, name)) < part.upper + 0.05


def test_dates_have_a_radius_in_days():
    original = pd.DataFrame({"d": pd.to_datetime(["2020-01-01", "2020-06-01"])})
    moved = pd.DataFrame({"d": original["d"] + pd.Timedelta(days=3)})
    assert float(vd.risk.match(original, [moved], sensitive="d", radius=3).tmr) == 1.0
    assert float(vd.risk.match(original, [moved], sensitive="d", radius=2).tmr) == 0.0


def test_mistakes_are_told():
    original = pd.DataFrame({"x": ["a", "b"], "y": [1.0, 2.0]})
    with pytest.raises(PlanError, match="needs a radius"):
        vd.risk.match(original, [original], known="x", sensitive="y")
    with pytest.raises(PlanError, match="needs to know something"):
        vd.risk.match(original, [original])
    with pytest.raises(PlanError, match="both known and sensitive"):
        vd.risk.match(original, [original], known="x", sensitive="x")
    with pytest.raises(PlanError, match="at least 0"):
        vd.risk.match(original, [original], sensitive="y", radius=-1)
    with pytest.raises(PlanError, match="at most 1"):
        vd.risk.match(original, [original], sensitive="y", radius=1.5, relative=True)
    with pytest.raises(PlanError, match="2 rows, a released table 1"):
        vd.risk.match(original, [original.iloc[:1]], known="x")
    with pytest.raises(PlanError, match="list of released tables is empty"):
        vd.risk.match(original, [], known="x")
    with pytest.raises(PlanError, match="at most 20"):
        vd.risk.match(original, [original] * 21, known="x")
    with pytest.raises(ColumnError, match="known"):
        vd.risk.match(original, [original], known="nothing")
    with pytest.raises(NotApplicable, match="recoded to categories"):
        vd.risk.match(original, [original.assign(y=["1", "2"])], sensitive="y", radius=1)
    with pytest.raises(DataError, match="no rows"):
        vd.risk.match(original.iloc[:0], [original.iloc[:0]], known="x")


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), 200),
            "zip": rng.integers(0, 20, 200),
            "income": rng.lognormal(10, 1, 200).round(),
        }
    )


@pytest.fixture
def release(people):
    return vd.Noise(columns=["income"], scale=0.05).protect(people, seed=1)


def test_the_assessment_takes_what_is_unchanged_for_known(people, release):
    figures = vd.assess(people, release)
    direct = vd.risk.match(
        people, release, known=["sex", "zip"], sensitive="income", radius=0.1, relative=True
    )
    assert [float(figures[f"risk.match.{name}"]) for name in ("emr", "tmr", "fmr")] == [
        float(direct.emr),
        float(direct.tmr),
        float(direct.fmr),
    ]
    assert "Known: sex, zip. Roughly: income within 10%." in figures.figures["risk.match.emr"].note
    assert len(figures.details["risk.match"].rows) == 5


def test_dates_and_categories_have_their_own_radius(people):
    frame = people.assign(
        born=pd.Timestamp("1980-01-01") + pd.to_timedelta(np.arange(200) * 40, unit="D")
    )
    frame["born"] = frame["born"].dt.date
    release = vd.Steps([vd.Swap(columns=["born"], window=0.05), vd.Pram(columns=["sex"])]).protect(
        frame, seed=1
    )
    note = vd.assess(frame, release).figures["risk.match.emr"].note
    assert "sex as in the original" in note
    assert "born within 30 days" in note


def test_a_release_without_link_says_so(people):
    whole = vd.assess(
        people, vd.Cart(columns=["sex", "zip", "income"], m=2).protect(people, seed=1)
    )
    assert "not linked" in whole.figures["risk.match.emr"].why
    assert "not linked" in whole.figures["risk.linkage.correct"].why
    assert float(whole["risk.distance.ratio"]) > 0


def test_a_radius_without_sensitive_columns_is_refused():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    with pytest.raises(PlanError, match="sensitive names none"):
        vd.risk.match(frame, [frame], known=["a"], radius=1)


def test_a_radius_of_a_column_that_is_not_sensitive_is_refused():
    """It would be ignored: the column is then compared exactly, or not at all."""
    original = pd.DataFrame({"x": [1.0, 2.0], "y": [1.0, 2.0]})
    with pytest.raises(PlanError, match="sensitive names none"):
        vd.risk.match(original, [original], known="x", relative=True)
    with pytest.raises(PlanError, match=r"not sensitive: \['x'\]"):
        vd.risk.match(original, [original], sensitive="y", radius={"y": 1.0, "x": 1.0})
    with pytest.raises(PlanError, match=r"not sensitive: \['x'\]"):
        vd.risk.match(original, [original], sensitive="y", radius=0.1, relative=["x"])
