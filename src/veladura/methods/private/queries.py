"""Sums and counts by group as whole numbers: what a private summary measures, and its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError
from veladura.methods.private.events import ADD_REMOVE
from veladura.methods.private.libraries import gaussian, geometric

STEPS = 2**20  # whole steps from the middle of a column's bounds to either end


@dataclass(frozen=True, eq=False)
class Query:
    """Numbers of one kind, for every group: what is counted or added up, before the noise.

    Attributes
    ----------
    kind
        "rows", "count", "sum", "squares" or "histogram".
    column
        The column it is about; empty for rows.
    largest
        The most that one row adds: 1 for a count, `STEPS` for a sum.
    values
        Groups in rows, bins in columns.
    """

    kind: str
    column: str
    largest: int
    values: Ints = field(repr=False)

    def change(self, neighbours: str) -> tuple[int, float]:
        """Return by how much a row changes the numbers: sum of amounts, and root of squares.

        A replaced row takes from one group or bin and adds to another, or turns a sum round.
        """
        if neighbours == ADD_REMOVE:
            return self.largest, float(self.largest)
        turned = 2.0 if self.kind == "sum" else 2.0**0.5
        return 2 * self.largest, turned * self.largest


@dataclass(frozen=True, eq=False)
class Noisy:
    """A query with its noise: all of it is released.

    Attributes
    ----------
    scale
        Of two-sided geometric noise; or the standard deviation of integer Gaussian noise.
    """

    kind: str
    column: str
    values: Floats
    scale: float
    gaussian: bool

    @property
    def variance(self) -> float:
        """The variance of the noise of one number."""
        if self.gaussian:
            return self.scale**2
        ratio = float(np.exp(-1 / self.scale))
        return 2 * ratio / (1 - ratio) ** 2

    def draws(self, rng: np.random.Generator, number: int) -> Floats:
        """Return what the numbers were without noise: draws given the noisy ones, flat prior."""
        shape = (number, *self.values.shape)
        if self.gaussian:
            noise = np.rint(rng.normal(0.0, self.scale, shape))
        else:
            stop = -np.expm1(-1 / self.scale)
            noise = (rng.geometric(stop, shape) - rng.geometric(stop, shape)).astype(np.float64)
        return self.values - noise

    def to_json(self) -> dict[str, Any]:
        """Return it as the manifest states it."""
        law = "gaussian" if self.gaussian else "geometric"
        return {
            "kind": self.kind,
            "column": self.column,
            "noise": law,
            "scale": self.scale,
            "values": self.values.astype(np.int64).tolist(),
        }


def measured(
    query: Query, neighbours: str, *, epsilon: Fraction | None, rho: Fraction | None
) -> Noisy:
    """Return a query with the noise that keeps epsilon, or rho, for one row; from OpenDP."""
    amounts, root = query.change(neighbours)
    flat = query.values.ravel()
    if epsilon is None:
        sigma = root / float(2 * (rho or Fraction(1))) ** 0.5
        noisy = gaussian(flat, sigma)
        return Noisy(query.kind, query.column, noisy.reshape(query.values.shape), sigma, True)
    noise, stated = geometric(amounts / epsilon, amounts)
    if stated > epsilon * (1 + Fraction(1, 10**9)):
        msg = "OpenDP states a privacy loss above epsilon for its noise: nothing was drawn."
        raise PlanError(msg)
    noisy = np.array(noise(flat.tolist()), dtype=np.float64)
    scale = float(amounts / epsilon)
    return Noisy(query.kind, query.column, noisy.reshape(query.values.shape), scale, False)


def queries(
    columns: Mapping[str, tuple[Floats, tuple[float, float], Floats]],
    groups: Ints,
    number: int,
    wanted: Sequence[str],
) -> list[Query]:
    """Return what the wanted statistics need, by group.

    Parameters
    ----------
    columns
        By column its values (NaN where missing), its bounds, and the edges of its bins.
    groups, number
        The group of each row, and the number of groups.
    """
    listed = [Query("rows", "", 1, _sums(groups, np.ones(groups.size), number)[:, None])]
    for name, (values, (low, high), edges) in columns.items():
        known = ~np.isnan(values)
        at, group = np.clip(values[known], low, high), groups[known]
        if {"count", "sum", "mean", "sd"} & set(wanted):
            counts = _sums(group, np.ones(group.size), number)
            listed.append(Query("count", name, 1, counts[:, None]))
        if {"sum", "mean", "sd"} & set(wanted):
            away = 2 * (at - low) / (high - low) - 1
            whole = np.rint(away * STEPS)
            listed.append(Query("sum", name, STEPS, _sums(group, whole, number)[:, None]))
        if {"mean", "sd"} & set(wanted):
            squares = _sums(group, np.rint(away**2 * STEPS), number)
            listed.append(Query("squares", name, STEPS, squares[:, None]))
        if {"quantiles", "histogram"} & set(wanted):
            bins = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, edges.size - 2)
            flat = _sums(group * (edges.size - 1) + bins, np.ones(group.size), 0)
            table = np.zeros(number * (edges.size - 1), dtype=np.int64)
            table[: flat.size] = flat
            listed.append(Query("histogram", name, 1, table.reshape(number, -1)))
    return listed


def number_of_queries(columns: int, wanted: Sequence[str]) -> int:
    """Return how many queries share the budget: what `queries` lists for so many columns."""
    statistics = set(wanted)
    each = sum(
        bool(kinds & statistics)
        for kinds in (
            {"count", "sum", "mean", "sd"},
            {"sum", "mean", "sd"},
            {"mean", "sd"},
            {"quantiles", "histogram"},
        )
    )
    return 1 + columns * each


def _sums(groups: Ints, amounts: Floats, number: int) -> Ints:
    """Return the sum of whole amounts in each group; exact up to 2^53."""
    added: Ints = np.bincount(groups, weights=amounts, minlength=number).astype(np.int64)
    return added
