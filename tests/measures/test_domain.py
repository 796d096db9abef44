"""The original at the detail of its release: level by level, or row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.methods.kanonymity.recount import COLUMNS, people, recipe

import veladura as vd
from veladura.measures.domain import generalise
from veladura.report.intervals import interval_facts


@pytest.mark.parametrize("settings", [{"recoding": "local"}, {"recoding": "mondrian"}])
def test_rows_with_levels_of_their_own_are_compared_at_them(settings):
    """Recounted: every released row stands beside itself, so nothing but suppression differs."""
    frame = people(7, rows=120)
    release = recipe(k=4, max_suppression=0.5, **settings).protect(frame)
    table, coarser = generalise(vd.open(frame), release)
    assert set(coarser) == set(release.changed)
    rows = release.datasets[0].astype(object)
    beside = table.arrow.to_pandas().iloc[np.asarray(release.rows)].astype(object)
    for name in COLUMNS:
        assert rows[name].astype(str).tolist() == beside[name].astype(str).tolist(), name


def test_places_of_many_sizes_are_no_distance_from_the_original():
    """A raw coordinate and the middle of a cell are not compared."""
    rng = np.random.default_rng(4)
    places = rng.normal(0, 1, (400, 2)).round(4)
    frame = pd.DataFrame({"lon": places[:, 0], "lat": places[:, 1]})
    release = vd.KAnonymity(
        quasi_identifiers=["lon", "lat"],
        pairs=[["lon", "lat"]],
        k=5,
        max_suppression=0.5,
        hierarchies={"lon, lat": vd.Hierarchy.grid(0.25, 5)},
        recoding="local",
    ).protect(frame)
    assert release.datasets[0].drop_duplicates().shape[0] > 10
    assert float(vd.utility.columns(frame, release).worst) < 0.02
    means = interval_facts(release, vd.open(frame))[0]
    written = float(means.rows[0].original.split()[0])  # of the exact places, to two decimals
    assert written == pytest.approx(frame["lon"].mean(), abs=0.0051)
