"""The law of a column that passes in chunks is that of the same rows in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.methods.masks.column_law import ColumnLaw, counted_numbers, spread_of
from veladura.methods.masks.law import law_of, smoothed
from veladura.numeric.trees.values import Values
from veladura.numeric.trees.variable import Known, variable_of
from veladura.table.frequencies import frequencies
from veladura.table.variation import standard_deviation


def columns() -> dict[str, np.ndarray]:
    """Numbers of every kind: cents, whole, in tens, without a grid, and few who move."""
    rng = np.random.default_rng(5)
    many = np.repeat(np.arange(20.0, 60.0), 70)
    return {
        "cents": np.round(rng.lognormal(7, 1, 3_000), 2),
        "whole": rng.poisson(400, 3_000),
        "tens": 10 * rng.poisson(300, 3_000) - 2_000,
        "free": rng.normal(0, 1, 3_000),
        "shared": np.append(many, rng.uniform(0, 300, 200).round(1)),
        "few": np.append(np.repeat([1.0, 2.0, 3.0], 900), np.arange(10.0, 15.0)),
    }


@pytest.mark.parametrize("kind", columns())
def test_the_law_by_frequencies_is_that_of_the_rows(kind):
    values = pd.Series(columns()[kind]).astype("Float64" if kind != "whole" else "Int64")
    values[::50] = pd.NA
    table = vd.open(pd.DataFrame({"x": values}))
    column = table.codes(["x"])["x"]
    held = law_of(column, None, 5)
    counted = counted_numbers(table, "x")
    law = ColumnLaw.of(counted, 5, column)
    assert held is not None
    assert law is not None
    here = law.at(column)
    np.testing.assert_array_equal(here.moves, held.moves)
    moves = held.moves
    np.testing.assert_allclose(here.score[moves], held.score[moves], atol=1e-12)
    np.testing.assert_allclose(here.isolation[moves], held.isolation[moves], atol=1e-12)
    np.testing.assert_allclose(law.smoothed(column), smoothed(held, column), rtol=1e-9)
    declared = standard_deviation(smoothed(held, column))
    assert spread_of(law, counted) == pytest.approx(declared, rel=1e-9)
    rows, steps = np.flatnonzero(moves), np.linspace(-1, 1, np.count_nonzero(moves))
    there, theirs = (one.alone(rows).moved(np.arange(rows.size), steps) for one in (here, held))
    np.testing.assert_allclose(there, theirs, rtol=1e-6, atol=1.01 * held.grid.step)
    assert np.mean(np.abs(there - theirs) > 1e-6 * np.abs(theirs)) < 0.01
    assert here.ends == held.ends
    assert here.habits == held.habits


@pytest.mark.parametrize("kind", ["cents", "whole", "tens", "free"])
def test_a_sample_has_the_ranks_and_isolation_of_all(kind):
    """Of 300 donors among 3,000: scores, isolation and quantiles are those of the 3,000.

    Without what is known of all rows isolation is ten times as wide: the broken control.
    """
    table = vd.open(pd.DataFrame({"x": columns()[kind]}))
    column = table.codes(["x"])["x"]
    rows = np.sort(np.random.default_rng(1).choice(3_000, 300, replace=False))
    counted = frequencies(table, "x")
    assert counted is not None
    part = column.take(rows)
    ends = counted.column.values[[0, -1]]
    everyone = (counted.column, counted.rows)
    some = variable_of(part, known=Known(counted.of(part), ends, everyone)).law
    every = variable_of(column).law
    alone = variable_of(part, known=Known(counted.of(part), ends)).law
    assert some is not None
    assert every is not None
    assert alone is not None
    np.testing.assert_array_equal(some.moves, every.moves[rows])
    moves = some.moves
    np.testing.assert_allclose(some.score[moves], every.score[rows][moves], atol=1e-12)
    np.testing.assert_allclose(some.isolation[moves], every.isolation[rows][moves], atol=1e-12)
    np.testing.assert_array_equal(some.quantiles[0].numbers, every.quantiles[0].numbers)
    assert np.median(alone.isolation[moves] / some.isolation[moves]) > 5


def test_frequencies_are_those_of_numpy(tmp_path):
    """Missing, NaN and both zeros; from rows in memory and from a file."""
    values = np.array([0.0, -0.0, 1.5, np.nan, 1.5, 7.0, -3.25])
    frame = pd.DataFrame({"x": values, "y": ["a"] * 7})
    frame.to_parquet(tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet"):
        table = vd.open(source)
        found = frequencies(table, "x")
        assert found is not None
        assert found.column.values.tolist() == [-3.25, 0.0, 1.5, 7.0]
        assert found.rows.tolist() == [1, 2, 2, 1]
        column = table.column("x").take(np.array([0, 2, 4]))
        assert found.of(column).tolist() == [2, 2]
    distinct = Values.of(values[[0, 2]], np.ones(2, dtype=bool)).distinct
    assert distinct.tolist() == [0.0, 1.5]
