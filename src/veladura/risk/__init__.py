"""Disclosure risk."""

from veladura.risk.unchanged import unchanged
from veladura.risk.uniqueness import uniqueness

__all__ = ["unchanged", "uniqueness"]
