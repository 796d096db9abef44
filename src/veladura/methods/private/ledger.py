"""The ledger of a privacy loss budget: a draw is charged before it is made, or refused."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from veladura.errors import FolderError, PlanError
from veladura.methods.private.events import Budget, Event, short
from veladura.methods.private.exact import positive, share, text

FOLDER = "ledger"
FORMAT = "veladura-ledger"


@dataclass(eq=False, repr=False)
class Ledger:
    """A privacy loss budget in memory, handed to ``protect``: every draw is charged to it first.

    Parameters
    ----------
    epsilon
        The largest total privacy loss; without one, draws are recorded and never refused.
    delta
        The probability by which the bound of epsilon may be exceeded. Gaussian noise needs one
        above 0.
    rho
        The largest total in zero-concentrated differential privacy, instead of epsilon.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> ledger = vd.Ledger(epsilon=1)
    >>> recipe = vd.DirichletMultinomial(columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=0.6)
    >>> release = recipe.protect(pd.DataFrame({"sex": ["f", "m"] * 50}), ledger=ledger)
    >>> ledger
    Ledger(epsilon=1, spent=0.6, events=1)
    """

    epsilon: Any = None
    delta: Any = 0
    rho: Any = None
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.rho is not None:
            msg = (
                "a ledger takes a budget of epsilon (and delta) or of rho, and both were given."
                "\n\nHint: leave one out."
            )
            raise PlanError(msg)
        self.budget = Budget(
            None if self.epsilon is None else positive(self.epsilon, "epsilon"),
            share(self.delta),
            None if self.rho is None else positive(self.rho, "rho"),
        )
        self._events: tuple[Event, ...] = ()
        self._lock = Lock()

    @property
    def events(self) -> tuple[Event, ...]:
        """The draws that were charged, in order."""
        return self._events

    @property
    def spent(self) -> Fraction:
        """The privacy loss so far, in the unit of the budget."""
        return self.budget.spent(self.events) or Fraction(0)

    @property
    def left(self) -> Fraction | None:
        """What is left of the budget; None without a limit."""
        return None if self.budget.limit is None else self.budget.limit - self.spent

    def charge(self, event: Event) -> None:
        """Record an event, or refuse it before anything is drawn."""
        with self._lock:
            self.budget.require(self._events, event)
            self._events = (*self._events, event)

    def __repr__(self) -> str:
        limit = "none" if self.budget.limit is None else short(self.budget.limit)
        return (
            f"Ledger({self.budget.unit}={limit}, spent={short(self.spent)},"
            f" events={len(self.events)})"
        )


@dataclass(frozen=True)
class KeptLedger:
    """A ledger across runs: one file for each source, in the custodian's folder, under a lock.

    Parameters
    ----------
    folder
        The custodian's folder.
    name
        The source's declared name. A changed table of the same name has no new budget.
    budget
        The budget of the plan; None for that of the file.
    otherwise
        The budget where neither has one: the cost of running the plan once.
    """

    folder: Path
    name: str
    budget: Budget | None = None
    otherwise: Budget = field(default_factory=Budget)

    @property
    def path(self) -> Path:
        """The file; a name with characters that files cannot have gets a hash besides."""
        plain = re.sub(r"[^A-Za-z0-9._-]", "_", self.name)[:80]
        mark = (
            ""
            if plain == self.name and plain.strip(".")
            else "-" + sha256(self.name.encode()).hexdigest()[:8]
        )
        return self.folder / FOLDER / f"{plain}{mark}.json"

    def read(self) -> tuple[Budget, tuple[Event, ...]]:
        """Return budget and events: the plan's budget where it has one, else the file's."""
        kept, events = read_ledger(self.path) if self.path.exists() else (self.otherwise, ())
        return self.budget or kept, events

    def charge(self, event: Event) -> None:
        """Record an event, or refuse it; the lock keeps two runs from spending the same rest."""
        with locked(self.path):
            budget, events = self.read()
            budget.require(events, event)
            self._write(budget, (*events, event))

    def _write(self, budget: Budget, events: tuple[Event, ...]) -> None:
        content = {
            "format": FORMAT,
            "version": 1,
            "name": self.name,
            "changed": datetime.now(UTC).isoformat(timespec="seconds"),
            "budget": {
                key: None if (value := getattr(budget, key)) is None else text(value)
                for key in ("epsilon", "delta", "rho")
            },
            "events": [event.to_json() for event in events],
        }
        part = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}.part")
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(content, stream, indent=2, ensure_ascii=False)
            stream.flush()
            os.fsync(stream.fileno())  # spent before it is drawn, whatever happens next
        part.replace(self.path)


def read_ledger(path: Path) -> tuple[Budget, tuple[Event, ...]]:
    """Return budget and events of a ledger file; an unreadable one is an error, never empty."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError  # noqa: TRY301  # reported with the others
        limits = {
            key: None if value is None else Fraction(value)
            for key, value in content["budget"].items()
        }
        budget = Budget(limits["epsilon"], limits["delta"] or Fraction(0), limits["rho"])
        return budget, tuple(map(Event.from_json, content["events"]))
    except (OSError, ValueError, KeyError, TypeError):
        msg = (
            f"the ledger {path} cannot be read, so the privacy loss so far is unknown: nothing was"
            " drawn.\n\nHint: restore it from a backup."
        )
        raise FolderError(msg) from None


def allowance(recipes: Iterable[Any]) -> Budget:
    """Return the budget that lets private recipes run once."""
    costs = [recipe.loss() for recipe in recipes]
    return Budget(
        sum((epsilon for epsilon, _ in costs), Fraction(0)),
        sum((delta for _, delta in costs), Fraction(0)),
    )


def kept_ledgers(folder: Path) -> list[Path]:
    """Return the ledger files of a custodian's folder."""
    return sorted((folder / FOLDER).glob("*.json"))


def budget_rows(folder: Path) -> list[tuple[str, str, str, str, str]]:
    """Return one row for each ledger: source, budget, spent, left, number of draws."""
    rows = []
    for path in kept_ledgers(folder):
        budget, events = read_ledger(path)
        spent, limit, left = budget.spent(events), "none", "-"
        if budget.limit is not None:
            delta = f", delta = {short(budget.delta)}" if budget.delta else ""
            limit = f"{budget.unit} = {short(budget.limit)}{delta}"
            left = left if spent is None else short(budget.limit - spent)
        paid = "-" if spent is None else short(spent)
        rows.append((path.stem, limit, paid, left, str(len(events))))
    return rows


def event_lines(folder: Path) -> list[str]:
    """Return every draw of every ledger, in order."""
    return [
        f"{path.stem}: {event}" for path in kept_ledgers(folder) for event in read_ledger(path)[1]
    ]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file while it is read and written; the system ends it with the process."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)  # which releases the lock


def _lock(handle: int) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]
        return
    fcntl.flock(handle, fcntl.LOCK_EX)
