"""What a private regression can be expected to give, on invented rows: nothing of them is private.

The invented rows have every declared category and every place between the bounds equally often, and
terms that all matter alike: the outcome of a linear regression goes from a quarter to three
quarters of its range, the log odds of a logistic one from -1 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.streams import Streams
from veladura.methods.private.expected import REPETITIONS, Expected, Reading
from veladura.methods.private.queries import STEPS, Noisy
from veladura.methods.private.regression_rows import (
    ENOUGH,
    half_bins,
    linear,
    logistic,
    place_shifts,
    widening,
)

REACH = {"linear": 0.5, "logistic": 1.0}  # of predictions, on the scale from -1 to 1; of log odds
REST = 0.25  # standard deviation of a linear outcome around its prediction, on that scale
INVENTED = 2000  # rows that stand for all possible ones
DRAWN = 200  # for the width of an interval

READINGS = {
    family: Reading(
        counted=counted,
        interval=f"interval of an effect ({unit}), +/-",
        error=(
            f"expected error: by how much noise moves predictions, on average ({unit}); predictions"
            " that ignore the data have {ignorance:.3f}. Computed on invented rows, evenly over the"
            " declared values, whose predictions go from"
            f" {reach}.\neffect: of a term, from its lowest to its highest value."
        ),
        ignores="a regression that ignores the data",
    )
    for family, counted, unit, reach in (
        ("linear", "sums of products", "share of the outcome's range", ".25 to .75 of the range"),
        ("logistic", "counts", "log odds", "log odds of -1 to 1"),
    )
}


@dataclass(frozen=True, eq=False)
class Reference:
    """Invented rows of a regression, all terms from -1 to 1.

    Attributes
    ----------
    design
        The terms: of some rows (linear), or of every cell (logistic).
    wanted
        The prediction of each: scaled outcome, or log odds.
    spans
        By term how far it goes from its lowest to its highest value.
    halves
        By term half the width of its bins; 0 for the constant and categories.
    """

    family: str
    design: Floats = field(repr=False)
    wanted: Floats = field(repr=False)
    spans: Floats
    halves: Floats

    def counts(self, n: int, rng: np.random.Generator) -> Floats:
        """Return the statistics of n such rows without noise."""
        if self.family == "logistic":
            chance = 1 / (1 + np.exp(-self.wanted))
            each = np.column_stack([1 - chance, chance]).ravel() / chance.size
            return rng.multinomial(n, each).reshape(-1, 2).astype(np.float64)
        terms = np.column_stack([self.design, self.wanted])
        gram = terms.T @ terms * (n / len(terms))
        gram[-1, -1] += n * REST**2
        upper: Floats = gram[np.triu_indices(len(gram))][None, :] * STEPS
        return upper

    def coefficients(self, noisy: Noisy, draws: int) -> tuple[Floats, Floats]:
        """Return coefficients, and draws of them, as the release computes them."""
        if self.family == "logistic":
            return logistic(noisy, self.design, draws)
        return linear(noisy, self.design.shape[1], draws)

    def shifts(self, noisy: Noisy, value: Floats) -> Floats | None:
        """Return by how much places within bins can shift coefficients, as the release does."""
        if self.family == "logistic":
            return place_shifts(noisy, self.design, value, self.halves)
        return np.zeros((0, 4, value.size))

    def predicted(self, b: Floats) -> Floats:
        """Return predictions: shares of the outcome's range, or log odds; none are impossible."""
        most = 1.0 if self.family == "linear" else 4 * REACH["logistic"]
        return np.clip(self.design @ b, -most, most) * self.unit

    @property
    def unit(self) -> float:
        """What one is on the scale of predictions: half a range, or a log odds."""
        return 0.5 if self.family == "linear" else 1.0


def invented(
    family: str, parts: Sequence[Sequence[Sequence[float]]], cells: Callable[[], Floats]
) -> Reference:
    """Return the invented rows of a regression.

    Parameters
    ----------
    parts
        The terms of every category or bin of each column.
    cells
        The terms of every cell, the last column fastest: for a logistic regression.
    """
    rng = Streams(0)("private", "invented rows")
    shape = [len(part) for part in parts]
    if family == "logistic":
        places = list(np.unravel_index(np.arange(int(np.prod(shape))), shape))
        design = cells()
    else:
        places = [rng.integers(0, size, INVENTED) for size in shape]
        terms = [np.array(part)[place] for part, place in zip(parts, places, strict=True)]
        design = np.column_stack([np.ones(INVENTED), *terms])
    heights = [_heights(np.array(part))[place] for part, place in zip(parts, places, strict=True)]
    spans = [np.ptp(np.array(part), axis=0) for part in parts]
    return Reference(
        family,
        design,
        REACH[family] * np.mean(heights, axis=0),
        np.concatenate(spans),
        half_bins(parts),
    )


def _heights(terms: Floats) -> Floats:
    """Return where a column's categories or bins are, from -1 to 1: a number is there itself."""
    if terms.min(initial=0.0) < 0:
        return np.asarray(terms[:, 0], float)
    return np.linspace(-1, 1, len(terms)) if len(terms) > 1 else np.zeros(1)


def expected_of(reference: Reference, noise: Noisy, n: int) -> Expected:
    """Return by how much noise moves the predictions, and how far those are that ignore the data.

    The latter are the middle of the range, or even odds, for everybody.
    """
    rng = Streams(0)("private", "expected")
    moved = []
    for _ in range(REPETITIONS):
        counted = reference.counts(n, rng)
        exact, _ = reference.coefficients(_with(noise, counted), 0)
        noisy = _with(noise, _with(noise, counted).draws(rng, 1)[0])
        value, _ = reference.coefficients(noisy, 0)
        moved.append(np.abs(reference.predicted(value) - reference.predicted(exact)).mean())
    ignorance = reference.unit * float(np.abs(reference.wanted).mean())
    return Expected(float(np.mean(moved)), ignorance)


def half_width_of(reference: Reference, noise: Noisy, n: int) -> float | None:
    """Return half the average width of the 95 % intervals of effects; None where noise leaves none.

    Of a term's effect from its lowest to its highest value, as one release of n such rows has it.
    """
    rng = Streams(0)("private", "width")
    noisy = _with(noise, _with(noise, reference.counts(n, rng)).draws(rng, 1)[0])
    value, drawn = reference.coefficients(noisy, DRAWN)
    shifts = reference.shifts(noisy, value)
    if shifts is None or len(drawn) < ENOUGH * DRAWN:
        return None
    down, up = widening(shifts[:, :, 1:] * reference.spans)
    low, high = np.quantile(drawn[:, 1:] * reference.spans, [0.025, 0.975], axis=0)
    low, high = low - down, high + up
    return float((high - low).mean() / 2 * reference.unit)


def _with(noise: Noisy, values: Floats) -> Noisy:
    return Noisy(noise.kind, noise.column, values, noise.scale, noise.gaussian)
