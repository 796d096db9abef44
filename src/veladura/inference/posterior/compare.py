"""Questions to a posterior: shares of groups, differences between them, odds ratios, and tables of all cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.errors import PlanError
from veladura.inference.posterior.shares import Posterior, check_level, shortest
from veladura.methods.private.domain import Domain, listed

if TYPE_CHECKING:
    import pandas as pd

Mask = NDArray[np.bool_]
DRAWS = 20_000


def cells_where(domain: Domain, values: Mapping[str, Any]) -> Mask:
    """Return which cells of a domain have the given values; a list means any of them, None means missing."""
    chosen = np.ones(domain.shape, dtype=bool)
    for name, wanted in values.items():
        if name not in domain.names:
            what = "column"
            raise PlanError.unknown(what, name, domain.names)
        axis = domain.names.index(name)
        known: list[str | None] = [*domain.texts(name), *([None] if name in domain.missing else [])]
        asked = (
            [None]
            if wanted is None
            else [str(v).lower() if isinstance(v, bool) else str(v) for v in listed(wanted)]
        )
        if strange := [value for value in asked if value not in known]:
            msg = f"{name!r} has no value {strange[0]!r} in the declared domain."
            raise PlanError(msg)
        keep = np.array([value in asked for value in known])
        chosen &= keep.reshape([-1 if i == axis else 1 for i in range(len(domain.shape))])
    return chosen.ravel() & domain.possible


def share(posterior: Posterior, event: Mask, level: float = 0.95) -> Estimate:
    """Return the share of the population in some cells, with its exact shortest interval."""
    return posterior.combine(event.astype(float), level)


def conditional_share(
    posterior: Posterior, event: Mask, given: Mask, level: float = 0.95, *, seed: int | None = None
) -> Estimate:
    """Return the share of the event among those in ``given``."""
    drawn = _group_draws(posterior, [event & given, ~event & given], seed)
    return _estimate(drawn[:, 0] / drawn[:, :2].sum(axis=1), level)


def difference(
    posterior: Posterior,
    event: Mask,
    one: Mask,
    other: Mask,
    level: float = 0.95,
    *,
    seed: int | None = None,
) -> Estimate:
    """Return how much more often the event occurs in one group than in another."""
    a, b, c, d = _two_by_two(posterior, event, one, other, seed)
    return _estimate(a / (a + b) - c / (c + d), level)


def odds_ratio(
    posterior: Posterior,
    event: Mask,
    one: Mask,
    other: Mask,
    level: float = 0.95,
    *,
    seed: int | None = None,
) -> Estimate:
    """Return the odds of the event in one group over those in another; the median, since the mean need not exist."""
    a, b, c, d = _two_by_two(posterior, event, one, other, seed)
    check_level(level, "equal")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(a) - np.log(b) - np.log(c) + np.log(d)
    low, middle, high = np.exp(
        np.quantile(ratios[~np.isnan(ratios)], [(1 - level) / 2, 0.5, (1 + level) / 2])
    )
    return Estimate(float(middle), float(low), float(high), level)


def table(posterior: Posterior, level: float = 0.95) -> pd.DataFrame:
    """Return one row a cell: its values, the share, its standard deviation and interval, and the expected count."""
    import pandas as pd

    names = posterior.domain.names
    frame = pd.DataFrame(posterior.domain.labels(), columns=list(names))
    low, high = posterior.interval(level)
    figures = {
        "share": posterior.mean,
        "sd": np.sqrt(posterior.variance),
        "lower": low,
        "upper": high,
        "count": posterior.counts,
    }
    clash = {name: f"posterior_{name}" if name in names else name for name in figures}
    return frame.assign(**{clash[name]: values for name, values in figures.items()})


def column_table(posterior: Posterior, name: str, level: float = 0.95) -> pd.DataFrame:
    """Return the exact posterior of each value of one column, all others summed over."""
    import pandas as pd

    values: list[Any] = [
        *posterior.domain.texts(name),
        *([None] if name in posterior.domain.missing else []),
    ]
    found = [
        share(posterior, cells_where(posterior.domain, {name: value}), level) for value in values
    ]
    return pd.DataFrame(
        {
            name: values,
            "share": [e.value for e in found],
            "lower": [e.lower for e in found],
            "upper": [e.upper for e in found],
        }
    )


def _two_by_two(
    posterior: Posterior, event: Mask, one: Mask, other: Mask, seed: int | None
) -> list[NDArray[np.float64]]:
    if (one & other).any():
        msg = "the two groups overlap: compare groups that share no cell."
        raise PlanError(msg)
    drawn = _group_draws(
        posterior, [event & one, ~event & one, event & other, ~event & other], seed
    )
    return list(drawn.T[:4])


def _group_draws(posterior: Posterior, masks: list[Mask], seed: int | None) -> NDArray[np.float64]:
    """Return exact draws of the shares of some groups of cells; the rest is one more group."""
    possible = posterior.domain.possible
    groups = [mask & possible for mask in masks]
    if empty := sum(not group.any() for group in groups):
        msg = f"{empty} of the groups to compare hold no cell that can occur."
        raise PlanError(msg)
    rest = possible & ~np.any(groups, axis=0)
    return posterior.grouped([*groups, rest] if rest.any() else groups).draw(DRAWS, seed)


def _estimate(draws: NDArray[np.float64], level: float) -> Estimate:
    check_level(level, "hpd")
    low, high = shortest(draws, level)
    mean = float(draws.mean())
    return Estimate(mean, min(mean, low), max(mean, high), level)
