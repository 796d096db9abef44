"""Disclosure risk: `vd.risk`, one plain function for each measure.

`original` is the table that was protected, `release` what was made from it, `control` a control
group of people who are not in it, and `known` the columns an intruder knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.base.exports import lazy_names

if TYPE_CHECKING:
    from veladura.measures.knowledge import Scenario, draft_intruders
    from veladura.measures.risk.at_risk import AtRisk
    from veladura.measures.risk.attacks import Attacks, attacks
    from veladura.measures.risk.attribute_inference import attribute_inference
    from veladura.measures.risk.attribution import attribution
    from veladura.measures.risk.classes import classes
    from veladura.measures.risk.distance import distance
    from veladura.measures.risk.evaluation import Attack
    from veladura.measures.risk.exact_matches import exact_matches
    from veladura.measures.risk.extremes import extremes
    from veladura.measures.risk.holes import holes
    from veladura.measures.risk.individual import individual
    from veladura.measures.risk.informed_intruder import informed_intruder
    from veladura.measures.risk.intruder import Intruder
    from veladura.measures.risk.intruders import intruders
    from veladura.measures.risk.k_map import k_map
    from veladura.measures.risk.linkability import linkability
    from veladura.measures.risk.linkage import linkage
    from veladura.measures.risk.location import location
    from veladura.measures.risk.log_linear import log_linear
    from veladura.measures.risk.match import match
    from veladura.measures.risk.match_search import MatchRisk
    from veladura.measures.risk.membership import membership
    from veladura.measures.risk.nearest import nearest
    from veladura.measures.risk.population_uniqueness import population_uniqueness
    from veladura.measures.risk.replicated import replicated
    from veladura.measures.risk.republished import republished
    from veladura.measures.risk.scenarios import match_curve, scenarios
    from veladura.measures.risk.singling_out import singling_out
    from veladura.measures.risk.spikes import spikes
    from veladura.measures.risk.suda2 import suda2
    from veladura.measures.risk.unchanged import unchanged
    from veladura.measures.risk.uniqueness import uniqueness

__all__ = [
    "AtRisk",
    "Attack",
    "Attacks",
    "Intruder",
    "MatchRisk",
    "Scenario",
    "attacks",
    "attribute_inference",
    "attribution",
    "classes",
    "distance",
    "draft_intruders",
    "exact_matches",
    "extremes",
    "holes",
    "individual",
    "informed_intruder",
    "intruders",
    "k_map",
    "linkability",
    "linkage",
    "location",
    "log_linear",
    "match",
    "match_curve",
    "membership",
    "nearest",
    "population_uniqueness",
    "replicated",
    "republished",
    "scenarios",
    "singling_out",
    "spikes",
    "suda2",
    "unchanged",
    "uniqueness",
]

_PLACES = {
    "AtRisk": "veladura.measures.risk.at_risk",
    "Attack": "veladura.measures.risk.evaluation",
    "Attacks": "veladura.measures.risk.attacks",
    "Intruder": "veladura.measures.risk.intruder",
    "MatchRisk": "veladura.measures.risk.match_search",
    "Scenario": "veladura.measures.knowledge",
    "attacks": "veladura.measures.risk.attacks",
    "attribute_inference": "veladura.measures.risk.attribute_inference",
    "attribution": "veladura.measures.risk.attribution",
    "classes": "veladura.measures.risk.classes",
    "distance": "veladura.measures.risk.distance",
    "draft_intruders": "veladura.measures.knowledge",
    "exact_matches": "veladura.measures.risk.exact_matches",
    "extremes": "veladura.measures.risk.extremes",
    "holes": "veladura.measures.risk.holes",
    "individual": "veladura.measures.risk.individual",
    "informed_intruder": "veladura.measures.risk.informed_intruder",
    "intruders": "veladura.measures.risk.intruders",
    "k_map": "veladura.measures.risk.k_map",
    "linkability": "veladura.measures.risk.linkability",
    "linkage": "veladura.measures.risk.linkage",
    "location": "veladura.measures.risk.location",
    "log_linear": "veladura.measures.risk.log_linear",
    "match": "veladura.measures.risk.match",
    "match_curve": "veladura.measures.risk.scenarios",
    "membership": "veladura.measures.risk.membership",
    "nearest": "veladura.measures.risk.nearest",
    "population_uniqueness": "veladura.measures.risk.population_uniqueness",
    "replicated": "veladura.measures.risk.replicated",
    "republished": "veladura.measures.risk.republished",
    "scenarios": "veladura.measures.risk.scenarios",
    "singling_out": "veladura.measures.risk.singling_out",
    "spikes": "veladura.measures.risk.spikes",
    "suda2": "veladura.measures.risk.suda2",
    "unchanged": "veladura.measures.risk.unchanged",
    "uniqueness": "veladura.measures.risk.uniqueness",
}
_RENAMED = {"closest": "distance"}

if not TYPE_CHECKING:  # type checkers read the imports above
    __getattr__, __dir__ = lazy_names(__name__, _PLACES, _RENAMED)
