"""Regions from files: rings in CSV, WKT and ESRI shapefiles, read without further packages."""

from __future__ import annotations

import csv
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import PlanError

_X = ("x", "lon", "lng", "long", "longitude", "easting")
_Y = ("y", "lat", "latitude", "northing")
_RING = ("ring", "part", "polygon")
_POLYGONS = (5, 15, 25)  # without heights, with heights, with measures
_SHAPEFILE = 9994
_HEADER = 100
_FEWEST_CORNERS = 3


def read_region(path: Path, setting: str) -> Any:
    """Return the area of the polygons in a CSV, WKT or shapefile; the caller checks it."""
    import shapely

    shapes = read_polygons(path, setting)
    return shapely.union_all(shapes) if len(shapes) != 1 else shapes[0]


def read_polygons(path: Path, setting: str) -> list[Any]:
    """Return the polygons in a CSV, WKT or shapefile one by one; the caller checks them.

    Raises
    ------
    PlanError
        With the name of the file and what it should hold.
    """
    readers: dict[str, tuple[Callable[[Path], list[Any]], str]] = {
        ".csv": (
            _read_csv,
            (
                "a header with lon and lat (or x and y), corners in order, and a column ring where"
                " there are several rings"
            ),
        ),
        ".wkt": (_read_wkt, "POLYGON or MULTIPOLYGON, one on each line"),
        ".shp": (_read_shapefile, "polygons of an ESRI shapefile"),
    }
    reader, content = readers[path.suffix.lower()]
    try:
        return reader(path)
    except OSError:
        msg = (
            f"{setting}: {path} cannot be read.\n\nHint: give the path of a file, relative to the"
            " folder of the plan."
        )
    except (ValueError, KeyError, struct.error, csv.Error) as error:
        place = f" ({error.args[0]})" if isinstance(error, _RegionFileError) else ""
        msg = f"{setting}: {path.name} does not hold a region{place}.\n\nHint: it needs {content}."
    raise PlanError(msg)


class _RegionFileError(ValueError):
    """What is wrong with a file: the number of a line, or a few words."""


def even_odd(rings: Sequence[Floats]) -> Any:
    """Return the polygons of rings by the even-odd rule: a ring inside another is a hole."""
    import shapely

    if not rings or any(len(ring) < _FEWEST_CORNERS for ring in rings):
        msg = "a ring with fewer than three corners"
        raise _RegionFileError(msg)
    shapes = [shapely.make_valid(shapely.Polygon(ring)) for ring in rings]
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = shapely.symmetric_difference(whole, shape)
    return whole


def _read_csv(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8-sig")
    heading = text.partition("\n")[0]
    separator = max(",;\t", key=heading.count)
    rows = csv.reader(text.splitlines(), delimiter=separator)
    names = [name.strip().lower() for name in next(rows, [])]
    x, y, ring = (_column(names, known) for known in (_X, _Y, _RING))
    if x is None or y is None:
        msg = "line 1"
        raise _RegionFileError(msg)
    corners: dict[str, list[tuple[float, float]]] = {}
    for number, row in enumerate(rows, start=2):
        if not any(cell.strip() for cell in row):
            continue
        try:
            point = _number(row[x], separator), _number(row[y], separator)
        except (ValueError, IndexError):
            msg = f"line {number}"
            raise _RegionFileError(msg) from None
        corners.setdefault("" if ring is None else row[ring], []).append(point)
    return [even_odd([np.array(points) for points in corners.values()])]


def _column(names: Sequence[str], known: Sequence[str]) -> int | None:
    """Return the first column with a known name."""
    return next((place for place, name in enumerate(names) if name in known), None)


def _number(cell: str, separator: str) -> float:
    return float(cell.replace(",", ".") if separator != "," else cell)


def _read_wkt(path: Path) -> list[Any]:
    return _from_lines(path.read_text(encoding="utf-8-sig").strip())


def from_wkt(text: str) -> Any:
    """Return the union of the geometries in a text, one on each line or one over several."""
    import shapely

    shapes = _from_lines(text)
    return shapely.union_all(shapes) if len(shapes) != 1 else shapes[0]


def _from_lines(text: str) -> list[Any]:
    import shapely

    shapes = []
    for line, geometry in _geometries(text):
        try:
            shapes.append(shapely.from_wkt(_without_srid(geometry)))
        except shapely.GEOSException:
            msg = f"line {line}"
            raise _RegionFileError(msg) from None
    return shapes


def _geometries(text: str) -> Iterator[tuple[int, str]]:
    """Yield each geometry of a text with its line: it ends where its last bracket closes.

    GEOS before 3.12 reads the first one and takes no notice of what follows.
    """
    start = depth = 0
    for place, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if (letter == ")" and depth == 0) or place == len(text) - 1:
            piece = text[start : place + 1]
            if piece.strip():
                yield (
                    text[: start + len(piece) - len(piece.lstrip())].count("\n") + 1,
                    piece.strip(),
                )
            start = place + 1


def _without_srid(text: str) -> str:
    """Return well-known text without the number of its reference system (extended WKT)."""
    head, _, rest = text.partition(";")
    return rest if head.strip().upper().startswith("SRID=") else text


def _read_shapefile(path: Path) -> list[Any]:
    """Return all polygons (ESRI Shapefile Technical Description, 1998)."""
    content = path.read_bytes()
    if struct.unpack_from(">i", content)[0] != _SHAPEFILE:
        msg = "it is not a shapefile"
        raise _RegionFileError(msg)
    shapes, place = [], _HEADER
    while place < len(content):
        words = struct.unpack_from(">2i", content, place)[1]
        if words <= 0:
            msg = "it is damaged"
            raise _RegionFileError(msg)
        if rings := _rings(content, place + 8):
            shapes.append(even_odd(rings))
        place += 8 + 2 * words
    return shapes


def _rings(content: bytes, place: int) -> list[Floats]:
    """Return the rings of a record; none for a record without a shape."""
    kind = struct.unpack_from("<i", content, place)[0]
    if kind == 0:
        return []
    if kind not in _POLYGONS:
        msg = "its shapes are not polygons"
        raise _RegionFileError(msg)
    parts, points = struct.unpack_from("<2i", content, place + 36)
    starts = [*struct.unpack_from(f"<{parts}i", content, place + 44), points]
    first = place + 44 + 4 * parts
    corners = np.frombuffer(content, "<f8", 2 * points, first).reshape(points, 2)
    return [corners[a:b] for a, b in pairwise(starts)]
