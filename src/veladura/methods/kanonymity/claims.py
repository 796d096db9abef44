"""What a k-anonymous release promises, and the checks that count it again from its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from veladura.base.arrays import Ints
from veladura.base.settings import from_plain, to_plain
from veladura.core.promise import (
    GROUP_SIZE,
    Check,
    Evidence,
    Promise,
    counted_people,
    starred_tuples,
)
from veladura.methods.kanonymity.counting import joined, parents, places_in
from veladura.methods.kanonymity.equivalence_classes import (
    EquivalenceClasses,
    Sensitive,
    ValueCounts,
)
from veladura.methods.kanonymity.privacy_models import (
    DeltaPresence,
    KMap,
    LDiversity,
    Model,
    TCloseness,
)
from veladura.methods.kanonymity.recoding import typed_labels
from veladura.methods.kanonymity.suppression import Criteria
from veladura.methods.kanonymity.tuples import matching_rows
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import Levels, distinct_values
from veladura.table.codes import Column, label_text
from veladura.table.counts import Counts

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity


ONCE = "a person with several rows counts once"


def promises_of(
    recipe: KAnonymity,
    criteria: Criteria,
    vector: Sequence[int],
    *,
    dropped: bool,
    blank: Sequence[str],
    person: str | None = None,
) -> tuple[Promise, ...]:
    """Promise k and every privacy model, for each quasi-identifier by itself.

    The files prove all but closeness to a table of which rows were dropped: the distribution of
    that table is not theirs, and giving it away would give away what was dropped.

    Parameters
    ----------
    dropped
        Whether rows were left out.
    blank
        Columns in which a suppressed cell is missing rather than ``*``.
    person
        The column of released numbers of people, where rows are not people.
    """
    shared = {
        **({"person": person} if person else {}),
        "starred": recipe.suppressed == "star",
        **({"blank": list(blank)} if blank else {}),
    }
    promises: list[Promise] = []
    for names in recipe.sets:
        settings = {"columns": list(names), **shared}
        if recipe.k > 1:
            promises += _size_promises(names, recipe.k, recipe.missing, settings)
    for columns, names in zip(criteria.sets, recipe.sets, strict=True):
        for model in criteria.models:
            settings = {"columns": list(names), **shared, "model": model_settings(model)}
            if isinstance(model, (KMap, DeltaPresence)):
                exact = recipe.preserve_type
                settings["population"] = _population(criteria, vector, columns, names, exact=exact)
            hidden = isinstance(model, TCloseness) and dropped
            proof: Literal["package", "source"] = "source" if hidden else "package"
            claim = model.claim(names)
            if person:
                claim = f"{claim.replace(' (rows)', '')[:-1]}; {ONCE}."
            promises.append(Promise(model.name, claim, proof, settings))
    return tuple(promises)


def _size_promises(
    names: Sequence[str], k: int, missing: str, settings: Mapping[str, Any]
) -> list[Promise]:
    """Promise k under the readings of missing values that were asked for."""
    listed, settings = ", ".join(names), {**settings, "k": k}
    people = f"people ({ONCE})" if settings.get("person") else "people (rows)"
    promises = []
    if missing != "wildcard":
        claim = (
            f"k-anonymity: every combination of {listed} is shared by at least {k} {people};"
            " a missing value counts as a value of its own."
        )
        promises.append(Promise("group-size", claim, "package", settings))
    if missing != "category":
        claim = (
            f"k-anonymity with wildcards: every row matches at least {k} {people} in {listed};"
            " a missing value matches any value."
        )
        promises.append(Promise("group-size-wildcard", claim, "package", settings))
    return promises


def model_settings(model: Model) -> dict[str, Any]:
    """Return the settings of a model for the manifest: no path, a hierarchy as declared."""
    settings: dict[str, Any] = to_plain(model)
    settings.pop("population", None)
    settings.pop("hierarchy", None)
    if isinstance(model, TCloseness) and model.hierarchy is not None:
        settings["hierarchy"] = to_plain(model.hierarchy.declared())
    return settings


def _population(
    criteria: Criteria,
    vector: Sequence[int],
    columns: Sequence[int],
    names: Sequence[str],
    *,
    exact: bool,
) -> list[list[Any]]:
    """Return the released combinations, each with how many people of the population share it.

    An outsider may have the population; combinations that are not released stay out.
    """
    keys, people = criteria.population_of(vector, columns)
    values: dict[str, list[str | None]] = {}
    for c in columns:
        codes = criteria.lattice.unpacked(keys, c)
        released = _labels(criteria.lattice.levels[c], vector[c], exact=exact)
        values |= {name: [labels[code] for code in codes] for name, labels in released.items()}
    parts = [values[name] for name in names]
    return [[*labels, number] for *labels, number in zip(*parts, people.tolist(), strict=True)]


def _labels(levels: Levels, level: int, *, exact: bool) -> dict[str, list[str | None]]:
    """Return what each code of a level is released as, by column: a pair has two."""
    if levels.parts:
        axes = zip(*levels.exact[level], strict=True)
        return {part.name: _texts(axis) for part, axis in zip(levels.parts, axes, strict=True)}
    typed = typed_labels(levels, [level]) if exact or not level else None
    return {levels.base.name: _texts(levels.labels[level] if typed is None else typed[level])}


def _texts(values: Sequence[Any]) -> list[str | None]:
    return [None if value is None else label_text(value) for value in values]


def unmatched(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the combinations that fewer than k people match, missing values matching anything.

    Rows that are suppressed in every column match nobody and are not counted.
    """
    counts = counted_people(evidence.released, settings["columns"], settings)
    left = ~starred_tuples(counts, settings)
    rows = matching_rows(counts.codes[left], counts.size[left])
    return int(np.count_nonzero(rows < settings["k"]))


def undiverse_classes(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of equivalence classes that are not l-diverse."""
    model = _model(LDiversity, settings["model"])
    counts = counted_people(evidence.released, [*settings["columns"], model.column], settings)
    place, base = distinct_values(counts.columns[-1])
    sensitive = Sensitive(np.zeros(base.size, dtype=np.int64))
    return _failing(model, counts, settings, sensitive, place)


def distant_classes(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of equivalence classes that are not t-close to the whole table."""
    model = _model(TCloseness, settings["model"])
    counts = counted_people(evidence.released, [*settings["columns"], model.column], settings)
    table = evidence.released if evidence.original is None else evidence.original
    whole = table.people_counts([model.column])
    base = joined(whole.columns[0], counts.columns[-1])
    places = places_in(base, whole.columns[0])
    reference = np.bincount(places, weights=whole.size, minlength=base.size).astype(np.int64)
    tree = () if model.hierarchy is None else parents(model.hierarchy, base, reference)
    place = places_in(base, counts.columns[-1])
    return _failing(model, counts, settings, Sensitive(reference, tree), place)


def exposed_classes(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of equivalence classes that break k-map or delta-presence."""
    kind = KMap if "k" in settings["model"] else DeltaPresence
    model = _model(kind, {**settings["model"], "population": "population"})
    counts = counted_people(evidence.released, settings["columns"], settings)
    number_of = {tuple(labels): number for *labels, number in settings["population"]}
    released = zip(*(_column_texts(column) for column in counts.columns), strict=True)
    people = np.array([number_of.get(labels, 0) for labels in released], dtype=np.int64)
    classes = EquivalenceClasses(counts.size, people, _no_counts, {})
    return int(np.count_nonzero(model.fails(classes) & ~starred_tuples(counts, settings)))


def _no_counts(_column: str) -> ValueCounts:
    empty = np.zeros(0, dtype=np.int64)
    return ValueCounts(empty, empty, empty)


def _column_texts(column: Column) -> list[str | None]:
    return _texts(column.to_arrow().to_pylist())


def _failing(
    model: LDiversity | TCloseness,
    counts: Counts,
    settings: Mapping[str, Any],
    sensitive: Sensitive,
    place: Ints,
) -> int:
    """Return the number of released equivalence classes that fail a model."""
    codes = np.column_stack([distinct_values(column)[0] for column in counts.columns[:-1]])
    _, first, ids = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    values = ValueCounts(ids.ravel(), place, counts.size)
    sizes = np.bincount(values.group, weights=counts.size).astype(np.int64)
    nobody = np.zeros_like(sizes)
    classes = EquivalenceClasses(sizes, nobody, lambda _: values, {model.column: sensitive})
    released = ~starred_tuples(counts, settings)[first]
    return int(np.count_nonzero(model.fails(classes) & released))


def _model(kind: type[Any], settings: Mapping[str, Any]) -> Any:
    """Return a model from its settings in the manifest."""
    names = {f.name for f in fields(kind)}
    given = {name: value for name, value in settings.items() if name in names}
    if "hierarchy" in given:
        given["hierarchy"] = from_plain(Hierarchy, given["hierarchy"], "hierarchy")
    return kind(**given)


CHECKS = {
    "group-size": GROUP_SIZE,
    "group-size-wildcard": Check(unmatched),
    "distinct-l-diversity": Check(undiverse_classes),
    "entropy-l-diversity": Check(undiverse_classes),
    "recursive-l-diversity": Check(undiverse_classes),
    "t-closeness": Check(distant_classes),
    "k-map": Check(exposed_classes),
    "delta-presence": Check(exposed_classes),
}
