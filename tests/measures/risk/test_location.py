"""Distances, cells and rectangles against their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.measures.measure import NotApplicable, Subject
from veladura.measures.risk.location import greedy_distances, location
from veladura.methods.geography.patterns import Smoother, moran, ripley_l
from veladura.methods.geography.placed import placed
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlap, overlaps

POINTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


def brute_greedy(before, after):
    """The algorithm as the source prints it: the closest of all pairs, both removed, again."""
    distance = np.hypot(*(np.asarray(before)[:, None] - np.asarray(after)[None]).transpose(2, 0, 1))
    found = []
    while distance.size:
        i, j = np.unravel_index(np.argmin(distance), distance.shape)
        found.append(distance[i, j])
        distance = np.delete(np.delete(distance, i, axis=0), j, axis=1)
    return sorted(found)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 30))
def test_matching_is_the_source_s_greedy_one(seed, rows, others):
    rng = np.random.default_rng(seed)
    before, after = rng.random((rows, 2)), rng.random((others, 2))
    assert greedy_distances(before, after) == pytest.approx(brute_greedy(before, after))


@settings(max_examples=60, deadline=None)
@given(POINTS)
def test_a_copy_is_matched_at_no_distance(points):
    assert greedy_distances(np.array(points), np.array(points)).max() == 0


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
    scene = placed(Subject(vd.open(frame), release))
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


def test_votes_of_rows_share_ties():
    from veladura.measures.risk.location import _by_row

    true = np.array([0, 1, 2])
    drawn = np.array([[0, 1, 7], [0, 5, 8], [3, 1, 2]])
    assert _by_row(true, drawn) == pytest.approx((1 + 1 + 1 / 3) / 3)


def test_without_a_link_or_without_places_there_is_no_figure():
    frame = homes()
    with pytest.raises(NotApplicable, match="no new places"):
        location(frame, vd.Noise(columns=["x"]).protect(frame, seed=1))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 1), (0, 1), 1.0),
        ((0, 1), (2, 3), 0.0),
        ((0, 4), (1, 2), 0.5),
        ((0, 2), (1, 3), 0.5),
        ((1, 1), (0, 2), 0.0),
    ],
)
def test_overlap_is_the_geometric_mean_of_both_shares(one, other, expected):
    assert float(
        overlap(tuple(map(np.array, map(float, one))), tuple(map(np.array, map(float, other))))
    ) == pytest.approx(expected)


def test_rectangles_are_counted_as_by_hand():
    rng = np.random.default_rng(5)
    before = Marked(rng.random((300, 2)), rng.random(300) < 0.5)
    sets = [Marked(rng.random((300, 2)), rng.random(300) < 0.5) for _ in range(3)]
    boxes = draw_boxes(rng, (0.0, 0.0, 1.0, 1.0), 50)
    assert ((boxes[:, 2:] - boxes[:, :2] >= 0.2) & (boxes[:, 2:] - boxes[:, :2] <= 0.4)).all()
    found = overlaps(before, sets, boxes)
    box = found.boxes[0]

    def share(marked):
        inside = ((marked.points >= box[:2]) & (marked.points <= box[2:])).all(axis=1)
        return marked.outcome[inside].mean(), inside.sum()

    p, n = share(before)
    q, k = zip(*(share(one) for one in sets), strict=True)
    combined = vd.combine(q, [a * (1 - a) / b for a, b in zip(q, k, strict=True)])
    half = 1.959963984540054 * np.sqrt(p * (1 - p) / n)
    common = max(min(p + half, combined.upper) - max(p - half, combined.lower), 0)
    assert found.overlap[0] == pytest.approx(
        common / np.sqrt(2 * half * (combined.upper - combined.lower))
    )


def test_the_original_itself_overlaps_wholly_and_swapped_outcomes_hardly():
    rng = np.random.default_rng(6)
    points = rng.random((600, 2))
    outcome = rng.random(600) < np.where(points[:, 0] < 0.5, 0.9, 0.1)
    boxes = draw_boxes(rng, (0.0, 0.0, 1.0, 1.0), 200)
    same = overlaps(Marked(points, outcome), [Marked(points, outcome)] * 2, boxes).mean
    swapped = overlaps(Marked(points, outcome), [Marked(points, ~outcome)] * 2, boxes).mean
    assert same == pytest.approx(1.0)
    assert swapped < 0.3


def test_l_is_the_count_of_pairs_and_grows_with_clusters():
    rng = np.random.default_rng(7)
    points = rng.random((80, 2))
    radii = np.array([0.1, 0.2])
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    pairs = [(distance <= r).sum() - 80 for r in radii]
    assert ripley_l(points, 1.0, radii) == pytest.approx(
        [np.sqrt(p / (80 * 79) / np.pi) for p in pairs]
    )
    assert (ripley_l(points * 0.5, 1.0, radii) > ripley_l(points, 1.0, radii)).all()


def test_moran_is_its_formula():
    values = np.array([1.0, 4.0, 2.0, 8.0])
    pairs = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2], [0, 3], [3, 0]])
    apart = values - values.mean()
    by_hand = 4 / 8 * sum(apart[i] * apart[j] for i, j in pairs) / (apart @ apart)
    assert moran(values, pairs) == pytest.approx(by_hand)
    assert np.isnan(moran(np.ones(4), pairs))


def test_a_uniform_pattern_is_flat_up_to_the_border():
    from veladura.methods.geography.grid import grid_over
    from veladura.methods.geography.projection import Plane
    from veladura.methods.geography.region import region_of

    grid = grid_over(region_of((0.0, 0.0, 1.0, 1.0), None), Plane(), (5, 5))
    surface = Smoother(grid, 0.1).intensity(np.random.default_rng(8).random((200_000, 2)))
    assert surface.std() / surface.mean() < 0.03
