"""People with several rows: how k-anonymity counts them, and what it cannot count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.errors import PlanError
from veladura.methods.kanonymity.privacy_models import LDiversity

if TYPE_CHECKING:
    from veladura.methods.kanonymity.kanonymity import KAnonymity
    from veladura.table.table import Table
    from veladura.table.units import PeopleCounts


def repeated_people(table: Table, recipe: KAnonymity) -> PeopleCounts | None:
    """Return the people of each tuple of quasi-identifiers; None where every row is a person.

    Where a person's quasi-identifiers are the same in all rows, the people of several tuples add
    up. Where they differ, only one generalisation for all rows can be counted exactly.
    """
    if table.person is None or table.people == table.rows:
        return None
    counts = table.people_counts(recipe.names)
    if not counts.one_tuple_each:
        _refuse_what_adds_up(recipe)
    return counts


def _refuse_what_adds_up(recipe: KAnonymity) -> None:
    """Refuse settings that add up people, for people who hold several tuples."""
    words = [
        f'{setting} = "{getattr(recipe, setting)}"'
        for setting, wrong in (
            ("recoding", ("local", "mondrian")),
            ("suppressed", ("cells",)),
            ("missing", ("wildcard", "both")),
        )
        if getattr(recipe, setting) in wrong
    ]
    words += [model.name for model in recipe.models if not isinstance(model, LDiversity)]
    if len(recipe.sets) > 1:
        words.append("several lists of quasi-identifiers")
    if words:
        msg = (
            f"{', '.join(words)} cannot be counted in people here: the quasi-identifiers of some"
            " people differ from row to row, so that a person is in several equivalence classes."
            '\n\nHint: use recoding = "global", suppressed = "drop" or "star", missing = "category"'
            " and l-diversity; or make the quasi-identifiers constant for each person in the"
            " source."
        )
        raise PlanError(msg)
