"""The promises about places, and the code that proves them from the release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Floats, Mask
from veladura.core.promise import Check, Evidence, Promise, listed
from veladura.methods.geography.circles import circles_of
from veladura.methods.geography.isolation import around_region
from veladura.methods.geography.projection import Coordinates, plane_of
from veladura.methods.geography.region import Region, region_of
from veladura.table.codes import MAX_DECIMALS

if TYPE_CHECKING:
    from veladura.methods.geography.tracts import Tracts
    from veladura.table.codes import Column

REACH = 3  # steps of the last decimal that own places are compared with
FALSE_ALARM = 1e-6


def inside_promise(x: str, y: str, region: Region) -> Promise:
    """Promise that every place is in the declared region; the promise holds its geometry."""
    return Promise("inside-region", "package", {"columns": [x, y], **region.to_json()})


def drawn_promise(x: str, y: str) -> Promise:
    """Promise that a person's own place comes out by chance only.

    It is not promised that it never does: places that are never released are holes in the map, and
    disclose where people live.
    """
    return Promise("drawn-places", "source", {"columns": [x, y]})


def tracts_promise(x: str, y: str, tracts: Tracts, column: str | None = None) -> Promise:
    """Promise that every place lies in a declared cell and, with a column, that it names it."""
    settings = {"columns": [x, y], "cells": tracts.declared.to_json()}
    return Promise("in-cells", "package", settings | ({"column": column} if column else {}))


def centres_promise(
    x: str, y: str, centres: tuple[Floats, Floats], column: str | None, names: Sequence[str]
) -> Promise:
    """Promise that every place is the centre of a cell and, with a column, that it names it."""
    settings: dict[str, Any] = {"columns": [x, y], "centres": np.column_stack(centres).tolist()}
    if column:
        settings |= {"column": column, "names": list(names)}
    return Promise("cell-centres", "package", settings)


def ring_promise(settings: Mapping[str, Any]) -> Promise:
    """Promise the smallest and largest distance of the moves; k is that of `circles_of`."""
    moved = {
        "columns": [settings["x"], settings["y"]],
        "ring": [float(settings["inner"]), float(settings["outer"])],
        **({"k": settings["k"]} if "k" in settings else {}),  # releases of version 0.1.0 have none
        "coordinates": settings["coordinates"],
    }
    return Promise("moved-by", "source", moved)


def outside_region(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places outside the region; a row with one coordinate only counts."""
    x, y = (evidence.column(name) for name in settings["columns"])
    present = ~x.missing & ~y.missing
    region = region_of(settings["region"], settings.get("exclude"))
    outside = ~region.usable(x.values[present].astype(float), y.values[present].astype(float))
    return int(np.count_nonzero(outside)) + int(np.count_nonzero(x.missing != y.missing))


def outside_tracts(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places in none of the declared cells, or in another than is named."""
    import shapely

    from veladura.methods.geography.tracts import read_tracts

    x, y, present = _points(evidence, settings)
    declared = read_tracts(settings["cells"], "name")
    point, tract = shapely.STRtree(declared.shapes).query(
        shapely.points(x, y), predicate="intersects"
    )
    good = np.ones(point.size, dtype=bool)
    if named := settings.get("column"):
        labels = _texts(evidence.column(named))[present]
        good = labels[point] == np.array(declared.names, dtype=object)[tract]
    return int(x.size - np.unique(point[good]).size)


def off_centre(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places that are the centre of no cell, or of another than is named."""
    x, y, present = _points(evidence, settings)
    centres = {(float(at[0]), float(at[1])): i for i, at in enumerate(settings["centres"])}
    cell = np.array(
        [centres.get(point, -1) for point in zip(x.tolist(), y.tolist(), strict=True)],
        dtype=np.int64,
    )
    good = cell >= 0
    if named := settings.get("column"):
        labels = _texts(evidence.column(named))[present]
        good &= labels == np.array(settings["names"], dtype=object)[cell]
    return int(np.count_nonzero(~good))


def _points(evidence: Evidence, settings: Mapping[str, Any]) -> tuple[Floats, Floats, Mask]:
    """Return the places of the rows that have one, and which rows these are."""
    x, y = (evidence.column(name) for name in settings["columns"])
    present = ~x.missing & ~y.missing
    return x.values[present].astype(float), y.values[present].astype(float), present


def _texts(column: Column) -> Any:
    """Return the values of a column of names as text; missing as None."""
    from veladura.table.codes import label_text

    if column.labels is None:
        return np.array([str(value) for value in column.values.tolist()], dtype=object)
    labels = np.array([label_text(label.as_py()) for label in column.labels] or [""], dtype=object)
    texts = labels[np.where(column.missing, 0, column.values)]
    texts[column.missing] = None
    return texts


def kept_places(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of homes that keep their own place, 0 if it is one that chance gives.

    Rows with one place before and one after are a home: they may be of one person and moved
    together. Chance: the homes whose new place is a given step of the last decimal away from their
    own, the most frequent step of the 48 shortest. Places near the border of a cell have fewer such
    steps, so up to twice that number is allowed; a Poisson count that exceeds it has a probability
    below 1e-6.
    """
    from scipy.special import pdtrc

    before = [evidence.source_column(name) for name in settings["columns"]]
    after = [evidence.column(name) for name in settings["columns"]]
    present = ~np.logical_or.reduce([column.missing for column in (*before, *after)])
    steps = np.array([_steps(*pair, present) for pair in zip(before, after, strict=True)])
    start = np.array([column.values[present].astype(float) for column in before])
    _, home = np.unique(np.concatenate([start, steps]), axis=1, return_index=True)
    steps = steps[:, home]
    short = steps[:, (np.abs(steps) <= REACH).all(axis=0)].astype(np.int64) + REACH
    counts = np.zeros((2 * REACH + 1, 2 * REACH + 1), dtype=np.int64)
    np.add.at(counts, tuple(short), 1)
    kept = int(counts[REACH, REACH])
    counts[REACH, REACH] = 0
    by_chance = 2.0 * float(counts.max()) + 0.5  # a half: no step occurs where decimals are many
    return kept if kept and pdtrc(kept - 1, by_chance) < FALSE_ALARM else 0


def _steps(before: Column, after: Column, present: Mask) -> Floats:
    """Return the differences of two columns in units of the last decimal of the original."""
    decimals = MAX_DECIMALS if before.decimals is None else before.decimals
    way = after.values[present].astype(float) - before.values[present].astype(float)
    return np.asarray(np.rint(way * 10.0**decimals))


def moved_otherwise(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places that moved by less or by more than promised.

    The circles follow from all places that the step moved. Where another step dropped people they
    cannot be found again, and the smallest distance only is judged.
    """
    columns = settings["columns"]
    before = [evidence.source_column(name) for name in columns]
    after = [evidence.column(name) for name in columns]
    present = ~np.logical_or.reduce([column.missing for column in (*before, *after)])
    bounds = tuple(settings["bounds"])
    plane = plane_of(bounds, settings["coordinates"])
    start, end = (
        np.column_stack(plane.forward(*(each.values[present].astype(float) for each in pair)))
        for pair in (before, after)
    )
    (inner, outer), k = settings["ring"], settings.get("k", 0)
    slack = 1e-9 * outer  # a file may be read on another processor
    bad = np.hypot(*(end - start).T) < inner - slack
    if evidence.original is None or evidence.original.rows == present.size:
        circles = circles_of(
            start, outer / math.sqrt(k + 1), outer, k, around_region(plane, bounds)
        )
        far = np.hypot(*(end - circles.centre).T)
        bad |= far > circles.radius * (1 + 1e-9)
    return int(np.count_nonzero(bad))


def _inside(settings: Mapping[str, Any]) -> str:
    outside = " and outside the excluded areas" if settings.get("exclude") else ""
    return f"Every place ({listed(settings)}) lies in the declared region{outside}."


def _drawn(settings: Mapping[str, Any]) -> str:
    return (
        f"Every place ({listed(settings)}) was drawn anew at random: people get their own place"
        " back no more often than a place next to it, as chance has it."
    )


def _in_cells(settings: Mapping[str, Any]) -> str:
    cells, named = len(settings["cells"]["features"]), settings.get("column")
    name = f", the one that {named} names" if named else ""
    return f"Every place ({listed(settings)}) lies in one of the {cells} declared cells{name}."


def _centred(settings: Mapping[str, Any]) -> str:
    named = settings.get("column")
    name = f", the one that {named} names" if named else ""
    return (
        f"Every place ({listed(settings)}) is the centre of one of {len(settings['centres'])}"
        f" cells{name}: no point is released."
    )


def _moved(settings: Mapping[str, Any]) -> str:
    unit = " metres" if settings["coordinates"] == "degrees" else ""
    (inner, outer), k = settings["ring"], settings.get("k", 0)
    claim = (
        f"Every place ({listed(settings)}) was moved at random by at least {inner:g} and at most"
        f" {outer:g}{unit}."
    )
    if not k:
        return claim
    return (
        f"{claim} A place that has fewer than {k} others near it was drawn from one circle together"
        f" with {k} others or more: which of them a released place belongs to is left to chance."
    )


_PAIR = shapes.listed(shapes.name, 2, 2)
_AREA = shapes.table(
    {"type": shapes.one_of("Polygon", "MultiPolygon", "GeometryCollection")}, more=True
)
_FEATURE = shapes.table({"geometry": _AREA}, more=True)
_BOX = shapes.listed(shapes.number(), 4, 4)
CHECKS = {
    "inside-region": Check(
        outside_region,
        _inside,
        shapes.table({"columns": _PAIR, "region": _AREA}, {"exclude": _AREA}),
        stated=("region", "exclude"),
    ),
    "drawn-places": Check(kept_places, _drawn, shapes.table({"columns": _PAIR})),
    "in-cells": Check(
        outside_tracts,
        _in_cells,
        shapes.table(
            {
                "columns": _PAIR,
                "cells": shapes.table({"features": shapes.listed(_FEATURE, 1)}, more=True),
            },
            {"column": shapes.name},
        ),
        stated=("cells",),
    ),
    "cell-centres": Check(
        off_centre,
        _centred,
        shapes.table(
            {
                "columns": _PAIR,
                "centres": shapes.listed(shapes.listed(shapes.number(), 2, 2), 1),
            },
            {"column": shapes.name, "names": shapes.listed(shapes.name, 1)},
        ),
        stated=("centres", "names"),
    ),
    "moved-by": Check(
        moved_otherwise,
        _moved,
        shapes.table(
            {
                "columns": _PAIR,
                "ring": shapes.listed(shapes.number(0), 2, 2),
                "bounds": _BOX,
                "coordinates": shapes.one_of(*get_args(Coordinates)),
            },
            {"k": shapes.whole(0)},
        ),
        stated=("bounds",),
    ),
}
