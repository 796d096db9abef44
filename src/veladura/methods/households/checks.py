"""What a synthesis by household refuses: settings, rules and columns that do not fit a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from veladura.base.expression import parse
from veladura.errors import PlanError
from veladura.methods.cart.rules import check_rules
from veladura.methods.households.children import Columns
from veladura.methods.households.growing import refuse_names
from veladura.methods.households.levels import Level
from veladura.methods.households.rules import MemberRules
from veladura.numeric.trees.variable import check_levels
from veladura.table.codes import Codes

if TYPE_CHECKING:
    from veladura.methods.households.household_cart import HouseholdCart
    from veladura.table.table import Table


def check_settings(recipe: HouseholdCart, table: Table, codes: Codes) -> None:
    """Refuse columns that cannot be drawn, settings of others, and rules that many rows break."""
    refuse_names(table.names)
    for column in codes.values():
        check_levels(column)
    for setting in ("keep", "members", "limits", "transform"):
        table.schema.check(setting, getattr(recipe, setting))
    row_rules = [parse(rule) for rule in recipe.row_rules]
    table.schema.check("rules", sorted({name for rule in row_rules for name in rule.columns}))
    if row_rules:
        check_rules(row_rules, codes)


def check_across(
    across: MemberRules, table: Table, columns: Columns, levels: Sequence[Level]
) -> None:
    """Refuse rules across members that many households break, or that read other columns."""
    if not across or len(levels) == 1:
        return
    table.schema.check("relatives", across.columns)
    members = levels[1]
    _refuse_rows_in_rules(across, levels)
    known = {name: columns[name].take(members.row) for name in table.names}
    across.check(known, members.parent, levels[0].units)


def _refuse_rows_in_rules(across: MemberRules, levels: Sequence[Level]) -> None:
    """Refuse rules across members that read what changes from row to row of a person."""
    fixed = {name for level in levels[:2] for name in level.columns}
    if len(levels) > 2 and (rows := [n for n in across.columns if n not in fixed]):  # noqa: PLR2004
        msg = (
            f"rules across members read {rows}, which differ between the rows of one person: whose"
            " row is meant?\n\nHint: rules across members of a panel name columns that stay, such"
            " as the year of birth."
        )
        raise PlanError(msg)


def refuse_varying_kept(recipe: HouseholdCart, top: Level, counted: Sequence[str]) -> None:
    """Refuse to keep what is no column of households, and to keep all of them."""
    if varying := [name for name in recipe.keep if name not in top.columns or name in counted]:
        msg = (
            f"keep: {varying} are no columns of households: they differ between the members of one,"
            " or count them.\n\nHint: keep columns that all members share, such as strata and"
            " clusters; weights of people are drawn."
        )
        raise PlanError(msg)
