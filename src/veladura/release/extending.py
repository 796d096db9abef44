"""A release that goes on with an earlier one: the same artificial people, and new waves of them.

Released anew, the people of a yearly panel have nothing to do with those of the year before, and
two draws of one register are two looks at it. A release that extends another keeps its rows of
earlier waves and adds rows of new ones. All that is needed of the earlier release is what was
handed out: the folder, known by the digest of its checksums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.context import Progress, silent
from veladura.core.earlier import Earlier, refuse_extension
from veladura.core.making import released
from veladura.core.recipe import context_of
from veladura.errors import PlanError
from veladura.release.folder import SUMS, file_hash
from veladura.release.package import load
from veladura.release.verify import refuse_broken
from veladura.table.schema import UNITS

if TYPE_CHECKING:
    from veladura.base.context import Context
    from veladura.base.streams import Streams
    from veladura.core.recipe import Fitted, Recipe
    from veladura.core.release import Release
    from veladura.release.series import Series
    from veladura.table.table import Table

HINT = "\n\nHint: use the same settings and columns, or begin another series."


def extend(
    recipe: Recipe,
    table: Any,
    earlier: str | Path,
    seed: int | Streams | None = None,
    *,
    threads: int | None = None,
    progress: Progress = silent,
) -> Release:
    """Return a release of a panel with new waves that extends an earlier release of it.

    Its artificial people and households keep their numbers and their rows, in every dataset. Rows
    of the new waves are drawn for them given their released rows, and newcomers are added.

    Parameters
    ----------
    recipe
        That of the earlier release; a `HouseholdCart`.
    table
        All waves: those that were released, and new ones.
    earlier
        The folder of the earlier release.
    seed, threads
        As in ``recipe.protect``.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import veladura as vd
    >>> frame = pd.DataFrame({"who": [*range(200)] * 3, "year": sorted([1, 2, 3] * 200)})
    >>> frame["pay"] = 100 * (frame.who % 7) + frame.year
    >>> recipe, roles = vd.HouseholdCart(m=1), {"who": {"role": "person"}}
    >>> first = recipe.protect(vd.open(frame[frame.year < 3], roles), seed=7)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     saved = first.save(f"{home}/out/first", custodian=f"{home}/safe/first")
    ...     new = vd.extend(recipe, vd.open(frame, roles), saved, seed=8).datasets[0]
    >>> new = new[new.year < 3].sort_values(["who", "year"])
    >>> bool((new.to_numpy() == first.datasets[0].sort_values(["who", "year"]).to_numpy()).all())
    True
    """
    context = context_of(seed, threads, progress, None, unsafe_repeatable=False)
    fitted = fit_extension(recipe, table, Path(earlier), context)
    return released(fitted, context, fitted.table.units.schema)


def fit_extension(recipe: Recipe, table: Any, earlier: Path, context: Context) -> Fitted[Any]:
    """Return a recipe fitted to what comes after an earlier release; nothing is drawn."""
    prepared = recipe.prepared(table)
    return recipe.extended(prepared, read_earlier(recipe, prepared, earlier), context)


def read_earlier(recipe: Recipe, table: Table, folder: Path) -> Earlier:
    """Return an earlier release as a method needs it; refuse one that cannot be extended."""
    if not recipe.extends:
        refuse_extension(recipe.method)
    refuse_broken(folder, "Nothing was drawn.")
    release = load(folder, lazy=False)
    _refuse_other_steps(recipe, release)
    _refuse_other_columns(table, release.manifest["columns"])
    tables = tuple(dataset.table for dataset in release.tables)
    return Earlier(file_hash(folder / SUMS), tables, release.steps[0].settings)


def last_release(series: Series, new: Path) -> Path | None:
    """Return the folder of the last release of a series; refuse one that is another by now.

    A release that is made again, in the same folder, does not extend itself.
    """
    folders = [entry for entry in series.entries() if entry.folder]
    last = [entry for entry in folders if Path(entry.folder) != new.resolve()][-1:]
    if not last:
        return None
    folder = Path(last[0].folder)
    if not (folder / SUMS).exists():
        why = f"the folder of the last release is gone: {folder}"
    elif file_hash(folder / SUMS) != last[0].digest:
        why = f"{folder} is no longer the release that the series remembers"
    else:
        return folder
    msg = (
        f"series {series.name!r}: {why}. A panel is extended from its last release.\n\nHint: put"
        " the released folder back, or begin another series."
    )
    raise PlanError(msg)


def _refuse_other_steps(recipe: Recipe, release: Release) -> None:
    """Refuse a release of another method, with other settings, or of several steps."""
    methods = [step.method for step in release.steps]
    if methods != [recipe.method]:
        msg = (
            f"the earlier release was made by {', then '.join(map(repr, methods))} and this one by"
            f" {recipe.method!r}: it cannot extend it.{HINT}"
        )
        raise PlanError(msg)
    before = release.steps[0].settings
    now = json.loads(json.dumps(recipe.settings()))
    if other := [name for name, value in now.items() if _given(before, name) != (value or None)]:
        msg = (
            f"settings differ from those of the earlier release: {', '.join(other)}. This release"
            f" cannot extend it.{HINT}"
        )
        raise PlanError(msg)


def _given(settings: Mapping[str, Any], name: str) -> Any:
    return settings.get(name) or None


def _refuse_other_columns(table: Table, columns: list[dict[str, str]]) -> None:
    """Refuse a table whose columns, or their kinds or roles, are not those that were released."""
    schema = table.units.schema
    before = [(c["name"], c["role"] in UNITS or c["kind"], c["role"]) for c in columns]
    now = [(f.name, f.role in UNITS or f.kind, f.role) for f in schema]  # numbers are new ones
    if before != now:
        names = sorted({name for name, *_ in set(before) ^ set(now)})
        about = f" differ: {names}" if names else " have another order"
        msg = (
            f"columns, kinds or roles{about} from those of the earlier release; this one cannot"
            f" extend it.{HINT}"
        )
        raise PlanError(msg)
