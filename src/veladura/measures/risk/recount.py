"""People at risk as a manifest has them, counted again from the released rows alone.

Of an intruder who knows columns exactly that are unchanged or only coarsened, everything that he
can do is in the release: whoever shares the values with nobody is found. What others find depends
on true values, and rests on the holder's word; so does every number of people before protection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veladura.measures.knowledge import Scenario
from veladura.measures.risk.at_risk import disturbed_columns
from veladura.measures.risk.picking import alone
from veladura.table.telling import Telling
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.core.release import Release

Risk = Mapping[str, Any]  # one entry of ``risk`` in a manifest


def recount(release: Release, risk: Risk) -> int | None:
    """Return how many people an intruder finds; None where the released rows cannot say it.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": list("ffm"), "age": [31, 34, 40]})
    >>> release = vd.Recode(columns={"age": {"round": 10}}).protect(people)
    >>> recount(release, {"intruder": "register", "knows": ["sex", "age"]})
    1
    >>> recount(release, {"intruder": "friend", "knows": ["age"], "within": {"age": 2}}) is None
    True
    """
    names = list(risk["knows"])
    table = release.tables[0].table
    changed = {name for step in release.steps for name in step.changed}
    several_sets = len(release.tables) > 1 and not changed.isdisjoint(names)
    if (
        risk.get("within")
        or not risk.get("counted", True)
        or several_sets
        or table.person is not None  # numbers of people may hold within a class only
        or release.manifest.get("units")
        or not disturbed_columns(release).isdisjoint(names)
    ):
        return None
    if not names:
        return 0
    if not table.in_memory:
        return Telling(table).alone(names)
    who = Scenario(name="intruder", knows=tuple(names))
    people = person_numbers(table)
    found, looked_for = alone(table.fetched(), who, names, people)
    return int(found.size) if looked_for.size == people.size else None


def impossible(release: Release, risk: Risk) -> bool:
    """Whether no count of people gives these numbers: unknown columns, more found than there are.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> release = vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": range(40)}), seed=1)
    >>> impossible(release, {"knows": ["x"], "people": 40, "before": 41, "after": 0})
    True
    """
    names = release.tables[0].table.names
    return (
        not set(risk["knows"]) <= set(names)
        or not set(risk.get("within", ())) <= set(risk["knows"])
        or max(risk["before"], risk["after"]) > risk["people"]
    )
