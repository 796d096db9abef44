"""Combinations that do not fit into the memory are refused before they are fetched."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.kanonymity import fitting_in
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
    found = fitting_in.combinations(table, recipe(), {"day": 1})
    assert found == pytest.approx(len(bands), rel=0.1)


def test_too_many_are_refused_before_they_are_fetched(source, monkeypatch):
    frame, path = source
    table = vd.open(path)
    share = 0.4 * 2**30 / 3
    monkeypatch.setattr(fitting_in, "BYTES_A_CELL", share / 12_000)  # 12,000 combinations fit
    monkeypatch.setattr(Table, "counts", _refuse)
    with pytest.raises(PlanError, match=r"Nothing was read") as caught:
        recipe().fit(table)
    levels = {
        name: int(level)
        for name, level in re.findall(r"(\w+) to level (\d) of its", str(caught.value))
    }
    assert levels == {"day": 1, "zip": 1}
    coarse = frame.assign(day=frame["day"] // 100, zip=frame["zip"].str[:3])
    assert (
        len(coarse.drop_duplicates())
        < 12_000
        < len(frame.assign(day=frame["day"] // 100).drop_duplicates())
    )


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
