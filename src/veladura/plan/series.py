"""A plan of a series: what it keeps of earlier releases, and what both tell together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from veladura.base.context import Progress, silent
from veladura.errors import PlanError, VeladuraWarning
from veladura.release.folder import SUMS, file_hash
from veladura.release.series import Entry, Series, Together, refuse_broken

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.plan.plan import Plan
    from veladura.table.table import Table


class SeriesWarning(VeladuraWarning):
    """What a release tells together with an earlier one of its series, where nothing forbids it."""


def check_series(plan: Plan) -> None:
    """Refuse a register that is not whole, before anything is drawn or charged."""
    if plan.custodian.series:
        Series(plan.custodian.series).entries()


def extension(plan: Plan, table: Table, progress: Progress = silent) -> Release | None:
    """Return a release that extends the last one of the series, where a plan asks for it."""
    folder = extended_folder(plan)
    if folder is None:
        return None
    from veladura.release.extending import extend

    release = extend(
        plan.recipe,
        table,
        folder,
        plan.run.seed,
        threads=plan.run.threads,
        progress=progress,
    )
    warnings.warn(
        f"series {plan.custodian.series!r}: this release extends the one in {folder}: its people"
        " keep their numbers and their rows, and rows of new waves are added.",
        SeriesWarning,
        stacklevel=2,
    )
    return release


def extended_folder(plan: Plan) -> Path | None:
    """Return the folder of the release that this one extends, if it is to extend any."""
    if not (plan.custodian.consistent and plan.recipe.extends):
        return None
    from veladura.release.extending import last_release

    return last_release(Series(str(plan.custodian.series)), plan.folder)


def consistent(plan: Plan, release: Release, table: Table) -> Release:
    """Return the release with the values of the last one where a plan asks for it."""
    if not plan.custodian.consistent or plan.recipe.extends:
        return release
    from veladura.release import consistent as keeping

    series = Series(str(plan.custodian.series))
    if words := keeping.not_kept(series):
        warnings.warn(f"series {series.name!r}: {words}", SeriesWarning, stacklevel=2)
    made, number = keeping.consistent(release, table, series)
    if number is not None:
        warnings.warn(
            f"series {plan.custodian.series!r}: {number:,} of {made.tables[0].table.rows:,} rows"
            " have not changed since an earlier release in what is drawn, and keep the values"
            " released then.",
            SeriesWarning,
            stacklevel=2,
        )
    return made


def held_against_past(plan: Plan, release: Release, table: Table) -> tuple[Entry | None, list[str]]:
    """Return the release as its series remembers it, and what it breaks with the holder's word.

    One that breaks an older promise without it is refused.
    """
    if not plan.custodian.series:
        return None, []
    series = Series(plan.custodian.series)
    if not series.entries() and (alike := get_close_matches(series.name, series.others(), 1)):
        warnings.warn(
            f"series {series.name!r}: this is its first release, and nothing is compared with those"
            f" of the series {alike[0]!r}.\n\nHint: if it is one and the same, write the name of"
            " then.",
            SeriesWarning,
            stacklevel=2,
        )
    entry = series.entry(release, table, plan.folder.name)
    results, broken = _judged(plan, series, entry)
    for result in results:
        if result.worth_saying and not result.broken:
            hint = "" if plan.custodian.consistent else result.hint
            said = f"series {series.name!r}: {result}.{hint}"
            warnings.warn(said, SeriesWarning, stacklevel=2)
    return replace(entry, before=len(series.entries())), broken


def _judged(
    plan: Plan, series: Series, entry: Entry, beside: Sequence[Entry] = ()
) -> tuple[list[Together], list[str]]:
    """Return what a release tells with others, and the broken promises that its holder accepts."""
    results = series.against(entry, beside)
    broken = refuse_broken(series, results, plan.custodian.breaks_earlier)
    for line in broken:
        msg = f"series {series.name!r}: a promise is broken, and accepted by the holder: {line}."
        warnings.warn(msg, SeriesWarning, stacklevel=3)
    return results, broken


@contextmanager
def reserved(entries: Sequence[tuple[Plan, Entry | None]]) -> Iterator[None]:
    """Write releases into the register of their series before they are handed out.

    What cannot be remembered is not released. Those that other runs have written since these were
    judged, and those of the same run, are judged now. A release that is not made is forgotten.
    """
    named = [(plan, entry) for plan, entry in entries if entry is not None]
    if not named:
        yield
        return
    series = Series(str(named[0][0].custodian.series))
    with series.register.locked():
        written = len(series.entries())
        for place, (plan, entry) in enumerate(named):
            if place or entry.before != written:
                _judged(plan, series, entry, [earlier for _, earlier in named[:place]])
        for place, (_, entry) in enumerate(named):
            series.write(replace(entry, before=written + place))
    try:
        yield
    except BaseException:
        made = {entry.made for entry in series.entries() if entry.folder}
        for _, entry in named:
            if entry.made not in made:
                series.register.forget(entry)
        raise


def remember(plan: Plan, release: Release, table: Table, entry: Entry) -> None:
    """Write down where a release is, for those that follow it."""
    series = Series(str(plan.custodian.series))
    kept = next(one for one in series.entries() if one.made == entry.made)
    where, digest = str(plan.folder.resolve()), file_hash(plan.folder / SUMS)
    series.write(replace(kept, folder=where, digest=digest))
    if plan.custodian.consistent and not plan.recipe.extends:
        from veladura.release.consistent import remember as keep_values

        keep_values(release, table, series, entry)


def no_release(plan: Plan, series: str | None = None) -> str:
    """Say that a series has no release, and which have some."""
    held = Series(str(series or plan.custodian.series))
    others = ", ".join(map(repr, held.others()))
    said = f"The series {held.name!r} has no release yet."
    return f"{said} Series with releases: {others}." if others else said


def past(plan: Plan, series: str | None = None) -> list[Together]:
    """Return what the release of a plan would add to those of a series; nothing is written."""
    name = series or plan.custodian.series
    if not name:
        msg = (
            'no series is named.\n\nHint: --against NAME, or series = "NAME" in [custodian] of the'
            " plan."
        )
        raise PlanError(msg)
    held = Series(name)
    if not held.entries():
        return []  # and no key is made: nothing is written
    table = plan.open()
    release = extension(plan, table)
    if release is None:
        release = plan.recipe.protect(table, seed=plan.run.seed, threads=plan.run.threads)
        release = consistent(plan, release, table)
    return held.against(held.entry(release, table, plan.folder.name))
