"""Population uniqueness: people of a sample who are unique in the whole population too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measure,
    Measured,
    Subject,
    over_datasets,
)
from veladura.measures.risk.uniqueness import artificial_keys, known_columns
from veladura.measures.sampling import sampled, sampling_fraction
from veladura.numeric.population_uniques import population_uniques
from veladura.table.source import open_quietly

MODELS = {
    "pitman": "Pitman's sampling formula (Hoshino 2001)",
    "zayatz": "Zayatz (1991)",
    "snb": "Slide negative binomial (Chen and Keller-McNulty 1998)",
}


@dataclass(frozen=True)
class PopulationUniqueness:
    """Share of a population that is unique in it, estimated from a sample.

    Attributes
    ----------
    share
        By the estimator that was asked for: by default the rule of Dankar et al. (2012).
    chosen
        The model that was taken: "pitman", "zayatz", "snb"; "counted" for the whole
        population, or where the sample has no uniques.
    pitman, zayatz, snb
        By each model; None where it does not converge.
    expected
        People of the sample who are expected to be unique in the population.
    fraction, population
        The sampling fraction, and the size of the population.
    """

    share: Estimate
    chosen: str
    pitman: Estimate | None
    zayatz: Estimate | None
    snb: Estimate | None
    expected: Estimate
    fraction: float
    population: Estimate


def population_uniqueness(
    table: Any,
    known: Sequence[str],
    *,
    weight: str | None = None,
    fraction: float = 1.0,
    estimator: str = "dankar",
) -> PopulationUniqueness:
    """Return the share of the population that is unique, estimated from a sample of it.

    Three models of the sizes of equivalence classes in the population: Pitman's sampling formula,
    Zayatz's, and the slide negative binomial. Where at most a tenth of the population is in the
    sample the rule of Dankar et al. takes the first (Zayatz's where it does not converge), else the
    smaller of the other two. A random sample holds population uniques at the rate of the
    population, so that ``share`` times the people of the sample are expected to be in it. Missing
    counts as a value of its own; a person with several rows counts once in each class.

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
    estimator
        "pitman", "zayatz" or "snb" for one model; "dankar" for the rule that takes one of them.

    Examples
    --------
    >>> import pandas as pd
    >>> sample = pd.DataFrame({"zip": [1, 1, 2, 3, 3, 3], "sex": list("fmffff")})
    >>> risk = population_uniqueness(sample, ["zip", "sex"], fraction=0.5)
    >>> round(float(risk.share), 3), risk.chosen, float(risk.population)
    (0.393, 'zayatz', 12.0)

    References
    ----------
    Hoshino, N. (2001). Applying Pitman's sampling formula to microdata disclosure risk assessment.
    Journal of Official Statistics 17(4), 499-520.
    Zayatz, L. (1991). Estimation of the percent of unique population elements on a microdata file
    using the sample. US Bureau of the Census, Statistical Research Division Report RR-91/08.
    Chen, G. and Keller-McNulty, S. (1998). Estimation of identification disclosure risk in
    microdata. Journal of Official Statistics 14(1), 79-95.
    Dankar, F. K., El Emam, K., Neisa, A. and Roffey, T. (2012). Estimating the re-identification
    risk of clinical data sets. BMC Medical Informatics and Decision Making 12, 66.
    Haas, P. J. and Stokes, L. (1998). Estimating the number of classes in a finite population.
    Journal of the American Statistical Association 93(444), 1475-1487.
    """
    if isinstance(known, str) or not known:
        msg = "population_uniqueness needs a list of at least one column in known."
        raise PlanError(msg)
    if estimator not in ("dankar", *MODELS):
        what = "estimator"
        raise PlanError.unknown(what, estimator, ("dankar", *MODELS))
    opened = open_quietly(table, {name: {} for name in (*known, *([weight] if weight else []))})
    opened.schema.check("known", known)
    if opened.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    taken = sampling_fraction(opened, weight, fraction)
    counts = opened.people_counts(list(known))
    uniques = population_uniques(counts.size, taken)
    estimates = {name: getattr(uniques, name) for name in MODELS}
    share, chosen = uniques.share, uniques.chosen
    if estimator != "dankar" and chosen != "counted":
        share, chosen = estimates[estimator], estimator
    if share is None:
        msg = (
            f"the model {MODELS[estimator]} has no estimate for these classes.\n\nHint: take"
            " another estimator."
        )
        raise DataError(msg)
    return PopulationUniqueness(
        share=Estimate.exact(share),
        chosen=chosen,
        **{name: None if v is None else Estimate.exact(v) for name, v in estimates.items()},
        expected=Estimate.exact(share * counts.people),
        fraction=taken,
        population=Estimate.exact(counts.people / taken),
    )


def measure(subject: Subject) -> Measured:
    """Measure the released tables over the quasi-identifiers, by weights or sampling fraction."""
    if not all(table.rows for table in subject.tables):
        msg = "the release has no rows."
        raise NotApplicable(msg)
    weight, fraction = sampled(subject, subject.tables[0])
    known = [name for name in known_columns(subject) if name != weight]
    if artificial := artificial_keys(subject, known):
        raise artificial
    if not known:
        msg = "no released column is known to an intruder."
        raise NotApplicable(msg)
    whole = subject.release.fraction
    results = [
        population_uniqueness(table, known, weight=weight, fraction=whole)
        for table in subject.tables
    ]
    figures: dict[str, Estimate | NotApplicable] = {
        "share": over_datasets([float(result.share) for result in results], upper=1.0)
    }
    note = (
        f"Known: {', '.join(known)}. The release is {100 * fraction:.3g} % of about"
        f" {float(results[0].population):,.0f} people; model: {results[0].chosen}."
    )
    return Measured(figures, {"share": note}, _table(results))


def _table(results: Sequence[PopulationUniqueness]) -> Detail:
    rows = []
    for name, title in MODELS.items():
        shares = [getattr(result, name) for result in results]
        solved = [float(share) for share in shares if share is not None]
        value = f"{100 * np.mean(solved):.3g} %" if solved else "does not converge"
        taken = "yes" if any(result.chosen == name for result in results) else ""
        rows.append((title, value, taken))
    headers = ("Model", "Population uniques", "Taken (Dankar et al. 2012)")
    return Detail("Population uniques by each model", headers, tuple(rows))


MEASURE = Measure(
    "risk.population_uniqueness",
    figures={
        "share": Meaning(
            "Population uniqueness: people in the release who are expected to be unique in the"
            " whole population that it is a sample of.",
            unit="rows",
        )
    },
    function=measure,
    counts_people=True,
)
