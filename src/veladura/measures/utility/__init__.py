"""Usefulness of a release."""

from veladura.measures.utility.clusters import cluster
from veladura.measures.utility.columns import columns, ks, total_variation
from veladura.measures.utility.correlations import correlations
from veladura.measures.utility.detail import detail
from veladura.measures.utility.generalisation import generalisation
from veladura.measures.utility.location import location
from veladura.measures.utility.overlap import overlap
from veladura.measures.utility.pmse import g, pmse
from veladura.measures.utility.prediction import predict
from veladura.measures.utility.spatial_regression import spatial_regression
from veladura.measures.utility.tables import tables

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
