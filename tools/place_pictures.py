"""Draw pictures of places and of match risk in docs/images anew, from people who are made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import shapely

import veladura as vd
from veladura.core.release import Release
from veladura.example import path
from veladura.measures.risk.intruder import Intruder
from veladura.measures.utility.spatial_regression import intervals_picture

IMAGES = Path(__file__).parents[1] / "docs" / "images"
TOWN = shapely.box(0, 0, 10, 10)
TRACTS = 60


def main() -> None:
    """Draw tracts, a release of cells, rectangles, a spatial regression and a match curve."""
    town, tracts = people(), census_tracts()
    points = vd.Geography(x="east", y="north", attributes=["ill"], cells=tracts, m=5)
    released = points.protect(town, seed=1)
    write("geography-tracts.svg", public(released, "People per area"))
    cells = vd.Geography(x="east", y="north", attributes=["ill"], cells=tracts, m=5, release="cell")
    write("geography-cells.svg", public(cells.protect(town, seed=1), "Synthetic places"))
    naive = vd.NaiveGeography(x="east", y="north", region=list(TOWN.bounds), grid=(8, 8), m=5)
    shares = vd.utility.rectangle_shares(
        town,
        {"model": released, "naive": naive.protect(town, seed=1)},
        {"south-west": [0, 0, 5, 5], "north-east": [5, 5, 10, 10]},
        attribute="ill",
        value="yes",
    )
    write("geography-rectangles.svg", shares.picture())
    write("geography-regression.svg", intervals_picture(regressions(town, released)))
    match_curve()


def match_curve() -> None:
    """Draw the match risk of synthetic incomes, from the bundled example."""
    kept = ["sex", "ethnicity", "marital", "diagnosis", "stay", "income"]
    clinic = pd.read_csv(path("clinic.csv"), usecols=kept)
    incomes = vd.Cart(columns=["income"], m=5).protect(clinic, seed=1)
    clerk = Intruder(known=kept[:-1], sensitive="income", radius=2000.0)
    vd.risk.match_curve(clinic, incomes, clerk).plot(IMAGES / "match-curve.svg")


def people(rows: int = 500) -> pd.DataFrame:
    """Return a town: more people around its middle, more of the ill in the north-east."""
    rng = np.random.default_rng(1)
    places = np.clip(rng.normal(5, 2.2, (rows, 2)), 0, 10).round(2)
    far = places.sum(axis=1) / 10 - 1
    age = rng.integers(18, 90, rows)
    return pd.DataFrame(
        {
            "east": places[:, 0],
            "north": places[:, 1],
            "ill": np.where(rng.random(rows) < 1 / (1 + np.exp(1 - 2 * far)), "yes", "no"),
            "age": age,
            "cost": (200 + 4 * age + 150 * far + rng.normal(0, 60, rows)).round(),
        }
    )


def census_tracts() -> dict[str, Any]:
    """Return tracts of the town as GeoJSON, smaller where more people live."""
    seeds = np.clip(np.random.default_rng(2).normal(5, 2.6, (TRACTS, 2)), 0.2, 9.8)
    shapes = shapely.get_parts(shapely.voronoi_polygons(shapely.multipoints(seeds), extend_to=TOWN))
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"tract": f"tract {number}"},
                "geometry": json.loads(shapely.to_geojson(shape)),
            }
            for number, shape in enumerate(shapely.intersection(shapes, TOWN), start=1)
        ],
    }


def regressions(town: pd.DataFrame, released: Release) -> dict[str, Any]:
    """Return cost on age and place, of the original and of the release."""
    return {
        name: vd.utility.spatial_regression(table, "cost", ["age"], x="east", y="north")
        for name, table in (("original", town), ("release", released))
    }


def public(release: Release, title: str) -> bytes:
    """Return the public picture of a release whose title begins so."""
    titled = {name: made for draw in release.public_pictures for name, made in draw().items()}
    image = next(made for name, made in titled.items() if name.startswith(title))
    return image if isinstance(image, bytes) else image.encode()


def write(name: str, image: bytes) -> None:
    """Write a picture of the docs."""
    (IMAGES / name).write_bytes(image)
    print(IMAGES / name)


if __name__ == "__main__":
    main()
