"""Usefulness of a release."""

from veladura.utility.columns import columns
from veladura.utility.correlations import correlations
from veladura.utility.propensity import pmse

__all__ = ["columns", "correlations", "pmse"]
