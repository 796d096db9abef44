"""What a method cannot do with linked tables, refused before anything is drawn or charged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.errors import PlanError, PromiseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from veladura.core.recipe import Recipe
    from veladura.table.table import Link, Table

ROW_BY_ROW = (
    "keeps the rows of linked tables, under new keys, and changes each row by itself: columns of a"
    " table with others below it are refused"
)
HOUSEHOLDS = 'use the method "households", or protect each table by a plan of its own.'


def linked_keys(links: Sequence[Link]) -> list[str]:
    """Return the keys that rows of other tables hold: a release without them links nothing."""
    above = {link.parent_key for link in links}
    return [link.key for link in links if link.key is not None and link.key in above]


def linked_words(methods: Iterable[Recipe | type[Recipe]]) -> list[str]:
    """Return what each of some methods does with linked tables, a sentence each."""
    does: dict[str, dict[str, None]] = {}
    for method in methods:
        does.setdefault(method.linked_tables, {})[method.method] = None
    subjects = {
        words: f"each of {' and '.join(names)}" if len(names) > 1 else next(iter(names))
        for words, names in does.items()
    }
    return [f"Linked tables: {subject} {words}." for words, subject in subjects.items()]


def refuse_linked(recipe: Recipe, table: Table) -> None:
    """Refuse a method that would leave out a key of linked tables, or break up a row of one."""
    if not table.source.links:
        return
    steps = recipe.parts()
    counted = any(step.counts_households() for step in steps)
    for number, step in enumerate(steps, start=1):
        called = step.method if len(steps) == 1 else f"step {number}, {step.method},"
        _refuse_lost_keys(step, called, table, counted=counted)
        if step.by_row:
            _refuse_broken_rows(step, called, table)


def _refuse_lost_keys(step: Recipe, called: str, table: Table, *, counted: bool) -> None:
    """Refuse a step without whose keys rows of one table would belong to nothing."""
    lost = () if counted and not step.synthesizes else step.leaves_out_units(table)
    if not (absent := [key for key in linked_keys(table.source.links) if key in lost]):
        return
    hint = HOUSEHOLDS
    if hasattr(step, "counted"):
        hint = f'counted = "households" with recoding = "global" keeps them; or {HOUSEHOLDS}'
    msg = (
        f"the keys {absent} of linked tables would not be in the release: {called}"
        f" {step.linked_tables}. Rows of one table would belong to nothing in the other; nothing"
        f" was drawn.\n\nHint: {hint}"
    )
    raise PlanError(msg)


def _refuse_broken_rows(step: Recipe, called: str, table: Table) -> None:
    """Refuse a step that would give the rows of one key different values of what they share."""
    shared = shared_columns(table)
    if changed := [name for name in step.changes(table.names) if name in shared]:
        owners = list(dict.fromkeys(shared[name] for name in changed))
        columns = "columns" if len(changed) > 1 else "a column"
        msg = (
            f"Linked tables: {called} changes {', '.join(changed)}, {columns} of"
            f" {' and '.join(owners)}, row by row: the rows below one of {' and '.join(owners)}"
            " would tell different values of it. Nothing was drawn.\n\nHint: leave these columns"
            f' out of the step; the method "households" draws them once for each row of'
            f" {' and '.join(owners)}, and recode, top-coding and k-anonymity change equal values"
            " alike."
        )
        raise PromiseError(msg)


def shared_columns(table: Table) -> dict[str, str]:
    """Return the columns that rows of one key share, with the table that each belongs to.

    Whether there are rows below, and of which table a row is, is shared too: nothing may change it.
    """
    links, shared = table.source.links, dict[str, str]()
    above = {link.parent_key: link.name for link in links}
    for link in links:
        parent = next((one.name for one in links if one.key == link.parent_key), link.name)
        for name in (link.present, link.row_of):
            if name is not None:
                shared[name] = parent
        if link.key is not None and link.key in above and _repeats(table, link.key):
            shared |= dict.fromkeys(link.columns, link.name)
    return shared


def _repeats(table: Table, key: str) -> bool:
    """Whether a key has several rows in the joined table."""
    return bool(table.units.counts([key]).size.max(initial=0) > 1)
