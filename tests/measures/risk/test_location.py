"""Location disclosure: cells and probabilities, counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import NotApplicable
from veladura.measures.risk.location import _by_row, location
from veladura.methods.geography.placed import placed


def release_of(frame, cells=(4, 4), m=3, **settings_):
    recipe = vd.NaiveGeography(x="x", y="y", region=[0, 0, 1, 1], grid=cells, m=m, **settings_)
    return recipe.protect(frame, seed=3)


def homes(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.random(rows).round(5),
            "y": rng.random(rows).round(5),
            "ill": np.where(rng.random(rows) < 0.4, "yes", "no"),
        }
    )


def test_moving_within_the_cell_reveals_the_cell():
    frame = homes()
    found = location(frame, release_of(frame))
    assert float(found.same_cell) == float(found.cell_by_row) == 1.0
    assert float(found.cell_by_attributes) < 0.1


def test_probabilities_are_shares_counted_by_hand():
    frame = homes(60)
    release = release_of(frame)
    scene = placed(vd.open(frame), release)
    truth = [scene.before.cell[i] for i in range(60)]
    drawn = [s.cell for s in scene.after]
    by_hand = np.mean([np.mean([np.mean(cells == truth[i]) for cells in drawn]) for i in range(60)])
    assert float(location(frame, release).cell_by_attributes) == pytest.approx(by_hand)


def test_a_column_that_names_the_cell_is_found_out():
    frame = homes(400)
    frame["zip"] = (frame["x"] * 4).astype(int).astype(str) + (frame["y"] * 4).astype(int).astype(
        str
    )
    found = location(frame, release_of(frame))
    assert found.telling == "zip"
    assert float(found.cell_by_column) == pytest.approx(1.0, abs=0.01)


def test_the_nearest_released_place_is_counted_by_hand():
    frame = homes(50)
    release = vd.Donut(x="x", y="y", region=[0, 0, 1, 1], inner=0.0, outer=0.1, m=2).protect(
        frame, seed=4
    )
    home, own, neighbour = frame[["x", "y"]].to_numpy(), [], []
    for data in release.datasets:
        new = data[["x", "y"]].to_numpy()
        way = np.linalg.norm(home[:, None] - new[None], axis=2)
        apart = np.linalg.norm(home[:, None] - home[None], axis=2) + 9 * np.eye(50)
        own.append(np.mean(way.argmin(axis=1) == np.arange(50)))
        neighbour.append(np.mean(way.argmin(axis=1) == apart.argmin(axis=1)))
    risk = location(frame, release)
    assert float(risk.nearest_own) == pytest.approx(np.mean(own))
    assert float(risk.nearest_neighbour) == pytest.approx(np.mean(neighbour))


def test_isolated_homes_that_move_little_are_found_again():
    rng = np.random.default_rng(3)
    far = [[x, y] for x in (20, 40, 60, 80) for y in (20, 40, 60, 80, 95)]
    place = np.vstack([far, rng.normal(5, 1, (300, 2)).clip(0, 10)]).round(3)
    frame = pd.DataFrame(place, columns=["x", "y"])
    risks = [
        location(
            frame,
            vd.Donut(x="x", y="y", region=[0, 0, 100, 100], inner=0, outer=3, k=k).protect(
                frame, seed=1
            ),
        )
        for k in (0, 5)
    ]
    assert float(risks[0].isolated_own) == 1.0
    assert float(risks[1].isolated_own) <= 0.4  # one in six of 20, and four standard errors


def test_votes_of_rows_share_ties():
    true = np.array([0, 1, 2])
    drawn = np.array([[0, 1, 7], [0, 5, 8], [3, 1, 2]])
    assert _by_row(true, drawn) == pytest.approx((1 + 1 + 1 / 3) / 3)


def test_without_a_link_or_without_places_there_is_no_figure():
    frame = homes()
    with pytest.raises(NotApplicable, match="no new places"):
        location(frame, vd.Noise(columns=["x"]).protect(frame, seed=1))
