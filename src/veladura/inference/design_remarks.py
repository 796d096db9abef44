"""What an analyst must know of a sampling design before trusting the errors that it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.errors import DataError
from veladura.inference.known_replicates import known_replicates
from veladura.inference.sampled_rows import SampledRows, sampled_rows
from veladura.inference.survey import Sampling

if TYPE_CHECKING:
    from veladura.table.schema import Schema

FEWEST = 0.05  # of the rows: effective ones (Kish 1965), below which a few rows decide


def known_design(
    sampling: Sampling, rows: pa.Table, schema: Schema
) -> tuple[Sampling, tuple[str, ...]]:
    """Return a design that knows how its replicates were made, and what to know of all of it.

    Parameters
    ----------
    rows
        The rows of one dataset.
    schema
        Its columns: who has no household is a cluster alone, which needs no remark.
    """
    if sampling.is_simple:
        return sampling, ()
    sampling, remarks = known_replicates(sampling, rows)
    sampled = sampled_rows(rows, sampling)
    return sampling, (
        *remarks,
        *_few_rows(sampling, sampled),
        *(() if sampling.replicates else _places(sampling, rows, sampled, schema)),
    )


def _few_rows(sampling: Sampling, sampled: SampledRows) -> list[str]:
    """Tell of weights so unequal that a few rows decide every estimate."""
    scaled = sampled.weights / sampled.weights.max()  # squares of large numbers overflow
    effective = float(scaled.sum() ** 2 / (scaled @ scaled))
    if effective >= FEWEST * scaled.size:
        return []
    told = (
        f"weights {sampling.weights!r} are so unequal that {scaled.size:,} rows tell as much as"
        f" {effective:,.3g} of equal weight (Kish's effective sample size): a few rows decide the"
        " estimates, and errors may be far too small. Is one of the weights a mistake?"
    )
    return [told]


def _places(sampling: Sampling, rows: pa.Table, sampled: SampledRows, schema: Schema) -> list[str]:
    """Tell of rows without a stratum or cluster, and of strata with one cluster."""
    told = []
    if sampling.strata and (lost := rows.column(sampling.strata).null_count):
        told.append(
            f"{lost:,} rows have no stratum in {sampling.strata!r}: they count as a stratum of"
            " their own."
        )
    named = sampling.cluster
    if named and schema[named].role != "household" and (lost := rows.column(named).null_count):
        told.append(
            f"{lost:,} rows have no cluster in {named!r}: each counts as a cluster by itself, and"
            " errors are too small where they were sampled together."
        )
    return [*told, *_lonely(sampled)]


def _lonely(sampled: SampledRows) -> list[str]:
    """Tell of strata that show no variance: one cluster was drawn, not all there are."""
    lonely, strata = sampled.lonely()
    if not lonely or not np.ptp(sampled.unit):
        return []
    told = (
        f"{lonely:,} of {strata:,} strata have one cluster, which shows no variance within them:"
        " it is compared with the mean of all clusters, and errors are commonly too large. Merge"
        " each with a stratum alike, or give the sampled share of its clusters (fraction), 1 where"
        " all were taken."
    )
    return [told]


def refuse_one_cluster(sampling: Sampling, sampled: SampledRows) -> None:
    """Refuse a design without any variance: an error of 0 would say that all is known."""
    if sampled.replicates.shape[1] or not sampling.is_complex or np.ptp(sampled.unit) > 0:
        return
    what = "row" if sampling.cluster is None else f"cluster of {sampling.cluster!r}"
    msg = (
        f"all rows are of one {what}: one shows no variance, so that there is no error.\n\nHint:"
        " name the column of the places, households or people that were sampled (cluster), or take"
        " rows for independent draws: sampling=vd.Sampling(weights=...) (--no-design)."
    )
    raise DataError(msg)
