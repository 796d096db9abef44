"""Usefulness of a release."""

from veladura.spatial.regression import spatial_regression
from veladura.spatial.utility import location
from veladura.utility.clusters import cluster
from veladura.utility.columns import columns, ks, total_variation
from veladura.utility.contingency import tables
from veladura.utility.correlations import correlations
from veladura.utility.detailed import detail
from veladura.utility.generalised import generalisation
from veladura.utility.intervals import overlap
from veladura.utility.prediction import predict
from veladura.utility.propensity import g, pmse

__all__ = [
    "cluster",
    "columns",
    "correlations",
    "detail",
    "g",
    "generalisation",
    "ks",
    "location",
    "overlap",
    "pmse",
    "predict",
    "spatial_regression",
    "tables",
    "total_variation",
]
