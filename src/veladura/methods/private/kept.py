"""Ledgers across runs: one home for all sources, each found again by what it is."""

from __future__ import annotations

import json
import os
import secrets
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import platformdirs

from veladura.errors import FolderError, VeladuraWarning
from veladura.methods.private.events import Budget, Event, rest, short
from veladura.methods.private.exact import text
from veladura.methods.private.identity import Identity
from veladura.methods.private.journal import Entry, Journal

HOME = "VELADURA_LEDGER"


class LookAlikeWarning(VeladuraWarning):
    """Another source with the same columns, or most of them, has a privacy budget of its own."""


def ledger_home() -> Path:
    """Return the one home of all ledgers: ``VELADURA_LEDGER``, or a folder of the user's state."""
    given = os.environ.get(HOME)
    if given:
        return Path(given)
    return platformdirs.user_state_path("veladura", appauthor=False) / "ledger"


@dataclass
class Account:
    """What the journal says of one source: names, keys, budget and draws."""

    number: str
    name: str
    columns: str
    names: frozenset[str] = frozenset()
    keys: set[str] = field(default_factory=set)
    budget: Budget = field(default_factory=Budget)
    events: list[Event] = field(default_factory=list)
    imported: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class KeptLedger:
    """The ledger of one source, in the home of all ledgers.

    Parameters
    ----------
    home
        The folder of the journal.
    identity
        What the source is. Under another name, in another folder or after a change of its rows it
        has the same budget.
    budget
        The budget of the plan; None for the one that the ledger has.
    otherwise
        The budget where neither has one: the cost of running the plan once.
    older
        A ledger file of version 0.1 of veladura, whose draws are taken over.
    """

    home: Path
    identity: Identity
    budget: Budget | None = None
    otherwise: Budget = field(default_factory=Budget)
    older: Path | None = None

    def read(self) -> tuple[Budget, tuple[Event, ...]]:
        """Return budget and events: the plan's budget where it has one, else the ledger's."""
        own = self._own(accounts(Journal(self.home).read()))
        if not own:
            return self.budget or self.otherwise, ()
        events = tuple(event for account in own for event in account.events)
        return self.budget or own[0].budget, events

    def charge(self, event: Event) -> None:
        """Record an event, or refuse it; the lock keeps two runs from spending the same rest."""
        journal = Journal(self.home)
        with journal.locked():
            entries = journal.read()
            number = self._opened(journal, entries)
            budget, events = self.read()
            budget.require(events, event)
            if budget != accounts(entries)[number].budget:
                journal.append(entries, "budget", number, **_plain_budget(budget))
            journal.append(entries, "charge", number, **event.to_json())

    def _own(self, known: dict[str, Account]) -> list[Account]:
        """Return the accounts that share a key with the source, oldest first."""
        return [account for account in known.values() if account.keys & {*self.identity.keys}]

    def _opened(self, journal: Journal, entries: list[Entry]) -> str:
        """Return the number of the source; write down what is new about it."""
        known = accounts(entries)
        own = self._own(known)
        if own:
            number = own[0].number
            for other in own[1:]:
                journal.append(entries, "join", number, other=other.number)
        else:
            self._warn(known)
            number = secrets.token_hex(8)
            journal.append(
                entries,
                "open",
                number,
                name=self.identity.name,
                columns=self.identity.columns,
                names=list(self.identity.names),
                **_plain_budget(self.budget or self.otherwise),
            )
        seen = set().union(*(account.keys for account in own))
        if new := [key for key in self.identity.keys if key not in seen]:
            journal.append(entries, "keys", number, keys=new)
        self._take_over(journal, entries, number)
        return number

    def _take_over(self, journal: Journal, entries: list[Entry], number: str) -> None:
        """Charge the draws of an older ledger file, once."""
        if self.older is None or not self.older.exists():
            return
        where = str(self.older.resolve())
        if where in accounts(entries)[number].imported:
            return
        for event in older_events(self.older):
            journal.append(entries, "charge", number, **event.to_json())
        journal.append(entries, "import", number, file=where)

    def _warn(self, known: dict[str, Account]) -> None:
        """Say that a source that looks alike has a budget of its own."""
        alike = sorted({account.name for account in known.values() if self._looks_like(account)})
        if alike:
            warnings.warn(
                f"this source has columns of {', '.join(map(repr, alike))}, which has a privacy"
                " budget of its own.\n\nHint: if they are about the same people, give both"
                ' plans the same line in [source], as in data_id = "register-2026".',
                LookAlikeWarning,
                stacklevel=2,
            )

    def _looks_like(self, account: Account) -> bool:
        """Whether a source has the same columns, or most of those of the narrower one."""
        if account.columns and account.columns == self.identity.columns:
            return True
        fewer = min(len(account.names), len(self.identity.names))
        return len(account.names & {*self.identity.names}) > fewer / 2


def accounts(entries: Sequence[Entry]) -> dict[str, Account]:
    """Return what a journal says of every source, by its number; joined sources are one."""
    known: dict[str, Account] = {}
    for entry in entries:
        content = entry.content
        if entry.kind == "open":
            budget = _budget_from(content)
            names = frozenset(content.get("names", ()))
            known[entry.source] = Account(
                entry.source, content["name"], content["columns"], names, budget=budget
            )
            continue
        account = known[entry.source]
        if entry.kind == "charge":
            account.events.append(Event.from_json(content))
        elif entry.kind == "budget":
            account.budget = _budget_from(content)
        elif entry.kind == "keys":
            account.keys.update(content["keys"])
        elif entry.kind == "import":
            account.imported.add(content["file"])
        elif entry.kind == "join":
            other = known.pop(content["other"])
            account.keys |= other.keys
            account.events += other.events
            account.imported |= other.imported
    return known


def older_events(path: Path) -> tuple[Event, ...]:
    """Return the draws in a ledger file of version 0.1; an unreadable one is never empty."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return tuple(map(Event.from_json, content["events"]))
    except (OSError, ValueError, KeyError, TypeError):
        msg = (
            f"the ledger {path} cannot be read, so the privacy loss so far is unknown: nothing was"
            " drawn.\n\nHint: restore it from a backup."
        )
        raise FolderError(msg) from None


def _plain_budget(budget: Budget) -> dict[str, str | None]:
    values = {key: getattr(budget, key) for key in ("epsilon", "delta", "rho")}
    return {key: None if value is None else text(value) for key, value in values.items()}


def _budget_from(content: object) -> Budget:
    given = dict(content)  # type: ignore[call-overload]
    limits = {
        key: None if given[key] is None else Fraction(given[key])
        for key in ("epsilon", "delta", "rho")
    }
    return Budget(limits["epsilon"], limits["delta"] or Fraction(0), limits["rho"])


def budget_rows(home: Path) -> list[tuple[str, str, str, str, str]]:
    """Return one row for each source: its name, budget, spent, left, number of draws."""
    rows = []
    for account in accounts(Journal(home).read()).values():
        budget, spent, limit, left = (
            account.budget,
            account.budget.spent(account.events),
            "none",
            "-",
        )
        if budget.limit is not None:
            delta = f", delta = {short(budget.delta)}" if budget.delta else ""
            limit = f"{budget.unit} = {short(budget.limit)}{delta}"
            left = left if spent is None else short(rest(budget.limit, spent))
        paid = "-" if spent is None else short(spent)
        rows.append((account.name, limit, paid, left, str(len(account.events))))
    return rows


def event_lines(home: Path) -> list[str]:
    """Return every draw of every source, in order."""
    known = accounts(Journal(home).read())
    return [f"{account.name}: {event}" for account in known.values() for event in account.events]
