"""Disclosure risk."""

from veladura.risk.attack import Attack
from veladura.risk.classes import classes
from veladura.risk.closeness import closest
from veladura.risk.disclosive import attribution
from veladura.risk.intruder import Intruder
from veladura.risk.intruders import match_curve, scenarios
from veladura.risk.linking import linkage
from veladura.risk.looked_up import attribute_inference, linkability
from veladura.risk.matching import MatchRisk, match
from veladura.risk.members import membership
from veladura.risk.population import k_map
from veladura.risk.replicas import replicated
from veladura.risk.singled import singling_out
from veladura.risk.special import suda2
from veladura.risk.unchanged import unchanged
from veladura.risk.uniqueness import uniqueness
from veladura.risk.weighted import individual
from veladura.spatial.risk import location

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
