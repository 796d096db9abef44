"""Usefulness of a release: `vd.utility`, one plain function for each measure.

`original` is the table that was protected, and `release` what was made from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.base.exports import lazy_names

if TYPE_CHECKING:
    from veladura.measures.utility.clusters import clusters
    from veladura.measures.utility.columns import columns, ks, total_variation
    from veladura.measures.utility.correlations import correlations
    from veladura.measures.utility.detail import detail
    from veladura.measures.utility.frequent import frequent
    from veladura.measures.utility.generalisation import generalisation
    from veladura.measures.utility.households import households
    from veladura.measures.utility.k_marginal import k_marginal
    from veladura.measures.utility.location import location
    from veladura.measures.utility.moments import moments
    from veladura.measures.utility.overlap import overlap
    from veladura.measures.utility.pairs import pairs
    from veladura.measures.utility.pmse import g, pmse
    from veladura.measures.utility.pmse_tree import pmse_tree
    from veladura.measures.utility.prediction import prediction
    from veladura.measures.utility.recoded import recoded
    from veladura.measures.utility.rectangles import rectangle_overlap, rectangle_shares
    from veladura.measures.utility.replaceability import replaceability
    from veladura.measures.utility.slopes import slopes
    from veladura.measures.utility.spatial_regression import (
        posterior_overlap,
        spatial_regression,
    )
    from veladura.measures.utility.tables import tables

__all__ = [
    "clusters",
    "columns",
    "correlations",
    "detail",
    "frequent",
    "g",
    "generalisation",
    "households",
    "k_marginal",
    "ks",
    "location",
    "moments",
    "overlap",
    "pairs",
    "pmse",
    "pmse_tree",
    "posterior_overlap",
    "prediction",
    "recoded",
    "rectangle_overlap",
    "rectangle_shares",
    "replaceability",
    "slopes",
    "spatial_regression",
    "tables",
    "total_variation",
]

_PLACES = {
    "clusters": "veladura.measures.utility.clusters",
    "columns": "veladura.measures.utility.columns",
    "correlations": "veladura.measures.utility.correlations",
    "detail": "veladura.measures.utility.detail",
    "frequent": "veladura.measures.utility.frequent",
    "g": "veladura.measures.utility.pmse",
    "generalisation": "veladura.measures.utility.generalisation",
    "households": "veladura.measures.utility.households",
    "k_marginal": "veladura.measures.utility.k_marginal",
    "ks": "veladura.measures.utility.columns",
    "location": "veladura.measures.utility.location",
    "moments": "veladura.measures.utility.moments",
    "overlap": "veladura.measures.utility.overlap",
    "pairs": "veladura.measures.utility.pairs",
    "pmse": "veladura.measures.utility.pmse",
    "pmse_tree": "veladura.measures.utility.pmse_tree",
    "posterior_overlap": "veladura.measures.utility.spatial_regression",
    "prediction": "veladura.measures.utility.prediction",
    "recoded": "veladura.measures.utility.recoded",
    "rectangle_overlap": "veladura.measures.utility.rectangles",
    "rectangle_shares": "veladura.measures.utility.rectangles",
    "replaceability": "veladura.measures.utility.replaceability",
    "slopes": "veladura.measures.utility.slopes",
    "spatial_regression": "veladura.measures.utility.spatial_regression",
    "tables": "veladura.measures.utility.tables",
    "total_variation": "veladura.measures.utility.columns",
}
_RENAMED = {"cluster": "clusters", "predict": "prediction"}

if not TYPE_CHECKING:  # type checkers read the imports above
    __getattr__, __dir__ = lazy_names(__name__, _PLACES, _RENAMED)
