"""A privacy model of one release, judged for other groups of people than its classes.

Two releases of the same people put them into smaller groups than either: what the first promised
of its classes is asked again of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.methods.kanonymity.claims import model_of
from veladura.methods.kanonymity.counting import parents
from veladura.methods.kanonymity.equivalence_classes import (
    EquivalenceClasses,
    Sensitive,
    ValueCounts,
)
from veladura.methods.kanonymity.privacy_models import DeltaPresence, KMap, column_of
from veladura.numeric.hierarchies.levels import distinct_values

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class Regrouped:
    """A privacy model, with the sensitive values of people as one table has them.

    Attributes
    ----------
    model
        The model, by the settings of a manifest.
    values
        The places of each person's sensitive values; none for a model of sizes.
    sensitive
        How often each value occurs in the table, every person's once.
    """

    model: Any
    values: Mapping[int, Collection[int]] = field(default_factory=dict, repr=False)
    sensitive: Sensitive = field(default=Sensitive(np.zeros(0, dtype=np.int64)), repr=False)

    @property
    def by_values(self) -> bool:
        """Whether it is about sensitive values, not about sizes of groups alone."""
        return column_of(self.model) is not None

    def failing(self, groups: Sequence[Collection[int]]) -> Mask:
        """Return which groups of people break the model."""
        held = [
            (at, value)
            for at, people in enumerate(groups)
            for person in people
            for value in self.values.get(person, ())
        ]
        pairs = np.array(held, dtype=np.int64).reshape(-1, 2)
        cells, size = np.unique(pairs, axis=0, return_counts=True)
        counts = ValueCounts(cells[:, 0], cells[:, 1], size)
        sizes = np.array([len(people) for people in groups], dtype=np.int64)
        if self.by_values:  # a person's different values count once each
            sizes = np.bincount(pairs[:, 0], minlength=len(groups)).astype(np.int64)
        column = str(column_of(self.model))
        classes = EquivalenceClasses(
            sizes, np.zeros_like(sizes), lambda _: counts, {column: self.sensitive}
        )
        failing: Mask = self.model.fails(classes)
        return failing


def regrouped(settings: Mapping[str, Any], source: Table, person: Ints) -> Regrouped | None:
    """Return a model of an earlier release with the values of a new source; None without them.

    Parameters
    ----------
    settings
        Those of the model, as the manifest of the earlier release has them.
    person
        The person of each row of the source.
    """
    model = model_of(settings)
    if isinstance(model, (KMap, DeltaPresence)) and getattr(model, "fraction", None) is None:
        return None  # the population is a file of that time
    name = column_of(model)
    if name is None:
        return Regrouped(model)
    if name not in source.names:
        return None
    place, base = distinct_values(source.column(name))
    pairs = np.unique(np.column_stack([person, place]), axis=0)
    reference = np.bincount(pairs[:, 1], minlength=base.size).astype(np.int64)
    hierarchy = getattr(model, "hierarchy", None)
    tree = () if hierarchy is None else parents(hierarchy, base, reference)
    values: defaultdict[int, list[int]] = defaultdict(list)
    for who, value in pairs.tolist():
        values[who].append(value)
    return Regrouped(model, values, Sensitive(reference, tree))
