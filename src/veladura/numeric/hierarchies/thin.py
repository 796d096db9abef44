"""Fewer levels in suggested hierarchies: then a lattice of many columns can be searched whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from veladura.numeric.hierarchies.hierarchy import Hierarchy


def thin(hierarchies: Mapping[str, Hierarchy], most_nodes: int) -> dict[str, Hierarchy]:
    """Return hierarchies whose lattice has at most so many nodes, as far as that can be had.

    The highest hierarchy loses a level, again and again: its finest and its coarsest in turn, so
    that one in the middle is the last, a band that people would choose.

    Examples
    --------
    >>> ages = Hierarchy.intervals((5, 10, 20, 40))
    >>> thin({"age": ages, "sex": Hierarchy.star()}, 8)["age"].widths
    (10.0, 20.0)
    >>> thin({"age": ages, "sex": Hierarchy.star()}, 6)["age"].widths
    (20.0,)
    """
    thinned = dict(hierarchies)
    while prod(hierarchy.height + 1 for hierarchy in thinned.values()) > most_nodes:
        name = max(thinned, key=lambda name: (thinned[name].height, _of_categories(thinned[name])))
        if thinned[name].height == 1:  # every value is kept or suppressed: nothing to lose
            break
        lost = hierarchies[name].height - thinned[name].height
        thinned[name] = _with_less(thinned[name], finest=lost % 2 == 0)
    return thinned


def _of_categories(hierarchy: Hierarchy) -> bool:
    """Whether a hierarchy is of categories: exact or suppressed, they may still be of use."""
    return hierarchy.rule in ("kept", "grouped", "rows")


def _with_less(hierarchy: Hierarchy, *, finest: bool) -> Hierarchy:
    """Return a hierarchy without a level; one whose levels cannot be parted has only ``*``."""
    rule = hierarchy.rule
    if rule == "cell" and hierarchy.sizes > 1:
        width, height = hierarchy.sides
        cell = (2 * width, 2 * height) if finest else (width, height)
        return replace(hierarchy, cell=cell, levels=hierarchy.sizes - 1)
    levels = getattr(hierarchy, rule)
    if rule in ("widths", "periods", "kept", "cuts") and len(levels) > 1:
        return replace(hierarchy, **{rule: levels[1:] if finest else levels[:-1]})
    if rule == "grouped" and len(levels) > 1:  # a level is built on the one below it
        return replace(hierarchy, grouped=levels[:-1])
    return Hierarchy.star()
