"""A clinic register of 5,000 fictitious people, and the land they live on.

``clinic.csv`` holds the people, ``region.geojson`` the land, ``lake.geojson`` the water
nobody lives on. ``python -m veladura.example.generate`` writes all three anew.
"""

from importlib.resources import files
from pathlib import Path

__all__ = ["path"]

NAMES = ("clinic.csv", "region.geojson", "lake.geojson")


def path(name: str) -> Path:
    """Return where a bundled example file lies.

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
        msg = f"there is no bundled file {name!r}.\n\nHint: there are {list(NAMES)}."
        raise ValueError(msg)
    return Path(str(files(__name__) / name))
