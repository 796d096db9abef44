"""Which column is drawn when, and given which others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.errors import ColumnError, PlanError

if TYPE_CHECKING:
    from veladura.table.codes import Codes

SAMPLED = 5000


@dataclass(frozen=True)
class Unit:
    """Columns that are drawn together, and the columns they are drawn from."""

    columns: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def name(self) -> str:
        """What its stream is called."""
        return "+".join(self.columns)


def grouped(columns: Sequence[str], groups: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the columns in order, each group at the place of its first member.

    Examples
    --------
    >>> grouped(["a", "b", "c"], [["c", "a"]])
    [('a', 'c'), ('b',)]
    """
    member = {
        name: tuple(sorted(group, key=list(columns).index)) for group in groups for name in group
    }
    return list(dict.fromkeys(member.get(name, (name,)) for name in columns))


def visit(
    replaced: Sequence[str],
    kept: Sequence[str],
    order: Sequence[str] | None,
    predictors: Sequence[str] | Mapping[str, Sequence[str]] | None,
    groups: Sequence[Sequence[str]] = (),
) -> list[Unit]:
    """Return the units in the order they are drawn.

    Parameters
    ----------
    replaced
        Columns that are drawn, in the order they should be where the predictors allow it.
    kept
        Columns that stay and may predict.
    order
        Columns whose place is fixed: they come first, in this order.
    predictors
        Columns that may predict any, or by column those that predict it; by default all kept ones
        and all that were drawn before.
    """
    wanted = [*(order or ()), *(name for name in replaced if name not in (order or ()))]
    matrix = (
        {key: tuple(names) for key, names in predictors.items()}
        if isinstance(predictors, Mapping)
        else {}
    )
    if matrix:
        wanted = _sorted_by_need(wanted, matrix, fixed=order or ())
    units: list[Unit] = []
    done: list[str] = list(kept)
    for names in grouped(wanted, groups):
        allowed = [
            name
            for name in done
            if predictors is None or isinstance(predictors, Mapping) or name in predictors
        ]
        for name in names:
            if name in matrix:
                allowed = _from_matrix(name, matrix[name], done, names)
        units.append(Unit(names, tuple(allowed)))
        done += names
    return units


def _from_matrix(
    name: str, wanted: Sequence[str], done: Sequence[str], together: Sequence[str]
) -> list[str]:
    if late := [other for other in wanted if other not in done]:
        what = (
            "itself"
            if name in late
            else "columns drawn with it"
            if set(late) <= set(together)
            else "columns drawn after it"
        )
        msg = (
            f"predictors: {name!r} is predicted from {what}: {late}.\n\nHint: change order, or"
            " leave them out."
        )
        raise PlanError(msg)
    return list(wanted)


def _sorted_by_need(
    columns: Sequence[str], matrix: Mapping[str, Sequence[str]], fixed: Sequence[str]
) -> list[str]:
    """Return the columns so that each comes after those that predict it; a circle is refused."""
    waiting, placed = list(columns), list[str]()
    while waiting:
        ready = [
            name
            for name in waiting
            if name in fixed
            or not any(other in waiting and other != name for other in matrix.get(name, ()))
        ]
        if not ready:
            msg = (
                f"predictors go round in a circle: {sorted(waiting)} wait for each other.\n\nHint:"
                " a column is predicted from those drawn before it."
            )
            raise PlanError(msg)
        placed.append(ready[0])
        waiting.remove(ready[0])
    return placed


def by_dependence(codes: Codes, names: Sequence[str]) -> list[str]:
    """Return columns so that each is close to those before it: the one with the strongest ties first."""
    ties = _ties(codes, names)
    chosen = [int(ties.sum(axis=1).argmax())]
    while len(chosen) < len(names):
        closeness = ties[:, chosen].max(axis=1)
        closeness[chosen] = -1.0
        chosen.append(int(closeness.argmax()))
    return [names[i] for i in chosen]


def strongest_pairs(codes: Codes, most: int) -> list[tuple[str, str]]:
    """Return the pairs of columns with the strongest ties."""
    names = list(codes)
    ties = _ties(codes, names) if names else np.zeros((0, 0))
    found = [(-ties[i, j], j, i) for i in range(len(names)) for j in range(i)]
    return [(names[first], names[second]) for _, first, second in sorted(found)[:most]]


def _ties(codes: Codes, names: Sequence[str]) -> np.ndarray:
    """Return Cramér's V of each pair of columns cut into at most eight bins, on at most 5000 evenly spaced rows."""
    rows = np.unique(np.linspace(0, codes[names[0]].size - 1, SAMPLED).astype(np.int64))
    coarse = [coarse_codes(codes[name].key()[rows]) for name in names]
    ties = np.zeros((len(names), len(names)))
    for i in range(len(names)):
        for j in range(i):
            ties[i, j] = ties[j, i] = cramer(coarse[i], coarse[j])
    return ties


def coarse_codes(values: np.ndarray, bins: int = 8) -> np.ndarray:
    """Return the values as at most some codes, cut at quantiles."""
    _, codes = np.unique(values, return_inverse=True)
    codes = codes.reshape(-1)
    if codes.max() < bins:
        return codes
    edges = np.quantile(codes, np.linspace(0, 1, bins + 1)[1:-1])
    return np.searchsorted(np.unique(edges), codes, side="right")


def cramer(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cramér's V of two columns of codes.

    Examples
    --------
    >>> cramer(np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0]))
    1.0
    """
    rows, columns = int(a.max()) + 1, int(b.max()) + 1
    if min(rows, columns) < 2:  # noqa: PLR2004
        return 0.0
    table = (
        np.bincount(a * columns + b, minlength=rows * columns)
        .reshape(rows, columns)
        .astype(np.float64)
    )
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / a.size
    with np.errstate(invalid="ignore", divide="ignore"):
        chi = float(np.nansum((table - expected) ** 2 / expected))
    return float(np.sqrt(chi / a.size / (min(rows, columns) - 1)))


def check_named(setting: str, names: Sequence[str], possible: Sequence[str]) -> None:
    """Refuse names in a setting that are not among the columns it may name."""
    if absent := [name for name in names if name not in possible]:
        raise ColumnError.missing(setting, absent, list(possible))
