"""What a holder asks of the critical-cart step of a plan: the indicators Z, orders compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from veladura.base.context import Progress, silent
from veladura.core.recipe import Recipe
from veladura.core.steps import Steps
from veladura.errors import PlanError
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.fit import needed_columns
from veladura.methods.critical.orders import compare_orders
from veladura.release.custodian import read_record, row_order
from veladura.release.reassess import same_source

if TYPE_CHECKING:
    import pandas as pd

    from veladura.plan.plan import Plan

ALL_ORDERS = "all"


def indicators_of(plan: Plan, record: Path | None = None) -> list[pd.DataFrame]:
    """Return the indicator Z of the critical cells of a plan's source. Private.

    A column ``<name>_replaced`` of true and false for each confidential column.

    Parameters
    ----------
    record
        The ``record.json`` of a run of the plan: Z is then given for each released dataset, rows in
        the order of its file, so that it can be handed out beside the data. By default one frame in
        the order of the source.
    """
    earlier, recipe = _critical_step(plan)
    read = sorted(needed_columns(recipe))
    if late := sorted({name for step in earlier for name in step.changes(read)} & set(read)):
        msg = (
            f"an earlier step changes {late}, on which the critical cells depend.\n\nHint: put the"
            " critical-cart step first."
        )
        raise PlanError(msg)
    table = plan.open()
    marks = recipe.indicators(table)
    if record is None:
        return [marks]
    content, places = read_record(record)
    if plan.source.path is not None and same_source(plan.home / plan.source.path, content) is False:
        msg = "the record is of another table than the plan's source."
        raise PlanError(msg)
    order = row_order(table.without_identifiers().fetched())
    return [marks.iloc[order[rows]].reset_index(drop=True) for rows in places]


def orders_of(
    plan: Plan,
    asked: Sequence[str],
    *,
    seeds: Sequence[int] = (1, 2, 3),
    progress: Progress = silent,
) -> pd.DataFrame:
    """Return what each order of replacement gives in a plan's critical-cart step. Private.

    Steps before it are applied.

    Parameters
    ----------
    asked
        "all", or orders such as "income,wealth".
    """
    earlier, recipe = _critical_step(plan)
    table = plan.open()
    if earlier:
        first = earlier[0] if len(earlier) == 1 else Steps(earlier)
        table = first.protect(table, seed=plan.run.seed, progress=progress).tables[0].table
    orders = None
    if list(asked) != [ALL_ORDERS]:
        orders = [[name.strip() for name in text.split(",")] for text in asked]
    with progress("comparing orders", 1) as advance:
        compared = compare_orders(recipe, table, orders, seeds=seeds)
        advance()
    return compared


def _critical_step(plan: Plan) -> tuple[list[Recipe], CriticalCart]:
    """Return the critical-cart step of a plan, and the steps before it."""
    for number, step in enumerate(plan.steps):
        if isinstance(step, CriticalCart):
            return list(plan.steps[:number]), step
    msg = "the plan has no step with method critical-cart, so there are no critical cells."
    raise PlanError(msg)
