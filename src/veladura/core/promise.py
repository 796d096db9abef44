"""Promises: what a release claims, and the code that proves it again from the output."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from veladura.base import shapes
from veladura.base.shapes import Shape
from veladura.core.violations import outside_categories, outside_limits, small_groups
from veladura.errors import PromiseError

if TYPE_CHECKING:
    from veladura.base.bounds import Bounds
    from veladura.table.codes import Column
    from veladura.table.table import Table


@dataclass(frozen=True)
class Promise:
    """A claim about a release: the name of its check, and settings.

    The sentence for people is made by the check, from the settings: see `Check.sentence`.

    Attributes
    ----------
    name
        The name of its check, among the ``checks`` of the recipe's class.
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
    proof: Literal["package", "source"]
    settings: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[int, ...] = ()
    private: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def concerns(self, dataset: int) -> bool:
        """Whether the claim is about a dataset (zero-based)."""
        return not self.datasets or dataset + 1 in self.datasets

    @property
    def about(self) -> set[str]:
        """The columns it is about: those it names, and the sensitive one of a privacy model."""
        model = self.settings.get("model", {})
        sensitive = model.get("column") if isinstance(model, Mapping) else None
        return {*self.settings.get("columns", ()), *([sensitive] if sensitive else [])}

    def to_json(self, claim: str) -> dict[str, Any]:
        """Return the promise as the manifest holds it, with its sentence for readers."""
        held = {"claim": claim, **asdict(self), "datasets": list(self.datasets)}
        del held["private"]
        return held


@dataclass(frozen=True)
class Evidence:
    """One released dataset and, for its holder, the original with the link between rows.

    Attributes
    ----------
    rows
        The original row of each released one.
    before
        Instead of it, columns of the original beside the released ones, row for row.
    """

    released: Table
    original: Table | None = None
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    before: Table | None = field(default=None, repr=False)

    @property
    def linked(self) -> bool:
        """Whether it is known which original row each released one is."""
        return self.rows is not None or self.before is not None

    def column(self, name: str) -> Column:
        """Return a released column in the order of the file."""
        return self.released.column(name)

    def source_column(self, name: str) -> Column:
        """Return the original column, row for row beside the released one."""
        if self.before is not None:
            return self.before.column(name)
        if self.original is None or self.rows is None:
            msg = "this check needs the original and the link between rows."
            raise ValueError(msg)
        return self.original.column(name).take(self.rows)


@dataclass(frozen=True)
class Proof:
    """What became of a promise: it holds, it is broken, or only the holder can tell.

    Attributes
    ----------
    claim
        The promise as a sentence, made by its check.
    fault
        Why the promise says nothing, where its settings are at fault.
    """

    promise: Promise
    status: Literal["holds", "broken", "attested"]
    violations: int = 0
    claim: str = ""
    fault: str = ""


@dataclass(frozen=True)
class Check:
    """How a promise is proved: a recipe names its checks in its class attribute ``checks``.

    Attributes
    ----------
    count
        Returns the number of violations in one dataset, from the evidence and the settings of the
        promise.
    sentence
        Returns the promise in one sentence for people, from its settings.
    settings
        What the settings must look like to say anything: a promise about no column, or of k = 1,
        is broken.
    linked
        Whether a proof against the source needs to know which released row belongs to whom.
    shown
        False where rows cannot show it, as with differential privacy: a release that does not
        contradict the promise leaves it attested.
    stated
        Settings that only the holder knows; all others follow from those of the step.
    untouched
        Whether it is about values as the step left them: a later step that changes one of its
        columns takes the promise away, after it was proved.
    by_row
        Whether violations are counted row by row in the columns of the promise: rows that are not
        held are then counted piece by piece.
    """

    count: Callable[[Evidence, Mapping[str, Any]], int]
    sentence: Callable[[Mapping[str, Any]], str]
    settings: Shape = shapes.columns
    linked: bool = True
    shown: bool = True
    stated: tuple[str, ...] = ()
    untouched: bool = False
    by_row: bool = False

    def violations(self, evidence: Evidence, settings: Mapping[str, Any]) -> int:
        """Return the number of violations in one dataset, whose rows may be in a file."""
        from veladura.table.pieces import held_pieces

        if evidence.released.in_memory or not self.by_row:
            return self.count(evidence, settings)
        parts = held_pieces(evidence.released, list(settings["columns"]))
        return sum(self.count(Evidence(part), settings) for part in parts)

    def taken_away(self, promise: Promise, changed: Collection[str]) -> bool:
        """Whether steps that change some columns take a promise away."""
        return self.untouched and not set(changed).isdisjoint(promise.settings.get("columns", ()))


def claim_of(promise: Promise, checks: Mapping[str, Check]) -> str:
    """Return a promise as a sentence, made from its name and settings."""
    if promise.name not in checks or checks[promise.name].settings(promise.settings):
        return f"The promise {promise.name!r}."
    about = ", ".join(map(str, promise.datasets))
    where = f"Dataset {about}: " if promise.datasets else ""
    return where + checks[promise.name].sentence(promise.settings)


def prove(promise: Promise, evidence: Evidence, checks: Mapping[str, Check]) -> Proof:
    """Recompute one promise on one dataset; what needs the original is attested without it."""
    if promise.name not in checks:
        msg = f"the manifest holds a promise this version cannot check: {promise.name!r}."
        raise PromiseError(msg)
    check, claim = checks[promise.name], claim_of(promise, checks)
    if fault := _fault(promise, evidence, check):
        return Proof(promise, "broken", claim=claim, fault=fault)
    without = evidence.original is None or (not evidence.linked and check.linked)
    if promise.proof == "source" and without:
        return Proof(promise, "attested", claim=claim)
    if (
        promise.proof == "package"
    ):  # by the files alone: an earlier step may have recoded the source
        evidence = Evidence(evidence.released)
    violations = check.violations(evidence, {**promise.settings, **promise.private})
    if violations:
        return Proof(promise, "broken", violations, claim)
    return Proof(promise, "holds" if check.shown else "attested", claim=claim)


def _fault(promise: Promise, evidence: Evidence, check: Check) -> str:
    """Return why a promise says nothing about a dataset; an empty text if it does."""
    if fault := check.settings(promise.settings):
        return f"its settings say nothing: {fault}"
    absent = [name for name in promise.settings["columns"] if name not in evidence.released.names]
    return f"{len(absent)} of its columns are not in the release" if absent else ""


def fulfils(found: Promise, implied: Promise, check: Check) -> bool:
    """Whether a promise is one that the settings of a step imply, or a stronger one.

    Stronger: it is proved by the files, or limits more columns than it would have to.
    """
    if found.name != implied.name or found.proof not in (implied.proof, "package"):
        return False
    said, wanted = (
        {k: v for k, v in p.settings.items() if k not in check.stated} for p in (found, implied)
    )
    if set(said) != set(wanted):
        return False
    return all(_covers(said[key], json.loads(json.dumps(value))) for key, value in wanted.items())


def _covers(said: Any, wanted: Any) -> bool:
    if isinstance(said, Mapping) and isinstance(wanted, Mapping):
        return all(key in said and said[key] == value for key, value in wanted.items())
    return bool(said == wanted)


def people_of(settings: Mapping[str, Any]) -> str:
    """Return how a promise counts people, in words."""
    if settings.get("household"):
        return "households (people of one household count once)"
    return f"people ({ONCE})" if settings.get("person") else "people (rows)"


def listed(settings: Mapping[str, Any]) -> str:
    """Return the columns that a promise is about, in words."""
    return ", ".join(settings["columns"])


def _group_size(settings: Mapping[str, Any]) -> str:
    return (
        f"k-anonymity: every combination of {listed(settings)} is shared by at least"
        f" {settings['k']} {people_of(settings)}; a missing value counts as a value of its own."
    )


def _limits(settings: Mapping[str, Any]) -> str:
    parts = [f"{name} {in_range(*ends)}" for name, ends in settings["columns"].items()]
    return f"Values are within their limits: {', '.join(parts)}."


def in_range(lower: Any, upper: Any) -> str:
    """Return limits in words.

    Examples
    --------
    >>> in_range(0, None), in_range(None, 90), in_range(0, 1500.5)
    ('at least 0', 'at most 90', '0 to 1,500.5')
    """
    low, high = (
        end if isinstance(end, str) or end is None else f"{end:,.10g}" for end in (lower, upper)
    )
    return (
        f"at most {high}"
        if low is None
        else f"at least {low}"
        if high is None
        else f"{low} to {high}"
    )


def _categories(settings: Mapping[str, Any]) -> str:
    return f"Every value of {listed(settings)} is one of the categories that the manifest lists."


def pair_of(end: Shape) -> Shape:
    """Accept a lower and an upper limit, of which one may be missing."""
    pair = shapes.listed(shapes.either(shapes.nothing, end), 2, 2)

    def fault(value: object) -> str:
        return pair(value) or ("" if any(end is not None for end in value) else "no limit")  # type: ignore[attr-defined]

    return fault


ONCE = "a person with several rows counts once"
COUNTED: Mapping[str, Shape] = {  # how a promise about equivalence classes counts
    "person": shapes.name,
    "household": shapes.name,
    "starred": shapes.flag,
    "blank": shapes.listed(shapes.name),
}
GROUPS = shapes.table({"columns": shapes.names, "k": shapes.whole(2)}, COUNTED)
GROUP_SIZE = Check(small_groups, _group_size, GROUPS, stated=("blank",))
LIMITS = Check(
    outside_limits,
    _limits,
    shapes.table({"columns": shapes.mapped(pair_of(shapes.number()), 1, keys=shapes.name)}),
    by_row=True,
)
CATEGORIES = Check(
    outside_categories,
    _categories,
    shapes.table({"columns": shapes.mapped(shapes.listed(shapes.text), 1, keys=shapes.name)}),
    by_row=True,
)


def limit_promises(limits: Mapping[str, Bounds]) -> tuple[Promise, ...]:
    """Return the promise that values are within their limits, if there are any."""
    ends = {name: [bounds.min, bounds.max] for name, bounds in limits.items()}
    ends = {name: pair for name, pair in ends.items() if pair != [None, None]}
    return (Promise("limits", "package", {"columns": ends}),) if ends else ()
