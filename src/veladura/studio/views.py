"""Documents and pictures under addresses that are secrets: a frame cannot send the token."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

MOST = 200  # addresses that live at the same time; the oldest goes first
# Such a document runs nothing and loads nothing; its own style and pictures are inside it.
SEALED = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'"
)


@dataclass(frozen=True)
class View:
    """A document that is made when somebody looks at it."""

    make: Callable[[], bytes]
    media: str
    name: str = ""


class Views:
    """Documents by their secret address."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, View] = OrderedDict()
        self._lock = Lock()

    def address(self, make: Callable[[], bytes], media: str = "text/html", name: str = "") -> str:
        """Return a new address of a document.

        Parameters
        ----------
        make
            Makes the document.
        name
            The name of the file, for a document that is downloaded.
        """
        ticket = secrets.token_urlsafe(24)
        with self._lock:
            self._kept[ticket] = View(make, media, name)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return f"/view/{ticket}"

    def find(self, ticket: str) -> View | None:
        """Return the document of an address; None where there is none."""
        with self._lock:
            return self._kept.get(ticket)
