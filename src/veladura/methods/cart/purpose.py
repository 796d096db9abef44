"""Presets of a synthesis by purpose: from useful to safe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veladura.numeric.trees.leaf import Draws
from veladura.numeric.trees.variable import Smoothing

Purpose = Literal["analysis", "teaching", "open-data"]


@dataclass(frozen=True)
class Preset:
    """Settings that belong together; each can be set by itself.

    Attributes
    ----------
    draws
        None: Bayesian for several datasets, plain for one.
    """

    draws: Draws | None = None
    smoothing: Smoothing = "local"
    min_leaf: int = 5
    min_people: int = 5


PRESETS: dict[Purpose | None, Preset] = {
    None: Preset(),
    "analysis": Preset(draws="bayesian"),
    "teaching": Preset(draws="plain"),
    "open-data": Preset(draws="bayesian", min_leaf=10, min_people=10),
}
