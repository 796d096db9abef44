"""`Fitted.draw_chunk`: some rows as they are released, by methods fitted to all or a sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats
from tests.core.test_chunks import lazily, people
from tests.methods.geography.test_passing import WHERE, homes

import veladura as vd
from veladura.base.streams import ChunkStream, Streams
from veladura.errors import DataError, PlanError
from veladura.table.same_rows import found_rows

LEVEL = 1e-5
GEOGRAPHY = vd.Geography(
    **WHERE, attributes=["ill"], grid=(4, 4), m=2, sweeps=300, burn=100, chains=2
)
# each with the columns that a chunk gets anew
METHODS = {
    "partial cart": (vd.Cart(columns=["income", "job"], m=2), {"income", "job"}),
    "full cart": (vd.Cart(m=1), {"area", "job", "income", "size"}),
    "critical cart": (vd.CriticalCart(critical={"income": "income > 4000"}, m=1), {"income"}),
    "pram": (vd.Pram(columns=["area", "job"]), {"area", "job"}),
    "noise": (vd.Noise(columns=["income"], scale=0.3), {"income"}),
    "plain noise": (vd.Noise(columns=["income"], scale=0.3, min_people=0), {"income"}),
    "geography": (GEOGRAPHY, {"east", "north"}),
    "donut": (vd.Donut(**WHERE, inner=1, outer=6, k=3), {"east", "north"}),
}
pytestmark = pytest.mark.filterwarnings("ignore:[^\n]*(settled|sweeps|chains)")


def stream(*chunk):
    return ChunkStream(Streams(5), 0, chunk)


def fitted_to(method, frame, folder, *, sample):
    recipe, changed = METHODS[method]
    if not sample:
        return recipe.fit(frame, seed=3), changed
    most = 1_500 if method == "critical cart" else 600
    return replace(recipe, fit_rows=most).fit(lazily(frame, folder), seed=3), changed


@pytest.mark.parametrize("sample", [False, True], ids=["all rows", "a sample"])
@pytest.mark.parametrize("method", METHODS)
def test_a_chunk_of_rows_is_drawn(tmp_path, method, sample):
    frame = homes() if method in ("geography", "donut") else people()
    fitted, changed = fitted_to(method, frame, tmp_path, sample=sample)
    rows = vd.open(frame).arrow.take(pa.array(np.random.default_rng(2).permutation(700)))
    drawn = fitted.draw_chunk(rows, stream(7))
    assert drawn.equals(fitted.draw_chunk(rows, stream(7)))
    assert not drawn.equals(fitted.draw_chunk(rows, stream(8)))
    assert drawn.column_names == rows.column_names
    assert drawn.num_rows == 700
    for name in rows.column_names:
        same = drawn.column(name).combine_chunks().equals(rows.column(name).combine_chunks())
        assert same == (name not in changed), name


@pytest.mark.parametrize("sample", [False, True], ids=["all rows", "a sample"])
def test_critical_cells_of_a_chunk_stay_critical_and_others_stay(tmp_path, sample):
    frame = people()
    fitted, _ = fitted_to("critical cart", frame, tmp_path, sample=sample)
    rows = vd.open(frame).arrow.slice(100, 500)
    old, new = (
        table.column("income").to_numpy(zero_copy_only=False).astype(float)
        for table in (rows, fitted.draw_chunk(rows, stream(1)))
    )
    critical = old > 4000
    assert (new[critical] > 4000).all()
    assert (new[critical] != old[critical]).mean() > 0.9
    np.testing.assert_array_equal(new[~critical], old[~critical])


def test_critical_cells_of_strangers_are_refused_in_words(tmp_path):
    frame = people()
    fitted, _ = fitted_to("critical cart", frame, tmp_path, sample=False)
    stranger = vd.open(frame.assign(income=frame["income"] + 0.5)).arrow.slice(0, 3)
    with pytest.raises(DataError, match="not among those that the method was fitted to"):
        fitted.draw_chunk(stranger, stream(1))


def test_noise_of_rows_that_it_never_saw_has_its_size(tmp_path):
    """The standard deviation of the noise is 0.3 of the column's: 1,000 other people show it."""
    fitted, _ = fitted_to("plain noise", people(), tmp_path, sample=False)
    rows = vd.open(people(seed=9, rows=5_000)).arrow.slice(0, 5_000)
    old, new = (
        table.column("income").to_numpy(zero_copy_only=False).astype(float)
        for table in (rows, fitted.draw_chunk(rows, stream(1)))
    )
    given = ~np.isnan(old)
    assert (np.isnan(new) == ~given).all()
    spread = np.std((new - old)[given], ddof=1) / (0.3 * people()["income"].std())
    degrees = int(given.sum()) - 1
    low, high = np.sqrt(stats.chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], degrees) / degrees)
    assert low < spread < high


def test_noise_of_a_chunk_moves_a_lone_number(tmp_path):
    """As in the whole table: an outlier is an outlier no more, wherever its row stands."""
    frame = people()
    frame.loc[0, "income"] = 1e6
    fitted, _ = fitted_to("noise", frame, tmp_path, sample=False)
    alone = vd.open(frame).arrow.slice(0, 1)
    drawn = [fitted.draw_chunk(alone, stream(i)).column("income")[0].as_py() for i in range(30)]
    assert max(drawn) < 9e5


def test_people_with_several_rows_are_refused_in_words():
    frame = people().assign(person=lambda data: np.arange(len(data)) // 2)
    table = vd.open(frame, {"person": {"role": "person"}})
    for method in ("noise", "pram", "critical cart"):
        fitted = METHODS[method][0].fit(table, seed=1)
        with pytest.raises(PlanError, match="have several rows here"):
            fitted.draw_chunk(table.arrow.slice(0, 5), stream(1))


def test_methods_that_need_all_rows_say_so():
    frame = people().drop(columns=["income"])
    fitted = vd.Swap(columns=["size"]).fit(frame, seed=1)
    with pytest.raises(PlanError, match="'swap' treats all rows of a table together"):
        fitted.draw_chunk(vd.open(frame).arrow.slice(0, 5), stream(1))


def test_rows_are_found_again_by_what_they_hold():
    frame = pd.DataFrame({"a": [1.5, np.nan, np.nan, 2.0], "b": ["x", None, None, "y"]})
    known = pa.Table.from_pandas(frame, preserve_index=False)
    order = pa.array([3, 1, 0, 2])
    assert found_rows(known, known.take(order)).tolist() == order.to_pylist()
    twice = pa.concat_tables([known.slice(0, 1)] * 2)
    assert found_rows(known, twice).tolist() == [0, -1]
    assert found_rows(known.slice(0, 0), known).tolist() == [-1] * 4
