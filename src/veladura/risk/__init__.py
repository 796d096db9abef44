"""Disclosure risk."""

from veladura.risk.classes import classes
from veladura.risk.unchanged import unchanged
from veladura.risk.uniqueness import uniqueness

__all__ = ["classes", "unchanged", "uniqueness"]
