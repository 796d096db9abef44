"""Places of rows that pass in chunks: the same for every source, and promises that hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.table import chunks
from veladura.table.database.connection import read_parquet

LEVEL = 1e-5
WHERE = {"x": "east", "y": "north", "region": [0, 0, 100, 100]}
RECIPES = {
    "donut": vd.Donut(**WHERE, inner=1, outer=6, k=3, fit_rows=400),
    "naive": vd.NaiveGeography(**WHERE, grid=(5, 5), m=2, fit_rows=400),
    "geography": vd.Geography(
        **WHERE,
        attributes=["ill"],
        continuous=["age"],
        grid=(4, 4),
        m=2,
        sweeps=300,
        burn=100,
        chains=2,
        fit_rows=400,
    ),
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 300)


def homes(seed=1, rows=1_500):
    """People around two towns; the ill and the old live in the east. One home is far away."""
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    east = np.where(ill, rng.normal(75, 8, rows), rng.normal(30, 10, rows)).clip(1, 99)
    frame = pd.DataFrame({"east": east.round(2), "north": rng.uniform(30, 70, rows).round(2)})
    frame["ill"] = np.where(ill, "yes", "no")
    frame["age"] = np.rint(rng.normal(40 + 20 * ill, 10, rows)).clip(0)
    frame.loc[0, ["east", "north"]] = [2.5, 97.25]
    return frame


def lazily(frame, folder, name="homes", row_group=100_000):
    frame.to_parquet(folder / f"{name}.parquet", row_group_size=row_group)
    return vd.open(read_parquet(folder / f"{name}.parquet"))


def in_order(data):
    return data.sort_values(list(data.columns)).reset_index(drop=True)


@pytest.mark.filterwarnings("ignore:[^\n]*(settled|sweeps|chains)")
@pytest.mark.parametrize("method", RECIPES)
def test_sources_threads_and_order_change_no_place(tmp_path, method):
    frame, recipe = homes(), RECIPES[method]
    release = recipe.protect(lazily(frame, tmp_path), seed=3, threads=1)
    assert [proof.status for proof in release.proofs] == ["holds"] * len(release.proofs)
    shuffled = frame.sample(frac=1, random_state=2).reset_index(drop=True)
    again = recipe.protect(lazily(shuffled, tmp_path, "again", 170), seed=3, threads=3)
    for one, two in zip(release.datasets, again.datasets, strict=True):
        pd.testing.assert_frame_equal(in_order(one), in_order(two))
        assert len(one) == len(frame)
        assert (one["ill"] == "yes").sum() == (frame["ill"] == "yes").sum()
    folder = release.save(tmp_path / "out" / "homes", custodian=tmp_path / "safe" / "homes")
    assert all(proof.status != "broken" for proof in vd.verify(folder))


def test_a_lonely_home_of_all_rows_moves_as_far_as_in_memory(tmp_path):
    """Its neighbours are counted among all homes, though the sample has a quarter of them."""
    frame = homes()
    recipe = vd.Donut(**WHERE, inner=0.5, outer=2, k=1, fit_rows=400)
    fitted = recipe.fit(lazily(frame, tmp_path), seed=1)
    held = vd.Donut(**WHERE, inner=0.5, outer=2, k=1).fit(frame, seed=1)
    known = fitted.method.known
    places = held.located.at_homes().places
    wanted, passing = held.circles, known.at(*held.located.plane.forward(places.x, places.y))
    np.testing.assert_array_equal(passing.centre, wanted.centre)
    np.testing.assert_array_equal(passing.radius, wanted.radius)
    assert wanted.radius.max() > 10  # that of the lonely one


@pytest.mark.filterwarnings("ignore:[^\n]*(settled|sweeps|chains)")
def test_the_map_of_a_sample_puts_the_ill_where_they_live(tmp_path):
    """Half of the map has nearly all the ill; the broken control swaps the two combinations."""
    frame = homes(2, 3_000)
    release = RECIPES["geography"].protect(lazily(frame, tmp_path), seed=5)
    true = frame.loc[frame["ill"] == "yes", "east"].gt(50).mean()
    for data in release.datasets:
        ill = data["ill"] == "yes"
        share, others = (data.loc[who, "east"].gt(50).mean() for who in (ill, ~ill))
        error = np.sqrt(true * (1 - true) * (1 / ill.sum() + 1 / (0.3 * 400))) + 0.05
        assert abs(share - true) < stats.norm.isf(LEVEL / 2) * error
        assert others < share - 0.5
        assert abs(data.loc[ill, "age"].mean() - frame.loc[frame["ill"] == "yes", "age"].mean()) < 4


def test_what_cannot_pass_is_refused_in_words(tmp_path):
    frame = homes()
    with pytest.raises(PlanError, match="drawn around all places"):
        vd.Donut(**{**WHERE, "region": "hull"}, inner=1, outer=6, fit_rows=400).protect(frame)
    outside = pd.concat([frame, frame.iloc[:1].assign(east=150.0)], ignore_index=True)
    for method in ("donut", "naive"):
        with pytest.raises(DataError, match="outside the usable region"):
            RECIPES[method].protect(lazily(outside, tmp_path), seed=1)
    gaps = pd.concat([frame, frame.iloc[:1].assign(east=np.nan)], ignore_index=True)
    with pytest.raises(DataError, match="no east or no north"):
        RECIPES["naive"].protect(lazily(gaps, tmp_path, "gaps"), seed=1)
