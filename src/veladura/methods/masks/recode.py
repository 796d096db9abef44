"""Recoding: categories merged, numbers rounded and dates made coarser by declared rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.base.checks import check_columns
from veladura.base.context import Context
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.gates import MASKED
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Recipe
from veladura.errors import PlanError
from veladura.methods.masks.recode_rules import CHECKS, Coarser, promises_of, rule_of
from veladura.table.schema import WEIGHTS, check_kinds

if TYPE_CHECKING:
    from veladura.core.chunks import FittedChunks
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

MANY = 20


@dataclass(frozen=True, kw_only=True)
class Recode(Recipe):
    """Recoding: columns are made coarser by declared rules, each row by itself.

    Parameters
    ----------
    columns
        By column one rule: ``{"groups": {"new": ["old", ...]}, "other": "rest"}`` merges
        categories, ``{"keep": ["a", "b"]}`` merges those that are not listed, ``{"round": 1000}``
        rounds numbers to multiples, ``{"digits": 2}`` to significant digits, ``{"date": "month"}``
        (or "quarter", "year", "decade") takes the first day of a period, ``{"cuts": [18, 65]}``
        cuts numbers or dates into ordered bands, with ``"labels"`` of your own and ``"closed"``
        (by default "left": 18 is in the band from 18).

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> jobs, incomes = ["nurse", "pilot", "baker"], [41_300, 52_800, 39_900]
    >>> table = pd.DataFrame({"job": jobs, "income": incomes})
    >>> care = {"groups": {"care": ["nurse", "doctor"]}, "other": "else"}
    >>> recipe = vd.Recode(columns={"job": care, "income": {"round": 5000}})
    >>> recipe.protect(table).datasets[0].to_numpy().tolist()
    [['care', 40000], ['else', 55000], ['else', 40000]]
    >>> bands = vd.Recode(columns={"income": {"cuts": [40_000, 50_000]}}).protect(table)
    >>> bands.datasets[0]["income"].tolist()
    ['[40000, 50000)', '>= 50000', '< 40000']

    References
    ----------
    Hundepool, A. et al. (2012). Statistical Disclosure Control. Wiley.
    """

    method = "recode"
    sentence = "Recoding: values were replaced by coarser ones, by a fixed rule."
    caution = "recoding replaced values by a fixed rule; coefficients are about the new values"
    checks = CHECKS
    gate = MASKED
    random = False
    coarsens = True
    chunked = True

    columns: Mapping[str, Coarser]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the columns to recode, each with its rule")
        if not isinstance(self.columns, Mapping):
            msg = (
                "columns must give each column its rule, as in columns={'income': {'round': 1000}}."
            )
            raise PlanError(msg)
        object.__setattr__(
            self, "columns", {name: rule_of(name, given) for name, given in self.columns.items()}
        )

    def apply(self, table: Table, context: Context) -> FittedRecode:  # noqa: ARG002
        """Check the rules against the kinds of the columns; there is nothing to learn."""
        self._check(table.schema)
        return FittedRecode(self, table, table.codes(tuple(self.columns)))

    def apply_to_sample(self, table: Table, number: int, context: Context) -> FittedChunks[Recode]:
        """Check the rules; rows are recoded where they live, or pass in chunks."""
        from veladura.core.chunks import FittedChunks, fit_to_sample

        self._check(table.schema)
        near, few, whole = fit_to_sample(self, table, number, context, tuple(self.columns))
        codes = whole.relabelled(few.codes(tuple(self.columns)))
        return FittedChunks.of(self, near, FittedRecode(self, few, codes))

    def _check(self, schema: Schema) -> None:
        schema.check("columns", self.columns)
        for name, rule in self.columns.items():
            check_kinds(
                schema,
                (name,),
                rule.kinds,
                "use groups for categories; round, digits or cuts of numbers for numbers; date or"
                " cuts of dates (as in '1950-01-01') for dates.",
            )
            if schema[name].kind == "integer" and (rule.round or 0) % 1:
                msg = f"round of column {name!r} must be a whole number, as its values are."
                raise PlanError(msg)

    def treats_rows_alone(self) -> bool:
        """Yes: a declared rule needs no other row."""
        return True

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return what each rule leaves."""
        return promises_of(
            {name: rule_of(name, rule) for name, rule in settings["columns"].items()}
        )

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Recode:
        """Suggest coarser whole numbers and dates; other numbers where there are none.

        How coarse depends on the number of values. The holder declares groups of categories: a
        suggestion would name rare ones.
        """
        varying = [f for f in schema if facts[f.name].distinct > 1 and f.role not in WEIGHTS]
        rules = {
            f.name: Coarser(date="month" if facts[f.name].distinct <= MANY else "year")
            for f in varying
            if f.kind == "date"
        }
        whole = [f.name for f in varying if f.kind == "integer"]
        wide = [name for name in whole if facts[name].distinct > MANY] or ([] if rules else whole)
        rules |= {name: Coarser(round=base_for(facts[name].distinct)) for name in wide}
        if not rules:
            rules = {f.name: Coarser(round=1) for f in varying if f.kind == "number"}
        if not rules:
            msg = (
                "the table has no number or date that varies, and no group of categories is"
                " declared.\n\nHint: write a step with groups."
            )
            raise PlanError(msg)
        return cls(columns=rules)


@dataclass(frozen=True, eq=False, repr=False)
class FittedRecode(RowWise[Recode]):
    """The columns, ready to be recoded."""

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Recode each column."""
        del stream  # nothing is random
        return {name: rule.apply(columns[name]) for name, rule in self.recipe.columns.items()}

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Promise what each rule leaves."""
        del rows
        rules = self.recipe.columns
        return Drawn(datasets=datasets, changed=tuple(rules), promises=promises_of(rules))


def base_for(distinct: int) -> int:
    """Return a round base (2, 5, 10, 20, ...) so that a run of values has at most twenty multiples.

    Examples
    --------
    >>> base_for(90), base_for(365), base_for(5000)
    (5, 20, 500)
    """
    bases: Iterator[int] = (digit * 10**power for power in range(19) for digit in (1, 2, 5))
    return next(base for base in bases if base > 1 and base * MANY >= distinct)
