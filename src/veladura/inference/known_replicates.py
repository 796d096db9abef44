"""How the replicate weights of a design were made: as it is said, or as the weights show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from veladura.inference.survey import Sampling
from veladura.inference.weight_columns import read_weights
from veladura.table.replication import WORDS, Made, recognised

UNKNOWN = (
    "it is not known how the replicate weights were made, and the weights do not show it: they are"
    " not used, and errors are those of the weights, strata and clusters that the release has. Name"
    " it as the survey's documentation does: replication='bootstrap' (--replication bootstrap), or"
    " one of brr, fay, jackknife, jkn, jk2."
)

NO_SCALES = (
    "the replicate weights are said to be a jackknife within strata, and the weights do not show"
    " how many clusters the stratum of each has: they are not used, and errors are those of the"
    " weights, strata and clusters that the release has. Give the factor of each replicate,"
    " (n - 1) / n in a stratum of n clusters: vd.Sampling(replication='jkn', scales=[...]) in"
    " Python."
)
NO_WEIGHTS = (
    "there are replicate weights, but no weights that they were made from: rows count equally, and"
    " the replicates are not used. Name the weights: weights='...' (--weights), or the role weight."
)
APART = 0.05  # of the weights: what replicates may add up to more or less, on average


def known_replicates(sampling: Sampling, rows: pa.Table) -> tuple[Sampling, tuple[str, ...]]:
    """Return a design that knows how its replicates were made, and what an analyst must know.

    What is declared counts; else what the weights of the rows show. Where neither tells it the
    replicates are left out: a guess may be wrong by a factor of several.
    """
    if not sampling.replicates:
        return sampling, ()
    if sampling.weights is None:
        return sampling.linearised(), (NO_WEIGHTS,)
    if strange := _strange(sampling, rows):
        return sampling.linearised(), (strange,)
    seen = _seen(sampling, rows)
    shown = sampling.made(seen)
    if sampling.replication is None:
        design = shown
    elif seen and seen[0].how == sampling.replication:  # the weights may show its numbers
        design = replace(
            sampling,
            rho=shown.rho if sampling.rho is None else sampling.rho,
            scales=sampling.scales or shown.scales,
        )
    else:
        one = sampling.replication == "jkn" and seen and seen[0].how == "jackknife"
        design = shown if one and not sampling.scales else sampling  # of one stratum
    if not design.is_known:
        why = UNKNOWN if design.replication is None else NO_SCALES
        return design.linearised(), (why,)
    if seen and not np.allclose(design.factors, shown.factors, rtol=0.01):
        return design, (_otherwise(design, shown),)
    return design, ()


def _strange(sampling: Sampling, rows: pa.Table) -> str:
    """Say that replicates are not those of the weights: they add up to something else.

    Each estimate is compared with that of the weights, so that a difference of scale would count
    as variance. Replicates of every kind add up to what the weights do, on average.
    """
    assert sampling.weights is not None  # noqa: S101  # the caller looked
    whole = float(read_weights(rows.column(sampling.weights), sampling.weights).sum())
    sums = np.array([read_weights(rows.column(n), n).sum() for n in sampling.replicates]) / whole
    if abs(sums.mean() - 1) <= APART + 3 * sums.std() / np.sqrt(sums.size):
        return ""
    return (
        f"the replicate weights add up to {sums.mean():.3g} times the weights {sampling.weights!r},"
        " on average: they were made from other weights, or one of both was scaled since. They are"
        " not used, and errors are those of the weights, strata and clusters that the release has."
    )


def _seen(sampling: Sampling, rows: pa.Table) -> tuple[Made, ...]:
    """Return how the replicates were made, by the weights of the rows; () where unclear."""
    assert sampling.weights is not None  # noqa: S101  # the caller looked
    base = read_weights(rows.column(sampling.weights), sampling.weights)
    every = [read_weights(rows.column(name), name) for name in sampling.replicates]
    return recognised(base, np.column_stack(every))


def _otherwise(design: Sampling, shown: Sampling) -> str:
    ratio = float(np.sqrt(shown.factors.sum() / design.factors.sum()))
    told, seen = (WORDS[str(each.replication)] for each in (design, shown))
    return (
        f"replicate weights are taken as {told}, as was said, but look like {seen}: errors would"
        f" then be {ratio:.3g} times as large."
    )
