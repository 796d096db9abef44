"""The versions of a plan that the studio wrote: undo and redo, also after a restart."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from veladura.base.private_files import private_folder, write_private

MOST = 200  # versions that are kept; the oldest go first
FILE = "history.json"


@dataclass(frozen=True)
class Version:
    """A plan as it was, with what changed it into this."""

    text: str
    words: str
    when: str


class History:
    """Versions of one plan, and which of them is the plan now."""

    def __init__(self, folder: Path) -> None:
        self.path = private_folder(folder) / FILE
        self.versions: list[Version] = []
        self.at = -1
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            self.versions = [Version(**version) for version in kept["versions"]]
            self.at = min(int(kept["at"]), len(self.versions) - 1)
        except (OSError, ValueError, KeyError, TypeError):  # none yet, or cut off
            self.versions, self.at = [], -1

    @property
    def text(self) -> str | None:
        """The plan as the studio last wrote it; None before."""
        return self.versions[self.at].text if self.at >= 0 else None

    def add(self, text: str, words: str) -> None:
        """Keep a new version; those that were undone before it are gone."""
        when = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
        self.versions = [*self.versions[: self.at + 1], Version(text, words, when)][-MOST:]
        self.at = len(self.versions) - 1
        self._write()

    def step(self, way: int) -> Version | None:
        """Go one version back (-1) or forward (1); None where there is none."""
        if not 0 <= self.at + way < len(self.versions):
            return None
        self.at += way
        self._write()
        return self.versions[self.at]

    @property
    def undoes(self) -> str:
        """What an undo takes back, in words; empty where nothing can be."""
        return self.versions[self.at].words if self.at > 0 else ""

    @property
    def redoes(self) -> str:
        """What a redo does again, in words; empty where nothing was undone."""
        at = self.at + 1
        return self.versions[at].words if 0 < at < len(self.versions) else ""

    def _write(self) -> None:
        plain = {"at": self.at, "versions": [vars(version) for version in self.versions]}
        part = self.path.with_suffix(".part")
        write_private(part, json.dumps(plain))
        part.replace(self.path)
