"""Maps have coordinates with units, and a scale for their shades."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.methods.geography import maps


@pytest.fixture(scope="module", params=["planar", "degrees"])
def pictures(request):
    draw = np.random.default_rng(2)
    homes = pd.DataFrame(draw.random((150, 2)).round(4), columns=["lon", "lat"])
    homes["ill"] = np.where(draw.random(150) < 0.4, "yes", "no")
    recipe = vd.Geography(
        x="lon",
        y="lat",
        attributes=["ill"],
        region=[0, 0, 1, 1],
        exclude=[0.4, 0.4, 0.45, 0.45] if request.param == "degrees" else None,
        stray="nearest",
        grid=(3, 3),
        coordinates=request.param,
        m=2,
        sweeps=60,
        burn=20,
        chains=2,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = recipe.fit(homes, seed=1)
        release = recipe.protect(homes, seed=1)
    return request.param, maps.Shown.of(fitted, release)


def labels_of(figure):
    return {panel.get_xlabel() for panel in figure.axes} | {p.get_ylabel() for p in figure.axes}


def intensities(shown):
    return maps._intensities(shown, shown.largest, points=False)


def original(shown):
    return maps._intensities(shown, shown.largest, points=True)


@pytest.mark.parametrize(
    "draw", [maps._places, intensities, original, maps._compared, maps._all_sets]
)
def test_maps_have_coordinates_with_units(pictures, draw):
    kind, shown = pictures
    figure = draw(shown)
    unit = "degrees of" if kind == "degrees" else "units of the source"
    assert any(label.startswith("lon (") and unit in label for label in labels_of(figure))
    assert any(label.startswith("lat (") and unit in label for label in labels_of(figure))
    assert all(len(panel.get_xticks()) > 1 for panel in figure.axes[:1])


def test_shades_have_a_scale_that_counts_nobody(pictures):
    key = intensities(pictures[1]).axes[-1]
    ticks = [label.get_text() for label in key.get_yticklabels()]
    assert ticks == ["0.25", "0.5", "1", "2", "4", "8"]
    assert "even spread" in key.get_ylabel()
    assert "people per area" in key.get_ylabel()


def test_dots_are_named(pictures):
    kind, shown = pictures
    for figure, people in ((maps._places(shown), 1), (maps._compared(shown), 2)):
        words = [text.get_text() for text in figure.legends[0].get_texts()]
        assert sum("person" in word for word in words) == people
        assert ("excluded area" in words) == (kind == "degrees")
