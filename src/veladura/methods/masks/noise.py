"""Additive noise on numbers, independent or with the correlations of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Floats
from veladura.base.bounds import Bounds, bounds_of
from veladura.base.checks import check_columns, check_named, is_number
from veladura.base.context import Context
from veladura.core.gates import MASKED
from veladura.core.promise import (
    LIMITS,
    Check,
    Evidence,
    Promise,
    limit_promises,
    listed,
    source_column,
)
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import PlanError
from veladura.methods.masks.limits import added, ends_of, limits_of, refuse_narrow
from veladura.methods.masks.number_codes import refuse_codes, without_codes
from veladura.table.schema import NUMERIC, WEIGHTS, check_kinds
from veladura.table.variation import refuse_constant, standard_deviation

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

FALSE_ALARM = 1e-9


def noise_too_small(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the columns whose noise is smaller than chance allows at the declared scale."""
    from scipy.special import gammaincinv  # loading it takes longer than to add the noise

    small = 0
    for name in settings["columns"]:
        before, after = evidence.source_column(name), evidence.column(name)
        difference = (after.numbers() - before.numbers())[~before.missing & ~after.missing]
        declared = settings["scale"] * standard_deviation(source_column(evidence, name).numbers())
        unit = 10.0 ** -(before.decimals if before.decimals is not None else np.inf)
        # Rounding to the unit of the column can hide up to one unit of noise in a row.
        energy = float(np.sum(((np.abs(difference) + unit) / declared) ** 2))
        # The quantile of the chi-squared distribution with one degree of freedom a row.
        lowest = 2 * gammaincinv(difference.size / 2, FALSE_ALARM)
        small += int(energy < lowest)
    return small


def _scale(settings: Mapping[str, Any]) -> str:
    return (
        f"Additive noise: every value of {listed(settings)} carries random noise with a standard"
        f" deviation of {settings['scale']:g} times that of its column, rounded to its decimals."
    )


NOISE_SCALE = Check(
    noise_too_small,
    _scale,
    shapes.table({"columns": shapes.names, "scale": shapes.number(0, above=True)}),
)


def _promises_of(settings: Mapping[str, Any], limits: Mapping[str, Bounds]) -> tuple[Promise, ...]:
    """Promise noise of the declared scale, and values within their limits."""
    scale = {"columns": settings["columns"], "scale": settings["scale"]}
    return (Promise("noise-scale", "source", scale), *limit_promises(limits))


@dataclass(frozen=True, kw_only=True)
class Noise(Recipe):
    """Additive noise: normal noise is added to numbers.

    Missing values stay missing. Results are written with the decimals of the source, whole
    numbers as whole numbers: noise much smaller than that is rounded away. A column that is never
    negative stays so. Noise that would lead outside the limits of a column has the other sign: it
    keeps its size, and nothing piles up at a limit.

    Parameters
    ----------
    columns
        The number columns to mask.
    scale
        Standard deviation of the noise, as a share of that of each column.
    correlated
        True: the noise has the correlations of the columns, so that the release keeps them
        (Kim 1986). False: the noise of each column is independent, and correlations shrink by
        1 / (1 + scale^2).
    limits
        Smallest and largest value that a column may have, ``{"age": (0, 110)}``, from public
        knowledge and never from the data. By default 0 for columns without negative values;
        ``(-inf, inf)`` for none.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"x": range(100)})
    >>> vd.Noise(columns=["x"], scale=0.5).protect(table, seed=1).datasets[0].shape
    (100, 1)

    References
    ----------
    Kim, J. J. (1986). A method for limiting disclosure in microdata based on random noise and
    transformation. Proceedings of the ASA Section on Survey Research Methods, 370-374.
    """

    method = "noise"
    decisive = ("scale",)
    sentence = (
        "Random noise was added to the numbers (additive noise), so that a released value may"
        " differ from the true one. Means are kept on average, but for values near a limit."
    )
    caution = (
        "additive noise shrinks the slope of a noisy predictor towards 0 and moves those of"
        " correlated columns; a noisy response has larger errors"
    )
    checks = {"noise-scale": NOISE_SCALE, "limits": LIMITS}
    gate = MASKED

    columns: Sequence[str]
    scale: float = 0.1
    correlated: bool = True
    limits: Mapping[str, Bounds] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the number columns to mask")
        limits = {name: bounds_of(pair, "limits") for name, pair in self.limits.items()}
        object.__setattr__(self, "limits", limits)
        check_named("limits", list(limits), list(self.columns))
        if not is_number(self.scale) or self.scale <= 0:
            msg = (
                f"scale ({self.scale}) must be above 0: it is the standard deviation of the noise"
                " as a share of that of the column."
            )
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedNoise:  # noqa: ARG002
        """Learn the covariance of the columns."""
        check_kinds(table.schema, self.columns, NUMERIC, "use Pram for categories.")
        codes = table.codes(self.columns)
        refuse_codes(table, codes, self.columns)
        numbers = np.column_stack([codes[name].numbers() for name in self.columns])
        scales = np.array([standard_deviation(column) for column in numbers.T])
        refuse_constant(
            [name for name, scale in zip(self.columns, scales, strict=True) if scale == 0],
            "have no spread to scale noise by",
        )
        limits = limits_of([codes[name] for name in self.columns], self.limits)
        by_name = dict(zip(self.columns, scales.tolist(), strict=True))
        refuse_narrow(limits, by_name, self.scale)
        correlation = (
            _correlation(numbers / scales) if self.correlated else np.eye(len(self.columns))
        )
        return FittedNoise(self, table, codes, numbers, scales, correlation, limits)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise of the noise, and of the limits that were declared."""
        declared = {name: bounds_of(given, "limits") for name, given in settings["limits"].items()}
        return _promises_of(settings, declared)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Noise:
        """Suggest every number column that varies, except weights."""
        names = [
            f.name
            for f in schema
            if f.kind in NUMERIC and f.role not in WEIGHTS and facts[f.name].distinct > 1
        ]
        if not names:
            msg = (
                "the table has no number column with more than one value: there is nothing to add"
                " noise to."
            )
            raise PlanError(msg)
        return cls(columns=tuple(names))

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Noise:
        """Suggest no column of codes that are written as numbers."""
        return cls.suggest(without_codes(table), facts)


@dataclass(frozen=True, eq=False, repr=False)
class FittedNoise(Fitted[Noise]):
    """The number columns, their standard deviations, their correlations and their limits."""

    numbers: Floats
    spread: Floats
    correlation: Floats
    limits: Mapping[str, Bounds] = field(default_factory=dict)

    def draw(self, context: Context) -> Drawn:
        """Add noise: one stream a column, then mixed by the root of the correlation matrix."""
        recipe, rows = self.recipe, len(self.numbers)
        white = np.column_stack(
            [context.streams("noise", name).standard_normal(rows) for name in recipe.columns]
        )
        noise = white @ _root(self.correlation).T * self.spread * recipe.scale
        ends = [
            ends_of(self.codes[name], self.limits.get(name, Bounds())) for name in recipe.columns
        ]
        low, high = (np.array(side) for side in zip(*ends, strict=True))
        masked = added(self.numbers, noise, low, high)
        columns = {
            name: self.codes[name].rounded(masked[:, j]) for j, name in enumerate(recipe.columns)
        }
        return Drawn(
            datasets=[Draw(columns)],
            changed=recipe.columns,
            promises=_promises_of(recipe.settings(), self.limits),
        )


def _correlation(numbers: Floats) -> Floats:
    """Return the correlations of complete rows; identity where there are too few."""
    complete = numbers[~np.isnan(numbers).any(axis=1)]
    if numbers.shape[1] == 1 or len(complete) <= numbers.shape[1]:
        return np.eye(numbers.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.atleast_2d(np.corrcoef(complete, rowvar=False))
    correlation[~np.isfinite(correlation)] = 0.0
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _root(matrix: Floats) -> Floats:
    """Return the symmetric square root; tiny negative eigenvalues of a singular matrix are cut."""
    values, vectors = np.linalg.eigh(matrix)
    root: Floats = vectors * np.sqrt(np.clip(values, 0.0, None)) @ vectors.T
    return root
