"""What an anonymised release promises of its groups, and the checks that count again from its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.settings import from_plain, to_plain
from veladura.core.promise import GROUP_SIZE, Check, Evidence, Promise, starred_tuples
from veladura.methods.kanonymity.counting import joined, parents, places_in
from veladura.methods.kanonymity.equivalence_classes import Pairs, Sensitive, View
from veladura.methods.kanonymity.presence import DeltaPresence, KMap
from veladura.methods.kanonymity.privacy_models import LDiversity, Model, TCloseness
from veladura.methods.kanonymity.recoding import typed_labels
from veladura.methods.kanonymity.suppression import Judge, unpack
from veladura.methods.kanonymity.wildcard import unmatched
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import Levels, distinct_values
from veladura.table.codes import Column, label_text
from veladura.table.counts import Counts

Ints = NDArray[np.int64]


def size_promises(
    sets: Sequence[Sequence[str]],
    k: int,
    *,
    starred: bool,
    blank: Sequence[str] = (),
    missing: str = "category",
) -> list[Promise]:
    """Promise k for every quasi-identifier by itself, under the readings of missing values that were asked for."""
    if k < 2:  # noqa: PLR2004  # asked of the models alone
        return []
    found = []
    for names in sets:
        told, settings = (
            ", ".join(names),
            {
                "columns": list(names),
                "k": k,
                "starred": starred,
                **({"blank": list(blank)} if blank else {}),
            },
        )
        if missing != "wildcard":
            claim = (
                f"Every combination of {told} is shared by at least {k} rows; a missing value"
                " counts as a value of its own."
            )
            found.append(Promise("group-size", claim, "package", settings))
        if missing != "category":
            claim = (
                f"Every row matches at least {k} rows in {told}; a missing value matches anything."
            )
            found.append(Promise("group-size-wildcard", claim, "package", settings))
    return found


def model_promises(
    judge: Judge,
    names: Sequence[str],
    vector: Sequence[int],
    *,
    starred: bool,
    dropped: bool,
    exact: bool,
    blank: Sequence[str] = (),
) -> list[Promise]:
    """Promise every model for every quasi-identifier.

    The files prove all but closeness to a table of which rows were dropped: its distribution is
    not theirs, and telling it would tell what was dropped.
    """
    found = []
    for columns in judge.sets:
        mine = [names[c] for c in columns]
        for model in judge.models:
            settings = {
                "columns": mine,
                "starred": starred,
                "model": told_model(model),
                **({"blank": list(blank)} if blank else {}),
            }
            if isinstance(model, (KMap, DeltaPresence)):
                settings["population"] = _people(judge, vector, columns, exact=exact)
            hidden = isinstance(model, TCloseness) and dropped
            found.append(
                Promise(model.name, model.claim(mine), "source" if hidden else "package", settings)
            )
    return found


def told_model(model: Model) -> dict[str, Any]:
    """Return the settings of a model as the manifest tells them: no path, a hierarchy as declared."""
    told = {
        key: value
        for key, value in to_plain(model).items()
        if key not in ("population", "hierarchy")
    }
    if isinstance(model, TCloseness) and model.hierarchy is not None:
        told["hierarchy"] = to_plain(model.hierarchy.told())
    return told


def _people(
    judge: Judge, vector: Sequence[int], columns: Sequence[int], *, exact: bool
) -> list[list[Any]]:
    """Return the released combinations of a quasi-identifier, each with how many of the population share it.

    The population is what an outsider may have; combinations that are not released are not told.
    """
    keys, people = judge.people(vector, columns)
    parts = []
    for c in columns:
        levels, level = judge.lattice.levels[c], vector[c]
        words = _words(levels, level, exact=exact)
        parts.append([words[code] for code in unpack(judge.lattice, keys, c)])
    return [[*words, int(number)] for *words, number in zip(*parts, people.tolist(), strict=True)]


def _words(levels: Levels, level: int, *, exact: bool) -> list[str | None]:
    """Return what each code of a level is released as."""
    typed = typed_labels(levels, [level]) if exact or not level else None
    return [
        None if label is None else label_text(label)
        for label in (levels.labels[level] if typed is None else typed[level])
    ]


def undiverse_groups(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of groups whose sensitive values are not diverse."""
    model = _read(LDiversity, settings["model"])
    counts = evidence.released.counts([*settings["columns"], model.column])
    place, base = distinct_values(counts.columns[-1])
    return _failing(model, counts, settings, Sensitive(np.zeros(base.size, dtype=np.int64)), place)


def distant_groups(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of groups whose sensitive values are distributed too unlike those of the whole table."""
    model = _read(TCloseness, settings["model"])
    counts = evidence.released.counts([*settings["columns"], model.column])
    whole = (evidence.released if evidence.original is None else evidence.original).counts(
        [model.column]
    )
    base = joined(whole.columns[0], counts.columns[-1])
    reference = np.bincount(
        places_in(base, whole.columns[0]), weights=whole.size, minlength=base.size
    ).astype(np.int64)
    tree = () if model.hierarchy is None else parents(model.hierarchy, base, reference)
    return _failing(
        model, counts, settings, Sensitive(reference, tree), places_in(base, counts.columns[-1])
    )


def exposed_groups(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of groups that too few of the population share, or that tell too much about who is in the table."""
    kind = KMap if "k" in settings["model"] else DeltaPresence
    model = _read(kind, {**settings["model"], "population": "population"})
    counts = evidence.released.counts(settings["columns"])
    known = {tuple(words): number for *words, number in settings["population"]}
    words = zip(*(_plain(column) for column in counts.columns), strict=True)
    people = np.array([known.get(word, 0) for word in words], dtype=np.int64)
    view = View(counts.size, people, lambda _: Pairs(*(np.zeros(0, dtype=np.int64),) * 3), {})
    return int(np.count_nonzero(model.fails(view) & ~_stars(counts, settings)))


def _failing(
    model: LDiversity | TCloseness,
    counts: Counts,
    settings: Mapping[str, Any],
    sensitive: Sensitive,
    place: Ints,
) -> int:
    codes = np.column_stack([distinct_values(column)[0] for column in counts.columns[:-1]])
    _, first, ids = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    pairs = Pairs(ids.ravel(), place, counts.size)
    sizes = np.bincount(pairs.group, weights=counts.size).astype(np.int64)
    bad = model.fails(View(sizes, np.zeros_like(sizes), lambda _: pairs, {model.column: sensitive}))
    return int(np.count_nonzero(bad & ~_stars(counts, settings)[first]))


def _stars(counts: Counts, settings: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which combinations are those of suppressed rows."""
    return starred_tuples(counts, settings)


def _plain(column: Column) -> list[str | None]:
    return [None if value is None else label_text(value) for value in column.to_arrow().to_pylist()]


def _read(model: type[Any], told: Mapping[str, Any]) -> Any:
    """Return a model from what the manifest tells of it."""
    given = dict(told)
    hierarchy = (
        from_plain(Hierarchy, given.pop("hierarchy"), "hierarchy") if "hierarchy" in given else None
    )
    known = {f.name for f in fields(model)}
    extra = {"hierarchy": hierarchy} if hierarchy is not None else {}
    return model(**{key: value for key, value in given.items() if key in known}, **extra)


CHECKS = {
    "group-size": GROUP_SIZE,
    "group-size-wildcard": Check(unmatched),
    "distinct-l-diversity": Check(undiverse_groups),
    "entropy-l-diversity": Check(undiverse_groups),
    "recursive-l-diversity": Check(undiverse_groups),
    "t-closeness": Check(distant_groups),
    "k-map": Check(exposed_groups),
    "delta-presence": Check(exposed_groups),
}
