"""What a study is: tables and figures of a source document, ours beside theirs.

Every table and figure of a document is an *exhibit* in ``exhibits/NNN.toml``: its number, its
title, what became of it and why, and the numbers that the document prints. A study computes ours.
"""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module, resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.context import Progress, silent
from veladura.base.streams import Streams
from veladura.errors import PlanError, VeladuraWarning

Verdict = Literal["reproduced", "corrected", "not reproducible"]
VERDICTS = get_args(Verdict)
STUDIES = {
    "000": "veladura.studies.martins",
    "001": "veladura.studies.nunes",
    "002": "veladura.studies.samarati",
    "003": "veladura.studies.marcolin",
    "004": "veladura.studies.aslanyan",
}


@dataclass(frozen=True)
class Cell:
    """One figure: ours with its Monte Carlo error, and what the source prints."""

    ours: float | None = None
    error: float | None = None
    theirs: float | None = None
    digits: int = 3

    def __str__(self) -> str:
        parts = []
        if self.ours is not None:
            parts.append(f"{self.ours:,.{self.digits}f}")
        if self.error is not None:
            parts.append(f"({self.error:.{self.digits}f})")
        if self.theirs is not None:
            parts.append(f"[{self.theirs:,.{self.digits}f}]")
        return " ".join(parts)


Entry = Cell | str


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture that is drawn when it is first looked at."""

    make: Callable[[], bytes] = field(repr=False)

    @cached_property
    def svg(self) -> bytes:
        """The picture as a file."""
        return self.make()


@dataclass(frozen=True, eq=False)
class Result:
    """What a study found for one exhibit: a table, a picture, a remark."""

    header: Sequence[str] = ()
    rows: Sequence[Sequence[Entry]] = ()
    picture: Picture | None = field(default=None, repr=False)
    remark: str = ""


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A table or figure of a source document, and what became of it.

    Attributes
    ----------
    number, title
        As in the document: "Table 3.9".
    verdict
        "reproduced", "corrected" (the document errs, and the right value is computed) or "not
        reproducible".
    why
        The reason, in a sentence or two.
    printed
        The numbers that the document prints.
    result
        What was computed; None where nothing was, because data are missing for instance.
    """

    number: str
    title: str
    verdict: Verdict
    why: str = ""
    needs: str = ""
    printed: Mapping[str, Any] = field(default_factory=dict, repr=False)
    result: Result | None = None


@dataclass(frozen=True, eq=False)
class Study:
    """A study of a source document, run.

    Attributes
    ----------
    settings
        What was run, in words.
    notes
        Warnings of the methods, each with how often it came.
    """

    number: str
    source: str
    title: str
    settings: str
    exhibits: tuple[Exhibit, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, number: str) -> Exhibit:
        for exhibit in self.exhibits:
            if exhibit.number == number:
                return exhibit
        raise KeyError(number)


@dataclass(frozen=True)
class Setting:
    """How a study is run.

    Attributes
    ----------
    full
        Whether with the repetitions of the documentation; else in a minute or two.
    data
        A file of the user with the data of the source, where they are not simulated.
    streams
        Named random streams.
    printed
        By exhibit, the numbers that the document prints.
    """

    full: bool
    data: Path | None
    streams: Streams
    printed: Mapping[str, Mapping[str, Any]]
    progress: Progress = silent
    tiny: bool = False

    def times(self, quick: int, full: int) -> int:
        """Return a number of repetitions: a tenth of the quick ones, and at least 2, for tests."""
        if self.tiny:
            return max(2, quick // 10)
        return full if self.full else quick


Results = Mapping[str, Result]
Runner = Callable[[Setting], tuple[str, Results]]


def study(
    number: str,
    *,
    full: bool = False,
    data: str | Path | None = None,
    seed: int = 1,
    progress: Progress = silent,
    tiny: bool = False,
) -> Study:
    """Run the study of a source document again: its tables and figures beside ours.

    Parameters
    ----------
    number
        "000" (Martins 2019, CART and heavy tails), "001" (Nunes 2018, synthetic geography), "002"
        (Samarati and Sweeney 1998, k-anonymity), "003" (Marcolin 2018, differential privacy) or
        "004" (Aslanyan and Topchyan, critical cells).
    full
        Many repetitions: minutes. By default a minute or two.
    data
        A file with the data of the source, where it has real ones: the extract of the Survey of
        Consumer Finances 2004 (termlife.csv) for 000. Without it these exhibits are left out.
    seed
        Of the simulations; the same seed gives the same figures.
    tiny
        Far too few repetitions, in seconds: for tests.

    Examples
    --------
    >>> from veladura.studies.study import study
    >>> found = study("002")
    >>> found["Example 1"].verdict
    'reproduced'
    """
    if number not in STUDIES:
        raise PlanError.unknown("study", number, tuple(STUDIES))
    if data is not None and not Path(data).is_file():
        msg = f"{data} is not a file.\n\nHint: name the file with --data, or leave it out."
        raise PlanError(msg)
    facts = facts_of(number)
    exhibits = exhibits_of(facts)
    setting = Setting(
        full,
        None if data is None else Path(data),
        Streams(seed).within("study", number),
        {exhibit.number: exhibit.printed for exhibit in exhibits},
        progress,
        tiny,
    )
    runner: Runner = import_module(STUDIES[number]).run
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", VeladuraWarning)
        settings, results = runner(setting)
    if unknown := sorted(set(results) - {exhibit.number for exhibit in exhibits}):
        msg = f"study {number} has results for exhibits that are not listed: {unknown}"
        raise AssertionError(msg)
    return Study(
        number,
        facts["source"],
        facts["title"],
        settings,
        tuple(replace(exhibit, result=results.get(exhibit.number)) for exhibit in exhibits),
        tuple(_counted(caught)),
    )


def _counted(caught: Sequence[warnings.WarningMessage]) -> Iterator[str]:
    """Yield the kinds of warnings with the worst message of each and how often it came."""
    kinds: dict[str, list[str]] = {}
    for one in caught:
        text = str(one.message).split("\n")[0]
        kinds.setdefault(one.category.__name__, []).append(text)
    for name, texts in kinds.items():
        yield f"{name}, {len(texts)} times; for instance: {texts[0]}"


def facts_of(number: str) -> dict[str, Any]:
    """Return what is known of a document: citation, exhibits, printed numbers."""
    file = resources.files("veladura.studies") / "exhibits" / f"{number}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def exhibits_of(facts: Mapping[str, Any]) -> list[Exhibit]:
    """Return the exhibits of a document, without results."""
    return [Exhibit(**{"printed": {}, **one}) for one in facts["exhibit"]]


def cells(
    draws: ArrayLike,
    theirs: Sequence[float | None] | None = None,
    digits: int = 3,
    *,
    exact: bool = False,
) -> list[Entry]:
    """Return means over repetitions (rows) with their Monte Carlo errors, beside printed numbers.

    Parameters
    ----------
    exact
        The rows are figures without Monte Carlo error: no error is told.
    """
    drawn = np.atleast_2d(np.asarray(draws, dtype=np.float64))
    mean = drawn.mean(axis=0)
    error: list[float | None] = [None] * mean.size
    if len(drawn) > 1 and not exact:
        error = list(drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn)))
    printed: list[float | None] = [None] * mean.size
    if theirs is not None:
        printed = [None if value is None else float(value) for value in theirs]
    return [
        Cell(float(m), None if e is None else float(e), t, digits)
        for m, e, t in zip(mean, error, printed, strict=True)
    ]
