"""Disclosure risk."""

from veladura.measures.risk.attack import Attack
from veladura.measures.risk.classes import classes
from veladura.measures.risk.closeness import closest
from veladura.measures.risk.disclosive import attribution
from veladura.measures.risk.intruder import Intruder
from veladura.measures.risk.intruders import match_curve, scenarios
from veladura.measures.risk.linking import linkage
from veladura.measures.risk.location import location
from veladura.measures.risk.looked_up import attribute_inference, linkability
from veladura.measures.risk.matching import MatchRisk, match
from veladura.measures.risk.members import membership
from veladura.measures.risk.population import k_map
from veladura.measures.risk.replicas import replicated
from veladura.measures.risk.singled import singling_out
from veladura.measures.risk.special import suda2
from veladura.measures.risk.unchanged import unchanged
from veladura.measures.risk.uniqueness import uniqueness
from veladura.measures.risk.weighted import individual

__all__ = [
    "Attack",
    "Intruder",
    "MatchRisk",
    "attribute_inference",
    "attribution",
    "classes",
    "closest",
    "individual",
    "k_map",
    "linkability",
    "linkage",
    "location",
    "match",
    "match_curve",
    "membership",
    "replicated",
    "scenarios",
    "singling_out",
    "suda2",
    "unchanged",
    "uniqueness",
]
