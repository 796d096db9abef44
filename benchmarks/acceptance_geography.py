"""Synthetic geography: the source's simulated study, three public point patterns.

The clinic with its lake.
"""

from __future__ import annotations

import sys
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
from benchmarks.geography_study import simulate
from veladura import example
from veladura.base.streams import Streams
from veladura.core.release import Release
from veladura.measures.risk.location import risk_of
from veladura.methods.geography.placed import placed
from veladura.methods.geography.rectangles import Marked, draw_boxes, overlaps
from veladura.methods.geography.region import RegionWarning
from veladura.numeric.mcmc.diagnostics import ChainWarning
from veladura.release.verify import holds, verify

REPETITIONS = 20
LEAST_OVERLAP = 0.78
ATTRIBUTES = ("y", "x1", "x2")
# What the source prints: overlap and mean matched distance, by side of the grid.
SOURCE = {
    ("model", 10): (0.725, 1.73),
    ("model, Z normal", 5): (0.730, 1.17),
    ("model, Z normal", 10): (0.676, 1.04),
    ("model, Z normal", 20): (0.737, 0.995),
    ("model, Z ICAR", 5): (0.665, 1.37),
    ("model, Z ICAR", 10): (0.746, 1.63),
    ("model, Z ICAR", 20): (0.668, 1.69),
    ("naive", 10): (0.697, 2.17),
}


def recipes(side: int) -> dict[str, vd.Geography | vd.NaiveGeography]:
    """Return what is compared at one grid."""
    common = {
        "x": "east",
        "y": "north",
        "region": (0.0, 0.0, 10.0, 10.0),
        "grid": (side, side),
        "m": 5,
    }
    chain = {"attributes": ATTRIBUTES, "sweeps": 1500, "burn": 500, "chains": 2}
    return {
        "model": vd.Geography(**common, **chain),
        "model, Z normal": vd.Geography(
            **common, **chain, continuous=("z",), priors={"slope": "normal"}
        ),
        "model, Z vague": vd.Geography(
            **common,
            **chain,
            continuous=("z",),
            priors={"slope": "normal", "slope_variance": 100.0},
        ),
        "model, Z ICAR": vd.Geography(
            **common, **chain, continuous=("z",), priors={"slope": "icar"}
        ),
        "naive": vd.NaiveGeography(**common),
    }


def measured(
    frame: pd.DataFrame, release: Release, boxes: np.ndarray
) -> tuple[float, float, float]:
    """Return overlap, mean matched distance and share of rows that stay.

    The distance is the mean over combinations of their means, as the source has it.
    """

    def marked(data: pd.DataFrame) -> Marked:
        return Marked(data[["east", "north"]].to_numpy(), (data["y"] == "1").to_numpy())

    step = release.steps[0]
    told = {
        **step.settings,
        "attributes": list(ATTRIBUTES),
    }  # the mask has none: the distances are those within combinations
    risk = risk_of(placed(vd.open(frame), replace(release, steps=(replace(step, settings=told),))))
    found = overlaps(marked(frame), [marked(data) for data in release.datasets], boxes)
    return (
        found.mean,
        float(np.mean([mean for _, _, mean in risk.combinations])),
        float(risk.same_cell),
    )


def repeated(name: str, side: int, repetitions: int) -> np.ndarray:
    """Return the figures of one method and grid, a row a repetition.

    Every method sees the same data and rectangles.
    """
    rows = []
    for number in range(repetitions):
        frame = simulate(Streams(2018)("study", number))
        boxes = draw_boxes(Streams(2018)("boxes", number), (0.0, 0.0, 10.0, 10.0), 1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ChainWarning)
            release = recipes(side)[name].protect(frame, seed=number)
        rows.append(measured(frame, release, boxes))
    return np.array(rows)


def study(
    repetitions: int = REPETITIONS,
    names: tuple[str, ...] = tuple(dict.fromkeys(name for name, _ in SOURCE)),
) -> None:
    """Repeat the source's study and print its tables beside ours, line by line."""
    print(f"simulated study, {repetitions} repetitions: mean (standard error) [source]")
    print(f"{'':17} {'grid':>6}  {'overlap':>22}  {'matched distance':>24}  {'same cell':>9}")
    for name, side in [(name, side) for name in names for side in (10, 5, 20)]:
        rows = repeated(name, side, repetitions)
        mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        theirs = SOURCE.get((name, side), ("", ""))
        print(
            f"{name:17} {side:>3}x{side:<3} {mean[0]:8.3f} ({error[0]:.3f}) [{theirs[0]!s:>5}]  "
            f"{mean[1]:9.2f} ({error[1]:.3f}) [{theirs[1]!s:>5}]  {mean[2]:9.3f}",
            flush=True,
        )
        assert (name, side) != ("model", 10) or mean[0] >= LEAST_OVERLAP


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
    study()
    with tempfile.TemporaryDirectory() as scratch:
        for name, (frame, recipe) in patterns(data).items():
            released(name, frame, recipe, Path(scratch))
            if name == "humberside":
                vary(frame, recipe)
                plant(frame, recipe)


if __name__ == "__main__":
    study(int(sys.argv[1]), tuple(sys.argv[2:]) or ("model",))
