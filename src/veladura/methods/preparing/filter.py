"""Filter: only the rows that satisfy a declared condition are released."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.context import Context
from veladura.base.expression import Expression, parse, quoted
from veladura.core.promise import Check, Evidence, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.core.release import Release
from veladura.table.conditions import holds
from veladura.table.schema import WEIGHTS
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.base.arrays import Mask
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


def rows_outside(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of released rows that do not satisfy the condition."""
    condition = parse(settings["where"])
    columns = {name: evidence.column(name) for name in condition.columns}
    return int(np.count_nonzero(~holds(condition, columns)))


def _sentence(settings: Mapping[str, Any]) -> str:
    return f"Filter: every released row satisfies {settings['where']}."


FILTERED = Check(
    rows_outside,
    _sentence,
    shapes.table({"columns": shapes.names, "where": shapes.text}),
    untouched=True,
)


@dataclass(frozen=True, kw_only=True)
class Filter(Recipe):
    """Filter: release only the rows in which a condition is true.

    The condition says who the release is about, so measures compare the release with those
    people of the source. The manifest tells the condition; how many people were left out is in the
    custodian's report only. Whoever knows that a person is in the source learns from the person's
    absence that the condition is false.

    Parameters
    ----------
    where
        A condition on columns as the source has them, such as ``age >= 18 and sex == "f"``. A
        comparison with a missing value is false.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"age": [12, 40, 71]})
    >>> vd.Filter(where="age >= 18").protect(table).datasets[0]["age"].tolist()
    [40, 71]
    """

    method = "filter"
    sentence = "Filter: only rows that satisfy a declared condition were released."
    caution = "rows were chosen by a condition; conclusions are about the people who satisfy it"
    checks = {"filter": FILTERED}
    random = False
    drops_rows = True
    declared_by_holder = ("where",)

    where: str

    def __post_init__(self) -> None:
        super().__post_init__()
        parse(self.where)

    def apply(self, table: Table, context: Context) -> FittedFilter:  # noqa: ARG002
        """Find the rows that satisfy the condition."""
        condition = parse(self.where)
        table.schema.check("where", condition.columns)
        codes = table.codes(condition.columns)
        kept = holds(condition, codes)
        return FittedFilter(self, table, codes, kept)

    def treats_rows_alone(self) -> bool:
        """Whether each row is treated by itself: yes, by the declared condition.

        Two tables that differ by one added row still do after it, or are equal: a stable
        transformation (McSherry 2009, section 4.1).
        """
        return True

    def changes(self, names: object) -> tuple[str, ...]:  # noqa: ARG002
        """Return nothing: values stay as they are."""
        return ()

    def reads_as_given(self) -> tuple[str, ...]:
        """Return the columns of the condition, so that it can be found again in the source."""
        return parse(self.where).columns

    @classmethod
    def population(cls, settings: Mapping[str, Any]) -> Expression | None:
        """Return the condition."""
        return parse(settings["where"])

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise that every released row satisfies the condition."""
        where = settings["where"]
        about = {"columns": list(parse(where).columns), "where": where}
        return (Promise("filter", "package", about),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Filter:
        """Suggest rows without a missing value in the columns that have some."""
        names = [field.name for field in schema if field.role not in WEIGHTS]
        gaps = [name for name in names if facts[name].present < _most(facts)] or names[:1]
        return cls(where=" and ".join(f"{quoted(name)} is not missing" for name in gaps[:1]))


def _most(facts: Mapping[str, Facts]) -> int:
    return max(fact.present for fact in facts.values())


@dataclass(frozen=True, eq=False, repr=False)
class FittedFilter(Fitted[Filter]):
    """The rows that satisfy the condition."""

    kept: Mask

    def draw(self, context: Context) -> Drawn:
        """Return these rows."""
        del context  # nothing is random
        return Drawn(
            datasets=[Draw(kept=np.flatnonzero(self.kept))],
            changed=(),
            promises=self.recipe.implied(self.recipe.settings(), None),
            pictures=self._left_out,
        )

    def _left_out(self, release: Release) -> Mapping[str, str]:  # noqa: ARG002
        persons = person_numbers(self.table)[self.codes.rows]
        before, after = np.unique(persons).size, np.unique(persons[self.kept]).size
        rows = int(np.count_nonzero(~self.kept))
        text = (
            f"{rows:,} of {self.kept.size:,} rows do not satisfy {self.recipe.where} and were left"
            f" out: {before - after:,} of {before:,} people. The release does not tell this number."
        )
        return {"Filter: rows left out": text}
