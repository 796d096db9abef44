"""Sizes of equivalence classes, counted where rows live: those of a pandas groupby."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.release.door import read_codebook
from veladura.release.manifest import build_codebook
from veladura.table.class_sizes import ClassSizes, class_sizes
from veladura.table.table import Table
from veladura.table.telling import Telling

COLUMNS = (["a"], ["a", "b"], ["b", "a", "x"], ["x"], ["a", "b", "x", "d"])


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["", "1", "11", "1|1", None], 3000, p=[0.1, 0.3, 0.3, 0.2, 0.1]),
            "b": rng.choice(["1", "11", "|", None], 3000),
            "x": np.where(rng.random(3000) < 0.1, np.nan, rng.integers(-40, 40, 3000) / 8),
            "d": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 9, 3000), "D"),
        }
    )
    frame.loc[:4, "x"] = 0.0
    return frame


@pytest.fixture
def lazy(frame, tmp_path, monkeypatch) -> Table:
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    table = vd.open(tmp_path / "t.parquet", dict.fromkeys("ab", "category"))
    assert not table.in_memory
    return table


@pytest.mark.parametrize("columns", COLUMNS)
def test_they_are_those_of_pandas(frame, lazy, columns):
    sizes = frame.groupby(columns, dropna=False).size()
    found = class_sizes(lazy, columns)
    assert isinstance(found, ClassSizes)
    assert found.histogram() == sizes.value_counts().sort_index().to_dict()
    assert found.classes == len(sizes)
    assert found.people == len(frame)
    assert found.holders(found.size == 1) == int((sizes == 1).sum())
    assert found.average_chance(found.size) == pytest.approx(len(sizes) / len(frame))
    assert Telling(lazy).alone(columns) == int((sizes == 1).sum())
    assert Telling(lazy).rarer(columns, 7) == int((sizes < 7).sum())
    assert Telling(lazy).levels(columns) == len(sizes)


@pytest.mark.parametrize("columns", COLUMNS)
def test_known_tuples_give_the_same(frame, lazy, columns):
    lazy.counts(columns)
    assert class_sizes(lazy, columns).histogram() == (
        frame.groupby(columns, dropna=False).size().value_counts().sort_index().to_dict()
    )


def test_figures_of_risk_do_not_depend_on_where_rows_are(frame, lazy):
    for columns in (["a", "b"], ["a", "b", "x"]):
        for function in (vd.risk.uniqueness, vd.risk.classes):
            held, there = (function(table, columns) for table in (frame, lazy))
            assert repr(there) == repr(held)


def test_an_assessment_fetches_no_tuples_that_are_as_many_as_rows(tmp_path, monkeypatch):
    """What comes back of a release whose rows are all different is as short as its columns."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({f"n{i}": rng.integers(0, 40, 4000) for i in range(6)})
    frame["job"] = rng.choice(["clerk", "cook"], 4000)
    frame.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    release = vd.Cart(m=1, fit_rows=1000).protect(vd.open(tmp_path / "t.parquet"), seed=1)
    fetched = []

    def watch(place: str) -> None:
        ask = import_module(f"veladura.table.{place}").fetch_query

        def watched(*arguments):
            fetched.append(ask(*arguments))
            return fetched[-1]

        monkeypatch.setattr(f"veladura.table.{place}.fetch_query", watched)

    watch("counts")
    watch("class_sizes")
    assessment = vd.assess(tmp_path / "t.parquet", release)
    assert assessment["risk.uniqueness.sample_uniques"].value > 3000
    assert fetched
    assert max(rows.num_rows for rows in fetched) < 300  # values of single columns, and sizes


def test_texts_of_which_there_are_very_many_are_counted_for_the_codebook(tmp_path, monkeypatch):
    """The codebook says how many different texts there are, and none of them is fetched."""
    rows = 80_000
    texts = [f"a remark of its own, number {i}" if i % 9 else None for i in range(rows)]
    frame = pd.DataFrame({"note": texts, "x": np.arange(rows) % 5})
    release = vd.Noise(columns=["x"]).protect(vd.open(frame, {"note": "text"}), seed=1)
    saved = release.save(tmp_path / "out" / "r", tmp_path / "safe" / "r")
    said = read_codebook(saved)[0]
    assert said["distinct"] == frame["note"].nunique()
    lazy = vd.load(saved, lazy=True).tables[0].table
    monkeypatch.setattr(Table, "counts", None)
    assert build_codebook([lazy.select(["note"])]) == [said]
