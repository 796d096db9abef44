"""Inference from releases: combining rules, tests of several quantities, stacked posteriors."""

from importlib import import_module
from typing import Any

# Loaded when used: an estimate is needed everywhere, scipy.stats is not.
_WHERE = {
    "Pooling": "pooling",
    "analyze": "analysis",
    "combine": "combined",
    "likelihood_ratio": "hypotheses",
    "stack": "stacking",
    "wald": "hypotheses",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605  # one list of names, not two


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        msg = f"module 'veladura.inference' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"veladura.inference.{_WHERE[name]}"), name)
