"""Information loss of generalisation: by hand, against the quality models, on one domain."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import NotApplicable
from veladura.measures.domain import generalise, released_levels


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 80, 400),
            "zip": rng.choice(["02138", "02139", "02141", "02142"], 400),
            "pay": rng.normal(size=400),
        }
    )


def recipe(**settings):
    hierarchies = {"age": vd.Hierarchy.intervals((5, 10, 20, 40)), "zip": vd.Hierarchy.mask(5)}
    return vd.KAnonymity(quasi_identifiers=["age", "zip"], k=5, hierarchies=hierarchies, **settings)


def test_figures_by_hand(people):
    release = recipe(max_suppression=0.1).protect(people)
    found = vd.utility.generalisation(people, release)
    data = release.datasets[0]
    sizes = data.groupby(["age", "zip"]).size()
    lost = len(people) - len(data)
    levels = release.manifest["steps"][0]["settings"]["levels"]
    assert float(found.precision) == pytest.approx(
        np.mean([1 - levels["age"] / 5, 1 - levels["zip"] / 5])
    )
    assert float(found.completeness) == pytest.approx(1 - lost / len(people))
    assert float(found.discernibility) == pytest.approx((sizes**2).sum() + lost * len(people))
    assert float(found.indistinct) == pytest.approx(float(found.discernibility) / len(people) ** 2)
    assert float(found.average_class) == pytest.approx(len(data) / len(sizes))
    assert 0 < float(found.entropy) < 1


def test_starred_rows_are_no_class(people):
    drop, star = (
        recipe(max_suppression=0.1, suppressed=how).protect(people) for how in ("drop", "star")
    )
    one, other = (vd.utility.generalisation(people, release) for release in (drop, star))
    assert float(one.discernibility) == pytest.approx(float(other.discernibility))
    assert float(one.average_class) == pytest.approx(float(other.average_class))


def test_without_suppression_nothing_moves_on_the_generalised_domain(people):
    release = recipe(max_suppression=0).protect(people)
    assert released_levels(release)
    found = vd.utility.columns(people, release)
    assert set(found.coarser) == set(released_levels(release))
    assert float(found.worst) == 0
    assert float(vd.utility.tables(people, release).ways[2]) == pytest.approx(0)
    assert float(vd.utility.pmse(people, release).value) < 1e-6


def test_a_loaded_package_is_compared_alike(people, tmp_path):
    release = recipe(max_suppression=0.05).protect(people)
    loaded = vd.load(
        release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    )
    assert float(vd.utility.columns(people, loaded).mean) == pytest.approx(
        float(vd.utility.columns(people, release).mean)
    )


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("preserve", [False, True])
def test_lazy_and_memory_give_the_same_counts(people, tmp_path, preserve):
    people.to_parquet(tmp_path / "people.parquet")
    keys = {name: {"role": "quasi-identifier"} for name in ("age", "zip")}
    lazy_table = vd.open(tmp_path / "people.parquet", keys)
    lazy = recipe(max_suppression=0.05, preserve_type=preserve).protect(lazy_table)
    memory = recipe(max_suppression=0.05, preserve_type=preserve).protect(vd.open(people, keys))
    assert not lazy.tables[0].table.in_memory
    a, b = vd.utility.columns(lazy_table, lazy), vd.utility.columns(people, memory)
    assert {name: float(value) for name, value in a.distances.items()} == pytest.approx(
        {name: float(value) for name, value in b.distances.items()}
    )
    assert set(a.coarser) == set(b.coarser) != set()
    assert not lazy_table.in_memory


def test_levels_that_differ_from_row_to_row_need_the_rows(people):
    release = recipe(recoding="mondrian").protect(people)
    assert generalise(vd.open(people), release)[1] == ("age", "zip")
    unlinked = replace(
        release, tables=tuple(replace(dataset, rows=None) for dataset in release.tables)
    )
    table = vd.open(people)
    assert generalise(table, unlinked) == (table, ())
    found = vd.utility.generalisation(people, release)
    assert np.isnan(found.entropy.value)
    assert "row to row" in vd.assess(people, release).figures["utility.generalisation.entropy"].why


def test_other_methods_generalise_nothing(people):
    release = vd.Noise(columns=["pay"]).protect(people, seed=1)
    with pytest.raises(NotApplicable, match="no step of this release generalises"):
        vd.utility.generalisation(people, release)


def test_a_table_that_was_not_generalised_is_left_as_it_is(people):
    rows = [[str(age), "*"] for age in range(20, 80)]
    release = vd.KAnonymity(
        quasi_identifiers=["age"], k=5, hierarchies={"age": vd.Hierarchy.explicit(rows)}
    ).protect(people)
    strange = people.assign(age=people["age"] + 100)
    assert vd.utility.columns(strange, release).coarser == ()
