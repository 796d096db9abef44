"""The context of a run: random streams, threads, progress and the privacy ledger."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from veladura.base.streams import Streams
from veladura.errors import PlanError

Item = TypeVar("Item")
Result = TypeVar("Result")
Advance = Callable[[], None]
Progress = Callable[[str, int], AbstractContextManager[Advance]]


@contextmanager
def silent(_label: str, _total: int) -> Iterator[Advance]:
    """Show no progress."""
    yield lambda: None


def thread_count(threads: int | None = None) -> int:
    """Return the number of threads: the argument, else ``VELADURA_THREADS``, else the cores."""
    given = os.environ.get("VELADURA_THREADS") if threads is None else threads
    if given is None or given == "":
        return os.cpu_count() or 1
    try:
        count = int(given)
    except ValueError:
        count = 0
    if count < 1:
        msg = f"threads (or VELADURA_THREADS) must be a whole number of at least 1, got {given!r}."
        raise PlanError(msg)
    return count


class Charges(Protocol):
    """A privacy ledger: differentially private draws are charged to it."""

    def charge(self, event: Any) -> None:
        """Charge the cost of a draw, or refuse it before it is made."""


@dataclass(frozen=True)
class Context:
    """Streams, threads and progress of one run. Results never depend on the last two.

    Attributes
    ----------
    ledger
        The privacy ledger of a differentially private method.
    seeded
        Whether the caller gave a seed.
    unsafe_repeatable
        Whether a differentially private method may use the seed: for tests, never for a release.
    """

    streams: Streams
    threads: int = field(default_factory=thread_count)
    progress: Progress = silent
    ledger: Charges | None = None
    seeded: bool = False
    unsafe_repeatable: bool = False

    def within(self, *path: str | int) -> Context:
        """Return the same context with its streams below a path."""
        return replace(self, streams=self.streams.within(*path))

    def map(
        self, label: str, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> list[Result]:
        """Apply a function to independent items in threads; results come in the items' order."""
        work = list(items)
        with self.progress(label, len(work)) as advance, ExitStack() as stack:
            answers: Iterator[Result] = map(function, work)  # in this thread: SQLite needs that
            if self.threads > 1:
                pool = ThreadPoolExecutor(self.threads)
                stack.callback(pool.shutdown, cancel_futures=True)  # when it is interrupted
                answers = pool.map(function, work)
            results = []
            for result in answers:
                results.append(result)
                advance()
            return results
