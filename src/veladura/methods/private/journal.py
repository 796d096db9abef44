"""The journal of all ledgers: one file to which lines are only added, each sealed by the last.

Every line holds the SHA-256 of itself and of the line before it, and a second file holds the last
of them: a line that is changed, taken out or cut off at the end is seen.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from veladura.base.owned import lock
from veladura.base.private_files import FILE_MODE, private_folder
from veladura.errors import FolderError

FORMAT = "veladura-journal"
JOURNAL, HEAD, LOCK = "journal.jsonl", "head.json", "journal.lock"
START = "0" * 64


@dataclass(frozen=True)
class Entry:
    """One line of the journal.

    Attributes
    ----------
    kind
        What happened: a source was opened, known by another key, given a budget, or charged.
    source
        The source that it is about.
    content
        The particulars; never a value of the data.
    """

    number: int
    time: str
    kind: str
    source: str
    content: Mapping[str, Any]
    digest: str


@dataclass(frozen=True)
class Journal:
    """The journal in a folder."""

    folder: Path

    @property
    def path(self) -> Path:
        """The file with the lines."""
        return self.folder / JOURNAL

    def read(self) -> list[Entry]:
        """Return all entries; refuse a journal that was changed, cut or deleted."""
        try:
            return _checked(self._lines(), self._head())
        except (OSError, ValueError, KeyError, TypeError):
            msg = (
                f"the ledger {self.path} cannot be read, or was changed since it was written, so"
                " the privacy loss so far is unknown: nothing was drawn.\n\nHint: restore"
                f" {JOURNAL} and {HEAD} from a backup."
            )
            raise FolderError(msg) from None

    def _lines(self) -> list[str]:
        """Return the whole lines; one that a killed run left unfinished was never charged."""
        if not self.path.exists():
            return []
        return self.path.read_text(encoding="utf-8").split("\n")[:-1]

    def _head(self) -> dict[str, Any]:
        path = self.folder / HEAD
        if not path.exists():
            return {"entries": 0, "digest": START}
        head: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return head

    def append(self, entries: list[Entry], kind: str, source: str, **content: Any) -> None:
        """Add an entry to the journal and to the list of those read; it is on disk on return."""
        previous = entries[-1].digest if entries else START
        entry = Entry(
            len(entries) + 1,
            datetime.now(UTC).isoformat(timespec="seconds"),
            kind,
            source,
            content,
            "",
        )
        digest = _digest(previous, entry)
        line = json.dumps({**_plain(entry), "digest": digest}, ensure_ascii=False) + "\n"
        self._write(line, len(entries))
        self._write_head(entry.number, digest)
        entries.append(Entry(entry.number, entry.time, kind, source, content, digest))

    def _write(self, line: str, before: int) -> None:
        """Add a line behind the whole ones, and wait until it is on disk."""
        whole = "".join(text + "\n" for text in self._lines()[:before]).encode()
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        with os.fdopen(handle, "r+b") as stream:
            stream.truncate(len(whole))
            stream.seek(len(whole))
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())  # spent before it is drawn, whatever happens next

    def _write_head(self, entries: int, digest: str) -> None:
        part = self.folder / f"{HEAD}.{secrets.token_hex(4)}.part"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({"format": FORMAT, "entries": entries, "digest": digest}, stream)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(self.folder / HEAD)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out while it is read and written; the system ends it with the process."""
        private_folder(self.folder)
        handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            lock(handle, wait=True)
            yield
        finally:
            os.close(handle)  # which releases the lock


def _checked(lines: list[str], head: Mapping[str, Any]) -> list[Entry]:
    """Return the entries of the lines, after following the seals from the first to the last."""
    entries: list[Entry] = []
    previous = START
    for number, line in enumerate(lines, start=1):
        entry = Entry(**json.loads(line))
        if entry.number != number or entry.digest != _digest(previous, entry):
            raise ValueError
        entries.append(entry)
        previous = entry.digest
    # a run that was killed between the two files leaves one line more than the head knows
    at = int(head["entries"])
    last = START if at == 0 else entries[at - 1].digest if at <= len(entries) else ""
    if last != head["digest"] or len(entries) > at + 1:
        raise ValueError
    return entries


def _plain(entry: Entry) -> dict[str, Any]:
    names = ("number", "time", "kind", "source", "content")
    return {name: getattr(entry, name) for name in names}


def _digest(previous: str, entry: Entry) -> str:
    text = json.dumps(_plain(entry), sort_keys=True, ensure_ascii=False)
    return sha256(f"{previous}\n{text}".encode()).hexdigest()
