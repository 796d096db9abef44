"""Disclosure risk."""

from veladura.risk.classes import classes
from veladura.risk.unchanged import unchanged
from veladura.risk.uniqueness import uniqueness
from veladura.spatial.risk import location

__all__ = ["classes", "location", "unchanged", "uniqueness"]
