"""Map utility of new places: cells counted by hand, and a fine grid against a coarse one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import NotApplicable
from veladura.methods.geography.fidelity import contrasted, log_ratio
from veladura.methods.geography.patterns import correlation
from veladura.methods.geography.placed import placed
from veladura.methods.geography.rectangles import Marked


@pytest.fixture
def homes():
    rng = np.random.default_rng(4)
    points = np.clip(rng.normal(0.5, 0.2, (400, 2)), 0.001, 0.999).round(5)
    ill = np.where(rng.random(400) < np.where(points[:, 0] < 0.5, 0.8, 0.2), "yes", "no")
    return pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "ill": ill})


def release_of(frame, cells, m=2):
    recipe = vd.NaiveGeography(x="x", y="y", region=[0, 0, 1, 1], grid=(cells, cells), m=m)
    return recipe.protect(frame, seed=3)


def by_hand(frame, cells):
    """Moran's I of the people in each square, neighbours by a side."""
    across, up = ((frame[name].to_numpy() * cells).astype(int) for name in ("x", "y"))
    count = np.zeros((cells, cells))
    np.add.at(count, (up, across), 1)
    apart = count - count.mean()
    pairs = 2 * (np.sum(apart[1:] * apart[:-1]) + np.sum(apart[:, 1:] * apart[:, :-1]))
    return cells**2 / (4 * cells * (cells - 1)) * pairs / np.sum(apart**2)


def test_small_cells_keep_the_map_and_one_large_cell_does_not(homes):
    fine, coarse = (vd.utility.location(homes, release_of(homes, cells)) for cells in (25, 1))
    assert float(fine.overlap) > 0.8 > float(coarse.overlap)
    assert float(fine.intensity) > 0.95 > float(coarse.intensity)
    assert float(fine.k_function) < 0.05 < float(coarse.k_function)
    assert float(fine.contrast) > 0.9 > float(coarse.contrast)


def test_moran_is_the_difference_counted_by_hand(homes):
    release = release_of(homes, 5)
    after = np.mean([by_hand(frame, 5) for frame in release.datasets])
    difference = float(vd.utility.location(homes, release).moran)
    assert difference == pytest.approx(after - by_hand(homes, 5), abs=1e-9)


def test_the_assessment_has_the_same_figures(homes):
    release = release_of(homes, 10)
    direct = vd.utility.location(homes, release)
    figures = vd.assess(homes, release)
    for name in ("overlap", "k_function", "intensity", "contrast", "moran"):
        assert float(figures[f"utility.location.{name}"]) == float(getattr(direct, name))


def test_a_release_without_new_places_does_not_apply(homes):
    with pytest.raises(NotApplicable, match="no new places"):
        vd.utility.location(homes, vd.Noise(columns=["x"]).protect(homes, seed=1))


def other_people(seed, rows=1500):
    """One population, other people: illness falls eastward."""
    rng = np.random.default_rng(seed)
    points = rng.random((rows, 2)).round(4)
    ill = rng.random(rows) < 0.5 - 0.3 * (points[:, 0] > 0.6)
    return pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "ill": np.where(ill, "yes", "no")})


def test_the_contrast_of_other_people_is_foretold_by_halves():
    """Claim: contrast_fresh is the correlation with tables of other people, of known truth."""
    original = other_people(0)
    kept = vd.utility.location(original, release_of(original, 64, m=3))
    scene = placed(vd.open(original), release_of(original, 64, m=3))
    for scale, foretold in ((1.0, kept.contrast_fresh), (0.5, kept.fine_fresh)):
        smoother, before, _ = contrasted(scene, scale)
        top = original.loc[before.outcome.argmax(), "ill"]
        truth = []
        for trial in range(12):
            maps = []
            for number in range(3):
                frame = other_people(100 + 3 * trial + number)
                marks = (frame["ill"] == top).to_numpy()
                maps.append(log_ratio(smoother, Marked(frame[["x", "y"]].to_numpy(), marks)))
            truth.append(correlation(log_ratio(smoother, before), np.mean(maps, axis=0)))
        assert float(foretold) == pytest.approx(np.mean(truth), abs=0.1)


def test_a_mask_of_small_cells_keeps_the_slope_and_one_large_cell_does_not(homes):
    fine, coarse = (vd.utility.location(homes, release_of(homes, cells)) for cells in (25, 1))
    assert 0.8 < float(fine.contrast_slope) < 1.1
    assert abs(float(coarse.contrast_slope)) < 0.5
    assert float(fine.contrast_resampled) > float(fine.fine_resampled) > 0.6
