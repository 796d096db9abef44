"""The design of a survey: its weights, strata, and clusters of sampled places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Mask
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.nesting import CONSTANT, constancy, determines, explained
from veladura.table.roles.replicates import Replicates
from veladura.table.roles.units import Units
from veladura.table.roles.weights import find_weights

_STRATA = (3, 400)
_CLUSTER_ROWS = (4.0, 400.0)
_FEWEST_CLUSTERS = 10
_EVEN = 0.9  # share of the variance of weights between strata
_EVEN_SIZES = 0.4  # coefficient of variation: a sample takes as many from each place


@dataclass(frozen=True)
class Design:
    """Columns of the survey design: the weight, others of its kind, strata and clusters."""

    weight: str | None = None
    others: tuple[str, ...] = ()
    strata: str | None = None
    cluster: str | None = None
    replicates: Replicates | None = None


def find_design(
    columns: Sequence[Evidence],
    shapes: Mapping[str, str],
    units: Units,
    replicates: Sequence[Evidence],
    multiples: Replicates | None = None,
) -> Design:
    """Return the survey design among columns that are nothing else yet."""
    weights = find_weights(columns, shapes, units, replicates)
    made: list[Evidence] = []
    if multiples is not None:  # a column that others are multiples of is the weight
        made = [column for column in columns if column.name in multiples.names]
        base = [column for column in columns if column.name == multiples.base]
        weights = [*base, *(c for c in weights if c.name not in (multiples.base, *multiples.names))]
        columns = [column for column in columns if column.name not in multiples.names]
    if not weights:
        return Design()
    if "weight" in weights[0].hints:  # beside a weight by name, shape alone shows no second one:
        # a figure of the place, such as its density, is the same for all who live there
        others = [c for c in weights[1:] if c in replicates or "weight" in c.hints]
        weights = [weights[0], *others]
    rest = [column for column in columns if column not in weights]
    cluster = _left_out(rest, made)
    cluster = cluster or _cluster(rest, shapes, weights[0], units)
    strata = _strata(rest, shapes, weights[0], cluster, units)
    return Design(
        weights[0].name,
        tuple(column.name for column in weights[1:]),
        strata.name if strata else None,
        cluster.name if cluster else None,
        multiples,
    )


def _codes(columns: Sequence[Evidence], shapes: Mapping[str, str], units: Units) -> list[Evidence]:
    """Return columns that may be codes of strata or places.

    Numbers from 1 to 60 have the shape of ages, but all members of every household have one age
    only if it is none.
    """
    home = None if units.household is None else units.household.column
    return [
        column
        for column in columns
        if (column.levels is None and shapes[column.name] in ("code", "words", "one name"))
        or (
            column.whole
            and (
                shapes[column.name] not in ("age", "year", "birth year", "count")
                or bool(column.hints & {"strata", "cluster"})
                or (home is not None and shapes[column.name] == "age" and determines(home, column))
            )
        )
    ]


def _left_out(columns: Sequence[Evidence], replicates: Sequence[Evidence]) -> Evidence | None:
    """Return codes of which each replicate of a jackknife leaves out one, as it does a cluster."""
    zeros = [column.by_row == 0 for column in replicates]
    if not zeros or not all(zero.any() for zero in zeros):
        return None
    found = (c for c in columns if c.present == c.rows and all(_is_of_one(c, z) for z in zeros))
    return next(found, None)


def _is_of_one(column: Evidence, rows: Mask) -> bool:
    """Whether some rows are all those of one code."""
    code = column.codes[int(np.argmax(rows))]
    return bool(np.array_equal(rows, column.codes == code))


def _cluster(
    columns: Sequence[Evidence], shapes: Mapping[str, str], weight: Evidence, units: Units
) -> Evidence | None:
    """Return codes of sampled places: households lie in one each, and weights hardly differ."""
    key = units.household or units.person
    candidates = [
        column
        for column in _codes(columns, shapes, units)
        if column.distinct >= _FEWEST_CLUSTERS
        and _CLUSTER_ROWS[0] <= column.present / column.distinct <= _CLUSTER_ROWS[1]
        and column is not (key.column if key else None)
        and (key is None or determines(key.column, column))
        and any(c is not column and constancy(column, c) >= CONSTANT for c in columns)
        and ("cluster" in column.hints or _is_sampled(column, weight))
    ]
    return max(candidates, key=lambda c: ("cluster" in c.hints, c.distinct), default=None)


def _is_sampled(column: Evidence, weight: Evidence) -> bool:
    """Whether places have about as many rows each and a weight of their own; towns do not."""
    even = float(column.sizes.std()) < _EVEN_SIZES * float(column.sizes.mean())
    return even and not column.hints & {"quasi"} and explained(column, weight) > _EVEN


def _strata(
    columns: Sequence[Evidence],
    shapes: Mapping[str, str],
    weight: Evidence,
    cluster: Evidence | None,
    units: Units,
) -> Evidence | None:
    """Return codes of strata: few, weights nearly the same within them, clusters nested in them."""
    candidates = [
        column
        for column in _codes(columns, shapes, units)
        if _STRATA[0] <= column.distinct <= _STRATA[1]
        and column is not cluster
        and column.distinct < 0.1 * column.rows
        and (
            ("strata" in column.hints and (cluster is None or determines(cluster, column)))
            or (
                cluster is not None
                and shapes[column.name] not in ("words", "one name")
                and not column.hints & {"quasi", "sensitive"}
                and determines(cluster, column)
                and explained(column, weight) > _EVEN
            )
        )
    ]
    return max(candidates, key=lambda c: ("strata" in c.hints, c.distinct), default=None)
