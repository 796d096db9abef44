"""Clusters: by hand, by the law of a fresh sample, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

import veladura as vd
from veladura.errors import NotApplicable, PlanError
from veladura.numeric.kmeans import k_means


def test_two_far_groups_by_hand():
    before = pd.DataFrame({"x": [0.0, 0.1] * 30 + [9.0, 9.1] * 10})
    after = pd.DataFrame({"x": [0.0, 0.1] * 10 + [9.0, 9.1] * 30})
    found = vd.utility.clusters(before, after, clusters=2)
    assert float(found.value) == pytest.approx((0.25**2 + 0.25**2) / 2)
    assert found.expected == pytest.approx(0.25 * (160 - 80) / (80 * 159))
    assert float(found.ratio) == pytest.approx(float(found.value) / found.expected)


def test_a_fresh_sample_has_ratio_one_and_a_lost_relation_more():
    rng = np.random.default_rng(1)

    def sample():
        z = rng.normal(size=800)
        return pd.DataFrame({"a": z, "b": z + 0.3 * rng.normal(size=800)})

    fresh, lost = [], []
    for _ in range(30):
        original = sample()
        fresh.append(float(vd.utility.clusters(original, sample()).ratio))
        lost.append(
            float(
                vd.utility.clusters(
                    original, sample().assign(b=rng.permutation(original["b"]))
                ).ratio
            )
        )
    assert abs(np.mean(fresh) - 1) < 5 * np.std(fresh, ddof=1) / np.sqrt(30)
    assert np.mean(lost) > 5


def test_clusters_are_as_tight_as_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    matrix = np.concatenate([rng.normal(centre, 1, size=(300, 3)) for centre in (-6, 0, 6)])

    def spread(place):
        return sum(
            ((matrix[place == i] - matrix[place == i].mean(axis=0)) ** 2).sum()
            for i in np.unique(place)
        )

    theirs = KMeans(3, n_init=5, random_state=0).fit(matrix).labels_
    assert spread(k_means(matrix, 3)) == pytest.approx(spread(theirs), rel=1e-6)
    assert np.unique(k_means(np.zeros((10, 2)), 3)).size == 1


def test_too_little_to_go_by_is_told():
    frame = pd.DataFrame({"x": [1.0] * 300})
    with pytest.raises(NotApplicable, match="vary too little"):
        vd.utility.clusters(frame, frame)
    with pytest.raises(PlanError, match="at least 2"):
        vd.utility.clusters(frame, frame, clusters=1)
