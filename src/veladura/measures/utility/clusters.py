"""Cluster analysis: whether clusters of similar rows mix original and released rows evenly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.measures.utility.design import main_effects, read_columns
from veladura.numeric.kmeans import k_means
from veladura.numeric.sampling import sample_note, some_rows

if TYPE_CHECKING:
    from veladura.table.table import Table

ROWS_A_CLUSTER, MOST_CLUSTERS = 100, 50


@dataclass(frozen=True)
class ClusterDifference:
    """How unevenly released rows are spread over clusters of the stacked rows.

    Attributes
    ----------
    value
        Mean over clusters of (share of released rows - c)^2.
    ratio
        The same over its expectation for a new sample of the population: about 1 is ideal.
    expected
        That expectation.
    clusters
        Number of clusters.
    """

    value: Estimate
    ratio: Estimate
    expected: float
    clusters: int
    note: str = field(default="", repr=False)


@renamed(released="release")
def clusters(original: Any, release: Any, *, clusters: int | None = None) -> ClusterDifference:
    """Return how unevenly released rows are spread over clusters of similar rows.

    The stacked rows are put into g clusters by k-means on standardised columns; U = (1/g) sum over
    clusters of (n_released / n - c)^2 (Woo et al. 2009, eq. 3, weights 1). In a new sample the
    number of released rows of a cluster is hypergeometric, so that U has mean c (1 - c) mean over
    clusters of (N - n) / (n (N - 1)).

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.
    clusters
        Their number; by default one for every hundred rows, at most 50.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> before = pd.DataFrame({"x": np.arange(400.0)})
    >>> float(clusters(before, before + 400).value), float(clusters(before, before).value)
    (0.25, 0.0)

    References
    ----------
    Woo, M.-J., Reiter, J. P., Oganian, A. and Karr, A. F. (2009). Global measures of data utility
    for microdata masked for disclosure limitation. Journal of Privacy and Confidentiality 1(1),
    111-124.
    """
    if clusters is not None and clusters < 2:  # noqa: PLR2004
        msg = f"clusters ({clusters}) must be at least 2."
        raise PlanError(msg)
    pairing = pair(original, release)
    names = [name for name in pairing.forms if pairing.original.schema[name].kind != "text"]
    if not names:
        msg = "no released column can be compared with the original one."
        raise NotApplicable(msg)
    results = [_difference(pairing.original, table, names, clusters) for table in pairing.released]
    values, expected, number = zip(*results, strict=True)
    return ClusterDifference(
        over_datasets(values, upper=1.0),
        over_datasets([value / chance for value, chance in zip(values, expected, strict=True)]),
        float(np.mean(expected)),
        number[0],
        sample_note(pairing.original, *pairing.released),
    )


def _difference(
    original: Table, released: Table, names: list[str], clusters: int | None
) -> tuple[float, float, int]:
    """Return U, its expectation by chance, and the number of clusters."""
    rows = [some_rows(table.rows) for table in (original, released)]
    matrix = main_effects(read_columns(original, released, names, rows))
    total = rows[0].size + rows[1].size
    wanted = clusters or min(total // ROWS_A_CLUSTER, MOST_CLUSTERS)
    if matrix.shape[1] == 0 or wanted < 2 or total < 2 * wanted:  # noqa: PLR2004
        msg = "there are too few rows, or columns vary too little, to make clusters."
        raise NotApplicable(msg)
    place = k_means(matrix, wanted)
    size = np.bincount(place)
    inside = np.bincount(place, weights=np.repeat([0.0, 1.0], [rows[0].size, rows[1].size]))
    used, share = size > 0, rows[1].size / total
    value = float(np.mean((inside[used] / size[used] - share) ** 2))
    expected = (
        share * (1 - share) * float(np.mean((total - size[used]) / (size[used] * (total - 1))))
    )
    return value, expected, int(used.sum())


def measure(subject: Subject) -> Measured:
    """Measure clusters of the stacked rows."""
    result = clusters(subject.original, subject.release)
    return Measured(
        {"value": result.value, "ratio": result.ratio},
        {"ratio": f"{result.clusters} clusters. {result.note}".strip()},
    )


MEASURE = Measure(
    "utility.clusters",
    figures={
        "value": Meaning(
            "Cluster analysis: how unevenly released rows are spread over clusters of similar rows;"
            " 0 is even."
        ),
        "ratio": Meaning(
            "Cluster analysis, ratio: that unevenness over its expectation for a new sample of the"
            " population; 1 or less is ideal."
        ),
    },
    function=measure,
)
