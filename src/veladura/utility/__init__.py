"""Usefulness of a release."""

from veladura.utility.columns import columns
from veladura.utility.correlations import correlations

__all__ = ["columns", "correlations"]
