"""How a release is to be analysed: its rule, rows and kind of synthesis, all from the manifest; and any analysis by it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.inference.combined import (
    Combined,
    CombiningRule,
    check_level,
    combine,
    interval,
    needs_two,
    rows_share,
)

if TYPE_CHECKING:
    from veladura.core.recipe import Release

Floats = NDArray[np.float64]
REFUSED = {
    "posterior": (
        "this release is differentially private: a model fitted to its rows would take the noise"
        " for data.\n\nHint: vd.posterior(release) has the exact posterior of every share, veladura"
        " analyze FOLDER --posterior prints it."
    ),
    "private": (
        "this release is differentially private and has no posterior: no interval of a model would"
        " know of the noise.\n\nHint: take counts and shares from release.datasets; the manifest"
        " tells the noise. vd.posterior is for dirichlet-multinomial, beta-binomial and"
        " noisy-counts."
    ),
}


@dataclass(frozen=True)
class Pooling:
    """What the manifest says on combining.

    Attributes
    ----------
    rule
        A combining rule, or "none" for one protected table that is analysed as it is.
    m
        Number of datasets.
    rows, original_rows
        Rows of a dataset and of the original, where they are told.
    proper
        Whether each dataset came from a posterior draw.
    """

    rule: str
    m: int
    rows: int | None = None
    original_rows: int | None = None
    proper: bool = True

    @property
    def share(self) -> float:
        """Rows of a dataset over those of the original."""
        return rows_share(self.rows, self.original_rows)

    @classmethod
    def of(cls, release: Release) -> Pooling:
        """Return what a release says, or why it cannot be analysed by combining."""
        rule, m = release.rule, len(release.tables)
        if rule in REFUSED:
            raise PlanError(REFUSED[rule])
        if rule == "none":
            if m > 1:
                msg = (
                    f"the manifest has {m} datasets and no combining rule: they cannot be analysed"
                    " together."
                )
                raise PlanError(msg)
            return cls(rule, m)
        if rule not in get_args(CombiningRule):
            what = "combining rule"
            raise PlanError.unknown(what, str(rule), get_args(CombiningRule))
        needs_two(rule, m)
        told: Mapping[str, Any] = next(
            (step.settings for step in release.steps if "original_rows" in step.settings), {}
        )
        return cls(
            rule,
            m,
            told.get("rows"),
            told.get("original_rows"),
            told.get("synthesis", "proper") == "proper",
        )

    def combine(
        self, q: Floats, v: Floats, level: float, names: Sequence[str] = (), df: float = np.inf
    ) -> Combined:
        """Return one estimate from those of the datasets; ``df`` is that of the fit where there is nothing to combine."""
        check_level(level)
        if self.rule == "none":
            return interval(q[0], v[0], np.full_like(q[0], df), level, "none", tuple(names))
        settings: dict[str, Any] = {
            "rows": self.rows,
            "original_rows": self.original_rows,
            "proper": self.proper,
        }
        return replace(combine(q, v, self.rule, level=level, **settings), names=tuple(names))  # type: ignore[arg-type]


def estimate(release: Release, function: Callable[[Any], Any], *, level: float = 0.95) -> Combined:
    """Return an analysis of every dataset, combined by the rule of the release.

    Parameters
    ----------
    function
        Takes a dataset and returns an estimate with its variance (numbers or arrays), or a fitted
        model with ``params`` and ``bse`` as statsmodels gives it.
    """
    from veladura.inference.cautions import cautions

    pooling = Pooling.of(release)
    results = [_result(function(data)) for data in release.datasets]
    named = {tuple(map(str, names)) for _, _, names in results}
    if len(named) > 1 or len({np.shape(q) for q, _, _ in results}) > 1:
        sizes = sorted({int(np.size(q)) for q, _, _ in results})
        msg = (
            f"the analysis gives other quantities in one dataset than in another ({sizes} of them):"
            " they cannot be combined.\n\nHint: a category may be missing in one dataset; name the"
            " categories, or join rare ones."
        )
        raise PlanError(msg)
    for caution in cautions(release):
        warnings.warn(caution, stacklevel=3)
    q, v = (np.array([result[part] for result in results], dtype=np.float64) for part in (0, 1))
    return pooling.combine(q, v, level, named.pop())


def _result(found: Any) -> tuple[Any, Any, Sequence[str]]:
    """Return estimates, variances and names of whatever an analysis returned."""
    if hasattr(found, "params") and hasattr(found, "bse"):
        params = found.params
        return (
            np.asarray(params, dtype=float),
            np.asarray(found.bse, dtype=float) ** 2,
            list(getattr(params, "index", ())),
        )
    if isinstance(found, Mapping):
        return (
            np.array([pair[0] for pair in found.values()]),
            np.array([pair[1] for pair in found.values()]),
            list(found),
        )
    try:
        q, v = found
    except (TypeError, ValueError):
        msg = (
            "the analysis must return an estimate and its variance, a mapping of names to such"
            " pairs, or a fitted model with params and bse."
        )
        raise PlanError(msg) from None
    return np.asarray(q, dtype=float), np.asarray(v, dtype=float), list(getattr(q, "index", ()))
