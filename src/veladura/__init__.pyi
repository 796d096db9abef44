# Names and types of `veladura`. Written by tools/stub.py: do not edit.

from veladura import errors as errors
from veladura import inference as inference
from veladura import risk as risk
from veladura import testing as testing
from veladura import utility as utility
from veladura.base.estimate import Estimate as Estimate
from veladura.comparison.making import compare as compare
from veladura.core.release import Release as Release
from veladura.core.steps import Steps as Steps
from veladura.inference.combined import combine as combine
from veladura.inference.posterior.posterior import posterior as posterior
from veladura.inference.stacking import stack as stack
from veladura.inference.survey import Sampling as Sampling
from veladura.inference.totals import survey_mean as survey_mean
from veladura.inference.totals import survey_ratio as survey_ratio
from veladura.inference.totals import survey_total as survey_total
from veladura.measures.source.register import link as link
from veladura.methods.cart.cart import Cart as Cart
from veladura.methods.critical.critical import CriticalCart as CriticalCart
from veladura.methods.critical.orders import compare_orders as compare_orders
from veladura.methods.geography.areas import Areas as Areas
from veladura.methods.geography.choose import choose_grid as choose_grid
from veladura.methods.geography.donut import Donut as Donut
from veladura.methods.geography.geography import Geography as Geography
from veladura.methods.geography.naive import NaiveGeography as NaiveGeography
from veladura.methods.households.household_cart import HouseholdCart as HouseholdCart
from veladura.methods.kanonymity.kanonymity import KAnonymity as KAnonymity
from veladura.methods.kanonymity.privacy_models import DeltaPresence as DeltaPresence
from veladura.methods.kanonymity.privacy_models import KMap as KMap
from veladura.methods.kanonymity.privacy_models import LDiversity as LDiversity
from veladura.methods.kanonymity.privacy_models import TCloseness as TCloseness
from veladura.methods.kanonymity.relation import generalisation_of as generalisation_of
from veladura.methods.kanonymity.risk_models import AverageRisk as AverageRisk
from veladura.methods.kanonymity.risk_models import BetaLikeness as BetaLikeness
from veladura.methods.kanonymity.risk_models import Uniqueness as Uniqueness
from veladura.methods.masks.calibrate import Calibrate as Calibrate
from veladura.methods.masks.microaggregation import Microaggregation as Microaggregation
from veladura.methods.masks.noise import Noise as Noise
from veladura.methods.masks.pram import Pram as Pram
from veladura.methods.masks.recode import Recode as Recode
from veladura.methods.masks.reweight import Reweight as Reweight
from veladura.methods.masks.swap import Swap as Swap
from veladura.methods.masks.topcode import TopCode as TopCode
from veladura.methods.preparing.filter import Filter as Filter
from veladura.methods.preparing.sample import Sample as Sample
from veladura.methods.preparing.suppress import Suppress as Suppress
from veladura.methods.private.dirichlet import BetaBinomial as BetaBinomial
from veladura.methods.private.dirichlet import DirichletMultinomial as DirichletMultinomial
from veladura.methods.private.ledger import Ledger as Ledger
from veladura.methods.private.marginals import Marginals as Marginals
from veladura.methods.private.noisy import NoisyCounts as NoisyCounts
from veladura.methods.private.regression import PrivateRegression as PrivateRegression
from veladura.methods.private.summary import PrivateSummary as PrivateSummary
from veladura.numeric.hierarchies.hierarchy import Hierarchy as Hierarchy
from veladura.release.extending import extend as extend
from veladura.release.package import load as load
from veladura.release.reassess import assess as assess
from veladura.release.reassess import with_source as with_source
from veladura.release.signature import new_key as new_key
from veladura.release.signature import sign as sign
from veladura.release.verify import verify as verify
from veladura.report.look import look as look
from veladura.studies.study import study as study
from veladura.table.linked import LinkedTable as LinkedTable
from veladura.table.linked import open_linked as open_linked
from veladura.table.source import open as open

__version__: str
__all__ = [
    "Areas",
    "AverageRisk",
    "BetaBinomial",
    "BetaLikeness",
    "Calibrate",
    "Cart",
    "CriticalCart",
    "DeltaPresence",
    "DirichletMultinomial",
    "Donut",
    "Estimate",
    "Filter",
    "Geography",
    "Hierarchy",
    "HouseholdCart",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "Ledger",
    "LinkedTable",
    "Marginals",
    "Microaggregation",
    "NaiveGeography",
    "Noise",
    "NoisyCounts",
    "Pram",
    "PrivateRegression",
    "PrivateSummary",
    "Recode",
    "Release",
    "Reweight",
    "Sample",
    "Sampling",
    "Steps",
    "Suppress",
    "Swap",
    "TCloseness",
    "TopCode",
    "Uniqueness",
    "__version__",
    "assess",
    "choose_grid",
    "combine",
    "compare",
    "compare_orders",
    "errors",
    "extend",
    "generalisation_of",
    "inference",
    "link",
    "load",
    "look",
    "new_key",
    "open",
    "open_linked",
    "posterior",
    "risk",
    "sign",
    "stack",
    "study",
    "survey_mean",
    "survey_ratio",
    "survey_total",
    "testing",
    "utility",
    "verify",
    "with_source",
]
