"""Bias of each column of numbers: mean, standard deviation, 5 % and 95 % points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.pairing import pair
from veladura.measures.utility.two_way import numbers_of
from veladura.measures.weights import effective_rows, weighted_note
from veladura.numeric.sampling import read

LOW, HIGH = 0.05, 0.95
FEWEST_ROWS = 20
NAMES = ("mean", "sd", "low", "high")


@dataclass(frozen=True)
class Bias:
    """One statistic of a column: in the original, in the release, and the bias.

    The bias is in standard errors of the original.
    """

    original: float
    released: float
    errors: float


@dataclass(frozen=True)
class Moments:
    """Bias of mean, sd, 5 % point ("low") and 95 % point ("high") by column."""

    columns: Mapping[str, Mapping[str, Bias]] = field(repr=False)
    note: str = ""

    def mean(self, name: str) -> float:
        """Return the mean over columns of the absolute bias of a statistic."""
        return float(np.mean([abs(found[name].errors) for found in self.columns.values()]))

    def worst(self) -> tuple[str, str]:
        """Return the column and the statistic with the largest bias."""
        every = [(column, name) for column in self.columns for name in NAMES]
        return max(every, key=lambda item: abs(self.columns[item[0]][item[1]].errors))


def moments(original: Any, release: Any) -> Moments:
    """Return the bias of mean, standard deviation, 5 % and 95 % points of each column of numbers.

    In standard errors of the original: sd / sqrt(n) for the mean, sqrt((m4 - sd^4) / (4 sd^2 n))
    for the standard deviation (Kendall and Stuart 1977, sec. 10.5). For a point q at share p, the
    difference of the shares of rows beyond q, over sqrt(p (1 - p) / n) (Woodruff 1952): that also
    holds for rounded numbers, whose points do not move at all or by a whole step. Values of a
    release are means over its datasets. Missing values are left out; rows count with the declared
    sampling weight, where original and release have it, and n is then the effective number of rows.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> before = pd.DataFrame({"x": np.arange(101.0)})
    >>> bias = moments(before, before + 3.0).columns["x"]["mean"]
    >>> bias.original, bias.released, round(bias.errors, 2)
    (50.0, 53.0, 1.03)

    References
    ----------
    Woodruff, R. S. (1952). Confidence intervals for medians and other position measures. Journal of
    the American Statistical Association 47(260), 635-646.
    """
    pairing = pair(original, release)
    weights = pairing.weights()
    tables = (pairing.original, *pairing.released)
    found = {}
    for name, form in pairing.forms.items():
        if form != "numbers" or (weights is not None and name == pairing.weight):
            continue
        values = [numbers_of(read(table, name)) for table in tables]
        given = [np.isfinite(part) for part in values]
        if min(int(keep.sum()) for keep in given) < FEWEST_ROWS:
            continue
        each = [np.ones(part.size) for part in values] if weights is None else weights
        parts = [
            (part[keep], weight[keep])
            for part, keep, weight in zip(values, given, each, strict=True)
        ]
        if min(float(weight.sum()) for _, weight in parts) > 0:
            found[name] = _biases(parts)
    if not found:
        msg = "no column of numbers with enough rows can be compared with the original one."
        raise NotApplicable(msg)
    return Moments(found, weighted_note(pairing.weight if weights else None))


def _biases(parts: list[tuple[Floats, Floats]]) -> dict[str, Bias]:
    """Return the biases of one column, the original first."""
    values, weights = parts[0]
    rows = effective_rows(weights)
    points = [_point(values, weights, share) for share in (LOW, HIGH)]

    def statistics(part: tuple[Floats, Floats]) -> Floats:
        x, w = part
        total = w.sum()
        mean = float(w @ x) / total
        low, high = (_point(x, w, share) for share in (LOW, HIGH))
        # a sum of weights may exceed their total by its last digit
        beyond = [min(float(w @ at) / total, 1.0) for at in (x <= points[0], x >= points[1])]
        return np.array([mean, np.sqrt(float(w @ (x - mean) ** 2) / total), low, high, *beyond])

    before = statistics(parts[0])
    after = np.mean([statistics(part) for part in parts[1:]], axis=0)
    mean, spread = before[:2]
    fourth = float(weights @ (values - mean) ** 4) / weights.sum()
    errors = [
        _over(after[0] - mean, spread / np.sqrt(rows)),
        _over(after[1] - spread, np.sqrt(max(fourth - spread**4, 0.0) / rows) / (2 * spread or 1)),
        _over(before[4] - after[4], np.sqrt(before[4] * (1 - before[4]) / rows)),
        _over(after[5] - before[5], np.sqrt(before[5] * (1 - before[5]) / rows)),
    ]
    return {
        name: Bias(float(before[i]), float(after[i]), errors[i]) for i, name in enumerate(NAMES)
    }


def _point(values: Floats, weights: Floats, share: float) -> float:
    """Return the smallest value that has at least a share of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    place = int(np.searchsorted(below, share * below[-1] * (1 - 1e-12)))
    return float(values[order[min(place, values.size - 1)]])


def _over(difference: float, error: float) -> float:
    return float(difference / error) if error > 0 else 0.0


def measure(subject: Subject) -> Measured:
    """Measure every column of numbers."""
    result = moments(subject.original, subject.release)
    column, name = result.worst()
    words = {"mean": "mean", "sd": "standard deviation", "low": "5 % point", "high": "95 % point"}
    rows = tuple(
        (
            title,
            *(f"{b.original:.5g}, {b.released:.5g} ({b.errors:+.1f})" for b in found.values()),
        )
        for title, found in result.columns.items()
    )
    detail = Detail(
        "Columns of numbers: original, release (bias in standard errors)",
        ("Column", "Mean", "Standard deviation", "5 % point", "95 % point"),
        rows,
    )
    figures = {short: Estimate.exact(result.mean(short)) for short in NAMES}
    worst = abs(result.columns[column][name].errors)
    notes = {"mean": result.note, "worst": f"Column: {column}, {words[name]}."}
    return Measured({**figures, "worst": Estimate.exact(worst)}, notes, detail)


MEASURE = Measure(
    "utility.moments",
    figures={
        "mean": Meaning("Bias of means, in standard errors of the original, mean over columns."),
        "sd": Meaning("Bias of standard deviations, in standard errors, mean over columns."),
        "low": Meaning("Bias of 5 % points, in standard errors, mean over columns."),
        "high": Meaning("Bias of 95 % points, in standard errors, mean over columns."),
        "worst": Meaning(
            "Bias in standard errors where it is largest: a mean, standard deviation, 5 % or 95 %"
            " point of one column."
        ),
    },
    function=measure,
)
