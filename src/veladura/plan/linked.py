"""Linked tables in a drafted plan: the chain that files make, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import tomli_w

from veladura.core.linking import linked_words, shared_columns
from veladura.errors import PlanError
from veladura.plan.commented import comment
from veladura.table.database.spark import is_spark_url
from veladura.table.find_links import find_links
from veladura.table.linked import LinkedTable, chain_of, open_linked, with_people
from veladura.table.linked_people import share_a_unit
from veladura.table.roles.guess import Guess, guess_roles
from veladura.table.roles.names import hints_of
from veladura.table.schema import NUMERIC, Declared
from veladura.table.source import open_unwarned
from veladura.table.table import Table

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.table.inspect import Facts

FEWEST_ROWS = 50  # of a table that shows by itself whether its numbers are codes


def find_linked(sources: Sequence[str]) -> list[LinkedTable]:
    """Return some files as a chain of tables, keys and units found by content."""
    if servers := [s for s in sources if "://" in s or is_spark_url(s)]:
        msg = f"linked tables are read from files, and {len(servers)} sources are databases."
        raise PlanError(msg)
    paths = {Path(source).stem: source for source in sources}
    if len(paths) < len(sources):
        msg = "two of the files have the same name, and tables are named after their files."
        raise PlanError(msg)
    tables = with_people(find_links(paths))
    chain = chain_of(tables)
    if len(chain) > 2:  # noqa: PLR2004
        return tables
    first, last, *looked_up = tables
    opened = opened_with(chain, {}, plain=True)
    own = next(link.columns for link in opened.source.links if link.name == last.name)
    if not share_a_unit(opened, str(first.key), own):
        return tables
    # a firm without employees: nobody's number is missing; without numbers rows are people
    if last.key is None or f"has_{last.name}" in opened.names:
        return [replace(first, unit="household"), last, *looked_up]
    return [replace(first, unit="household"), replace(last, unit="person"), *looked_up]


def judged_alone(opened: Table, guesses: Mapping[str, Guess]) -> dict[str, Guess]:
    """Return guesses that hold for the tables above by themselves, where repetition misleads.

    Rows below repeat a column of the table above, as members of a household share their weight:
    the turnover of a firm is not the weight of its employees, nor are its amounts codes.
    """
    better = dict(guesses)
    for link in opened.source.links:
        held = [name for name in link.columns if _may_mislead(opened, name, guesses[name])]
        if link.key not in opened.names or not held:  # rows of the last table repeat nothing
            continue
        key = opened.column(str(link.key))
        first = np.unique(np.where(key.missing, -1, key.values), return_index=True)[1]
        alone = open_unwarned(opened.arrow.take(pa.array(first)).select(link.columns))
        by_itself = guess_roles(alone)
        better |= {
            name: replace(by_itself[name], unique=guesses[name].unique)
            for name in held
            if _is_better(guesses[name], by_itself[name], first.size, name)
        }
    return better


def _may_mislead(opened: Table, name: str, guess: Guess) -> bool:
    """Whether a guess is one that values make which rows below repeat: a weight, or codes."""
    return guess.role == "weight" or (
        guess.kind == "category" and opened.schema[name].kind in NUMERIC
    )


def _is_better(guess: Guess, by_itself: Guess, rows: int, name: str) -> bool:
    """Whether the guess of a table by itself is to be taken: no weight, or a number.

    What is called a weight, and all members of a household share, is not that of a body.
    """
    if guess.role == "weight":
        return by_itself.role != "weight" and "weight" not in hints_of(name)
    number = by_itself.kind in NUMERIC and by_itself.role != "identifier"
    return number and rows >= FEWEST_ROWS


def opened_with(
    chain: Sequence[LinkedTable], columns: Mapping[str, Declared], *, plain: bool = False
) -> Table:
    """Return linked tables as one; ``plain`` for no roles of keys, so that they can be guessed."""
    opened = open_linked(*chain, columns=columns)
    if not plain:
        return opened
    fields = tuple(replace(field, role="other") for field in opened.schema)
    return replace(opened, schema=replace(opened.schema, fields=fields))


def suggested_for(cls: type[Recipe], table: Table, facts: Mapping[str, Facts]) -> Recipe:
    """Return suggested settings; a method that draws row by row leaves alone what rows share.

    The rows of a patient's visits would tell different ages of the patient.
    """
    shared = shared_columns(table) if cls.by_row else {}
    free = [name for name in table.names if name not in shared]
    if not shared or not free:
        return cls.suggest_for(table, facts)
    recipe = cls.suggest_for(table.select(free), {name: facts[name] for name in free})
    if getattr(recipe, "columns", free) is not None:
        return recipe
    given: dict[str, Any] = {"columns": tuple(free)}
    return replace(recipe, **given)


def linked_text(chain: Sequence[LinkedTable], home: Path, recipe: Recipe) -> str:
    """Return linked tables as a plan has them, and what each of its methods does with them."""
    lines = comment(
        "Linked tables: key numbers the rows of a table, each once; parent is the table that rows"
        " belong to, and link the column that holds its key. Found by content: every value of a"
        " link is a key. unit says whether rows are people or households: whatever counts people"
        " counts these. A table that describes another is looked up by its rows, by the column"
        " link."
    )
    for does in linked_words(recipe.parts()):
        lines += comment(does)
    for table in chain:
        plain: dict[str, Any] = {"name": table.name}
        plain["path"] = Path(os.path.relpath(str(table.path), home)).as_posix()
        for setting in ("key", "parent", "link", "unit", "describes"):
            if (value := getattr(table, setting)) is not None:
                plain[setting] = value
        lines += ["[[table]]", tomli_w.dumps(plain)]
    return "\n".join(lines)
