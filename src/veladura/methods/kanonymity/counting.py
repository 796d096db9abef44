"""From a table to the search: tuples counted where the data lives, with their hierarchies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base.arrays import Ints
from veladura.errors import DataError
from veladura.methods.kanonymity.equivalence_classes import Sensitive
from veladura.methods.kanonymity.fitting_in import Coarse, fitting
from veladura.methods.kanonymity.lattice import Lattice, build_lattice
from veladura.methods.kanonymity.people import counted_unit, household_of, repeated_people
from veladura.methods.kanonymity.privacy_models import (
    LDiversity,
    Model,
    TCloseness,
    population_of,
)
from veladura.methods.kanonymity.suppression import Criteria, People
from veladura.numeric.hierarchies.grid import composed, grid_levels
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import Levels, apply_hierarchy, distinct_values
from veladura.numeric.hierarchies.suggest import suggest_grid, suggest_hierarchy
from veladura.table.codes import Column, label_text

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity
    from veladura.table.counts import Counts
    from veladura.table.table import Table
    from veladura.table.units import PeopleCounts


def count_tuples(table: Table, recipe: KAnonymity) -> tuple[Lattice, Criteria, Mapping[str, int]]:
    """Return the lattice of a table's quasi-identifiers, and the criteria for its nodes.

    Third the levels to which columns were coarsened first, where not all tuples fit into memory:
    no node below them means anything.
    """
    sets = recipe.attribute_sets
    if (coarse := fitting(table, recipe)) is not None:
        lattice = _coarse_lattice(table, recipe, coarse)
        return lattice, Criteria(lattice, sets, recipe.k), coarse.at
    counts = table.counts(recipe.names)
    people = repeated_people(table, recipe)
    population = _population(table, recipe) if recipe.models else None
    register = None if population is None else _attributes(population.columns, recipe)
    levels: list[Levels] = []
    places: list[NDArray[np.int32]] = []
    attributes, rows = _attributes(counts.columns, recipe)[::-1], counts.size
    del counts  # of many tuples every column counts: each goes when its places are known
    for i in range(len(attributes)):
        column = attributes.pop()
        place, base = distinct_values(column)
        if register is not None:
            base = joined(column, register[i])
            place = places_in(base, column)
        sizes = np.bincount(place, weights=rows, minlength=base.size).astype(np.int64)
        levels.append(_levels(table, recipe, base, sizes))
        places.append(place.astype(np.int32))
    lattice = build_lattice(places, rows, levels)
    if recipe.models or people is not None or recipe.whole_households:
        return lattice, _criteria(table, recipe, sets, levels, population, people), {}
    return lattice, Criteria(lattice, sets, recipe.k), {}


def _coarse_lattice(table: Table, recipe: KAnonymity, coarse: Coarse) -> Lattice:
    """Return the lattice of tuples of coarsened columns, by one of the values that become alike."""
    counts = coarse.table(table).counts(recipe.names)
    levels = [coarse.levels[name] for name in recipe.names]
    return build_lattice(_placed(levels, counts.columns).T, counts.size, levels)


def _attributes(columns: Sequence[Column], recipe: KAnonymity) -> list[Column]:
    """Return the columns of the quasi-identifiers, each pair of coordinates as one."""
    by_name = {column.name: column for column in columns}
    return [
        by_name[names[0]] if len(names) == 1 else composed(*(by_name[name] for name in names))
        for names in recipe.attributes.values()
    ]


def _levels(table: Table, recipe: KAnonymity, base: Column, sizes: Ints) -> Levels:
    """Return every level of an attribute by its hierarchy, by default a suggested one."""
    hierarchy, names = recipe.hierarchies.get(base.name), recipe.attributes[base.name]
    if len(names) == 1:
        return apply_hierarchy(hierarchy or suggest_hierarchy(base), base, sizes)
    fields = [table.schema[name] for name in names]
    return grid_levels(hierarchy or suggest_grid(base), base, fields)


def _criteria(
    table: Table,
    recipe: KAnonymity,
    sets: tuple[tuple[int, ...], ...],
    levels: Sequence[Levels],
    population: Counts | None,
    people: PeopleCounts | None,
) -> Criteria:
    """Return criteria whose tuples carry sensitive values, person and origin, as far as needed."""
    sensitive = recipe.sensitive
    person = [] if people is None else [str(counted_unit(table, recipe))]
    home = [] if not recipe.whole_households else [household_of(table, "whole_households")]
    homes = [name for name in home if name not in person]
    counts = table.units.counts([*recipe.names, *sensitive, *person, *homes])
    known = len(recipe.names)
    attributes = _attributes(counts.columns[:known], recipe)
    width = len(attributes)
    index = list(_placed(levels, attributes).T)
    carried, values = [], {}
    for column in counts.columns[known : known + len(sensitive)]:
        place, base = distinct_values(column)
        reference = _reference(table, column.name)
        _check_values(column.name, base, recipe.models)
        tree = _tree(column.name, base, reference, recipe.models)
        values[column.name] = Sensitive(reference, tree)
        index.append(place)
        carried.append(_unchanging(base, base.size))
    for column in counts.columns[known + len(sensitive) :]:
        place, base = distinct_values(column)
        index.append(place)
        carried.append(_unchanging(base, base.size))
    tuples, sizes, origin = np.column_stack(index), counts.size, None
    if population is not None:
        register = _placed(levels, _attributes(population.columns, recipe))
        own = people or table.counts(recipe.names)
        _check_part(
            _placed(levels, _attributes(own.columns, recipe)), own.size, register, population.size
        )
        tuples = _with_origin(tuples, register, len(carried))
        sizes = np.concatenate([sizes, population.size])
        origin = width + len(carried)
        carried.append(_unchanging(levels[0].base, 2))
    joint = build_lattice(tuples.T, sizes, [*levels, *carried])
    extra = {name: width + i for i, name in enumerate(sensitive)}
    criteria = Criteria(joint, sets, recipe.k, recipe.models, values, extra, origin)
    units = width + len(sensitive)
    if home:
        criteria = replace(criteria, household=units + len(person) - (not homes))
    if people is None:
        return criteria
    most = int(table.units.counts(person).size.max())
    numbers = People(people.size, most, add_up=people.one_tuple_each)
    return replace(criteria, person=units, people=numbers)


def _reference(table: Table, name: str) -> Ints:
    """Return how many people hold each value of a sensitive column, missing last."""
    counts = table.people_counts([name])
    place, base = distinct_values(counts.columns[0])
    return np.bincount(place, weights=counts.size, minlength=base.size).astype(np.int64)


def _placed(levels: Sequence[Levels], columns: Sequence[Column]) -> Ints:
    """Return where the values of tuples stand among those of the hierarchies."""
    return np.stack(
        [places_in(level.base, column) for level, column in zip(levels, columns, strict=True)]
    ).T


def _with_origin(tuples: Ints, people: Ints, carried: int) -> Ints:
    """Return tuples of the table (origin 0) and of the population (1, nothing carried)."""
    blank = np.zeros((len(people), carried), dtype=np.int64)
    of_table = np.zeros((len(tuples), 1), dtype=np.int64)
    of_population = np.ones((len(people), 1), dtype=np.int64)
    return np.vstack([np.hstack([tuples, of_table]), np.hstack([people, blank, of_population])])


def _unchanging(base: Column, values: int) -> Levels:
    """Return a column that is never generalised, only carried along."""
    codes, labels = np.arange(values, dtype=np.int64), (None,) * values
    return Levels(Hierarchy.star(), base, (codes,), (labels,), (labels,))


def _check_values(name: str, base: Column, models: Sequence[Model]) -> None:
    diversity = [m.l for m in models if isinstance(m, LDiversity) and m.column == name]
    if base.size < max(diversity, default=0):
        msg = (
            f"no solution exists: column {name!r} has {base.size} different values, and l-diversity"
            f" asks for {max(diversity)} in every equivalence class.\n\nHint: lower l, or leave the"
            " model out: a column with one value has nothing to protect."
        )
        raise DataError(msg)


def _tree(name: str, base: Column, sizes: Ints, models: Sequence[Model]) -> tuple[Ints, ...]:
    """Return, level by level, the parent of each value of a sensitive column."""
    for model in models:
        if isinstance(model, TCloseness) and model.column == name and model.hierarchy:
            return parents(model.hierarchy, base, sizes)
    return ()


def parents(hierarchy: Hierarchy, base: Column, sizes: Ints) -> tuple[Ints, ...]:
    """Return, level by level, the code above each code."""
    by_level = []
    for below, above in pairwise(apply_hierarchy(hierarchy, base, sizes).codes):
        parent = np.zeros(int(below.max()) + 1, dtype=np.int64)
        parent[below] = above
        by_level.append(parent)
    return tuple(by_level)


def _population(table: Table, recipe: KAnonymity) -> Counts | None:
    """Return the tuples of the population file, read with the kinds that the table has."""
    from veladura.table.source import open as open_table

    file = population_of(recipe.models)
    if file is None:
        return None
    declared = {
        name: table.source.columns.get(name) or {"kind": table.schema[name].kind}
        for name in recipe.names
    }
    return open_table(file, declared).counts(recipe.names)


def _check_part(tuples: Ints, sizes: Ints, people: Ints, numbers: Ints) -> None:
    """Refuse a population that lacks rows of the table."""
    available = dict(zip(map(tuple, people.tolist()), numbers.tolist(), strict=True))
    needed: dict[tuple[int, ...], int] = {}
    for combination, size in zip(map(tuple, tuples.tolist()), sizes.tolist(), strict=True):
        needed[combination] = needed.get(combination, 0) + size
    lacking = sum(max(size - available.get(key, 0), 0) for key, size in needed.items())
    if lacking:
        msg = (
            f"{lacking} rows of the table are not in the population: the table must be a part of"
            " it.\n\nHint: check that both files write values in the same way."
        )
        raise DataError(msg)


def joined(column: Column, other: Column) -> Column:
    """Return the distinct values of a column and of the same column elsewhere.

    The codes of the column stay valid.
    """
    _, base = distinct_values(column)
    theirs = _recoded(other, base)
    values = np.union1d(base.values[~base.missing], theirs.values[~theirs.missing])
    missing = np.zeros(values.size, dtype=bool)
    if base.missing.any() or other.missing.any():
        values, missing = np.append(values, values.dtype.type(0)), np.append(missing, True)
    return Column(column.field, values, missing, theirs.labels)


def _recoded(other: Column, base: Column) -> Column:
    """Return a column with codes into the labels of another, new labels after them.

    A file writes yes and no, or whole numbers, as text: labels are the same when their texts are.
    """
    if base.labels is None or other.labels is None:
        return other
    place = {label_text(label): i for i, label in enumerate(base.labels.to_pylist())}
    own, texts = len(place), [label_text(label) for label in other.labels.to_pylist()]
    codes = np.array([place.setdefault(text, len(place)) for text in texts], dtype=np.int64)
    new = pa.array(list(place)[own:], pa.string()).cast(base.labels.type)
    values = codes[other.values] if codes.size else other.values
    return Column(base.field, values, other.missing, pa.concat_arrays([base.labels, new]))


def places_in(base: Column, column: Column) -> Ints:
    """Return where each value of a column stands among distinct ones, missing last."""
    present = base.values[~base.missing]
    values = _recoded(column, base).values
    places = np.where(column.missing, present.size, np.searchsorted(present, values))
    return places.astype(np.int64)
