"""k counted in households, and households that are left out as a whole: brute force, files."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.release import Release
from veladura.errors import DataError, PlanError
from veladura.methods.kanonymity.people import rows_of_whole_households
from veladura.release.verify import holds, verify

NAMES = ["age", "zip"]
HIERARCHIES = {
    "age": vd.Hierarchy.intervals(widths=[2, 4]),
    "zip": vd.Hierarchy.star(),
}


def people(seed: int = 1, homes: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    home = np.repeat(np.arange(homes), rng.integers(1, 5, homes))
    return pd.DataFrame(
        {
            "home": 700 + rng.permutation(homes)[home],
            "age": rng.integers(0, 8, home.size),
            "zip": rng.choice(list("abc"), homes)[home],  # people of a household share it
            "ill": rng.choice(["no", "yes"], home.size),
        }
    )


def opened(frame: pd.DataFrame):
    return vd.open(frame, {"home": {"role": "household"}})


def recipe(**settings):
    given = {"quasi_identifiers": NAMES, "k": 3, "hierarchies": HIERARCHIES, "max_suppression": 0.3}
    return vd.KAnonymity(**(given | settings))


def generalised(frame: pd.DataFrame, age: int, zip_: int) -> pd.Series:
    ages = frame["age"] // (1, 2, 4, 100)[age]
    return ages.astype(str) + "|" + (frame["zip"] if not zip_ else "*")


def suppressed(frame: pd.DataFrame, levels: tuple[int, int], k: int, *, homes: bool, whole: bool):
    """Return the rows that go, counted with pandas, household by household."""
    left = frame.assign(group=generalised(frame, *levels))
    while True:
        counted = left.groupby("group")["home"].nunique() if homes else left.groupby("group").size()
        few = left["group"].map(counted) < k
        if not few.any():
            return len(frame) - len(left)
        gone = left["home"].isin(left.loc[few, "home"]) if whole else few
        left = left[~gone]


@pytest.mark.parametrize("homes", [True, False])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_minimal_generalisation_is_that_of_a_search_through_all(homes, whole, seed):
    frame = people(seed)
    counted = "households" if homes else "people"
    allowed = int(0.3 * len(frame))
    nodes = {
        levels: suppressed(frame, levels, 3, homes=homes, whole=whole)
        for levels in product(range(4), range(2))
    }
    good = [levels for levels, rows in nodes.items() if rows <= allowed]
    minimal = [
        node
        for node in good
        if not any(o != node and all(a <= b for a, b in zip(o, node, strict=True)) for o in good)
    ]
    fitted = recipe(counted=counted, whole_households=whole).fit(opened(frame))
    found = {tuple(node.levels.values()): node.suppressed for node in fitted.minimal}
    assert found == {node: nodes[node] for node in minimal}


@pytest.mark.parametrize("whole", [True, False])
def test_every_class_holds_k_households_and_the_files_prove_it(tmp_path, whole):
    frame = people(4, homes=200)
    release = recipe(counted="households", whole_households=whole).protect(opened(frame), seed=1)
    data = release.datasets[0]
    assert data.groupby(NAMES)["home"].nunique().min() >= 3
    assert not set(data["home"]) & set(frame["home"])
    release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe")
    lines = verify(tmp_path / "out" / "r")
    assert holds(lines)
    assert any("3 households" in str(line) for line in lines)


def test_people_of_one_household_are_no_class_of_k():
    """The control: three people of one household are 3-anonymous when people are counted."""
    frame = pd.DataFrame({"home": [1, 1, 1, 2, 3, 4], "age": [1, 1, 1, 2, 2, 2], "zip": "a"})
    kept = {"levels": {"age": 0, "zip": 0}, "max_suppression": 0.5}
    assert len(recipe(**kept).protect(opened(frame)).datasets[0]) == 6
    assert len(recipe(counted="households", **kept).protect(opened(frame)).datasets[0]) == 3


def test_a_household_with_a_suppressed_member_is_left_out_as_a_whole():
    frame = people(5, homes=50)
    kept = {"levels": {"age": 0, "zip": 0}, "max_suppression": 0.9}

    def homes_of(release: Release) -> pd.Series:
        return frame["home"].iloc[release.rows].value_counts()

    sizes = frame["home"].value_counts()
    whole = homes_of(recipe(whole_households=True, **kept).protect(opened(frame)))
    assert (whole == sizes[whole.index]).all()
    assert 0 < len(whole) < len(sizes)
    broken = homes_of(recipe(**kept).protect(opened(frame)))  # a control
    assert (broken < sizes[broken.index]).any()


def test_the_largest_set_of_whole_households_is_found():
    """All unions of households, tried one by one."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        homes = np.repeat(np.arange(8), rng.integers(1, 4, 8))
        classes = rng.integers(0, 3, homes.size)
        best = np.zeros(homes.size, dtype=bool)
        for chosen in product([False, True], repeat=8):
            inside = np.array(chosen)[homes]
            counts = np.bincount(classes[inside], minlength=3)
            if not ((counts > 0) & (counts < 3)).any() and inside.sum() > best.sum():
                best = inside
        found = rows_of_whole_households(classes, np.arange(homes.size), homes, 3)
        assert found.tolist() == best.tolist()


def test_what_cannot_be_counted_is_refused_in_words():
    frame = people(7)
    with pytest.raises(PlanError, match='role = "household"'):
        recipe(counted="households").protect(frame)
    with pytest.raises(PlanError, match='role = "household"'):
        recipe(whole_households=True).protect(frame)
    with pytest.raises(PlanError, match="counted in households"):
        recipe(counted="households", recoding="local").protect(opened(frame))
    with pytest.raises(PlanError, match="whole_households does not go"):
        recipe(whole_households=True, suppressed="cells")
    with pytest.raises(PlanError, match="whole_households does not go"):
        recipe(whole_households=True, models=[vd.LDiversity(column="ill", l=2)])
    with pytest.raises(PlanError, match="counted"):
        recipe(counted="rows")
    with pytest.raises(DataError, match="4 households"):
        recipe(counted="households", k=5).protect(opened(people(8, homes=4)))
    gaps = frame.assign(home=frame["home"].where(frame.index > 3))
    with pytest.raises(DataError, match="missing in 4 rows"):
        recipe(counted="households").protect(opened(gaps))
