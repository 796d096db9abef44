"""Numbers of units in a release: drawn anew, or left out, and what the manifest says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veladura.core.lookups import telling_keys
from veladura.core.violations import unit_of
from veladura.errors import PlanError
from veladura.table.schema import UNITS
from veladura.table.units import rekeyed, with_units

if TYPE_CHECKING:
    from veladura.base.streams import Streams
    from veladura.core.promise import Promise
    from veladura.core.release import Dataset, Release
    from veladura.table.table import Table


# would link people of different classes, or tell those of one class apart
LEFT_OUT = ("household", "lookup")


def with_new_numbers(release: Release, streams: Streams) -> Release:
    """Return the release with new numbers for people and households, none of them the old one.

    Where a promise counts people in classes, numbers hold within a class only: the files prove how
    many people share it, and rows that a person has in two classes cannot be linked. Households
    would link them, and are left out, unless it is households that are counted. New rows belong to
    nobody and have no numbers. What rows look up is not counted, and left out of classes too.
    """
    source = None if release.original is None else release.original.units
    if source is None or not (names := source.schema.of_role(*UNITS)):
        return release
    wholes = [dataset.table.whole for dataset in release.tables]
    linked = [name for name in names if all(w is not None and name in w.names for w in wholes)]
    sets = _counted_in(release.promises)
    classes = list(dict.fromkeys(name for columns in sets for name in columns))
    roles = {name: source.schema[name].role for name in names}
    grouped = any("k" in promise.settings for promise in release.promises)
    counted = {unit for p in release.promises if (unit := unit_of(p.settings)) is not None}
    telling = telling_keys(release)
    kept = [
        name
        for name in linked
        if name in counted or not (grouped and roles[name] in LEFT_OUT)
        if name not in telling
    ]
    _refuse_several_classes(release, sets, classes)
    tables = tuple(
        _renumbered(dataset, kept, streams.within("units", i), classes)
        for i, dataset in enumerate(release.tables)
    )
    said = {
        name: _said(name, roles[name], classes, kept=name in kept, linked=name in linked)
        for name in names
    } | {
        name: f"{name} is not released: rows that look up the same would tell by their mean what"
        " each of them hides, or nothing is looked up."
        for name in telling
    }
    said |= {
        name: f"{name} keeps the numbers of the earlier release that this one extends; every new"
        f" {roles[name]} has a new number, drawn at random."
        for name in kept
        if any(dataset.known for dataset in release.tables)
    }
    return replace(release, tables=tables, units=said)


def with_people(release: Release, original: Table | None = None) -> list[Table]:
    """Return the released tables with the people who are behind their rows.

    Released numbers may differ from class to class; where the link between rows is known, people
    are those of the original.
    """
    source = release.original if release.original is not None else original
    return [
        (
            dataset.table
            if source is None or source.person is None or dataset.rows is None
            else dataset.table.beside(with_units(dataset.table, source, dataset.rows))
        )
        for dataset in release.tables
    ]


def _counted_in(promises: Sequence[Promise]) -> list[tuple[str, ...]]:
    """Return the sets of columns in whose combinations promises count people."""
    sets = [tuple(p.settings["columns"]) for p in promises if unit_of(p.settings)]
    return list(dict.fromkeys(sets))


def _renumbered(
    dataset: Dataset, names: Sequence[str], streams: Streams, classes: Sequence[str]
) -> Dataset:
    view, whole = dataset.table, dataset.table.whole
    if whole is None:
        return dataset
    for name in names:
        whole = rekeyed(whole, name, streams(name), classes, dataset.known.get(name, 0))
    order = [name for name in whole.names if name in names or name in view.names]
    return replace(dataset, table=_beside(view, whole.select(order)) if names else _alone(view))


def _beside(view: Table, whole: Table) -> Table:
    return replace(view, frame=None).beside(whole)


def _alone(view: Table) -> Table:
    return replace(view, frame=None, whole=None)


def _refuse_several_classes(
    release: Release, sets: Sequence[Sequence[str]], classes: Sequence[str]
) -> None:
    """Refuse several quasi-identifiers where a person lies in several classes.

    One number cannot prove the people of every quasi-identifier and yet link none of its classes.
    """
    if len(sets) < 2:  # noqa: PLR2004
        return
    for dataset in release.tables:
        if not dataset.table.people_counts(list(classes)).one_tuple_each:
            msg = (
                "people whose quasi-identifiers differ from row to row can be counted for one list"
                f" of quasi-identifiers only, got {len(sets)} lists.\n\nHint: give one list, or"
                " make the columns constant for each person in the source."
            )
            raise PlanError(msg)


def _said(name: str, role: str, classes: Sequence[str], *, kept: bool, linked: bool) -> str:
    """Return what became of a column of units, in one sentence."""
    a_role = f"an {role}" if role == "episode" else f"a {role}"
    belong = "look up the same" if role == "lookup" else f"belong to one {role}"
    if not linked and role == "lookup":
        return f"{name} is not released: rows were drawn with the columns that are looked up."
    if not linked:
        return (
            f"{name} is not released: rows were drawn as if each were a person of its own, and the"
            f" link between the rows of {a_role} is not kept."
        )
    if not kept and role == "lookup":
        return f"{name} is not released: it could tell people of one equivalence class apart."
    if not kept:
        return f"{name} is not released: it would link people of different equivalence classes."
    if classes:
        return (
            f"{name} has new numbers, drawn at random within each combination of"
            f" {', '.join(classes)}: rows that {a_role} has in different combinations cannot be"
            " linked."
        )
    return (
        f"{name} has new numbers, drawn at random: they say which rows {belong}, and nothing else."
    )
