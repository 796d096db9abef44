"""Disclosure risk."""

from veladura.measures.risk.attribute_inference import attribute_inference, linkability
from veladura.measures.risk.attribution import attribution
from veladura.measures.risk.classes import classes
from veladura.measures.risk.distance import closest
from veladura.measures.risk.evaluation import Attack
from veladura.measures.risk.individual import individual
from veladura.measures.risk.intruder import Intruder
from veladura.measures.risk.k_map import k_map
from veladura.measures.risk.linkage import linkage
from veladura.measures.risk.location import location
from veladura.measures.risk.match import MatchRisk, match
from veladura.measures.risk.membership import membership
from veladura.measures.risk.replicated import replicated
from veladura.measures.risk.scenarios import match_curve, scenarios
from veladura.measures.risk.singling_out import singling_out
from veladura.measures.risk.suda2 import suda2
from veladura.measures.risk.unchanged import unchanged
from veladura.measures.risk.uniqueness import uniqueness

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
