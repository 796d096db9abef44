"""Every privacy model finds the minimal nodes that its definition, tried on every node, has."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity import brute

import veladura as vd
from veladura.errors import ColumnError, DataError, PlanError

TREE = (("s0", "a", "*"), ("s1", "a", "*"), ("s2", "b", "*"), ("s3", "b", "*"))
EXAMPLES = settings(max_examples=40, deadline=None)


def found(table: brute.Small, allowed: int, k: int, models, **more) -> set[tuple[int, ...]]:
    """The minimal nodes that the library finds, none where it says that there is none."""
    if allowed >= len(table.rows):
        allowed = len(table.rows) - 1
    recipe = vd.KAnonymity(
        **{
            "quasi_identifiers": table.names,
            "k": k,
            "max_suppression": allowed,
            "hierarchies": table.hierarchies,
            "models": models,
            **more,
        }
    )
    try:
        fitted = recipe.fit(table.frame)
    except DataError as error:
        assert "no solution exists" in str(error)  # noqa: PT017
        return set()
    nodes = {tuple(node.levels.values()) for node in fitted.minimal}
    assert all(node.suppressed <= allowed for node in fitted.minimal)
    return nodes


def whole(table: brute.Small) -> list[str]:
    return [row[-1] for row in table.rows]


DIVERSE = {
    "distinct": (vd.LDiversity(column="secret", l=2), lambda s: brute.distinct(s, 2)),
    "entropy": (vd.LDiversity(column="secret", l=2, kind="entropy"), lambda s: brute.entropy(s, 2)),
    "recursive": (
        vd.LDiversity(column="secret", l=2, kind="recursive", c=1.5),
        lambda s: brute.recursive(s, 2, 1.5),
    ),
}
CLOSE = {
    "equal": (vd.TCloseness(column="secret", t=0.3), lambda s, w: brute.equal(s, w, 0.3)),
    "ordered": (
        vd.TCloseness(column="secret", t=0.2, distance="ordered"),
        lambda s, w: brute.ordered(s, w, 0.2),
    ),
    "hierarchical": (
        vd.TCloseness(
            column="secret", t=0.25, distance="hierarchical", hierarchy=vd.Hierarchy.explicit(TREE)
        ),
        lambda s, w: brute.hierarchical(s, w, 0.25, TREE),
    ),
}


@pytest.mark.parametrize("kind", DIVERSE)
@given(table=brute.small_tables(), allowed=st.integers(0, 4), k=st.integers(1, 3))
@EXAMPLES
def test_diversity_is_as_defined(kind, table, allowed, k):
    model, good = DIVERSE[kind]
    allowed = min(allowed, len(table.rows) - 1)
    assert found(table, allowed, k, [model]) == brute.minimal(
        table, allowed, lambda s, _: len(s) >= k and good(s)
    )


@pytest.mark.parametrize("distance", CLOSE)
@given(table=brute.small_tables(), allowed=st.integers(0, 4), k=st.integers(1, 3))
@EXAMPLES
def test_closeness_is_as_defined(distance, table, allowed, k):
    model, good = CLOSE[distance]
    allowed = min(allowed, len(table.rows) - 1)
    expected = brute.minimal(table, allowed, lambda s, _: len(s) >= k and good(s, whole(table)))
    assert found(table, allowed, k, [model]) == expected


@pytest.mark.parametrize("absent", ["refuse", "ignore", "map"])
@given(table=brute.small_tables(), allowed=st.integers(0, 4), k=st.integers(1, 2))
@EXAMPLES
def test_models_with_a_population_are_as_defined(absent, table, allowed, k):
    allowed = min(allowed, len(table.rows) - 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        table.population.to_parquet(path)
        if absent == "map":
            model, good = vd.KMap(k=4, population=path), lambda s, p: len(s) >= k and p >= 4
        else:
            model = vd.DeltaPresence(lower=0.2, upper=0.7, population=path, absent=absent)
            good = lambda s, p: len(s) >= k and 0.2 - 1e-12 <= len(s) / p <= 0.7 + 1e-12  # noqa: E731
        refused = (
            (lambda node: brute.someone_absent(table, node))
            if absent == "refuse"
            else (lambda _: False)
        )
        assert found(table, allowed, k, [model]) == brute.minimal(
            table, allowed, good, refused=refused
        )


@given(table=brute.small_tables(), allowed=st.integers(0, 4))
@EXAMPLES
def test_models_combine(table, allowed):
    allowed = min(allowed, len(table.rows) - 1)
    models = [DIVERSE["distinct"][0], CLOSE["equal"][0]]
    expected = brute.minimal(
        table,
        allowed,
        lambda s, _: len(s) >= 2 and brute.distinct(s, 2) and brute.equal(s, whole(table), 0.3),
    )
    assert found(table, allowed, 2, models) == expected


@given(table=brute.small_tables(), allowed=st.integers(0, 4), data=st.data())
@EXAMPLES
def test_models_hold_for_every_quasi_identifier(table, allowed, data):
    allowed = min(allowed, len(table.rows) - 1)
    places = st.lists(st.integers(0, len(table.names) - 1), min_size=1, unique=True).map(
        lambda one: tuple(sorted(one))
    )
    sets = tuple(data.draw(st.lists(places, min_size=1, max_size=3)))
    names = [[table.names[c] for c in one] for one in sets]
    used = [name for name in table.names if any(name in one for one in names)]
    width = [table.names.index(name) for name in used]
    part = replace(
        table,
        names=tuple(used),
        ladders=tuple(table.ladders[c] for c in width),
        rows=tuple((*(row[c] for c in width), row[-1]) for row in table.rows),
        others=(),
    )
    inside = tuple(tuple(used.index(table.names[c]) for c in one) for one in sets)
    order = list(dict.fromkeys(name for one in names for name in one))
    expected = brute.minimal(
        part, allowed, lambda s, _: len(s) >= 2 and brute.distinct(s, 2), inside
    )
    got = found(part, allowed, 2, [DIVERSE["distinct"][0]], quasi_identifiers=names)
    assert {tuple(node[order.index(name)] for name in used) for node in got} == expected


def test_two_sensitive_columns_are_both_protected(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({c: rng.choice(list("abc"), 80) for c in ("q", "r", "x", "y")})
    models = [vd.LDiversity(column="x", l=2), vd.LDiversity(column="y", l=3)]
    release = vd.KAnonymity(quasi_identifiers=["q", "r"], k=2, models=models).protect(frame)
    saved = release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c", format="csv")
    out = pd.read_csv(saved / "data" / "dataset-1.csv")
    least = out.groupby(["q", "r"])[["x", "y"]].nunique().min()
    assert least["x"] >= 2
    assert least["y"] >= 3
    assert [promise.name for promise in release.promises] == [
        "group-size",
        "distinct-l-diversity",
        "distinct-l-diversity",
    ]


def test_closeness_with_dropped_rows_is_proved_by_the_holder_only():
    frame = pd.DataFrame({"q": ["a"] * 20 + ["b"] * 20 + ["c"], "x": ["u", "v"] * 20 + ["u"]})
    recipe = vd.KAnonymity(
        quasi_identifiers=["q"], k=2, max_suppression=1, models=[vd.TCloseness(column="x", t=0.2)]
    )
    assert recipe.protect(frame).promises[-1].proof == "source"
    assert replace(recipe, suppressed="star").protect(frame).promises[-1].proof == "package"


def test_a_manifest_tells_no_path_of_the_population(tmp_path):
    frame = pd.DataFrame({"q": list("aabb"), "x": list("uvuv")})
    path = tmp_path / "register.csv"
    pd.DataFrame({"q": list("aabbaaabbbz")}).to_csv(path, index=False)
    release = vd.KAnonymity(
        quasi_identifiers=["q"], k=2, models=[vd.KMap(k=4, population=path)]
    ).protect(frame)
    assert "register" not in str(release.manifest)
    assert release.promises[-1].settings["population"] == [["a", 5], ["b", 5]]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"l": 1}, "at least 2"),
        ({"l": 2, "kind": "recursive"}, "c belongs to recursive"),
        ({"l": 2, "c": 2.0}, "c belongs to recursive"),
        ({"l": 2, "kind": "recursive", "c": 0.0}, "must be above 0"),
        ({"l": 2, "kind": "other"}, "kind of l-diversity 'other' is not known"),
        ({"l": 2, "estimator": "grassberger"}, "estimator"),
        ({"l": 2, "column": ""}, "name of a sensitive column"),
    ],
)
def test_l_diversity_refuses(settings, match):
    with pytest.raises(PlanError, match=match):
        vd.LDiversity(**{"column": "x", **settings})


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"t": 1.5}, "between 0 and 1"),
        ({"t": float("nan")}, "between 0 and 1"),
        ({"t": 0.1, "distance": "far"}, "distance of t-closeness 'far'"),
        ({"t": 0.1, "distance": "hierarchical"}, "hierarchy belongs to"),
        ({"t": 0.1, "hierarchy": vd.Hierarchy.star()}, "hierarchy belongs to"),
    ],
)
def test_t_closeness_refuses(settings, match):
    with pytest.raises(PlanError, match=match):
        vd.TCloseness(column="x", **settings)


def test_models_with_a_population_refuse():
    with pytest.raises(PlanError, match="k of k-map"):
        vd.KMap(k=1, population="p.csv")
    with pytest.raises(PlanError, match="lower not above upper"):
        vd.DeltaPresence(lower=0.5, upper=0.2, population="p.csv")
    with pytest.raises(PlanError, match="absent 'x' is not known"):
        vd.DeltaPresence(lower=0.1, upper=0.2, population="p.csv", absent="x")
    with pytest.raises(PlanError, match="different population files"):
        vd.KAnonymity(
            quasi_identifiers=["q"],
            models=[vd.KMap(k=2, population="a.csv"), vd.KMap(k=2, population="b.csv")],
        )


def test_a_table_that_is_no_part_of_the_population_is_refused(tmp_path):
    pd.DataFrame({"q": list("aab")}).to_csv(tmp_path / "p.csv", index=False)
    recipe = vd.KAnonymity(
        quasi_identifiers=["q"], k=1, models=[vd.KMap(k=2, population=tmp_path / "p.csv")]
    )
    with pytest.raises(DataError, match="2 rows of the table are not in the population"):
        recipe.fit(pd.DataFrame({"q": list("aabbc")}))


def test_a_column_that_cannot_be_diverse_is_refused():
    frame = pd.DataFrame({"q": list("aabb"), "x": ["canary-one"] * 4})
    with pytest.raises(DataError, match="'x' has 1 different values") as error:
        vd.KAnonymity(quasi_identifiers=["q"], k=2, models=[vd.LDiversity(column="x", l=2)]).fit(
            frame
        )
    assert "canary" not in str(error.value)


def test_models_that_nothing_meets_are_refused():
    frame = pd.DataFrame({"q": list("aabb"), "x": list("uuuv")})
    with pytest.raises(
        DataError,
        match=(
            "no solution exists: even with every quasi-identifier at its top level,"
            " entropy-l-diversity"
        ),
    ):
        vd.KAnonymity(
            quasi_identifiers=["q"], k=2, models=[vd.LDiversity(column="x", l=2, kind="entropy")]
        ).fit(frame)


def test_a_sensitive_column_must_be_there_and_no_quasi_identifier():
    frame = pd.DataFrame({"q": list("aabb"), "x": list("uvuv")})
    with pytest.raises(ColumnError, match="models names columns that are not in the table"):
        vd.KAnonymity(quasi_identifiers=["q"], k=2, models=[vd.LDiversity(column="z", l=2)]).fit(
            frame
        )
    with pytest.raises(PlanError, match="quasi-identifier and sensitive at once"):
        vd.KAnonymity(quasi_identifiers=["q"], k=2, models=[vd.LDiversity(column="q", l=2)])
    tree = vd.TCloseness(column="x", t=0.1, distance="hierarchical", hierarchy=vd.Hierarchy.star())
    with pytest.raises(PlanError, match="give it one hierarchy"):
        vd.KAnonymity(quasi_identifiers=["q"], k=2, models=[tree, tree])


def test_the_corrected_entropy_lets_small_groups_pass():
    """Two values in a class of four, three to one: 0.56 nats by shares, more by the correction.

    Stammler et al. (2016).
    """
    from veladura.methods.kanonymity.equivalence_classes import ValueCounts

    counts = ValueCounts(np.array([0, 0]), np.array([0, 1]), np.array([3, 1]))
    plain, corrected = (
        float(counts.entropy(np.array([4]), corrected=flag)[0]) for flag in (False, True)
    )
    g = {1: -1.2703628454614782, 3: 0.7296371545385218, 4: 1.3963038212051886}
    assert plain == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    assert corrected == pytest.approx(g[4] - (3 * g[3] + g[1]) / 4)
