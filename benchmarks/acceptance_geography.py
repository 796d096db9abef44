"""Synthetic geography: three public point patterns, and the clinic with its lake.

The simulated study of Nunes (2018) is `veladura study 001`.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import shapely

import veladura as vd
from benchmarks.geography_contrast import contrast_of, planted, read
from veladura import example
from veladura.methods.geography.region import RegionWarning
from veladura.release.verify import holds, verify


def window(data: Path, name: str) -> shapely.Polygon | shapely.MultiPolygon:
    """Return a window that was published with a point pattern, as polygons."""
    rings = pd.read_csv(data / "spatial" / f"{name}_window.csv")
    return shapely.union_all(
        [
            shapely.make_valid(shapely.Polygon(ring[["x", "y"]].to_numpy()))
            for _, ring in rings.groupby("ring")
        ]
    )


def patterns(data: Path) -> dict[str, tuple[pd.DataFrame, vd.Geography]]:
    """Return the public patterns, each with its declared region."""
    chorley, humberside = (
        pd.read_csv(data / "spatial" / f"{name}.csv", dtype={"mark": "category"})
        for name in ("chorley", "humberside")
    )
    events = pd.read_csv(
        data / "spatial" / "imdepi_events.csv",
        usecols=["type", "sex", "agegrp", "x", "y"],
        dtype={"type": "category"},
    )
    germany = shapely.box(
        4000, 2650, 4700, 3600
    )  # kilometres; a wide box around the country, known to anyone
    moor = shapely.Point(361.0, 413.0).buffer(
        1.2
    )  # an area that is left out, to see that nobody is placed there
    return {
        "chorley": (
            chorley,
            vd.Geography(
                x="x",
                y="y",
                attributes=["mark"],
                region=window(data, "chorley"),
                exclude=moor,
                stray="nearest",
                grid=(15, 20),
            ),
        ),
        "humberside": (
            humberside,
            vd.Geography(
                x="x", y="y", attributes=["mark"], region=window(data, "humberside"), grid=(12, 12)
            ),
        ),
        "imdepi_events": (
            events,
            vd.Geography(x="x", y="y", attributes=["type", "sex"], region=germany, grid=(14, 19)),
        ),
        "clinic": (
            pd.read_csv(example.path("clinic.csv"), dtype={"zip": str}).drop(
                columns=["name", "social_number"]
            ),
            vd.Geography(
                x="lon",
                y="lat",
                attributes=["ethnicity", "sex"],
                region=example.path("region.geojson"),
                exclude=example.path("lake.geojson"),
                coordinates="degrees",
                grid=(20, 20),
            ),
        ),
    }


def released(name: str, frame: pd.DataFrame, recipe: vd.Geography, out: Path) -> None:
    """Release a pattern, check its places by other means than the library's.

    Print its figures.
    """
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RegionWarning)
        release = recipe.protect(frame, seed=1)
        table = vd.open(frame, name=name)
    spent = time.process_time() - began
    region, _ = recipe.region_and_plane()
    for data in release.datasets:
        points = shapely.points(data[recipe.x], data[recipe.y])
        assert shapely.intersects(region.land, points).all()
        assert (
            region.excluded is None or not shapely.contains_properly(region.excluded, points).any()
        )
        assert not set(zip(data[recipe.x], data[recipe.y], strict=True)) & set(
            zip(frame[recipe.x], frame[recipe.y], strict=True)
        )
        pd.testing.assert_frame_equal(
            data.drop(columns=[recipe.x, recipe.y]), frame.drop(columns=[recipe.x, recipe.y])
        )
    figures = vd.assess(table, release)
    told = {
        key: f"{float(figures[f'{key}']):.3f}"
        for key in (
            "risk.location.matched_mean",
            "risk.location.same_cell",
            "risk.location.cell_by_attributes",
            "risk.location.near_by_attributes",
            "utility.location.overlap",
            "utility.location.intensity",
            "utility.location.contrast",
            "utility.location.k_function",
        )
    }
    folder = release.save(out / "release" / name, custodian=out / "custodian" / name)
    assert holds(verify(folder, frame, out / "custodian" / name / "record.json"))
    print(
        f"{name}: {len(frame)} rows, {release.manifest['steps'][0]['settings']['cells']} cells,"
        f" {spent:.1f} s of processor time"
    )
    for key, value in told.items():
        print(f"  {key:34} {value}")
    if name != "clinic":  # there the first attribute is for show
        reading = read(frame, release)
        print(f"  {reading}")
        assert reading.kept or not reading.telling


def vary(frame: pd.DataFrame, recipe: vd.Geography) -> None:
    """Print the contrast that is kept for other seeds and coarser grids.

    How far does one release speak for its method.
    """
    for grid in ((12, 12), (8, 8), (6, 6), (4, 4)):
        found = [
            contrast_of(frame, replace(recipe, grid=grid).protect(frame, seed=seed))
            for seed in range(1, 7)
        ]
        told = ", ".join(f"{one:.2f}" for one in found)
        print(
            f"  contrast with {grid[0]}x{grid[1]} squares, seeds 1 to 6: {told}; mean"
            f" {np.mean(found):.2f}",
            flush=True,
        )


def plant(frame: pd.DataFrame, recipe: vd.Geography, seeds: tuple[int, ...] = (1, 2, 3, 4)) -> None:
    """Plant contrasts into the places of humberside.

    A release of these places and numbers can keep one that is there.
    """
    for strength in (0.0, 1.0, 2.0):
        readings = [
            read(drawn, recipe.protect(drawn, seed=seed))
            for seed in seeds
            for drawn in [planted(frame, strength, seed)]
        ]
        told = ", ".join(f"{one.release:.2f} (chance {one.chance:.3f})" for one in readings)
        print(
            f"  planted, log odds {strength:.0f} a standard deviation: {told};"
            f" {sum(one.kept for one in readings)} kept",
            flush=True,
        )
    assert all(one.kept and one.telling for one in readings)  # the strongest


def main(data: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for name, (frame, recipe) in patterns(data).items():
            released(name, frame, recipe, Path(scratch))
            if name == "humberside":
                vary(frame, recipe)
                plant(frame, recipe)
