"""From a table to what the search works on: tuples counted where the data lives, packed, with their hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.errors import DataError
from veladura.methods.kanonymity.equivalence_classes import Sensitive
from veladura.methods.kanonymity.lattice import Lattice, build_lattice
from veladura.methods.kanonymity.privacy_models import (
    LDiversity,
    Model,
    TCloseness,
    column_of,
    population_of,
)
from veladura.methods.kanonymity.suppression import Judge
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import Levels, apply_hierarchy, distinct_values
from veladura.numeric.hierarchies.suggest import suggest_hierarchy
from veladura.table.codes import Column

if TYPE_CHECKING:
    from veladura.table.counts import Counts
    from veladura.table.table import Table

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a table: its quasi-identifiers, k, models and hierarchies."""

    names: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    k: int
    models: tuple[Model, ...] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict, repr=False)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns of the models, each once."""
        return tuple(
            dict.fromkeys(
                column for model in self.models if (column := column_of(model)) is not None
            )
        )


def gather(table: Table, question: Question) -> tuple[Lattice, Judge]:
    """Return the lattice of a table's quasi-identifiers, and the judge of its nodes."""
    counts = table.counts(question.names)
    people = _population(table, question)
    levels, places, others = [], [], []
    for i, column in enumerate(counts.columns):
        base = joined(column, None if people is None else people.columns[i])
        place = places_in(base, column)
        sizes = np.bincount(place, weights=counts.size, minlength=base.size).astype(np.int64)
        levels.append(
            apply_hierarchy(
                question.hierarchies.get(column.name) or suggest_hierarchy(base), base, sizes
            )
        )
        places.append(place)
        if people is not None:
            others.append(places_in(base, people.columns[i]))
    lattice = build_lattice(np.column_stack(places), counts.size, levels)
    if not question.models:
        return lattice, Judge(lattice, _where(question), question.k)
    return lattice, _judge(
        table, question, levels, None if people is None else (np.column_stack(others), people.size)
    )


def distinct_of(table: Table, name: str) -> Column:
    """Return the distinct values of a column."""
    return distinct_values(table.counts([name]).columns[0])[1]


def _where(question: Question) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(question.names.index(name) for name in names) for names in question.sets)


def _judge(
    table: Table, question: Question, levels: Sequence[Levels], people: tuple[Ints, Ints] | None
) -> Judge:
    """Return the judge whose tuples carry sensitive values and their origin too."""
    counts = table.counts([*question.names, *question.sensitive])
    width = len(question.names)
    index = [
        places_in(level.base, column)
        for level, column in zip(levels, counts.columns[:width], strict=True)
    ]
    fixed, sensitive = [], {}
    for column in counts.columns[width:]:
        place, base = distinct_values(column)
        reference = np.bincount(place, weights=counts.size, minlength=base.size).astype(np.int64)
        _check_values(column.name, base, question.models)
        sensitive[column.name] = Sensitive(
            reference, _tree(column.name, base, reference, question.models)
        )
        index.append(place)
        fixed.append(_unchanging(base))
    matrix, sizes = np.column_stack(index), counts.size
    if people is not None:
        tuples, numbers = people
        _check_part(matrix[:, :width], sizes, tuples, numbers)
        blank = np.zeros((len(tuples), len(fixed) + 1), dtype=np.int64)
        blank[:, -1] = 1
        matrix = np.vstack(
            [
                np.column_stack([matrix, np.zeros(len(matrix), dtype=np.int64)]),
                np.column_stack([tuples, blank]),
            ]
        )
        sizes = np.concatenate([sizes, numbers])
        fixed.append(_unchanging(levels[0].base, values=2))
    joint = build_lattice(matrix, sizes, [*levels, *fixed])
    extra = {name: width + i for i, name in enumerate(question.sensitive)}
    origin = None if people is None else width + len(fixed) - 1
    return Judge(joint, _where(question), question.k, question.models, sensitive, extra, origin)


def _unchanging(base: Column, values: int | None = None) -> Levels:
    """Return a column that is never generalised, only carried along."""
    count = base.size if values is None else values
    return Levels(
        Hierarchy.star(),
        base,
        (np.arange(count, dtype=np.int64),),
        ((None,) * count,),
        ((None,) * count,),
    )


def _check_values(name: str, base: Column, models: Sequence[Model]) -> None:
    asked = max(
        (model.l for model in models if isinstance(model, LDiversity) and model.column == name),
        default=0,
    )
    if base.size < asked:
        msg = (
            f"no solution exists: column {name!r} has {base.size} different values, and l-diversity"
            f" asks for {asked} in every group.\n\nHint: a column with one value has nothing to"
            " protect; lower l or leave the model out."
        )
        raise DataError(msg)


def _tree(name: str, base: Column, sizes: Ints, models: Sequence[Model]) -> tuple[Ints, ...]:
    """Return, level by level, the parent of each value of a sensitive column."""
    given = [
        model.hierarchy
        for model in models
        if isinstance(model, TCloseness) and model.column == name and model.hierarchy
    ]
    return parents(given[0], base, sizes) if given else ()


def parents(hierarchy: Hierarchy, base: Column, sizes: Ints) -> tuple[Ints, ...]:
    """Return, level by level, the code above each code."""
    codes = apply_hierarchy(hierarchy, base, sizes).codes
    found = []
    for below, above in pairwise(codes):
        parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
        parent[below] = above
        found.append(parent)
    return tuple(found)


def _population(table: Table, question: Question) -> Counts | None:
    """Return the tuples of the population file, read with the kinds that the table has."""
    from veladura.table.source import open as open_table

    file = population_of(question.models)
    if file is None:
        return None
    declared = {
        name: table.source.columns.get(name) or {"kind": table.schema[name].kind}
        for name in question.names
    }
    return open_table(Path(file), declared).counts(question.names)


def _check_part(rows: Ints, sizes: Ints, people: Ints, numbers: Ints) -> None:
    """Refuse a population that lacks rows of the table."""
    known = {
        tuple(one): int(number)
        for one, number in zip(people.tolist(), numbers.tolist(), strict=True)
    }
    held: dict[tuple[int, ...], int] = {}
    for one, size in zip(map(tuple, rows.tolist()), sizes.tolist(), strict=True):
        held[one] = held.get(one, 0) + size
    if lacking := sum(max(size - known.get(one, 0), 0) for one, size in held.items()):
        msg = (
            f"{lacking} rows of the table are not in the population: the table must be a part of"
            " it.\n\nHint: check that both write values alike."
        )
        raise DataError(msg)


def joined(column: Column, other: Column | None) -> Column:
    """Return the distinct values of a column, and of the same column elsewhere; its own codes stay valid."""
    _, base = distinct_values(column)
    if other is None:
        return base
    theirs = _recoded(other, base)
    values = np.union1d(base.values[~base.missing], theirs.values[~theirs.missing])
    missing = np.zeros(values.size, dtype=bool)
    if base.missing.any() or other.missing.any():
        values, missing = np.append(values, values.dtype.type(0)), np.append(missing, True)
    return Column(column.field, values, missing, theirs.labels)


def _recoded(other: Column, base: Column) -> Column:
    """Return a column with codes into the labels of another, new labels after them."""
    if base.labels is None or other.labels is None:
        return other
    labels = base.labels.to_pylist()
    place = {label: i for i, label in enumerate(labels)}
    codes = np.array(
        [place.setdefault(label, len(place)) for label in other.labels.to_pylist()], dtype=np.int64
    )
    values = codes[other.values] if codes.size else other.values
    return Column(base.field, values, other.missing, pa.array(list(place), base.labels.type))


def places_in(base: Column, column: Column) -> Ints:
    """Return where each value of a column stands among distinct ones, missing last."""
    known = base.values[~base.missing]
    values = _recoded(column, base).values
    return np.where(column.missing, known.size, np.searchsorted(known, values)).astype(np.int64)
