"""Attacks on releases of cells: by a person's own row, and by one who knows everybody else.

Right cells of 600 people (base rate: the most frequent cell of a stranger's row with the same
attributes) and mean probability of the true cell (base rate: without any release).
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import shapely
from scipy import stats

import veladura as vd

LEVEL = 1e-5
SIDE, ROWS, M = 6, 600, 5


def tracts():
    """Squares of different sizes, as polygons with names."""
    edges = np.cumsum([0, 1, 2, 1, 3, 1, 2])
    left, low = np.meshgrid(edges[:-1], edges[:-1])
    right, high = np.meshgrid(edges[1:], edges[1:])
    shapes = shapely.box(left.ravel(), low.ravel(), right.ravel(), high.ravel())
    return shapes, {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"name": f"T{i}"},
                "geometry": json.loads(shapely.to_geojson(shape)),
            }
            for i, shape in enumerate(shapes)
        ],
    }


def people(seed=0):
    """Homes of a town, and of a few villages; the ill live in the south."""
    rng = np.random.default_rng(seed)
    town = rng.normal(5, 1.2, (2 * ROWS, 2))
    homes = np.vstack([town, rng.random((ROWS, 2)) * 10])
    homes = homes[((homes > 0) & (homes < 10)).all(axis=1)]
    homes = rng.permutation(homes)[:ROWS].round(2)
    ill = rng.random(ROWS) < np.where(homes[:, 1] < 5, 0.6, 0.3)
    return pd.DataFrame(
        {
            "x": homes[:, 0],
            "y": homes[:, 1],
            "tract": "T0",
            "ill": np.where(ill, "yes", "no"),
        }
    )


def released(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return vd.Geography(
            x="x",
            y="y",
            attributes=["ill"],
            cells=tracts()[1],
            cell_column="tract",
            release="cell",
            m=M,
            sweeps=800,
            burn=200,
            chains=2,
        ).protect(frame, seed=4)


def own_cells(frame):
    """Named control: every row tells the cell it is in, as uniform masking within cells does."""
    at = shapely.STRtree(tracts()[0]).nearest(shapely.points(frame[["x", "y"]].to_numpy()))
    return [frame.assign(tract=[f"T{i}" for i in at])] * M


def right_cells(frame, datasets):
    """Right guesses by a person's own row, and by that of a stranger with the same attributes."""
    truth = own_cells(frame)[0]["tract"].to_numpy()
    named = np.array([data["tract"].to_numpy() for data in datasets])
    votes = pd.DataFrame(named).mode().iloc[0].to_numpy()
    own = int(np.sum(votes == truth))
    rng, strangers = np.random.default_rng(1), []
    for _ in range(40):
        other = np.arange(ROWS)
        for level in ("yes", "no"):
            mine = np.flatnonzero(frame["ill"] == level)
            other[mine] = rng.permutation(mine)
        strangers.append(np.mean(votes[other] == truth))
    return own, float(np.mean(strangers))


def test_a_persons_own_row_tells_no_more_than_a_strangers():
    frame = people()
    own, base = right_cells(frame, released(frame).datasets)
    assert stats.binom.sf(own - 1, ROWS, base) > LEVEL
    own, base = right_cells(frame, own_cells(frame))
    assert stats.binom.sf(own - 1, ROWS, base) < LEVEL


def test_no_released_place_is_finer_than_a_cell():
    frame = people()
    release = released(frame)
    for data in release.datasets:
        places = data[["x", "y"]].drop_duplicates()
        assert len(places) <= SIDE**2
        assert len(places) == data["tract"].nunique()


@pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
def test_who_knows_everybody_else_learns_little_from_the_releases():
    """Named control: priors that let the map follow single counts disclose more."""
    frame = people()
    place = {"x": "x", "y": "y", "attributes": ["ill"], "region": [0, 0, 10, 10], "grid": (6, 6)}
    chain = {"m": M, "sweeps": 800, "burn": 200, "chains": 2, "most_sweeps": 800}
    gains = []
    for priors in ({}, {"extra_shape": 50.0, "extra_rate": 2000.0}):
        release = vd.Geography(**place, **chain, priors=priors).protect(frame, seed=2)
        risk = vd.risk.informed_intruder(frame, release, targets=300, sweeps=1600)
        gains.append(risk.posterior.value / risk.prior.value - 1)
    assert gains[0] < 0.12
    assert gains[1] > gains[0]
