"""Suppression of cells: by a declared condition, or where the individual risk is too high."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Mask
from veladura.base.checks import is_number
from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.base.streams import ChunkStream
from veladura.core.chunks import RowWise
from veladura.core.gates import MASKED
from veladura.core.promise import Check, Evidence, Promise
from veladura.core.recipe import Draw, Drawn, Recipe
from veladura.core.release import Release
from veladura.errors import DataError, PlanError
from veladura.methods.preparing.risky_cells import blanked_by_risk, rows_at_risk
from veladura.methods.preparing.risky_tuples import RiskyTuples, risky_rows_shown
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.core.chunks import FittedChunks
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


FEW_VALUES = 20


def cells_left(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of cells that are shown although their condition is true."""
    conditions = {name: parse(text) for name, text in settings["cells"].items()}
    names = dict.fromkeys(n for name, c in conditions.items() for n in (name, *c.columns))
    columns = {name: evidence.column(name) for name in names}
    return sum(
        int(np.count_nonzero(holds(condition, columns) & ~columns[name].missing))
        for name, condition in conditions.items()
    )


def risky_left(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of rows above the risk that still show one of the columns."""
    table, blanked = evidence.released, settings["blanked"]
    if not table.in_memory and table.person is None:
        return risky_rows_shown(
            table, settings["known"], blanked, settings.get("weight"), settings["risk"]
        )
    shown = np.logical_or.reduce([~table.column(name).missing for name in blanked])
    known, weight = settings["known"], settings.get("weight")
    risky = rows_at_risk(table, known, weight, settings["risk"])
    return int(np.count_nonzero(risky & shown))


def _cells_sentence(settings: Mapping[str, Any]) -> str:
    rules = "; ".join(f"{name} where {text}" for name, text in settings["cells"].items())
    return f"Suppression: blank are {rules}."


def _risk_sentence(settings: Mapping[str, Any]) -> str:
    by = f", by the weights {settings['weight']}" if settings.get("weight") else ""
    return (
        f"Suppression: every row that shows {' or '.join(settings['blanked'])} has an individual"
        f" risk of at most {settings['risk']:g} on {', '.join(settings['known'])}{by}; a missing"
        " value counts as a value of its own."
    )


CELLS = Check(
    cells_left,
    _cells_sentence,
    shapes.table(
        {"columns": shapes.names, "cells": shapes.mapped(shapes.text, 1, keys=shapes.name)}
    ),
    untouched=True,
)
RISK = Check(
    risky_left,
    _risk_sentence,
    shapes.table(
        {
            "columns": shapes.names,
            "blanked": shapes.names,
            "known": shapes.names,
            "risk": shapes.number(0, 1, above=True),
        },
        {"weight": shapes.name},
    ),
    untouched=True,
)


@dataclass(frozen=True, kw_only=True)
class Suppress(Recipe):
    """Suppression of cells: values become missing where a condition or the risk says so.

    A gap tells those who read the manifest that the condition was true, or that the value was
    missing before: blank what may be inferred anyway, or top-code instead. Rows stay.

    Parameters
    ----------
    cells
        By column the condition in which it is blanked, as in ``{"income": "income > 200_000"}``.
        Conditions are applied until none of them finds a cell: one may be about gaps that another
        left.
    risk
        Blank cells of people whose individual risk is above this. In a table without weights it is
        1 / (number of people who share the known values).
    known
        With ``risk``: the columns an intruder knows.
    columns
        With ``risk``: the columns to blank; by default the known ones.
    weight
        With ``risk``: the column of sampling weights.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"zip": ["1", "1", "2"], "income": [41_000, 350_000, 38_000]})
    >>> rich = vd.Suppress(cells={"income": "income > 200_000"})
    >>> rich.protect(table).datasets[0]["income"].isna().tolist()
    [False, True, False]
    >>> alone = vd.Suppress(risk=0.5, known=["zip"])
    >>> alone.protect(table).datasets[0]["zip"].isna().tolist()
    [False, False, True]

    References
    ----------
    Hundepool, A. et al. (2012). Statistical Disclosure Control. Wiley (local suppression).
    Benedetti, R. and Franconi, L. (1998). Statistical and technological solutions for controlled
    data dissemination. NTTS 1, 225-232 (individual risk).
    """

    method = "suppress"
    sentence = "Suppression: cells were blanked where a condition was true or the risk too high."
    caution = "cells were blanked by their values or by risk: what is missing is not random"
    checks = {"cells": CELLS, "cell-risk": RISK}
    gate = MASKED
    random = False
    keeps_most = True
    coarsens = True
    chunked = True

    cells: Mapping[str, str] = field(default_factory=dict)
    risk: float | None = None
    known: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    weight: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.cells, Mapping) or bool(self.cells) == (self.risk is not None):
            msg = (
                "give either cells, each column with its condition, or risk with the known"
                " columns.\n\nHint: cells={'income': 'income > 200_000'}, or risk=0.2,"
                " known=['zip', 'age']."
            )
            raise PlanError(msg)
        for condition in self.cells.values():
            parse(condition)
        by_risk = bool(self.known or self.columns or self.weight)
        if self.risk is None and by_risk:
            msg = "known, columns and weight go with risk only."
            raise PlanError(msg)
        if self.risk is not None and not (is_number(self.risk) and 0 < self.risk <= 1):
            msg = f"risk ({self.risk}) must be above 0 and at most 1."
            raise PlanError(msg)
        if self.risk is not None and not self.known:
            msg = "risk needs known: the columns that an intruder knows."
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedSuppress:  # noqa: ARG002
        """Find the cells to blank."""
        names = self._names()
        table.schema.check("known" if self.risk is not None else "cells", names)
        return FittedSuppress(self, table, table.codes(names))

    def apply_to_sample(
        self, table: Table, number: int, context: Context
    ) -> FittedChunks[Suppress]:
        """Blank cells of rows that pass in chunks; risks are counted where they live."""
        from veladura.core.chunks import FittedChunks, fit_to_sample

        names = self._names()
        table.schema.check("known" if self.risk is not None else "cells", names)
        near, few, whole = fit_to_sample(self, table, number, context, names)
        codes, risky = whole.relabelled(few.codes(names)), None
        if self.risk is not None:
            risky = RiskyTuples.of(whole, self.known, self.changes(), self.weight, self.risk)
        return FittedChunks.of(self, near, FittedSuppress(self, few, codes, risky))

    def _names(self) -> tuple[str, ...]:
        of_cells = [n for name, c in self.cells.items() for n in (name, *parse(c).columns)]
        weight = [self.weight] if self.weight else []
        return tuple(dict.fromkeys([*of_cells, *self.known, *self.columns, *weight]))

    def changes(self, names: Sequence[str] = ()) -> tuple[str, ...]:  # noqa: ARG002
        """Return the columns that lose cells."""
        return tuple(self.cells) if self.risk is None else self.columns or self.known

    def shown(self, column: Column) -> Column:
        """Return a column without the cells that its own values blank."""
        text = self.cells.get(column.name)
        if text is None or set(parse(text).columns) != {column.name}:
            return column
        gone = holds(parse(text), {column.name: column})
        return column.with_values(column.values, column.missing | gone)

    def treats_rows_alone(self) -> bool:
        """Yes by conditions: each row needs no other. The risk of a row depends on the others."""
        return self.risk is None

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise that no cell is left that should be blank."""
        if settings.get("risk") is None:
            cells = dict(settings["cells"])
            about = [n for name, text in cells.items() for n in (name, *parse(text).columns)]
            wanted = {"columns": list(dict.fromkeys(about)), "cells": cells}
            return (Promise("cells", "package", wanted),)
        known, weight = list(settings["known"]), settings.get("weight")
        blanked = list(settings.get("columns") or known)
        columns = list(dict.fromkeys([*known, *blanked, *([weight] if weight else [])]))
        told = {"columns": columns, "blanked": blanked, "known": known, "risk": settings["risk"]}
        return (Promise("cell-risk", "package", told | ({"weight": weight} if weight else {})),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Suppress:
        """Suggest to blank two columns of few values for people whom fewer than four resemble.

        With more columns hardly anybody has a second, and all would be blank.
        """
        names = schema.of_role("quasi-identifier") or [f.name for f in schema]
        few = [name for name in names if 1 < facts[name].distinct <= FEW_VALUES]
        if not few:
            msg = (
                "the table has no column of few values whose rare combinations could be blanked."
                "\n\nHint: write a step with cells, each column with its condition."
            )
            raise PlanError(msg)
        fewest = sorted(few, key=lambda name: facts[name].distinct)[:2]
        return cls(risk=0.2, known=tuple(name for name in names if name in fewest))


@dataclass(frozen=True, eq=False, repr=False)
class FittedSuppress(RowWise[Suppress]):
    """The columns that decide, and those that lose cells.

    Attributes
    ----------
    risky
        With a risk, where rows pass in chunks: which of all tuples lose cells.
    """

    risky: RiskyTuples | None = None

    def draw(self, context: Context) -> Drawn:
        """Blank the cells of the rows that are held."""
        del context  # nothing is random
        gone = self._by_condition(self.codes) if self.recipe.risk is None else self._by_risk()
        drawn = self.described([Draw(_blanked(self.codes, gone))], self.codes.rows.size)
        return replace(drawn, pictures=lambda release: self._counted(release, gone))

    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> dict[str, Column]:
        """Blank cells by conditions, or those of tuples above the risk."""
        del stream  # nothing is random
        if self.risky is None:
            return _blanked(columns, self._by_condition(columns))
        rows = self.risky.among(columns)
        gone = {name: rows & ~columns[name].missing for name in self.recipe.changes()}
        return _blanked(columns, gone)

    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Promise that no cell is left, and refuse a column in which none is shown."""
        del rows
        draw = datasets[0]
        for name in self.recipe.changes():
            shown = (
                not draw.columns[name].missing.all()
                if draw.table is None
                else draw.table.present(name) > 0
            )
            if not shown:
                msg = (
                    f"every cell of column {name!r} would be blank.\n\nHint: drop the column, or"
                    " change the condition or the risk."
                )
                raise DataError(msg)
        return Drawn(
            datasets=datasets,
            changed=self.recipe.changes(),
            promises=self.recipe.implied(self.recipe.settings(), None),
        )

    def _by_condition(self, given: Mapping[str, Column]) -> dict[str, Mask]:
        rules = {name: parse(text) for name, text in self.recipe.cells.items()}
        columns = dict(given)
        while True:
            found = {
                name: holds(rule, columns) & ~columns[name].missing for name, rule in rules.items()
            }
            if not any(mask.any() for mask in found.values()):
                return {name: columns[name].missing & ~given[name].missing for name in rules}
            for name, mask in found.items():
                column = columns[name]
                columns[name] = column.with_values(column.values, column.missing | mask)

    def _by_risk(self) -> dict[str, Mask]:
        recipe = self.recipe
        assert recipe.risk is not None  # noqa: S101  # checked by the caller
        gone = blanked_by_risk(
            self.table, recipe.known, recipe.changes(), recipe.weight, recipe.risk
        )
        return {name: mask[self.codes.rows] for name, mask in gone.items()}

    def _counted(self, release: Release, gone: Mapping[str, Mask]) -> Mapping[str, str]:
        del release
        lines = [
            f"{name}: {int(mask.sum()):,} of {mask.size:,} cells blanked"
            for name, mask in gone.items()
        ]
        return {"Suppression: cells blanked": "\n".join(lines)}


def _blanked(columns: Mapping[str, Column], gone: Mapping[str, Mask]) -> dict[str, Column]:
    """Return columns without the cells that are gone."""
    blanked = {}
    for name, mask in gone.items():
        column = columns[name]
        values = np.where(mask, np.zeros_like(column.values), column.values)
        blanked[name] = column.with_values(values, column.missing | mask)
    return blanked
