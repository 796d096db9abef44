"""Record linkage, against distances computed pair by pair."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError


def people(rng, n=400):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "job": rng.choice(list("abcde"), n),
            "income": rng.lognormal(10, 1, n).round(),
        }
    )


def test_linkage_is_what_distances_pair_by_pair_give():
    rng = np.random.default_rng(3)
    before = people(rng, 60)
    after = before.assign(
        income=before["income"] * rng.lognormal(0, 0.2, 60),
        job=rng.permutation(before["job"].to_numpy()),
    )
    found = vd.risk.linkage(before, after)
    places = {}
    for name in ("age", "income"):
        values, count = np.unique(before[name], return_counts=True)
        share = (np.cumsum(count) - count / 2) / 60
        wide = values[-1] - values[0]
        places[name] = [
            np.interp(f[name], values, share)
            + (np.maximum(f[name] - values[-1], 0) - np.maximum(values[0] - f[name], 0)) / wide
            for f in (before, after)
        ]
    expected = []
    for i in range(60):
        distance = sum(np.abs(places[name][1][i] - places[name][0]) for name in places) + (
            before["job"] != after["job"][i]
        )
        nearest = np.flatnonzero(distance <= distance.min() + 1e-11)
        expected.append(1 / nearest.size if i in nearest else 0.0)
    np.testing.assert_allclose(found.per_record, expected)
    assert float(found.correct) == pytest.approx(np.mean(expected))
    assert float(found.chance) == 1 / 60
    assert float(found.correct) > 5 * float(found.chance)


def test_linkage_of_unrelated_rows_is_chance():
    rng = np.random.default_rng(5)
    found = vd.risk.linkage(people(rng, 2000), people(rng, 2000), sample=1000)
    assert float(found.correct) < 0.01
    assert found.per_record.size == 1000
    assert found.correct.upper > float(found.correct)


def test_mistakes_are_told():
    frame = pd.DataFrame({"a": [1, 2]})
    with pytest.raises(PlanError, match="sample"):
        vd.risk.linkage(frame, frame, sample=0)
    with pytest.raises(PlanError, match="aligned"):
        vd.risk.linkage(frame, frame.iloc[:1])
