"""Work that takes longer than a click: one process each, one reader for all tabs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

WORDS = {
    "trial": "Trying the plan",
    "release": "Writing the release",
    "ways": "Looking for the ways to reach k-anonymity",
}
FAILED = {
    "trial": "No card was made.",
    "release": "No release was written.",
    "ways": "The ways could not be listed.",
}
KILLED = (
    "the process that did the work ended without a word: it was stopped from outside, or ran out"
    " of memory. Nothing was released, and nothing that was there before is lost.\n\nHint: run it"
    " again; with less memory, protect fewer columns at a time."
)


@dataclass
class Job:
    """One piece of work: where it stands, and its result.

    Attributes
    ----------
    on_change
        Called at every event.
    on_end
        Called once, with the result, before the last change.
    """

    kind: str
    task: Mapping[str, Any] = field(repr=False)
    on_change: Callable[[], None] = field(repr=False)
    on_end: Callable[[Job], None] = field(repr=False)
    state: str = "running"  # then done, failed or cancelled
    stage: str = "starting"
    at: int = 0
    total: int = 1
    problem: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    stage_began: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Start the process, and a thread that reads its events."""
        self._process = subprocess.Popen(  # our own module
            [sys.executable, "-m", "veladura.studio.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdin is not None  # noqa: S101  # a pipe
        assert self._process.stdout is not None  # noqa: S101
        with suppress(OSError, ValueError), self._process:  # one that ended: said below
            self._process.stdin.write(json.dumps({**self.task, "kind": self.kind}) + "\n")
            self._process.stdin.flush()
            for line in self._process.stdout:
                self._take(json.loads(line))
        if self.state == "running":
            self.problem, self.state = KILLED, "failed"  # whoever sees the state sees why
        self.on_end(self)
        self.on_change()

    def _take(self, event: Mapping[str, Any]) -> None:
        if "stage" in event:
            if event["stage"] != self.stage:
                self.stage_began = time.monotonic()
            self.stage, self.at, self.total = event["stage"], event["at"], event["total"]
            self.on_change()
        elif "done" in event:
            self.result, self.state = event["done"], "done"
        elif "error" in event:
            self.problem, self.state = event["error"], "failed"
        elif "cancelled" in event:
            self.state = "cancelled"

    def stop(self) -> None:
        """Cancel the work; what it was writing is whole or absent."""
        if self.state == "running":
            self.state = "cancelled"
            self._process.terminate()

    @property
    def words(self) -> str:
        """What is done, and where it stands."""
        return WORDS[self.kind]

    @property
    def failed(self) -> str:
        """What there is not, because the work failed; empty where it did not."""
        return FAILED[self.kind] if self.state == "failed" else ""

    @property
    def left(self) -> str:
        """About how long this stage still takes; empty while nobody can know."""
        passed = time.monotonic() - self.stage_began
        if self.total < 2 or not 0 < self.at < self.total or passed < 1:  # noqa: PLR2004
            return ""
        seconds = passed * (self.total - self.at) / self.at
        return f"about {seconds / 60:.0f} min" if seconds > 90 else f"about {seconds:.0f} s"  # noqa: PLR2004

    def to_json(self) -> dict[str, Any]:
        """Return it as the page shows it."""
        names = ("kind", "state", "stage", "at", "total", "words", "left", "problem")
        return {name: getattr(self, name) for name in names}
