"""What a k-anonymous release promises, and the checks that count it again from its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Ints
from veladura.base.settings import from_plain, to_plain
from veladura.core.promise import (
    COUNTED,
    GROUP_SIZE,
    GROUPS,
    ONCE,
    Check,
    Evidence,
    Promise,
    listed,
    people_of,
)
from veladura.core.violations import counted_people, starred_tuples
from veladura.errors import PromiseError, VeladuraError
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
from veladura.methods.kanonymity.risk_models import AverageRisk, BetaLikeness, Uniqueness
from veladura.methods.kanonymity.suppression import Criteria
from veladura.methods.kanonymity.tuples import matching_rows
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import Levels, distinct_values
from veladura.table.codes import Column, label_text
from veladura.table.counts import Counts

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity


def promises_of(
    recipe: KAnonymity,
    settings: Mapping[str, Any],
    criteria: Criteria,
    vector: Sequence[int],
    blank: Sequence[str],
    person: str | None = None,
) -> tuple[Promise, ...]:
    """Promise k and every privacy model, for each quasi-identifier by itself.

    Parameters
    ----------
    settings
        What the manifest says of the step.
    blank
        Columns in which a suppressed cell is missing rather than ``*``.
    person
        The column of released numbers of people, where rows are not people.
    """
    columns_of = {
        tuple(names): columns for names, columns in zip(recipe.sets, criteria.sets, strict=True)
    }
    promises = []
    for promise in implied_by(settings, person):
        more: dict[str, Any] = {"blank": list(blank)} if blank else {}
        if CHECKS[promise.name].stated == POPULATION:
            names = tuple(promise.settings["columns"])
            exact = recipe.preserve_type
            more["population"] = _population(
                criteria, vector, columns_of[names], names, exact=exact
            )
        promises.append(replace(promise, settings={**promise.settings, **more}))
    return tuple(promises)


def implied_by(settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:
    """Return the promises that the settings of a manifest imply: k, and every privacy model.

    The files prove all but closeness to a table of which rows were dropped: the distribution of
    that table is not theirs, and giving it away would give away what was dropped.
    """
    sets = settings.get("sets") or [settings["quasi_identifiers"]]
    k, missing, dropped = settings["k"], settings["missing"], settings["suppressed"] == "drop"
    hidden = dropped and settings["suppressed_rows"] > 0
    shared = {
        **_unit(settings, person),
        "starred": settings["suppressed"] == "star",
    }
    promises = []
    for names in sets:
        size = {"columns": list(names), **shared, "k": k}
        if k > 1 and missing != "wildcard":
            promises.append(Promise("group-size", "package", size))
        if k > 1 and missing != "category":
            promises.append(Promise("group-size-wildcard", "package", size))
    for names in sets:
        for model in settings.get("models", ()):
            kind = _kind(model)
            far = kind in (TCloseness, BetaLikeness) and hidden
            proof: Literal["package", "source"] = "source" if far else "package"
            about = {"columns": list(names), **shared, "model": model}
            promises.append(Promise(_model(kind, model).name, proof, about))
    return tuple(promises)


def _unit(settings: Mapping[str, Any], person: str | None) -> dict[str, str]:
    """Return whom the promises count: households, people with several rows, or rows."""
    if home := settings.get("household"):
        return {"household": home}
    return {"person": person} if person else {}


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
    """Return the number of equivalence classes too unlike the whole table: t- or beta-likeness."""
    model = model_of(settings["model"])
    counts = counted_people(evidence.released, [*settings["columns"], model.column], settings)
    table = evidence.released if evidence.original is None else evidence.original
    whole = table.people_counts([model.column])
    base = joined(whole.columns[0], counts.columns[-1])
    places = places_in(base, whole.columns[0])
    reference = np.bincount(places, weights=whole.size, minlength=base.size).astype(np.int64)
    hierarchy = getattr(model, "hierarchy", None)
    tree = () if hierarchy is None else parents(hierarchy, base, reference)
    place = places_in(base, counts.columns[-1])
    return _failing(model, counts, settings, Sensitive(reference, tree), place)


def exposed_classes(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of equivalence classes that break k-map or delta-presence."""
    model = model_of(settings["model"])
    counts = counted_people(evidence.released, settings["columns"], settings)
    number_of = {tuple(labels): number for *labels, number in settings["population"]}
    released = zip(*(_column_texts(column) for column in counts.columns), strict=True)
    people = np.array([number_of.get(labels, 0) for labels in released], dtype=np.int64)
    classes = EquivalenceClasses(counts.size, people, _no_counts, {})
    return int(np.count_nonzero(model.fails(classes) & ~starred_tuples(counts, settings)))


def small_classes(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of equivalence classes that break a model of the sizes of classes."""
    model = model_of(settings["model"])
    counts = counted_people(evidence.released, settings["columns"], settings)
    sizes = counts.size[~starred_tuples(counts, settings)]
    classes = EquivalenceClasses(sizes, np.zeros_like(sizes), _no_counts, {})
    return int(np.count_nonzero(model.fails(classes)))


def _no_counts(_column: str) -> ValueCounts:
    empty = np.zeros(0, dtype=np.int64)
    return ValueCounts(empty, empty, empty)


def _column_texts(column: Column) -> list[str | None]:
    return _texts(column.to_arrow().to_pylist())


def _failing(
    model: LDiversity | TCloseness | BetaLikeness,
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


def _kind(settings: Mapping[str, Any]) -> type[Any]:
    """Return the class of a model from its settings in the manifest."""
    told = {
        "l": LDiversity,
        "t": TCloseness,
        "k": KMap,
        "upper": DeltaPresence,
        "beta": BetaLikeness,
        "risk": AverageRisk,
        "share": Uniqueness,
    }
    kinds = [kind for setting, kind in told.items() if setting in settings]
    if not kinds:
        msg = "the manifest has a privacy model that this version does not know."
        raise PromiseError(msg)
    return kinds[0]


def model_of(settings: Mapping[str, Any]) -> Any:
    """Return the model whose settings a manifest has."""
    return _model(_kind(settings), settings)


def _model(kind: type[Any], settings: Mapping[str, Any]) -> Any:
    """Return a model from its settings in the manifest."""
    given = dict(settings)
    if kind in (KMap, DeltaPresence) and "fraction" not in given:
        given["population"] = "population"  # a file that stays with the holder
    if "hierarchy" in given:
        if given["hierarchy"].get("file"):
            msg = "a manifest names a file as a hierarchy."
            raise PromiseError(msg)
        given["hierarchy"] = from_plain(Hierarchy, given["hierarchy"], "hierarchy")
    return kind(**given)


def _wildcard(settings: Mapping[str, Any]) -> str:
    return (
        f"k-anonymity with wildcards: every row matches at least {settings['k']}"
        f" {people_of(settings)} in {listed(settings)}; a missing value matches any value."
    )


def _of_model(settings: Mapping[str, Any]) -> str:
    model = settings["model"]
    claim: str = model_of(model).claim(settings["columns"])
    return f"{claim.replace(' (rows)', '')[:-1]}; {ONCE}." if settings.get("person") else claim


def _fits_a_model(value: object) -> str:
    """Accept the settings of a model that this version knows."""
    if wrong := shapes.table({}, more=True)(value) or shapes.plain(value):
        return wrong
    try:
        model_of(value)  # type: ignore[arg-type]
    except (VeladuraError, TypeError, ValueError, AttributeError):
        return "no privacy model that can be read"
    return ""


POPULATION = ("blank", "population")
_MODEL = {"columns": shapes.names, "model": _fits_a_model}
_PEOPLE = shapes.listed(
    shapes.listed(shapes.either(shapes.nothing, shapes.text, shapes.whole()), 2)
)
_CLASSES = shapes.table(_MODEL, COUNTED)
_IN_POPULATION = shapes.table({**_MODEL, "population": _PEOPLE}, COUNTED)
_DIVERSE = Check(undiverse_classes, _of_model, _CLASSES, stated=("blank",))
_SIZED = Check(small_classes, _of_model, _CLASSES, stated=("blank",))
# How many people of a population share a combination is what the holder says.
_MAPPED = Check(exposed_classes, _of_model, _IN_POPULATION, shown=False, stated=POPULATION)
CHECKS = {
    "group-size": GROUP_SIZE,
    "group-size-wildcard": Check(unmatched, _wildcard, GROUPS, stated=("blank",)),
    "distinct-l-diversity": _DIVERSE,
    "entropy-l-diversity": _DIVERSE,
    "recursive-l-diversity": _DIVERSE,
    "t-closeness": Check(distant_classes, _of_model, _CLASSES, stated=("blank",)),
    "beta-likeness": Check(distant_classes, _of_model, _CLASSES, stated=("blank",)),
    "average-risk": _SIZED,
    "uniqueness": _SIZED,
    "estimated-k-map": _SIZED,
    "k-map": _MAPPED,
    "delta-presence": _MAPPED,
}
