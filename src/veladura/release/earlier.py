"""What earlier releases of a series promised, and how a group of people is judged by it.

The register keeps hashes of people and classes, with k, what it counts, and the l of l-diversity;
no sensitive value. Households and sensitive values are those of the source of the new release: they
are looked up when it is judged, and not kept. Other privacy models (t-closeness, beta-likeness,
entropy and recursive l-diversity, average risk, uniqueness) are kept by their settings, and asked
again of the groups that both releases together tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from veladura.base.arrays import Mask
    from veladura.core.release import Release
    from veladura.release.entry import Entry

JUDGED, DISTINCT = "l-diversity", "distinct-l-diversity"
Groups = Mapping[tuple[Any, ...], Collection[int]]  # by the class in each release, the new one last


class Model(Protocol):
    """A privacy model that can be asked of any groups of people."""

    @property
    def by_values(self) -> bool:
        """Whether it is about sensitive values."""

    def failing(self, groups: Sequence[Collection[int]]) -> Mask:
        """Return which groups break it."""


@dataclass(frozen=True)
class Judged:
    """How groups of people are judged by what older releases promised of them.

    Attributes
    ----------
    k
        The largest k that they promised.
    homes
        The household of each person, where k counts households.
    values
        For each l of l-diversity, the sensitive values of each person.
    unjudged
        Promises that cannot be judged.
    models
        Other privacy models that were promised, by name.
    """

    k: int
    homes: Mapping[int, int] | None = field(default=None, repr=False)
    values: tuple[tuple[int, Mapping[int, frozenset[int]]], ...] = field(default=(), repr=False)
    unjudged: tuple[str, ...] = ()
    models: tuple[tuple[str, Model], ...] = field(default=(), repr=False)

    @property
    def counted(self) -> str:
        """What k counts."""
        return "people" if self.homes is None else "households"

    def size(self, people: Collection[int]) -> int:
        """Return how many people, or households, a group has."""
        if self.homes is None:
            return len(people)
        return len({self.homes[person] for person in people})

    def is_alike(self, people: Collection[int]) -> bool:
        """Whether a group has fewer different sensitive values than was promised."""
        return any(
            len(frozenset[int]().union(*(held[person] for person in people))) < fewest
            for fewest, held in self.values
        )

    def breaking(self, groups: Groups) -> dict[str, set[int]]:
        """Return for each other model the people of groups that break it.

        Sensitive values are asked of classes that the new release splits: where it has all of a
        class in one group, those who left it make the group smaller, and nothing more is told.
        """
        parts: defaultdict[tuple[Any, ...], int] = defaultdict(int)
        for key in groups:
            parts[key[:-1]] += 1
        found: dict[str, set[int]] = {}
        for name, model in self.models:
            asked = [g for key, g in groups.items() if not model.by_values or parts[key[:-1]] > 1]
            if not asked:
                continue
            failing = model.failing(asked).tolist()
            people: set[int] = set().union(
                *(g for g, bad in zip(asked, failing, strict=True) if bad)
            )
            if people:
                found[name] = found.get(name, set()) | people
        return found


def judged(old: Sequence[Entry], new: Entry) -> Judged:
    """Return how groups are judged by the promises of older releases, with the new one's source."""
    homes, unjudged = None, []
    if any(entry.promised.get("counted") == "households" for entry in old):
        if new.home is None:
            unjudged.append("k of households")
        else:
            homes = dict(zip(new.person.tolist(), new.home.tolist(), strict=True))
    values = []
    for entry in old:
        for column, fewest in entry.promised.get("diverse", {}).items():
            if column in new.values:
                values.append((int(fewest), _held(new, column)))
            else:
                unjudged.append(f"{JUDGED} of {column!r}")
        unjudged += entry.promised.get("others", [])
    models, lacking = _models(old, new)
    k = max(entry.k for entry in old)
    return Judged(
        k, homes, tuple(values), tuple(dict.fromkeys([*unjudged, *lacking])), tuple(models)
    )


def _models(old: Sequence[Entry], new: Entry) -> tuple[list[tuple[str, Model]], list[str]]:
    """Return the other privacy models that older releases promised, and those nobody can judge."""
    from veladura.methods.kanonymity.regrouped import regrouped

    models: list[tuple[str, Model]] = []
    lacking: list[str] = []
    promised = [model for entry in old for model in entry.promised.get("models", [])]
    for name, settings in promised:
        model = None if new.source is None else regrouped(settings, new.source, new.whose)
        if model is None:
            of_whom = settings.get("column", "the population of then")
            lacking.append(f"{name} (without {of_whom})")
        else:
            models.append((name, model))
    return models, lacking


def _held(entry: Entry, column: str) -> dict[int, frozenset[int]]:
    found: defaultdict[int, set[int]] = defaultdict(set)
    values = entry.values[column].tolist()
    for person, value in zip(entry.person.tolist(), values, strict=True):
        found[person].add(value)
    return {person: frozenset(held) for person, held in found.items()}


def promised_of(release: Release) -> dict[str, Any]:
    """Return what a k-anonymous release promises besides k of people, as the register keeps it.

    Of several l of one column the largest counts. Every l-diversity, by entropy or of the recursive
    kind too, needs l different values.
    """
    promised: dict[str, Any] = {}
    diverse: dict[str, int] = {}
    models: list[list[Any]] = []
    for promise in release.promises:
        if promise.name.startswith("group-size") and "household" in promise.settings:
            promised["counted"] = "households"
        model = promise.settings.get("model")
        if not isinstance(model, Mapping) or "columns" not in promise.settings:
            continue
        # an entropy that is corrected for small classes may be that of fewer values
        if "l" in model and "column" in model and model.get("estimator") != "grassberger":
            column = str(model["column"])
            diverse[column] = max(diverse.get(column, 0), int(-(-float(model["l"]) // 1)))
        if promise.name != DISTINCT:
            models.append([promise.name, dict(model)])
    if diverse:
        promised["diverse"] = diverse
    if models:
        promised["models"] = [one for at, one in enumerate(models) if one not in models[:at]]
    return promised
