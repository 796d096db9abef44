"""Consistent releases: whoever has not changed since the last one keeps the released values.

Two draws for the same person tell more than one: noise averages out, and values that come out twice
are believed. In a consistent series a row whose person and original values are those of an earlier
release gets the values that were released then, in every dataset. So does a row whose person has
the same original values in the columns that are drawn, where others changed: everybody is a year
older every year. Changed and new people are drawn. What this tells in turn: whose released values
differ between two releases has changed in these columns.

The custodian's home keeps for every row a keyed hash of the person with all original values, and
one with those of the drawn columns, beside the values that were released; no original value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veladura.base.arrays import Ints
from veladura.base.private_files import private_file, private_folder
from veladura.errors import PlanError, PromiseError
from veladura.release.entry import Entry, has_classes, hashed, people_of, text_of
from veladura.release.kept_values import (
    DATASET,
    KEY,
    OWN,
    PART,
    files_of,
    places_of,
    values_of,
)
from veladura.release.register import VALUES
from veladura.release.series import Series

if TYPE_CHECKING:
    from collections.abc import Callable

    from veladura.core.release import Dataset, Release
    from veladura.table.table import Table


def consistent(release: Release, table: Table, series: Series) -> tuple[Release, int | None]:
    """Return a release with the values of the last one for rows that have not changed.

    Parameters
    ----------
    table
        The source as it was opened, with its person or identifier columns.

    Returns
    -------
    The release, proved again, and how many rows keep their values; None where none were kept.
    """
    _refuse(release)
    paths = files_of(series.folder)
    if not paths:
        return _said(release, release.tables), None
    _refuse_others(release, pq.read_table(paths[0]))
    before = values_of(paths, release.changed)
    keys, parts = _keys(release, table, series.key())
    try:
        return _with_values(release, before, keys, parts)
    except PromiseError:  # a rule between a drawn column and one that has changed
        return _with_values(release, before, keys, None)


def _with_values(
    release: Release, before: pa.Table, keys: Ints, parts: Ints | None
) -> tuple[Release, int]:
    """Return the release with earlier values, proved again, and how many rows have some."""
    tables, number = [], 0
    for i, dataset in enumerate(release.tables):
        old = before.filter(pc.equal(before[DATASET], i))
        rows = np.asarray(dataset.rows)
        found = places_of(old, keys[rows], None if parts is None else parts[rows])
        tables.append(_with_old(dataset, old, found, release.changed))
        number = int(np.count_nonzero(found >= 0))
    made = _said(release, tables)
    made.prove()
    return made, number


def remember(release: Release, table: Table, series: Series, entry: Entry) -> Path:
    """Keep the released values of every row, for the next release of a consistent series."""
    keys, parts = _keys(release, table, series.key())
    tables = []
    for i, dataset in enumerate(release.tables):
        own = {
            KEY: pa.array(keys[dataset.rows]),
            PART: pa.array(parts[dataset.rows]),
            DATASET: pa.array(np.full(dataset.table.rows, i)),
        }
        rows = dataset.table.arrow
        tables.append(pa.table(own | {name: rows.column(name) for name in release.changed}))
    path = private_folder(series.folder) / f"{entry.made.replace(':', '')}{VALUES}"
    with private_file(path) as stream:
        pq.write_table(pa.concat_tables(tables), stream)
    return path


def not_kept(series: Series) -> str:
    """Return what a consistent release cannot keep, in words: values of releases that kept none.

    Who is drawn again beside such a release has two draws, and noise averages out.
    """
    last = next(iter(files_of(series.folder)), None)
    kept = "" if last is None else last.name.removesuffix(VALUES)
    later = [
        entry
        for entry in series.entries()
        if entry.kind == "rows" and entry.made.replace(":", "") > kept
    ]
    if not later:
        return ""
    which = f"{later[-1].name!r} of {later[-1].made[:10]}"
    those = which if len(later) == 1 else f"{len(later)} releases, the last {which},"
    then = (
        "everybody in this release is drawn anew"
        if last is None
        else "people keep the values of the release before, or are drawn anew"
    )
    return (
        f"{those} kept no values (consistent was not set), so that this one cannot repeat them:"
        f" {then}, and who is in both has two draws, which tell more than one. From this one on"
        " values are kept."
    )


def _refuse(release: Release) -> None:
    """Refuse releases in which no row is a person's, or no value is drawn."""
    why = None
    if release.rule.private:
        why = "differential privacy covers repeated releases: their epsilon adds up"
    elif has_classes(release):
        why = "k-anonymous releases are consistent by the same generalisation: give the levels"
    elif release.rows is None:
        why = (
            "every row is a new one, and none is anybody's: replace some columns only, or release a"
            " panel by the method 'households' alone"
        )
    if why is not None:
        msg = f"this release cannot be consistent with an earlier one; {why}.\n\nHint: leave out"
        raise PlanError(f"{msg} consistent in [custodian], or change the method.")


def _refuse_others(release: Release, before: pa.Table) -> None:
    """Refuse a release that replaces other columns than the last one, or has more datasets."""
    names = [name for name in before.column_names if name not in OWN]
    sets = int(pc.max(before[DATASET]).as_py()) + 1
    if set(names) != set(release.changed) or sets != len(release.tables):
        msg = (
            f"the last release of the series has {sets} datasets and replaced {names}; this one has"
            f" {len(release.tables)} and replaces {list(release.changed)}: they cannot be"
            " consistent.\n\nHint: use the same columns and m, or begin another series."
        )
        raise PlanError(msg)


def _keys(release: Release, table: Table, key: bytes) -> tuple[Ints, Ints]:
    """Return hashes of the person of each row with all original values, and with the drawn ones.

    The second of two rows that are alike in all of it has a hash of its own.
    """
    original = release.original
    people = people_of(release, table)
    assert original is not None  # noqa: S101  # people are those of the original
    drawn = [at for at, name in enumerate(original.names) if name in release.changed]
    values = [map(text_of, original.arrow.column(n).to_pylist()) for n in original.names]
    seen: Counter[tuple[str, ...]] = Counter()
    keys, parts = [], []
    for person, *row in zip(people, *values, strict=True):
        whole = (*person, *row)
        seen[whole] += 1
        keys.append(hashed(key, (*whole, str(seen[whole]))))
        parts.append(hashed(key, (*person, *(row[at] for at in drawn))))
    return np.array(keys, dtype=np.int64), np.array(parts, dtype=np.int64)


def _with_old(dataset: Dataset, old: pa.Table, found: Ints, changed: Sequence[str]) -> Dataset:
    """Return a dataset with old values in the rows for which there are any."""
    size = found.size
    at = pa.array(np.where(found >= 0, size + found, np.arange(size)))

    def exchanged(table: Table) -> Table:
        data = table.arrow
        for name in changed:
            if name in table.names:
                new = data.column(name)
                both = pa.chunked_array([*new.chunks, *old.column(name).cast(new.type).chunks])
                data = data.set_column(table.schema.position(name), name, both.take(at))
        return replace(table, data=data, frame=None, stored=None)

    table = exchanged(dataset.table)
    if dataset.table.whole is not None:
        table = table.beside(exchanged(dataset.table.whole))
    return replace(dataset, table=table)


def _said(release: Release, tables: Sequence[Dataset]) -> Release:
    """Return a release of other tables, its pictures drawn of these, that says it is consistent."""
    last = release.steps[-1]
    steps = (*release.steps[:-1], replace(last, settings={**last.settings, "consistent": True}))
    made = replace(release, tables=tuple(tables), steps=steps)
    return replace(
        made,
        pictures=tuple(_of(picture, made) for picture in release.pictures),
        public_pictures=tuple(_of(picture, made) for picture in release.public_pictures),
    )


def _of(picture: Callable[[], Any], release: Release) -> Callable[[], Any]:
    return partial(picture.func, release) if isinstance(picture, partial) else picture
