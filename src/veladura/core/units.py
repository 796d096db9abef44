"""Numbers of units in a release: drawn anew, or left out, and what the manifest says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veladura.core.promise import unit_of
from veladura.errors import PlanError
from veladura.table.schema import UNITS
from veladura.table.units import rekeyed, with_units

if TYPE_CHECKING:
    from veladura.base.streams import Streams
    from veladura.core.promise import Promise
    from veladura.core.release import Dataset, Release
    from veladura.table.table import Table


def with_new_numbers(release: Release, streams: Streams) -> Release:
    """Return the release with new numbers for people and households, none of them the old one.

    Where a promise counts people in classes, numbers hold within a class only: the files prove how
    many people share it, and rows that a person has in two classes cannot be linked. Households
    would link them, and are left out, unless it is households that are counted. New rows belong to
    nobody and have no numbers.
    """
    source = None if release.original is None else release.original.units
    if source is None or not (names := source.schema.of_role(*UNITS)):
        return release
    linked = all(dataset.table.whole is not None for dataset in release.tables)
    sets = _counted_in(release.promises)
    classes = list(dict.fromkeys(name for columns in sets for name in columns))
    roles = {name: source.schema[name].role for name in names}
    grouped = any("k" in promise.settings for promise in release.promises)
    counted = {unit for p in release.promises if (unit := unit_of(p.settings)) is not None}
    kept = [
        name
        for name in names
        if linked and (name in counted or not (grouped and roles[name] == "household"))
    ]
    _refuse_several_classes(release, sets, classes)
    tables = tuple(
        _renumbered(dataset, kept, streams.within("units", i), classes)
        for i, dataset in enumerate(release.tables)
    )
    said = {
        name: _said(name, roles[name], classes, kept=name in kept, linked=linked) for name in names
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
    if not linked:
        return (
            f"{name} is not released: rows were drawn as if each were a person of its own, and the"
            f" link between the rows of a {role} is not kept."
        )
    if not kept:
        return f"{name} is not released: it would link people of different equivalence classes."
    if classes:
        return (
            f"{name} has new numbers, drawn at random within each combination of"
            f" {', '.join(classes)}: rows that a {role} has in different combinations cannot be"
            " linked."
        )
    return (
        f"{name} has new numbers, drawn at random: they say which rows belong to one {role}, and"
        " nothing else."
    )
