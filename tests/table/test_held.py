"""Small and medium files are held in memory; large ones stay where they are."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.table import held

ROWS = 300


@pytest.fixture
def frame():
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "town": rng.choice(["Ulm", "Bern", "Graz"], ROWS),
            "age": rng.integers(0, 99, ROWS),
            "pay": np.round(rng.lognormal(8, 1, ROWS), 2),
            "day": [
                dt.date(2020, 1, 1) + dt.timedelta(days=int(n)) for n in rng.integers(0, 900, ROWS)
            ],
        }
    )


@pytest.fixture(params=["csv", "parquet"])
def file(request, frame, tmp_path):
    path = tmp_path / f"t.{request.param}"
    frame.to_csv(path, index=False) if request.param == "csv" else frame.to_parquet(path)
    return path


def opened(path):
    return vd.open(path, {"town": {}})


def test_a_file_is_held_up_to_the_limit_and_says_the_same_when_it_is_not(file, monkeypatch):
    near = opened(file)
    assert near.in_memory
    monkeypatch.setenv(held.SETTING, str(ROWS * 4 // 2))
    far = opened(file)
    assert not far.in_memory
    assert far.schema == near.schema
    assert far.arrow.equals(near.arrow)
    monkeypatch.setenv(held.SETTING, str(ROWS * 4 * 2))
    assert opened(file).in_memory


def test_a_held_file_gives_every_row_in_its_order(file, frame):
    rows = opened(file).arrow.to_pandas()
    assert rows["town"].tolist() == frame["town"].tolist()
    assert rows["age"].tolist() == frame["age"].tolist()
    assert rows["pay"].tolist() == frame["pay"].tolist()
    assert rows["day"].tolist() == frame["day"].tolist()


@pytest.mark.parametrize("given", ["-1", "many", "1e6"])
def test_a_limit_that_is_no_number_is_refused(file, monkeypatch, given):
    monkeypatch.setenv(held.SETTING, given)
    with pytest.raises(PlanError, match="whole number of cells"):
        opened(file)


def test_a_small_file_gets_the_figures_that_need_its_rows(file):
    table = opened(file)
    recipe = vd.KAnonymity(quasi_identifiers=["town"], k=5)
    release = recipe.protect(table, seed=1)
    assert release.tables[0].table.in_memory
    assessed = vd.assess(table, release)
    assert not [figure.name for figure in assessed if "needs them in memory" in figure.why]


def test_rows_of_a_text_file_are_estimated_from_its_beginning(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    lines = [f"{i},{i % 7}" for i in range(300_000)]
    path.write_text("\n".join(["a,b", *lines]), encoding="utf-8")
    assert path.stat().st_size > held._SAMPLE
    for share, fits in ((0.8, False), (1.3, True)):
        monkeypatch.setenv(held.SETTING, str(int(share * 2 * len(lines))))
        assert held.holds_text(path, 2) == fits
