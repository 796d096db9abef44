"""Combinations that do not fit into the memory: columns are coarsened first, or it is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from operator import ge

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.kanonymity import fitting_in, search
from veladura.methods.kanonymity.kanonymity import BestEffortWarning
from veladura.methods.kanonymity.search import at_or_above
from veladura.table.table import Table

ROWS = 20_000


@pytest.fixture
def source(tmp_path, monkeypatch):
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {
            "day": rng.integers(0, 5_000, ROWS),
            "zip": [f"{i:04d}" for i in rng.integers(0, 300, ROWS)],
            "sex": rng.choice(["f", "m"], ROWS),
        }
    )
    frame.to_parquet(tmp_path / "people.parquet")
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    monkeypatch.setenv("VELADURA_MEMORY", "1 GiB")
    return frame, tmp_path / "people.parquet"


def recipe() -> vd.KAnonymity:
    return vd.KAnonymity(
        quasi_identifiers=["day", "zip", "sex"],
        k=2,
        max_suppression=0.05,
        hierarchies={"day": vd.Hierarchy.intervals((100, 1000)), "zip": vd.Hierarchy.mask(4)},
    )


def test_the_number_of_combinations_is_about_right(source):
    frame, path = source
    table = vd.open(path)
    exact = len(frame.drop_duplicates())
    assert fitting_in.combinations(table, recipe()) == pytest.approx(exact, rel=0.1)
    bands = frame.assign(day=frame["day"] // 100).drop_duplicates()
    coarse = fitting_in.Coarse({"day": 1}, fitting_in._all_levels(table, recipe()))
    found = fitting_in.combinations(table, recipe(), coarse)
    assert found == pytest.approx(len(bands), rel=0.1)


def few(monkeypatch, number: int) -> None:
    """Let so many combinations fit into the memory."""
    monkeypatch.setattr(fitting_in, "BYTES_A_CELL", 0.4 * 2**30 / 3 / number)


def test_columns_are_coarsened_first_where_too_many_combinations_do_not_fit(source, monkeypatch):
    frame, path = source
    few(monkeypatch, 12_000)
    with pytest.warns(BestEffortWarning, match="coarsened before the search"):
        fitted = recipe().fit(vd.open(path))
    assert fitted.coarsened == {"day": 1, "zip": 1}
    bands = frame.assign(day=frame["day"] // 100)
    coarse = bands.assign(zip=frame["zip"].str[:3])
    assert len(coarse.drop_duplicates()) < 12_000 < len(bands.drop_duplicates())
    assert fitted.lattice.sizes.size == len(coarse.drop_duplicates())


def test_what_is_found_is_what_a_search_of_all_finds_at_or_above_those_levels(source, monkeypatch):
    _, path = source
    every = recipe().fit(vd.open(path))
    heights = every.lattice.heights
    good = at_or_above(every.vectors, heights)
    floor = (1, 1, 0)
    above = [v for v in np.argwhere(good).tolist() if all(map(ge, v, floor))]
    expected = {tuple(v) for v in above if not any(w != v and all(map(ge, v, w)) for w in above)}
    few(monkeypatch, 12_000)
    with pytest.warns(BestEffortWarning):
        fitted = recipe().fit(vd.open(path))
    assert set(fitted.vectors) == expected
    monkeypatch.setattr(search, "MOST_NODES", 1)  # some nodes only, and none below the levels
    with pytest.warns(BestEffortWarning):
        some = recipe().fit(vd.open(path))
    assert set(some.vectors) <= expected


@pytest.mark.filterwarnings("ignore::veladura.methods.kanonymity.kanonymity.BestEffortWarning")
def test_the_release_is_that_of_the_same_levels_and_its_manifest_tells_it(
    source, monkeypatch, tmp_path
):
    _, path = source
    few(monkeypatch, 12_000)
    release = recipe().protect(vd.open(path))
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    manifest = json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())
    settings = manifest["steps"][0]["settings"]
    assert settings["coarsened_first"] == {"day": 1, "zip": 1}
    assert all(line.status != "broken" for line in vd.verify(tmp_path / "out" / "release"))
    monkeypatch.delenv("VELADURA_MEMORY")
    given = replace(recipe(), levels=settings["levels"]).protect(vd.open(path))
    rows, others = (
        sorted(map(str, each.datasets[0].to_dict("records"))) for each in (release, given)
    )
    assert rows == others


@pytest.mark.parametrize("setting", [{"suppressed": "star"}, {"missing": "both"}])
def test_where_tuples_are_needed_too_many_are_refused(source, monkeypatch, setting):
    _, path = source
    few(monkeypatch, 12_000)
    table = vd.open(path)
    monkeypatch.setattr(Table, "counts", _refuse)
    with pytest.raises(PlanError, match=r"Nothing was read") as caught:
        replace(recipe(), **setting).fit(table)
    levels = dict(re.findall(r"(\w+) to level (\d) of its", str(caught.value)))
    assert levels == {"day": "1", "zip": "1"}


def test_given_levels_are_coarse_enough_or_refused(source, monkeypatch):
    _, path = source
    few(monkeypatch, 12_000)
    levels = {"day": 2, "zip": 4, "sex": 0}
    fitted = replace(recipe(), levels=levels).fit(vd.open(path))
    assert fitted.coarsened == {"day": 2, "zip": 4}
    with pytest.raises(PlanError, match="leave out a quasi-identifier"):
        replace(recipe(), levels={"day": 0, "zip": 1, "sex": 0}).fit(vd.open(path))


def test_those_that_fit_are_searched(source, monkeypatch):
    _, path = source
    monkeypatch.setattr(fitting_in, "BYTES_A_CELL", 0.4 * 2**30 / 3 / 19_000)
    number = fitting_in.combinations(vd.open(path), recipe())
    monkeypatch.setattr(fitting_in, "BYTES_A_CELL", 0.4 * 2**30 / 3 / (number + 1))
    assert recipe().fit(vd.open(path)).minimal
    monkeypatch.delenv("VELADURA_MEMORY")
    monkeypatch.setattr(fitting_in, "BYTES_A_CELL", 1e9)
    assert recipe().fit(vd.open(path)).minimal  # no setting, no limit


def _refuse(*_arguments):
    msg = "tuples were fetched"
    raise AssertionError(msg)
