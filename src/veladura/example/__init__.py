"""A clinic register of 5,000 fictitious people, and a map of the region they live in.

``clinic.csv`` has the people, ``region.geojson`` the region, ``lake.geojson`` the water, where
nobody lives. ``python -m veladura.example.generate`` writes all three again.
"""

from importlib.resources import files
from pathlib import Path

__all__ = ["path"]

NAMES = ("clinic.csv", "region.geojson", "lake.geojson")


def path(name: str) -> Path:
    """Return the path of a bundled example file.

    Parameters
    ----------
    name
        One of ``clinic.csv``, ``region.geojson`` and ``lake.geojson``.

    Examples
    --------
    >>> path("clinic.csv").name
    'clinic.csv'
    """
    if name not in NAMES:
        msg = f"there is no bundled file {name!r}.\n\nHint: choose one of {list(NAMES)}."
        raise ValueError(msg)
    return Path(str(files(__name__) / name))
