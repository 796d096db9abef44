"""Questions to a posterior: shares of groups, their differences, odds ratios, tables of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from veladura.base.arrays import Floats, Mask
from veladura.base.estimate import Estimate
from veladura.errors import PlanError
from veladura.inference.posterior.shares import Posterior, check_level, shortest
from veladura.methods.private.domain import Domain, listed

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 20_000


class Questions(Protocol):
    """What every posterior answers; groups are what its own ``where`` returns."""

    @property
    def domain(self) -> Domain:
        """The declared domain."""

    def where(self, **values: Any) -> Any:
        """Return the people with the given values."""

    def share(self, event: Any, given: Any = None, level: float = 0.95) -> Estimate:
        """Return the share of a group, among all or among those given."""

    def difference(self, event: Any, one: Any, other: Any, level: float = 0.95) -> Estimate:
        """Return the difference of the shares of an event."""

    def odds_ratio(self, event: Any, one: Any, other: Any, level: float = 0.95) -> Estimate:
        """Return the odds ratio of an event."""

    def table(self, level: float = 0.95) -> pd.DataFrame:
        """Return a table of cells."""


def cells_where(domain: Domain, values: Mapping[str, Any]) -> Mask:
    """Return which cells have the given values; a list means any of them, None means missing."""
    chosen = np.ones(domain.shape, dtype=bool)
    for name, wanted in values.items():
        if name not in domain.names:
            what = "column"
            raise PlanError.unknown(what, name, domain.names)
        axis = domain.names.index(name)
        values_of_column = categories(domain, name)
        asked = (
            [None]
            if wanted is None
            else [str(v).lower() if isinstance(v, bool) else str(v) for v in listed(wanted)]
        )
        if undeclared := [value for value in asked if value not in values_of_column]:
            msg = f"{name!r} has no value {undeclared[0]!r} in the declared domain."
            raise PlanError(msg)
        keep = np.array([value in asked for value in values_of_column])
        chosen &= keep.reshape([-1 if i == axis else 1 for i in range(len(domain.shape))])
    return chosen.ravel() & domain.possible


def categories(domain: Domain, name: str) -> list[str | None]:
    """Return the categories of a column as text, None for missing."""
    return [*domain.texts(name), *([None] if name in domain.missing else [])]


def share(posterior: Posterior, event: Mask, level: float = 0.95) -> Estimate:
    """Return the share of the population in some cells, with its exact credible interval."""
    return posterior.combine(event.astype(float), level)


def conditional_share(
    posterior: Posterior, event: Mask, given: Mask, level: float = 0.95, *, seed: int | None = None
) -> Estimate:
    """Return the share of the event among the people in ``given``."""
    drawn = _group_draws(posterior, [event & given, ~event & given], seed)
    return _estimate(drawn[:, 0] / drawn[:, :2].sum(axis=1), level)


def difference(
    posterior: Posterior,
    event: Mask,
    first: Mask,
    second: Mask,
    level: float = 0.95,
    *,
    seed: int | None = None,
) -> Estimate:
    """Return the difference of the shares of an event, first group less second."""
    a, b, c, d = _two_by_two(posterior, event, first, second, seed)
    return _estimate(a / (a + b) - c / (c + d), level)


def odds_ratio(
    posterior: Posterior,
    event: Mask,
    first: Mask,
    second: Mask,
    level: float = 0.95,
    *,
    seed: int | None = None,
) -> Estimate:
    """Return the odds ratio of an event, first group over second: the posterior median.

    The mean need not exist.
    """
    a, b, c, d = _two_by_two(posterior, event, first, second, seed)
    check_level(level, "equal")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log(a) - np.log(b) - np.log(c) + np.log(d)
    low, middle, high = np.exp(
        np.quantile(ratios[~np.isnan(ratios)], [(1 - level) / 2, 0.5, (1 + level) / 2])
    )
    return Estimate(float(middle), float(low), float(high), level)


def table(posterior: Posterior, level: float = 0.95) -> pd.DataFrame:
    """Return a table of cells: values, posterior mean, sd and interval of the share, mean count."""
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


def column_table(posterior: Questions, name: str, level: float = 0.95) -> pd.DataFrame:
    """Return the marginal posterior of the values of one column."""
    import pandas as pd

    values = categories(posterior.domain, name)
    shares = [posterior.share(posterior.where(**{name: value}), level=level) for value in values]
    return pd.DataFrame(
        {
            name: values,
            "share": [e.value for e in shares],
            "lower": [e.lower for e in shares],
            "upper": [e.upper for e in shares],
        }
    )


def read_groups(text: str) -> dict[str, Any]:
    """Return the values that a question names: ``sex=f`` or ``age=18-25|26-35,sex=f``.

    Examples
    --------
    >>> read_groups("age=18-25|26-35,sex=f")
    {'age': ('18-25', '26-35'), 'sex': ('f',)}
    """
    groups: dict[str, Any] = {}
    for part in text.split(","):
        name, sign, values = part.partition("=")
        if not sign or not name.strip():
            msg = (
                f"{text!r} is not a group.\n\nHint: write column=value; separate several values by"
                " | and several columns by commas."
            )
            raise PlanError(msg)
        groups[name.strip()] = tuple(value.strip() for value in values.split("|"))
    return groups


def answers(
    posterior: Questions, event: str, groups: Sequence[str], level: float
) -> dict[str, Estimate]:
    """Return the share of an event, in all and in each group, and how two groups compare."""
    happens = posterior.where(**read_groups(event))
    estimates = {f"share of {event}": posterior.share(happens, level=level)}
    masks = {group: posterior.where(**read_groups(group)) for group in groups}
    for group, mask in masks.items():
        estimates[f"share of {event} among {group}"] = posterior.share(happens, mask, level)
    if len(masks) == 2:  # noqa: PLR2004
        first, second = masks.values()
        estimates[f"difference ({' - '.join(groups)})"] = posterior.difference(
            happens, first, second, level
        )
        estimates[f"odds ratio ({' / '.join(groups)})"] = posterior.odds_ratio(
            happens, first, second, level
        )
    return estimates


def _two_by_two(
    posterior: Posterior, event: Mask, first: Mask, second: Mask, seed: int | None
) -> list[Floats]:
    if (first & second).any():
        msg = "the two groups overlap.\n\nHint: compare groups that share no cell."
        raise PlanError(msg)
    drawn = _group_draws(
        posterior, [event & first, ~event & first, event & second, ~event & second], seed
    )
    return list(drawn.T[:4])


def _group_draws(posterior: Posterior, masks: list[Mask], seed: int | None) -> Floats:
    """Return exact draws of the shares of some groups of cells; the rest is one more group."""
    possible = posterior.domain.possible
    groups = [mask & possible for mask in masks]
    if empty := sum(not group.any() for group in groups):
        msg = f"{empty} of the groups to compare have no cell that can occur."
        raise PlanError(msg)
    rest = possible & ~np.any(groups, axis=0)
    return posterior.grouped([*groups, rest] if rest.any() else groups).draw(DRAWS, seed)


def _estimate(draws: Floats, level: float) -> Estimate:
    check_level(level, "hpd")
    low, high = shortest(draws, level)
    mean = float(draws.mean())
    return Estimate(mean, min(mean, low), max(mean, high), level)
