"""Fewer levels in suggested hierarchies: then a lattice of many columns can be searched whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from veladura.numeric.hierarchies.hierarchy import Hierarchy


def thin(hierarchies: Mapping[str, Hierarchy], most_nodes: int) -> dict[str, Hierarchy]:
    """Return hierarchies whose lattice has at most so many nodes, as far as that can be had.

    The highest hierarchy loses its finest level, again and again: a table with many
    quasi-identifiers ends at coarse levels in any case.

    Examples
    --------
    >>> ages = Hierarchy.intervals((5, 10, 20, 40))
    >>> thin({"age": ages, "sex": Hierarchy.star()}, 8)["age"].widths
    (20.0, 40.0)
    """
    thinned = dict(hierarchies)
    while prod(hierarchy.height + 1 for hierarchy in thinned.values()) > most_nodes:
        name = max(thinned, key=lambda name: thinned[name].height)
        if thinned[name].height == 1:  # every value is kept or suppressed: nothing to lose
            break
        thinned[name] = _without_finest(thinned[name])
    return thinned


def _without_finest(hierarchy: Hierarchy) -> Hierarchy:
    """Return a hierarchy with one level less; one whose levels cannot be parted has only ``*``."""
    rule = hierarchy.rule
    if rule == "cell" and hierarchy.sizes > 1:
        width, height = hierarchy.sides
        return replace(hierarchy, cell=(2 * width, 2 * height), levels=hierarchy.sizes - 1)
    levels = getattr(hierarchy, rule)
    if rule in ("widths", "periods", "kept", "cuts") and len(levels) > 1:
        return replace(hierarchy, **{rule: levels[1:]})
    if rule == "grouped" and len(levels) > 1:  # a level is built on the one below it
        return replace(hierarchy, grouped=levels[:-1])
    return Hierarchy.star()
