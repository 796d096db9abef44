"""The combining rule of a release, and any analysis combined by it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.core.rules import COMBINING, AsReleased, Rule, rule_named
from veladura.errors import PlanError, VeladuraWarning
from veladura.inference.combined import Combined, combine_by

if TYPE_CHECKING:
    from veladura.core.release import Release


@dataclass(frozen=True)
class Pooling:
    """The combining rule of a release and its number of datasets.

    Parameters
    ----------
    rule
        A combining rule, or the name of one: "partial", "full", "imputed", "single" or "none".
    m
        Number of datasets.
    rows, original_rows, proper
        For a rule given by name: rows of a dataset and of the original, and whether each dataset
        comes from a posterior draw.
    """

    rule: Rule
    m: int
    rows: InitVar[int | None] = None
    original_rows: InitVar[int | None] = None
    proper: InitVar[bool] = True

    def __post_init__(self, rows: int | None, original_rows: int | None, proper: bool) -> None:
        if isinstance(self.rule, str):
            settings = {"rows": rows, "original_rows": original_rows, "proper": proper}
            allowed = {**COMBINING, AsReleased.name: AsReleased}
            if self.rule not in allowed:
                what = "rule"
                raise PlanError.unknown(what, self.rule, allowed)
            object.__setattr__(self, "rule", rule_named(self.rule, settings))

    @property
    def share(self) -> float:
        """Rows of a dataset over those of the original."""
        return self.rule.share

    @classmethod
    def of(cls, release: Release) -> Pooling:
        """Return the combining rule of a release; refuse one that cannot be combined."""
        m = len(release.tables)
        if release.rule.redraws and m == 1:
            m = release.rule.redraws
        release.rule.check(m)
        return cls(release.rule, m)

    def combine(
        self,
        q: Floats,
        v: Floats,
        level: float,
        names: Sequence[str] = (),
        df: float = np.inf,
        figure: str = "",
    ) -> Combined:
        """Return one estimate from those of the datasets.

        Parameters
        ----------
        df
            Degrees of freedom of the variances: of the fit, or clusters less strata of a survey.
        figure
            What is estimated, as the holder may declare a design effect of it.
        """
        effect = self.rule.design_effect(figure) or 1.0
        return combine_by(self.rule, q, v, level=level, df=df, names=tuple(names), effect=effect)

    def combine_model(
        self, q: Floats, v: Floats, level: float, names: Sequence[str], df: float, response: str
    ) -> Combined:
        """Return the coefficients of a model from those of the datasets.

        A coefficient has its own design effect ("income ~ age") where the holder declares one, else
        that of the mean of the response, commonly the larger one.
        """
        usual = self.rule.design_effect(response) or 1.0
        own = [self.rule.design_effect(f"{response} ~ {name}") or usual for name in names]
        return combine_by(
            self.rule, q, v, level=level, df=df, names=tuple(names), effect=np.array(own)
        )


def analysed(release: Release) -> Release:
    """Return the release whose datasets are analysed: as it is, or with datasets redrawn.

    A release of one dataset with a noise-aware posterior has all that further ones need: they are
    drawn from the posterior here, and cost no privacy.
    """
    if not release.rule.redraws or len(release.tables) > 1:
        return release
    from veladura.base.streams import Streams
    from veladura.core.release import Dataset
    from veladura.inference.posterior.noise_aware import noise_aware
    from veladura.inference.posterior.noise_aware_draws import SEED
    from veladura.inference.posterior.reading import model_of
    from veladura.methods.private.bins import Within
    from veladura.table.recode import fresh

    table = release.tables[0].table
    posterior = noise_aware(model_of(release))  # type: ignore[arg-type]
    # how numbers spread within their bins is not known: each dataset has a spread of its own
    within = [
        Within(Streams.of(SEED)("noise-aware", "numbers", number), tilted=True)
        for number in range(release.rule.redraws)
    ]
    drawn = [
        Dataset(fresh(table, posterior.domain.columns_of(table, codes, place)))
        for codes, place in zip(
            posterior.rows(release.rule.redraws, table.rows), within, strict=True
        )
    ]
    return replace(release, tables=tuple(drawn))


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
    results = [_result(function(data)) for data in analysed(release).datasets]
    named = {tuple(map(str, names)) for _, _, names in results}
    if len(named) > 1 or len({np.shape(q) for q, _, _ in results}) > 1:
        sizes = sorted({int(np.size(q)) for q, _, _ in results})
        msg = (
            f"the analysis returns different quantities for different datasets ({sizes} of them),"
            " which cannot be combined.\n\nHint: a category may be missing in one dataset; fix the"
            " list of categories, or merge rare ones."
        )
        raise PlanError(msg)
    for caution in cautions(release):
        warnings.warn(caution, VeladuraWarning, stacklevel=3)
    q, v = (np.array([result[part] for result in results], dtype=np.float64) for part in (0, 1))
    return pooling.combine(q, v, level, named.pop())


def _result(result: Any) -> tuple[Any, Any, Sequence[str]]:
    """Return estimates, variances and names from the result of an analysis."""
    if hasattr(result, "params") and hasattr(result, "bse"):
        params = result.params
        return (
            np.asarray(params, dtype=float),
            np.asarray(result.bse, dtype=float) ** 2,
            list(getattr(params, "index", ())),
        )
    if isinstance(result, Mapping):
        return (
            np.array([pair[0] for pair in result.values()]),
            np.array([pair[1] for pair in result.values()]),
            list(result),
        )
    try:
        q, v = result
    except (TypeError, ValueError):
        msg = (
            "the analysis must return an estimate and its variance, a mapping of names to such"
            " pairs, or a fitted model with params and bse."
        )
        raise PlanError(msg) from None
    return np.asarray(q, dtype=float), np.asarray(v, dtype=float), list(getattr(q, "index", ()))
