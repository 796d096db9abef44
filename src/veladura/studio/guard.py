"""The guard in front of the studio: only the page that the studio opened may talk to it.

A page elsewhere in the browser reaches 127.0.0.1 too. It cannot read the token, which lives in the
fragment of the first address and in the tab's own storage, and travels as a header; it cannot set
Host, Origin or Sec-Fetch-Site. Cookies would not do: they ignore the port.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

TOKEN = b"x-veladura-token"
# The shell of the page and its style: files of the package, the same for everybody.
PUBLIC = ("/", "/favicon.ico")
STATIC, VIEW = "/static/", "/view/"
POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " object-src 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"cache-control": b"no-store",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
}


class Guard:
    """Answers nothing to requests that do not come from the studio's own page.

    Parameters
    ----------
    port
        The port of the server: Host and Origin must name it.
    token
        The secret of this studio.
    """

    def __init__(self, app: App, port: int, token: str) -> None:
        self.app = app
        self.host = f"127.0.0.1:{port}".encode()
        self.origin = b"http://" + self.host
        self.token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it without a word."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif self.admits(scope):
            await self.app(scope, receive, _with_headers(send))
        else:
            await _refuse(_with_headers(send))

    def admits(self, scope: Scope) -> bool:
        """Whether a request comes from the studio's own page."""
        values: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            values.setdefault(name.lower(), []).append(value)
        one = {name: given[0] for name, given in values.items() if len(given) == 1}
        if one.get(b"host") != self.host or scope["method"] not in ("GET", "POST"):
            return False
        posted, path = scope["method"] == "POST", scope["path"]
        if (posted or b"origin" in values) and one.get(b"origin") != self.origin:
            return False
        site = one.get(
            b"sec-fetch-site", b"same-origin" if b"sec-fetch-site" not in values else b""
        )
        if not posted and _is_public(path):
            return site in (b"same-origin", b"none")
        known = secrets.compare_digest(one.get(TOKEN, b""), self.token)
        return known and site == b"same-origin"


def _is_public(path: str) -> bool:
    """Whether a path needs no token: the empty shell, or an address that is a secret itself."""
    return path in PUBLIC or path.startswith((STATIC, VIEW))


def _with_headers(send: Send) -> Send:
    """Return a sender that adds the security headers, where an answer has not its own."""

    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in HEADERS.items() if name not in own]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return sender


async def _refuse(send: Send) -> None:
    await send({"type": "http.response.start", "status": 403, "headers": []})
    await send({"type": "http.response.body", "body": b""})
