"""Log-linear individual risk: who of a sample is unique in the population, by a model of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.risk.uniqueness import artificial_keys, known_columns
from veladura.measures.sampling import sampled, sampling_fraction
from veladura.numeric.coding import common_codes, dense
from veladura.numeric.log_linear import fit_log_linear, match_chance, unique_chance
from veladura.table.source import open_quietly
from veladura.table.units import people_per_cell, person_numbers

ORDERS = {1: "main effects", 2: "all pairs of columns"}


@dataclass(frozen=True, eq=False)
class LogLinearRisk:
    """Individual risks by a Poisson log-linear model of the cells of the known columns.

    Attributes
    ----------
    per_record
        E(1/F | f) of each row: probability of picking the right person of the population.
    population_uniques
        tau 1: sample uniques who are expected to be unique in the population.
    expected
        tau 2: expected right matches among the sample uniques.
    uniques
        Sample uniques.
    interactions
        1 for main effects, 2 for all pairs of columns.
    misfit
        Estimated error of tau 1 in standard errors: far above 0 the model is too simple.
    """

    per_record: Floats = field(repr=False)
    population_uniques: Estimate
    expected: Estimate
    uniques: Estimate
    interactions: int
    misfit: float


def log_linear(
    table: Any,
    known: Sequence[str],
    *,
    weight: str | None = None,
    fraction: float = 1.0,
    interactions: Literal[1, 2] | None = None,
) -> LogLinearRisk:
    """Return the individual risk of each person by a Poisson log-linear model.

    The people of the population in a cell of the known columns are Poisson with mean lambda, and
    log lambda is a sum of effects of the columns and, with ``interactions=2``, of all pairs of
    them. Neighbouring cells so tell how rare a combination is, where the weights of one person (as
    in `individual`) cannot. For a sample unique P(F = 1 | f = 1) = exp(-m) and E(1/F | f = 1) =
    (1 - exp(-m)) / m, with m = (1 - pi) lambda and the sampling fraction pi. Of the two models the
    one with the smaller estimated error of the population uniques is taken. Missing counts as a
    value of its own; of a person with several rows each combination counts once.

    Parameters
    ----------
    table
        The sample: anything `veladura.open` takes.
    known
        The columns an intruder knows.
    weight
        The column of sampling weights; their sum is the size of the population.
    fraction
        The share of the population (or of what the weights stand for) that was sampled.
    interactions
        1 or 2 to take that model. A table of more than 500,000 cells has main effects.

    Examples
    --------
    >>> import pandas as pd
    >>> sample = pd.DataFrame({"sex": list("ffffmmmm"), "job": list("aaabaaab")})
    >>> risk = log_linear(sample, ["sex", "job"], fraction=0.5, interactions=1)
    >>> round(float(risk.population_uniques), 3), int(risk.uniques)
    (0.736, 2)

    References
    ----------
    Skinner, C. J. and Holmes, D. J. (1998). Estimating the re-identification risk per record in
    microdata. Journal of Official Statistics 14(4), 361-372.
    Skinner, C. J. and Shlomo, N. (2008). Assessing identification risk in survey microdata using
    log-linear models. Journal of the American Statistical Association 103(483), 989-1001.
    """
    if isinstance(known, str) or not known:
        msg = "log_linear needs a list of at least one column in known."
        raise PlanError(msg)
    if interactions not in (None, 1, 2):
        msg = f"interactions ({interactions}) must be 1 (main effects) or 2 (all pairs)."
        raise PlanError(msg)
    opened = open_quietly(table, {name: {} for name in (*known, *([weight] if weight else []))})
    opened.schema.check("known", known)
    if opened.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    taken = sampling_fraction(opened, weight, fraction)
    coded = [dense(*common_codes([opened.column(name)])) for name in dict.fromkeys(known)]
    cells, number = np.zeros(opened.rows, dtype=np.int64), 1
    for codes, levels in coded:
        cells, number = dense(cells * levels + codes, number * levels)
    first = np.empty(number, dtype=np.int64)
    first[cells[::-1]] = np.arange(opened.rows)[::-1]
    sizes = people_per_cell(cells, person_numbers(opened), number)
    each = np.column_stack([codes[first] for codes, _ in coded])
    fit = fit_log_linear(each, [levels for _, levels in coded], sizes, taken, interactions)
    risk = match_chance(sizes, fit.expected, taken)
    alone = sizes == 1
    return LogLinearRisk(
        risk[cells],
        Estimate.exact(float(unique_chance(fit.expected[alone], taken).sum())),
        Estimate.exact(float(risk[alone].sum())),
        Estimate.exact(int(alone.sum())),
        fit.order,
        fit.misfit,
    )


def measure(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, by weights or sampling fraction."""
    if not all(table.rows for table in subject.tables):
        msg = "the release has no rows."
        raise NotApplicable(msg)
    weight, _ = sampled(subject, subject.tables[0])
    known = [name for name in known_columns(subject) if name != weight]
    if artificial := artificial_keys(subject, known):
        raise artificial
    if not known:
        msg = "no released column is known to an intruder."
        raise NotApplicable(msg)
    whole = subject.release.fraction
    results = [log_linear(table, known, weight=weight, fraction=whole) for table in subject.tables]
    figures: dict[str, Estimate | NotApplicable] = {
        "population_uniques": over_datasets([float(r.population_uniques) for r in results]),
        "expected": over_datasets([float(r.expected) for r in results]),
    }
    first = results[0]
    note = f"Known: {', '.join(known)}. Model: {ORDERS[first.interactions]}" + (
        ", too many cells for pairs of columns."
        if np.isnan(first.misfit)
        else f", error {first.misfit:+.1f} standard errors."
    )
    return Measured(figures, {"population_uniques": note})


MEASURE = Measure(
    "risk.log_linear",
    figures={
        "population_uniques": Meaning(
            "Log-linear risk, tau 1: sample uniques of the release who are expected to be unique in"
            " the population.",
        ),
        "expected": Meaning(
            "Log-linear risk, tau 2: expected right matches among the sample uniques of the"
            " release.",
        ),
    },
    function=measure,
)
