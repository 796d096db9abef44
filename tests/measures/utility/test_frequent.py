"""The most frequent values against pandas; heaps that a release loses."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import veladura as vd


def test_counts_are_those_of_pandas():
    rng = np.random.default_rng(1)
    before, after = (
        pd.DataFrame(
            {
                "n": rng.poisson(3, rows),
                "s": rng.choice(["a", "b", None], rows),
                "d": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 5, rows), "D"),
            }
        )
        for rows in (500, 250)
    )
    found = vd.utility.frequent(before, after)
    for name in before:
        counts = before[name].value_counts(dropna=False)
        again = after[name].value_counts(dropna=False)
        listed = found.columns[name]
        assert [one.original for one in listed] == sorted(counts, reverse=True)[:10]
        total = sum(one.released for one in listed)
        top = list(counts.index[:10])
        assert total == pytest.approx(2 * sum(again.get(key, 0) for key in top))
    values = {one.value: one for one in found.columns["s"]}
    p = (before["s"] == "a").mean()
    expected = (2 * (after["s"] == "a").sum() - 500 * p) / np.sqrt(500 * p * (1 - p))
    assert values["a"].errors == pytest.approx(expected)
    assert values["missing"].original == before["s"].isna().sum()


def test_a_heap_that_is_smoothed_away_is_lost():
    rng = np.random.default_rng(2)
    income = np.where(np.arange(1000) % 4 == 0, 1200.0, rng.normal(2000, 300, 1000).round(2))
    smooth = income + rng.normal(0, 5, 1000)
    found = vd.utility.frequent(pd.DataFrame({"income": income}), pd.DataFrame({"income": smooth}))
    assert int(found.lost) == 1
    assert found.columns["income"][0].original == 250
    assert found.columns["income"][0].released == 0
    assert found.columns["income"][0].value == "1200.0"
    kept = vd.utility.frequent(pd.DataFrame({"income": income}), pd.DataFrame({"income": income}))
    assert (int(kept.lost), float(kept.difference)) == (0, 0.0)


def test_chance_alone_gives_the_half_normal_mean():
    """Claim: a new sample differs by 2 / sqrt(pi) standard errors on average.

    200 counts: within 0.27 of 1.13 but for one run in 100,000 (a half-normal variable of scale
    sqrt(2) has the standard deviation 0.85).
    """
    rng = np.random.default_rng(3)
    found = []
    for _ in range(25):
        frames = (pd.DataFrame({"s": rng.choice(list("abcdefgh"), 800)}) for _ in range(2))
        found.append(float(vd.utility.frequent(*frames).difference))
    assert np.mean(found) == pytest.approx(2 / np.sqrt(np.pi), abs=0.3)


def test_means_over_datasets():
    before = pd.DataFrame({"d": [dt.date(2020, 1, 1)] * 20 + [dt.date(2021, 1, 1)] * 20})
    other = pd.DataFrame({"d": [dt.date(2020, 1, 1)] * 40})
    found = vd.utility.frequent(before, [before, other])
    assert float(found.lost) == 0.5
    assert {one.value: one.released for one in found.columns["d"]} == {
        "2020-01-01": 30.0,
        "2021-01-01": 10.0,
    }
