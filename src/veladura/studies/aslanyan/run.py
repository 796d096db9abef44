"""All exhibits of study 004."""

from __future__ import annotations

import numpy as np

from veladura.studies.aslanyan.incomes import NAMES, WAYS, correlation_errors, incomes
from veladura.studies.aslanyan.schemes import SHARE, schemes
from veladura.studies.study import Result, Results, Setting, cells


def run(setting: Setting) -> tuple[str, Results]:
    """Run the study; return its settings in words, and the exhibits."""
    repetitions = setting.times(4, 100)
    words = (
        f"Simulated: three correlated incomes with Pareto tails, {SHARE:.0%} of each critical;"
        f" {repetitions} repetitions of 2,000 rows, m = 5. Monte Carlo errors are standard errors"
        " over repetitions."
    )
    return words, {**schemes(setting), "Conclusion": _correlations(setting, repetitions)}


def _correlations(setting: Setting, repetitions: int) -> Result:
    """Mean absolute errors of correlations among rows critical in at least two columns."""
    found: dict[str, list[list[float]]] = {name: [] for name in WAYS}
    with setting.progress("synthesising incomes", repetitions) as advance:
        for number in range(repetitions):
            frame = incomes(setting.streams("correlations", number), 2000)
            for name, way in WAYS.items():
                found[name].append(correlation_errors(frame, NAMES, SHARE, number, way))
            advance()
    header = ("", "Pearson, one set", "mean of 5", "Spearman, one set", "mean of 5 ")
    return Result(
        header,
        [(name, *cells(np.array(errors), digits=4)) for name, errors in found.items()],
        remark="Mean absolute error of the correlations of wage, rent and capital.",
    )
