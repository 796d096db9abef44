"""Shares in chosen rectangles: by definition, and beside a release without the map."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.geography.rectangles import overlap

WEST = {"west": [0, 0, 0.47, 1], "corner": [0.6, 0.6, 1, 1]}


def people(rows=400):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.random((rows, 2)).round(3), columns=["x", "y"])
    ill = rng.random(rows) < np.where(frame["x"] < 0.5, 0.7, 0.3)
    return frame.assign(ill=np.where(ill, "yes", "no"))


def masked(m=1, seed=1):
    recipe = vd.NaiveGeography(x="x", y="y", region=[0, 0, 1, 1], grid=(20, 20), m=m)
    return recipe.protect(people(), seed=seed)


def test_shares_and_intervals_by_definition():
    frame = people()
    found = vd.utility.rectangle_shares(frame, masked(), WEST, attribute="ill", value="yes")
    share = found.shares[0]
    mine = frame[(frame["x"] <= 0.47)]
    p = (mine["ill"] == "yes").mean()
    half = 1.959964 * np.sqrt(p * (1 - p) / len(mine))
    assert (share.rectangle, share.source, share.people) == ("west", "original", len(mine))
    assert (share.share, share.lower, share.upper) == pytest.approx((p, p - half, p + half))


def test_several_datasets_are_combined_by_the_rule_of_partial_synthesis():
    """T = b / m + v, Reiter (2003), with t quantiles."""
    from scipy import stats

    release = masked(m=4)
    found = vd.utility.rectangle_shares(people(), release, WEST, attribute="ill", value="yes")
    share = found.shares[1]
    parts = [data[data["x"] <= 0.47]["ill"].eq("yes") for data in release.datasets]
    q = np.array([part.mean() for part in parts])
    v = np.mean([part.mean() * (1 - part.mean()) / part.size for part in parts])
    b = q.var(ddof=1)
    freedom = 3 * (1 + 4 * v / b) ** 2
    half = stats.t.ppf(0.975, freedom) * np.sqrt(b / 4 + v)
    assert (share.share, share.upper - share.share) == pytest.approx((q.mean(), half))


def test_original_model_and_naive_stand_side_by_side():
    releases = {"one": masked(seed=1), "other": masked(seed=2)}
    found = vd.utility.rectangle_shares(people(), releases, WEST, attribute="ill", value="yes")
    assert [share.source for share in found.shares] == ["original", "one", "other"] * 2
    table = found.to_frame()
    ends = table.pivot_table(index="rectangle", columns="source", values=["lower", "upper"])
    truth = (ends["lower", "original"].to_numpy(), ends["upper", "original"].to_numpy())
    mine = (ends["lower", "one"].to_numpy(), ends["upper", "one"].to_numpy())
    assert found.overlap["one"] == pytest.approx(overlap(truth, mine).mean())
    assert "ill = yes" in str(found)
    assert found.picture().startswith(b"<?xml")


def test_random_rectangles_tell_a_mask_from_permuted_places():
    frame = people()
    release = masked()
    blind = vd.NaiveGeography(x="x", y="y", region=[0, 0, 1, 1], grid=(1, 1)).protect(frame, seed=1)
    kept, lost = (
        vd.utility.rectangle_overlap(frame, each, attribute="ill", number=200)
        for each in (release, blind)
    )
    assert kept > lost + 0.2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rectangles": {"a": [1, 0, 0, 1]}, "attribute": "ill"}, "west < east"),
        ({"rectangles": WEST, "attribute": "x"}, "released exactly"),
        ({"rectangles": WEST, "attribute": "age"}, "age"),
    ],
)
def test_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        vd.utility.rectangle_shares(people(), masked(), **settings)
