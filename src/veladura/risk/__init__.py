"""Disclosure risk."""

from veladura.risk.classes import classes
from veladura.risk.matching import Intruder, match
from veladura.risk.unchanged import unchanged
from veladura.risk.uniqueness import uniqueness

__all__ = ["Intruder", "classes", "match", "unchanged", "uniqueness"]
