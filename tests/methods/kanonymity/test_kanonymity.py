"""The recipe: what it refuses, its manifest, and promises counted again by other code."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity import brute

import veladura as vd
from veladura.core.release import Dataset, Release
from veladura.errors import ColumnError, DataError, PlanError, PromiseError
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.steps import steps_to_toml
from veladura.table.table import from_arrow

pytestmark = pytest.mark.quick

FRAME = pd.DataFrame(
    {
        "zip": ["02138", "02139", "02141", "02142"] * 5,
        "sex": ["f", "m"] * 10,
        "illness": list("abcde") * 4,
    }
)


@pytest.mark.parametrize(
    ("given_", "match"),
    [
        ({"k": 1}, "at least 2: every table is 1-anonymous"),
        ({"k": 0, "models": [vd.LDiversity(column="illness", l=2)]}, "at least 2"),
        ({"k": 2.5}, "whole number"),
        ({"k": True}, "whole number"),
        ({"quasi_identifiers": []}, "empty"),
        ({"quasi_identifiers": [[]]}, "empty"),
        ({"quasi_identifiers": [["zip"], []]}, "empty"),
        ({"quasi_identifiers": "zip"}, "list of columns"),
        ({"quasi_identifiers": ["zip", "zip"]}, "twice"),
        ({"max_suppression": -1}, "at least 0"),
        ({"max_suppression": 1.0}, r"share in \[0, 1\)"),
        ({"max_suppression": float("nan")}, r"share in \[0, 1\)"),
        ({"max_suppression": True}, "number of rows"),
        ({"hierarchies": {"income": vd.Hierarchy.star()}}, "not quasi-identifiers"),
        ({"suppressed": "hide"}, "suppressed 'hide' is not known"),
    ],
)
def test_settings_that_cannot_be_meant(given_, match):
    with pytest.raises(PlanError, match=match):
        vd.KAnonymity(**{"quasi_identifiers": ["zip"], **given_})


@pytest.mark.parametrize(
    ("given_", "error", "match"),
    [
        ({"k": 21}, DataError, "no solution exists: the table has 20 rows, fewer than k = 21"),
        ({"max_suppression": 20}, DataError, r"smaller than the number of rows \(20\)"),
        ({"quasi_identifiers": ["zap"]}, ColumnError, "did you mean"),
        (
            {"hierarchies": {"zip": vd.Hierarchy.explicit([("02138", "*")])}},
            DataError,
            r"3 values \(15 rows\) are not in its hierarchy",
        ),
    ],
)
def test_tables_that_cannot_be_protected(given_, error, match):
    with pytest.raises(error, match=match):
        vd.KAnonymity(**{"quasi_identifiers": ["zip", "sex"], "k": 2, **given_}).protect(FRAME)


def test_one_is_enough_where_models_say_what_is_asked():
    recipe = vd.KAnonymity(
        quasi_identifiers=["zip", "sex"], k=1, models=[vd.LDiversity(column="illness", l=3)]
    )
    assert [promise.name for promise in recipe.protect(FRAME).promises] == ["distinct-l-diversity"]


@pytest.mark.parametrize(
    "recipe",
    [
        vd.KAnonymity(quasi_identifiers=["zip"], prefer="loss"),
        vd.KAnonymity(quasi_identifiers=[["zip"], ["sex", "age"]], k=3, weights={"zip": 2.0}),
        vd.KAnonymity(
            quasi_identifiers=["zip"],
            k=1,
            models=[
                vd.LDiversity(column="a", l=3, kind="recursive", c=2.5),
                vd.LDiversity(column="a", l=3),
                vd.TCloseness(
                    column="b",
                    t=0.2,
                    distance="hierarchical",
                    hierarchy=vd.Hierarchy.groups({"x": ["p", "q"]}),
                ),
                vd.KMap(k=4, population="people.csv"),
                vd.DeltaPresence(lower=0.1, upper=0.5, population="people.csv", absent="ignore"),
            ],
        ),
    ],
)
def test_a_plan_gives_the_recipe_back(recipe):
    assert parse_plan('[source]\npath = "t.csv"\n' + steps_to_toml(recipe)).recipe == recipe


def test_paths_in_a_plan_are_taken_from_its_folder(tmp_path):
    vd.Hierarchy.explicit([("a", "*"), ("b", "*")]).to_csv(tmp_path / "h.csv")
    plan = tmp_path / "plan.toml"
    step = (
        '[[step]]\nmethod = "k-anonymity"\nquasi_identifiers = ["q"]\nk ='
        ' 1\n[step.hierarchies.q]\nfile = "h.csv"\n'
    )
    plan.write_text(
        f'[source]\npath = "t.csv"\n{step}[[step.models]]\nk = 2\npopulation = "people.csv"\n',
        encoding="utf-8",
    )
    recipe = read_plan(plan).recipe
    assert recipe.hierarchies["q"].rows == (("a", "*"), ("b", "*"))
    assert recipe.models[0].population == tmp_path / "people.csv"


def smallest(frame: pd.DataFrame, columns) -> int:
    """Counted by pandas from a written file."""
    return int(frame.groupby(list(columns), dropna=False).size().min()) if len(frame) else 0


@given(
    table=brute.small_tables(rows=30),
    k=st.integers(2, 4),
    several=st.booleans(),
    star=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_written_release_keeps_k_when_other_code_counts(
    tmp_path_factory, table, k, several, star
):
    names = list(table.names)
    sets = [[name] for name in names] if several else [names]
    recipe = vd.KAnonymity(
        quasi_identifiers=sets,
        k=k,
        max_suppression=0.3,
        hierarchies=table.hierarchies,
        suppressed="star" if star else "drop",
    )
    path = tmp_path_factory.mktemp("release") / "out.csv"
    recipe.protect(table.frame).datasets[0].to_csv(path, index=False)
    out = pd.read_csv(path, dtype=str, keep_default_na=False)
    if star:
        assert len(out) == len(table.rows)
        out = out[~(out[names] == "*").all(axis=1)]
    for columns in sets:
        assert out.empty or smallest(out, columns) >= k


def test_the_check_sees_one_record_moved():
    """The control: a release with one row moved to another group breaks its promise."""
    release = vd.KAnonymity(
        quasi_identifiers=["zip", "sex"], k=5, models=[vd.LDiversity(column="illness", l=3)]
    ).protect(FRAME)
    table = release.tables[0].table
    spoilt = table.arrow.to_pylist()
    spoilt[0]["sex"] = "other"
    import pyarrow as pa

    moved = from_arrow(pa.Table.from_pylist(spoilt, table.arrow.schema), table.schema)
    broken: Release = replace(release, tables=(Dataset(moved, release.tables[0].rows),))
    with pytest.raises(PromiseError, match="does not keep its promise"):
        broken.prove()


def test_the_manifest_tells_sets_and_models():
    recipe = vd.KAnonymity(
        quasi_identifiers=[["zip"], ["sex"]], k=2, models=[vd.TCloseness(column="illness", t=0.5)]
    )
    told = recipe.protect(FRAME).manifest["steps"][0]["settings"]
    assert told["quasi_identifiers"] == ["zip", "sex"]
    assert told["sets"] == [["zip"], ["sex"]]
    assert told["models"] == [{"column": "illness", "t": 0.5}]
