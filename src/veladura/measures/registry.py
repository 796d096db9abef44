"""The measures of the library by name. A module is loaded when its figures are needed."""

from __future__ import annotations

from importlib import import_module

from veladura.errors import PlanError
from veladura.measures.measure import Measure

# In the order of an assessment. Each module has the plain function of its last word, and MEASURE.
MEASURES = {
    "risk.intruders": "veladura.measures.risk.intruders",
    "risk.uniqueness": "veladura.measures.risk.uniqueness",
    "risk.classes": "veladura.measures.risk.classes",
    "risk.unchanged": "veladura.measures.risk.unchanged",
    "risk.match": "veladura.measures.risk.match",
    "risk.individual": "veladura.measures.risk.individual",
    "risk.population_uniqueness": "veladura.measures.risk.population_uniqueness",
    "risk.log_linear": "veladura.measures.risk.log_linear",
    "risk.suda2": "veladura.measures.risk.suda2",
    "risk.replicated": "veladura.measures.risk.replicated",
    "risk.exact_matches": "veladura.measures.risk.exact_matches",
    "risk.attribution": "veladura.measures.risk.attribution",
    "risk.distance": "veladura.measures.risk.distance",
    "risk.linkage": "veladura.measures.risk.linkage",
    "risk.attacks": "veladura.measures.risk.attacks",
    "risk.republished": "veladura.measures.risk.republished",
    "risk.holes": "veladura.measures.risk.holes",
    "risk.spikes": "veladura.measures.risk.spikes",
    "risk.nearest": "veladura.measures.risk.nearest",
    "risk.extremes": "veladura.measures.risk.extremes",
    "risk.location": "veladura.measures.risk.location",
    "risk.informed_intruder": "veladura.measures.risk.informed_intruder",
    "utility.columns": "veladura.measures.utility.columns",
    "utility.moments": "veladura.measures.utility.moments",
    "utility.frequent": "veladura.measures.utility.frequent",
    "utility.correlations": "veladura.measures.utility.correlations",
    "utility.generalisation": "veladura.measures.utility.generalisation",
    "utility.recoded": "veladura.measures.utility.recoded",
    "utility.tables": "veladura.measures.utility.tables",
    "utility.pairs": "veladura.measures.utility.pairs",
    "utility.k_marginal": "veladura.measures.utility.k_marginal",
    "utility.detail": "veladura.measures.utility.detail",
    "utility.pmse": "veladura.measures.utility.pmse",
    "utility.pmse_tree": "veladura.measures.utility.pmse_tree",
    "utility.clusters": "veladura.measures.utility.clusters",
    "utility.overlap": "veladura.measures.utility.overlap",
    "utility.slopes": "veladura.measures.utility.slopes",
    "utility.prediction": "veladura.measures.utility.prediction",
    "utility.replaceability": "veladura.measures.utility.replaceability",
    "utility.households": "veladura.measures.utility.households",
    "utility.location": "veladura.measures.utility.location",
}


def measure_named(name: str) -> Measure:
    """Return one measure, its module loaded.

    Examples
    --------
    >>> measure_named("risk.suda2").names()
    ['risk.suda2.special', 'risk.suda2.uniques']
    """
    if name not in MEASURES:
        what = "measure"
        raise PlanError.unknown(what, name, MEASURES)
    measure: Measure = import_module(MEASURES[name]).MEASURE
    return measure


def measures() -> list[Measure]:
    """Return every measure of the library."""
    return [measure_named(name) for name in MEASURES]


def figure_names() -> list[str]:
    """Return the full names of all figures, as a gate may use them.

    Examples
    --------
    >>> "risk.uniqueness.average_prosecutor" in figure_names()
    True
    """
    return [name for measure in measures() for name in measure.names()]


def is_figure(name: str) -> bool:
    """Whether a measure of the library gives this figure; only that measure is loaded.

    Figures of intruders are named by the plan: any name may be one.
    """
    owner, _, short = name.rpartition(".")
    if owner not in MEASURES:
        return False
    measure = measure_named(owner)
    return name in measure.names() or (measure.others is not None and bool(short))


def needs_rows(name: str) -> bool:
    """Whether a figure needs the released rows in memory; others are counted where rows live.

    Examples
    --------
    >>> needs_rows("risk.holes.ratio"), needs_rows("risk.classes.smallest")
    (True, False)
    """
    return not measure_named(name.rpartition(".")[0]).counted


def meaning_of(name: str) -> str:
    """Return what a figure says.

    Examples
    --------
    >>> meaning_of("risk.classes.smallest").startswith("Smallest equivalence class (k)")
    True
    """
    owner, _, short = name.rpartition(".")
    return measure_named(owner).meaning(short).text
