"""The order of synthesis: which columns are drawn when, and from which predictors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veladura.base.checks import check_named
from veladura.errors import PlanError
from veladura.numeric.association import associations

if TYPE_CHECKING:
    from veladura.table.codes import Codes


MANY_LEVELS = 8


@dataclass(frozen=True)
class Unit:
    """Columns that are drawn together, and the columns they are drawn from."""

    columns: tuple[str, ...]
    given: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of its random stream."""
        return "+".join(self.columns)


def grouped(columns: Sequence[str], groups: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the columns in order, each group at the place of its first member.

    Examples
    --------
    >>> grouped(["a", "b", "c"], [["c", "a"]])
    [('a', 'c'), ('b',)]
    """
    member = {
        name: tuple(sorted(group, key=list(columns).index)) for group in groups for name in group
    }
    return list(dict.fromkeys(member.get(name, (name,)) for name in columns))


def order_of_synthesis(
    replaced: Sequence[str],
    kept: Sequence[str],
    order: Sequence[str] | None,
    predictors: Sequence[str] | Mapping[str, Sequence[str]] | None,
    groups: Sequence[Sequence[str]] = (),
) -> list[Unit]:
    """Return the units in the order of synthesis.

    Parameters
    ----------
    replaced
        Columns that are drawn, in the order they should be where the predictors allow it.
    kept
        Columns that stay and may predict.
    order
        Columns that come first, in this order.
    predictors
        Columns that may predict any, or by column those that predict it; by default all kept ones
        and all that were drawn before.
    """
    wanted = [*(order or ()), *(name for name in replaced if name not in (order or ()))]
    matrix = (
        {key: tuple(names) for key, names in predictors.items()}
        if isinstance(predictors, Mapping)
        else {}
    )
    if matrix:
        wanted = _sorted_by_need(wanted, matrix, fixed=order or ())
    units: list[Unit] = []
    done: list[str] = list(kept)
    for names in grouped(wanted, groups):
        allowed = [
            name
            for name in done
            if predictors is None or isinstance(predictors, Mapping) or name in predictors
        ]
        for name in names:
            if name in matrix:
                allowed = _from_matrix(name, matrix[name], done, names)
        units.append(Unit(names, tuple(allowed)))
        done += names
    return units


def _from_matrix(
    name: str, wanted: Sequence[str], done: Sequence[str], together: Sequence[str]
) -> list[str]:
    if late := [other for other in wanted if other not in done]:
        what = (
            "itself"
            if name in late
            else "columns drawn with it"
            if set(late) <= set(together)
            else "columns drawn after it"
        )
        msg = (
            f"predictors: {name!r} is predicted from {what}: {late}.\n\nHint: change order, or"
            f" leave them out of predictors.{name}."
        )
        raise PlanError(msg)
    return list(wanted)


def _sorted_by_need(
    columns: Sequence[str], matrix: Mapping[str, Sequence[str]], fixed: Sequence[str]
) -> list[str]:
    """Return the columns so that each comes after its predictors; a cycle is refused."""
    waiting, placed = list(columns), list[str]()
    while waiting:
        ready = [
            name
            for name in waiting
            if name in fixed
            or not any(other in waiting and other != name for other in matrix.get(name, ()))
        ]
        if not ready:
            msg = (
                f"predictors form a cycle: {sorted(waiting)} depend on each other.\n\nHint: predict"
                " each column only from columns that stay or are synthesised before it."
            )
            raise PlanError(msg)
        placed.append(ready[0])
        waiting.remove(ready[0])
    return placed


def by_dependence(codes: Codes, names: Sequence[str]) -> list[str]:
    """Return the columns by association: the strongest first, each next close to one before it."""
    strength = associations(codes, names)
    chosen = [int(strength.sum(axis=1).argmax())]
    while len(chosen) < len(names):
        closeness = strength[:, chosen].max(axis=1)
        closeness[chosen] = -1.0
        chosen.append(int(closeness.argmax()))
    return [names[i] for i in chosen]


def late(codes: Codes, names: Sequence[str]) -> list[str]:
    """Return the columns in order, categories with many levels last.

    A tree that may split by a column of many levels finds a gain in it by chance, and has fewer
    rows left for columns that matter: columns drawn after it lose their ties.
    """
    many = [
        name
        for name in names
        if (labels := codes[name].labels) is not None
        and codes[name].field.kind != "ordered"
        and len(labels) > MANY_LEVELS
    ]
    return [*(name for name in names if name not in many), *many]


def predicting(
    predictors: Sequence[str] | Mapping[str, Sequence[str]] | None,
    stay: Sequence[str],
    replaced: Sequence[str],
) -> list[str]:
    """Return the columns, of those that stay, that may predict."""
    possible = [*stay, *replaced]
    if predictors is None:
        return list(stay)
    if not isinstance(predictors, Mapping):
        check_named("predictors", predictors, possible)
        return [name for name in stay if name in predictors]
    for name, given in predictors.items():
        check_named(f"predictors.{name}", given, possible)
    if set(replaced) - set(predictors):  # a column that is not listed may use all of them
        return list(stay)
    listed = {name for given in predictors.values() for name in given}
    return [name for name in stay if name in listed]
