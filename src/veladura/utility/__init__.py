"""Usefulness of a release."""

from veladura.spatial.regression import spatial_regression
from veladura.spatial.utility import location
from veladura.utility.columns import columns
from veladura.utility.correlations import correlations
from veladura.utility.propensity import pmse

__all__ = ["columns", "correlations", "location", "pmse", "spatial_regression"]
