"""Promises: what a release claims, and the code that proves it again from the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from veladura.errors import PromiseError
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.base.bounds import Bounds
    from veladura.table.codes import Column
    from veladura.table.counts import Counts
    from veladura.table.table import Table


@dataclass(frozen=True)
class Promise:
    """A claim about a release.

    Attributes
    ----------
    name
        The name of its check, among the ``checks`` of the recipe's class.
    claim
        One sentence for people.
    proof
        "package" when the released files prove it, "source" when only the original can.
    settings
        What the check needs, as plain JSON values; the columns it is about are under ``columns``.
    datasets
        The datasets it is about, numbered from 1; all where none is named.
    private
        What the check needs besides and the recipient must not see; kept in the custodian's record.
    """

    name: str
    claim: str
    proof: Literal["package", "source"]
    settings: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[int, ...] = ()
    private: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def concerns(self, dataset: int) -> bool:
        """Whether the claim is about a dataset (zero-based)."""
        return not self.datasets or dataset + 1 in self.datasets

    def to_json(self) -> dict[str, Any]:
        """Return the promise as the manifest tells it."""
        told = {**asdict(self), "datasets": list(self.datasets)}
        del told["private"]
        return told


@dataclass(frozen=True)
class Evidence:
    """One released dataset and, for its holder, the original with the link between rows."""

    released: Table
    original: Table | None = None
    rows: NDArray[np.int64] | None = field(default=None, repr=False)

    def column(self, name: str) -> Column:
        """Return a released column in the order of the file."""
        from veladura.table.codes import encode

        return encode(self.released.arrow.column(name), self.released.schema[name])

    def source_column(self, name: str) -> Column:
        """Return the original column, row for row beside the released one."""
        from veladura.table.codes import encode

        if self.original is None or self.rows is None:
            msg = "this check needs the original and the link between rows."
            raise ValueError(msg)
        return encode(self.original.arrow.column(name), self.original.schema[name]).take(self.rows)


@dataclass(frozen=True)
class Proof:
    """What became of a promise: it holds, it is broken, or only the holder can tell."""

    promise: Promise
    status: Literal["holds", "broken", "attested"]
    violations: int = 0


@dataclass(frozen=True)
class Check:
    """How a promise is proved: a recipe names its checks in its class attribute ``checks``.

    Attributes
    ----------
    count
        Returns the number of violations in one dataset, from the evidence and the settings of the
        promise.
    linked
        Whether a proof against the source needs to know which released row belongs to whom.
    """

    count: Callable[[Evidence, Mapping[str, Any]], int]
    linked: bool = True


def prove(promise: Promise, evidence: Evidence, checks: Mapping[str, Check]) -> Proof:
    """Recompute one promise on one dataset; what needs the original is attested without it."""
    if promise.name not in checks:
        msg = f"the manifest holds a promise this version cannot check: {promise.name!r}."
        raise PromiseError(msg)
    check = checks[promise.name]
    without = evidence.original is None or (evidence.rows is None and check.linked)
    if promise.proof == "source" and without:
        return Proof(promise, "attested")
    violations = check.count(evidence, {**promise.settings, **promise.private})
    return Proof(promise, "broken" if violations else "holds", violations)


def small_groups(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of combinations of the columns that fewer than k people share."""
    counts = counted_people(evidence.released, settings["columns"], settings)
    small = counts.size < settings["k"]
    return int(np.count_nonzero(small & ~starred_tuples(counts, settings)))


def counted_people(released: Table, columns: Sequence[str], settings: Mapping[str, Any]) -> Counts:
    """Return the combinations of some columns with the people who share each.

    Rows are people unless the promise names a ``person`` column. A release without that column
    proves nothing: then nobody is counted.
    """
    person = settings.get("person")
    if person is None:
        return released.counts(columns)
    if released.person != person:
        counts = released.counts(columns)
        return replace(counts, size=np.zeros_like(counts.size))
    return released.people_counts(columns)


def starred_tuples(counts: Counts, settings: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which tuples are those of suppressed rows.

    They hold ``*`` in every column, or nothing in the columns listed as ``blank``.
    """
    if not settings.get("starred"):
        return np.zeros(counts.size.size, dtype=bool)
    blank = settings.get("blank", ())
    stars = [
        column.missing if column.name in blank else _is(column, "*")
        for column in counts.columns[: len(settings["columns"])]
    ]
    return np.asarray(np.logical_and.reduce(stars))


def _is(column: Column, text: str) -> NDArray[np.bool_]:
    """Return where a column holds a text."""
    labels = [] if column.labels is None else column.labels.to_pylist()
    place = labels.index(text) if text in labels else -1
    return np.asarray((column.values == place) & ~column.missing)


def still_coded(evidence: Evidence, settings: Mapping[str, Any]) -> Iterator[tuple[Column, Any]]:
    """Yield the columns of a promise about numbers or dates, each with its setting.

    A column that a later step turned into categories, such as intervals, has none left.
    """
    for name, setting in settings["columns"].items():
        column = evidence.column(name)
        if column.field.kind not in LABELLED:
            yield column, setting


def outside_limits(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of values below the lowest or above the highest one allowed."""
    outside = 0
    for column, (lower, upper) in still_coded(evidence, settings):
        values = column.values[~column.missing]
        outside += int(np.count_nonzero(values < lower)) if lower is not None else 0
        outside += int(np.count_nonzero(values > upper)) if upper is not None else 0
    return outside


def outside_categories(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of values that are not among the categories told."""
    from veladura.table.codes import label_text

    outside = 0
    for name, allowed in settings["columns"].items():
        column = evidence.column(name)
        labels = (
            []
            if column.labels is None
            else [label_text(label) for label in column.labels.to_pylist()]
        )
        known = np.isin(np.array(labels), allowed)
        outside += (
            int(np.count_nonzero(~known[column.values[~column.missing]])) if known.size else 0
        )
    return outside


def source_column(evidence: Evidence, name: str) -> Column:
    """Return a whole column of the original, including rows that are not in the release."""
    from veladura.table.codes import encode

    if evidence.original is None:
        msg = "this check needs the original."
        raise ValueError(msg)
    return encode(evidence.original.arrow.column(name), evidence.original.schema[name])


GROUP_SIZE = Check(small_groups)
LIMITS = Check(outside_limits)
CATEGORIES = Check(outside_categories)


def limit_promises(limits: Mapping[str, Bounds]) -> tuple[Promise, ...]:
    """Return the promise that values are within their limits, if there are any."""
    if not limits:
        return ()
    claim = f"The values of {', '.join(limits)} are within their limits."
    ends = {name: [bounds.min, bounds.max] for name, bounds in limits.items()}
    return (Promise("limits", claim, "package", {"columns": ends}),)
