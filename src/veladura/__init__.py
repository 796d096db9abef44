"""veladura: releases of confidential tables that are safe, useful, and proven to be both.

Heavy parts load when they are used: importing the package takes a fraction of a second. Editors and
type checkers read the names and their signatures from ``__init__.pyi``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from veladura.core.registry import METHODS

__version__ = "0.1.0"

_EXPORTS = {
    "DeltaPresence": ("veladura.methods.kanonymity.privacy_models", "DeltaPresence"),
    "Estimate": ("veladura.base.estimate", "Estimate"),
    "Hierarchy": ("veladura.numeric.hierarchies.hierarchy", "Hierarchy"),
    "Sampling": ("veladura.inference.survey", "Sampling"),
    "survey_mean": ("veladura.inference.totals", "survey_mean"),
    "survey_ratio": ("veladura.inference.totals", "survey_ratio"),
    "survey_total": ("veladura.inference.totals", "survey_total"),
    "AverageRisk": ("veladura.methods.kanonymity.risk_models", "AverageRisk"),
    "BetaLikeness": ("veladura.methods.kanonymity.risk_models", "BetaLikeness"),
    "Uniqueness": ("veladura.methods.kanonymity.risk_models", "Uniqueness"),
    "KMap": ("veladura.methods.kanonymity.privacy_models", "KMap"),
    "LDiversity": ("veladura.methods.kanonymity.privacy_models", "LDiversity"),
    "Ledger": ("veladura.methods.private.ledger", "Ledger"),
    "Release": ("veladura.core.release", "Release"),
    "TCloseness": ("veladura.methods.kanonymity.privacy_models", "TCloseness"),
    "assess": ("veladura.release.reassess", "assess"),
    "choose_grid": ("veladura.methods.geography.choose", "choose_grid"),
    "combine": ("veladura.inference.combined", "combine"),
    "compare_orders": ("veladura.methods.critical.orders", "compare_orders"),
    "compare": ("veladura.comparison.making", "compare"),
    "extend": ("veladura.release.extending", "extend"),
    "generalisation_of": ("veladura.methods.kanonymity.relation", "generalisation_of"),
    "errors": ("veladura.errors", None),
    "inference": ("veladura.inference", None),
    "link": ("veladura.measures.source.register", "link"),
    "look": ("veladura.report.look", "look"),
    "load": ("veladura.release.package", "load"),
    "new_key": ("veladura.release.signature", "new_key"),
    "open": ("veladura.table.source", "open"),
    "open_linked": ("veladura.table.linked", "open_linked"),
    "LinkedTable": ("veladura.table.linked", "LinkedTable"),
    "posterior": ("veladura.inference.posterior.posterior", "posterior"),
    "risk": ("veladura.risk", None),
    "sign": ("veladura.release.signature", "sign"),
    "stack": ("veladura.inference.stacking", "stack"),
    "study": ("veladura.studies.study", "study"),
    "testing": ("veladura.testing", None),
    "utility": ("veladura.utility", None),
    "verify": ("veladura.release.verify", "verify"),
    "with_source": ("veladura.release.reassess", "with_source"),
    **{name: (module, name) for module, name in METHODS.values()},
}

__all__ = sorted([*_EXPORTS, "__version__"])  # noqa: PLE0605  # one list of names, not two


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        msg = f"module 'veladura' has no attribute {name!r}"
        raise AttributeError(msg)
    module, attribute = _EXPORTS[name]
    loaded = import_module(module)
    return loaded if attribute is None else getattr(loaded, attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
