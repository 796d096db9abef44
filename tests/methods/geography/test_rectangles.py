"""Shares and intervals in rectangles against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

import veladura as vd
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlap, overlaps


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
