"""Inference from releases: combining rules, tests of several quantities, posteriors, samplers."""

from importlib import import_module
from typing import Any

# Loaded when used: an estimate is needed everywhere, scipy.stats is not.
_WHERE = {
    "BiasTable": "posterior.bias",
    "Chain": "posterior.samplers",
    "Pooling": "pooling",
    "acceptance_by_step": "posterior.samplers",
    "adaptive_metropolis": "posterior.samplers",
    "analyze": "analysis",
    "bias_table": "posterior.bias",
    "chain_model": "posterior.samplers",
    "combine": "combined",
    "gibbs": "posterior.samplers",
    "likelihood_ratio": "hypotheses",
    "metropolis": "posterior.samplers",
    "stack": "stacking",
    "wald": "hypotheses",
}

__all__ = sorted(_WHERE)  # noqa: PLE0605  # one list of names, not two


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        msg = f"module 'veladura.inference' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"veladura.inference.{_WHERE[name]}"), name)
