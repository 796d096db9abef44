"""A signal to end (SIGTERM, or a closed terminal) is told as Ctrl-C is: clean up, then leave."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

# a closed terminal is unknown on Windows
SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


_asked = False


class Interrupted(BaseException):
    """The user, or the system, wants the program to end.

    Not a KeyboardInterrupt: the library of the command line ends on one without a word.
    """


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` at the next line of Python when a signal asks the program to end."""
    global _asked  # noqa: PLW0603  # a signal comes to the process, not to a caller
    _asked = False
    if threading.current_thread() is not threading.main_thread():
        yield  # signals come to the main thread only
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:  # nohup, or a job in the background
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def deaf() -> None:
    """Ignore further signals to end: the little that is left is cleaning up."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def asked_to_end() -> bool:
    """Whether a signal came; a database answers it with an error of its own."""
    return _asked


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _asked  # noqa: PLW0603
    _asked = True
    raise Interrupted
