"""One studio: its plan, its table, and everything that all tabs see alike."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.private_files import FILE_MODE, private_folder, write_private
from veladura.errors import PlanError, VeladuraError
from veladura.studio.views import Views

if TYPE_CHECKING:
    from veladura.plan.plan import Plan
    from veladura.studio.cards import Cards
    from veladura.studio.history import History
    from veladura.studio.jobs import Job
    from veladura.table.inspect import Facts
    from veladura.table.table import Table
    from veladura.table.telling import Telling

READ_ONLY = (
    "another studio has this plan open, so this one only shows it.\n\nHint: close the other studio,"
    " then start this one again."
)
UNEXPECTED = "a mistake of the program, not of your table or plan. Nothing was released."


@dataclass(frozen=True)
class Source:
    """An opened table with what was counted about it once."""

    table: Table
    facts: Mapping[str, Facts]
    telling: Telling
    seen: tuple[Any, ...]  # the file as it was: a source that changes under the page is told


class Session:
    """The state of a studio.

    Parameters
    ----------
    plan
        The plan; it is drafted from ``source`` where it does not exist yet.
    release
        A release folder to read instead: then there is no plan.
    """

    def __init__(
        self, plan: Path | None, source: str | None = None, release: Path | None = None
    ) -> None:
        self.path, self.given, self.release = plan, source, release
        self.views = Views()
        self.lock = threading.RLock()
        self.revision = 0
        self.problem = ""
        self.state = "ready" if release is not None else "opening"
        self.read_only = False
        self.plan: Plan | None = None
        self.source: Source | None = None
        self.job: Job | None = None
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self.kept: dict[Any, Any] = {}  # answers for the plan as it is now
        self._history: History | None = None
        self._cards: Cards | None = None
        self._locked: int | None = None

    def open(self) -> None:
        """Draft the plan where there is none, read it, and open its source; in a thread."""
        try:
            self._open()
        except VeladuraError as error:
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001  # its message may hold values
            self.problem = f"unexpected failure ({type(error).__name__}): {UNEXPECTED}"
        self.state = "failed" if self.problem else "ready"
        self.tell()

    def _open(self) -> None:
        from veladura.plan.draft import drafted, write_draft
        from veladura.plan.reading import read_plan

        path = self._path
        if not path.exists() and self.given is not None:
            made = drafted(self.given, home=path.parent)
            write_draft(made.text, path, force=False)
        self.plan = read_plan(path)
        self._take_lock()
        if not self.read_only and self.history.text != self._text:
            self.history.add(self._text, "the plan was opened")
        self.source = self._opened(self.plan)

    def _opened(self, plan: Plan) -> Source:
        from veladura.table.inspect import inspect_table
        from veladura.table.telling import Telling

        table = plan.open()
        unit = next(iter(table.schema.of_role("person")), None)
        telling = Telling(_near(table), unit)
        return Source(table, inspect_table(table), telling, seen_of(table))

    def _take_lock(self) -> None:
        from veladura.base.owned import lock

        handle = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, FILE_MODE)
        if lock(handle, wait=False):
            self._locked = handle
        else:
            os.close(handle)
            self.read_only = True

    def close(self) -> None:
        """Stop a run, and let another studio have the plan."""
        if self.job is not None:
            self.job.stop()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    @property
    def _path(self) -> Path:
        if self.path is None:
            msg = "this studio shows a release folder only: it has no plan."
            raise PlanError(msg)
        return self.path

    @property
    def _text(self) -> str:
        return self._path.read_text(encoding="utf-8")

    @property
    def ready(self) -> tuple[Plan, Source]:
        """The plan and its source, or the reason why there are none."""
        if self.plan is None or self.source is None:
            raise PlanError(self.problem or "the table is still being read.")
        return self.plan, self.source

    @property
    def folder(self) -> Path:
        """Where the studio keeps its history and cards: in the custodian's folder."""
        from veladura.table.database.scratch import custodian_home

        if self.plan is None:
            raise PlanError(self.problem or "the plan is still being read.")
        name = sha256(str(self._path.resolve()).encode()).hexdigest()[:12]
        own = self.plan.custodian_folder or custodian_home() / "studio" / name
        return private_folder(own / "studio")

    @property
    def history(self) -> History:
        """The versions of the plan."""
        from veladura.studio.history import History

        if self._history is None:
            self._history = History(self.folder)
        return self._history

    @property
    def cards(self) -> Cards:
        """The runs that were tried."""
        from veladura.studio.cards import Cards

        if self._cards is None:
            self._cards = Cards(self.folder)
        return self._cards

    def notes(self) -> dict[str, Any]:
        """Return what the studio remembers beside the plan, such as the confirmed columns."""
        try:
            return dict(json.loads((self.folder / "notes.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return {}

    def note(self, **notes: Any) -> None:
        """Remember something beside the plan."""
        self.refuse_read_only()
        with self.lock:
            write_private(self.folder / "notes.json", json.dumps(self.notes() | notes))
            self.changed()

    def refuse_read_only(self) -> None:
        """Refuse a change where another studio has the plan."""
        if self.read_only:
            raise PlanError(READ_ONLY)

    def edit(self, change: Callable[[str], str], words: str) -> None:
        """Change the text of the plan; a text that is no valid plan is refused, nothing is lost.

        Parameters
        ----------
        words
            What is changed, for the history.
        """
        with self.lock:
            self.write(change(self._current()), words)

    def _current(self) -> str:
        """Return the text of the plan; one that was changed outside is taken over first."""
        self.refuse_read_only()
        text = self._text
        if text != self.history.text:
            self.history.add(text, "the plan was changed outside the studio")
        return text

    def write(self, text: str, words: str, *, keep: bool = True) -> None:
        """Write a plan, after reading it as a run would; keep it as a version."""
        from veladura.measures.knowledge import check_intruders
        from veladura.plan.accounting import refuse_unnamed
        from veladura.plan.edit import write_private as write_plan
        from veladura.plan.reading import plan_in

        plan = plan_in(text, self._path.parent)
        before = self.plan
        source = self.source
        if source is None or before is None or _asks(plan) != _asks(before):
            source = self._opened(plan)
        refuse_unnamed(plan, source.table)
        check_intruders(plan.intruders, source.table.schema)
        write_plan(self._path, text)
        self.plan, self.source = plan, source
        if keep:
            self.history.add(text, words)
        self.changed()

    def rewritten(self, words: str) -> None:
        """Take over a plan that a function of the library wrote itself."""
        with self.lock:
            self.write(self._text, words)

    def step(self, way: int) -> str:
        """Undo (-1) or redo (1); return what was done, in words."""
        with self.lock:
            self._current()
            words = self.history.undoes if way < 0 else self.history.redoes
            version = self.history.step(way)
            if version is None:
                msg = "there is nothing to undo." if way < 0 else "there is nothing to do again."
                raise PlanError(msg)
            self.write(version.text, words, keep=False)
            return f"Undone: {words}." if way < 0 else f"Done again: {words}."

    def refuse_changed(self) -> None:
        """Refuse to go on with a source that changed since it was read."""
        _, source = self.ready
        if seen_of(source.table) != source.seen:
            msg = (
                "the source file has changed since it was read: the numbers on this page are of the"
                " old one.\n\nHint: read it again (the button at the top of the page)."
            )
            raise PlanError(msg)

    def reload(self) -> None:
        """Read plan and source again; draft the plan where the first try failed before it."""
        from veladura.plan.reading import read_plan

        with self.lock:
            if self.plan is None:
                self._open()
            else:
                plan = read_plan(self._path)
                self.source = self._opened(plan)
                self.plan = plan
            self.problem, self.state = "", "ready"
            self.changed()

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return an answer about the plan as it is now, computed the first time only."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def changed(self) -> None:
        """Say to all tabs that something is new."""
        self.kept.clear()
        self.tell()

    def tell(self, **more: Any) -> None:
        """Send an event to all tabs."""
        if not more:
            self.revision += 1
        event = {"revision": self.revision, "state": self.state, **more}
        for listener in list(self.listeners):
            listener(event)


def _asks(plan: Plan) -> tuple[Any, ...]:
    """Return what a table depends on: its source, and what is declared of its columns."""
    shape = {n: (d.role, d.kind, d.order, d.format, d.missing) for n, d in plan.columns.items()}
    return plan.source, shape


def _near(table: Table) -> Table:
    """Return a table whose counts are fast: a small one in memory, a large one where it lives."""
    most = 20_000_000
    return table.fetched() if table.rows * len(table.names) <= most else table


def seen_of(table: Table) -> tuple[Any, ...]:
    """Return what tells that a source file is another one than before."""
    if table.source.file is None:
        return ()
    try:
        state = table.source.file.stat()
    except OSError:
        return ("gone",)
    return state.st_size, state.st_mtime_ns
