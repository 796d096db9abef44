"""The content of a page as plain records; the template only lays them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from veladura.base.limits import Light
from veladura.core.rules import Conclusions
from veladura.measures.measure import Detail
from veladura.report.codebook import ColumnFacts
from veladura.report.intervals import IntervalGroup
from veladura.report.opening import Opening

Audience = Literal["public", "custodian"]


@dataclass(frozen=True)
class SettingFacts:
    """One setting of a method."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True)
class StepFacts:
    """One method, in words."""

    method: str
    sentence: str
    changed: str
    settings: tuple[SettingFacts, ...]


@dataclass(frozen=True)
class PromiseFacts:
    """A promise, whether it holds, and who can check it."""

    claim: str
    status: str
    how: str


@dataclass(frozen=True)
class FigureFacts:
    """One figure as it is printed, with the verdict of the gate if there is one."""

    name: str
    meaning: str
    value: str
    interval: str
    better: str
    note: str
    limit: str = ""
    verdict: str = ""
    light: Light | None = None
    headline: bool = False


@dataclass(frozen=True)
class Picture:
    """A picture as a data address: the page loads nothing from the network."""

    title: str
    address: str
    wide: bool  # needs a row of its own


@dataclass(frozen=True)
class Facts:
    """The content of one page."""

    title: str
    audience: Audience
    summary: tuple[str, ...]
    refused: int
    steps: tuple[StepFacts, ...]
    columns: tuple[ColumnFacts, ...]
    promises: tuple[PromiseFacts, ...]
    figures: Mapping[str, tuple[FigureFacts, ...]]
    no_figures: str
    conclusions: Conclusions
    snippet: str
    command: str
    provenance: Mapping[str, str]
    absent: tuple[tuple[str, str], ...] = ()  # figures that do not apply, and why
    details: tuple[Detail, ...] = ()
    intervals: tuple[IntervalGroup, ...] = ()
    pictures: tuple[Picture, ...] = field(default=(), repr=False)
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)  # such as a tree
    recipe: str = field(default="", repr=False)
    draft: tuple[str, ...] = ()  # what the holder has not confirmed
    opening: Opening | None = None  # the verdict, on the first screen
    membership: str = ""  # that nobody tried to tell who is in the data
    left_out: str = ""  # why the page does not compare the release with the original
