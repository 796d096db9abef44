"""The routes of the studio: rooms are read, actions are posted, events come by one stream."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from veladura.errors import VeladuraError
from veladura.studio.answers import FieldError
from veladura.studio.session import UNEXPECTED, Session
from veladura.studio.views import SEALED
from veladura.studio.worker import disk_words

if TYPE_CHECKING:
    from starlette.requests import Request

MOST_POSTED = 20_000_000  # bytes of a hierarchy file
MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
BEAT = 0.5  # seconds between two looks at whether the studio ends


def build(session: Session, ends: Callable[[], bool]) -> Starlette:
    """Return the application of a session.

    Parameters
    ----------
    ends
        Whether the server is about to stop: event streams close then.
    """
    routes = Routes(session, ends)
    return Starlette(
        routes=[
            Route("/", routes.shell),
            Route("/favicon.ico", routes.icon),
            Route("/static/{name}", routes.static),
            Route("/view/{ticket}", routes.view),
            Route("/room/{name}", routes.room),
            Route("/do/{room}/{action}", routes.act, methods=["POST"]),
            Route("/events", routes.events),
        ]
    )


class Routes:
    """The answers to requests."""

    def __init__(self, session: Session, ends: Callable[[], bool]) -> None:
        self.session, self.ends = session, ends

    async def shell(self, _request: Request) -> Response:
        """The empty page: the same for everybody."""
        return HTMLResponse(_file("shell.html"))

    async def icon(self, _request: Request) -> Response:
        """A mark of the page, so that the browser does not ask in vain."""
        return Response(_file("icon.svg"), media_type=MEDIA["svg"])

    async def static(self, request: Request) -> Response:
        """A style sheet or a script of the package."""
        name = request.path_params["name"]
        if name not in STATIC:
            return Response(status_code=404)
        return Response(_file(name), media_type=MEDIA[name.rpartition(".")[2]])

    async def view(self, request: Request) -> Response:
        """A document under an address that is a secret."""
        view = self.session.views.find(request.path_params["ticket"])
        if view is None:
            return Response(status_code=404)
        try:
            content = await run_in_threadpool(view.make)
        except OSError:  # the file went away since the page was made
            return Response(status_code=404)
        headers = {"cross-origin-opener-policy": "unsafe-none", "content-security-policy": SEALED}
        if view.name:
            # the name comes from a stranger's folder: nothing in it may end the header
            headers["content-disposition"] = f"attachment; filename*=UTF-8''{quote(view.name)}"
        return Response(content, media_type=view.media, headers=headers)

    async def room(self, request: Request) -> Response:
        """One room, as a part of the page."""
        name, query = request.path_params["name"], dict(request.query_params)
        return await run_in_threadpool(self._answered, lambda: self._room(name, query))

    def _room(self, name: str, query: Mapping[str, str]) -> dict[str, Any]:
        from veladura.studio.rooms import show

        # read first: a change while the room is made leaves it old, and the page asks again
        revision = self.session.revision
        return {"html": show(self.session, name, query), "revision": revision}

    async def act(self, request: Request) -> Response:
        """What a click does."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MOST_POSTED:
                return JSONResponse({"error": "the file is too large."}, 413)
        name = f"{request.path_params['room']}/{request.path_params['action']}"

        def act() -> dict[str, Any]:
            from veladura.studio.rooms import do

            return do(self.session, name, json.loads(bytes(body) or b"{}")).to_json()

        return await run_in_threadpool(self._answered, act)

    def _answered(self, make: Callable[[], dict[str, Any]]) -> Response:
        """Return an answer; an error becomes a sentence."""
        try:
            answer = make()
            return JSONResponse({"revision": self.session.revision, **answer})
        except FieldError as error:
            return JSONResponse({"error": str(error), "field": error.field}, 422)
        except VeladuraError as error:
            return JSONResponse({"error": str(error)}, 422)
        except OSError as error:
            return JSONResponse({"error": disk_words(error)}, 422)
        except Exception as error:  # its message may hold values
            if os.environ.get("VELADURA_DEBUG"):
                raise
            words = f"unexpected failure ({type(error).__name__}): {UNEXPECTED}"
            return JSONResponse({"error": words}, 500)

    async def events(self, _request: Request) -> Response:
        """Everything that happens, to every tab."""
        return StreamingResponse(self._events(), media_type="text/event-stream")

    async def _events(self) -> AsyncIterator[str]:
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[Mapping[str, Any]]()

        def listener(event: Mapping[str, Any]) -> None:
            loop.call_soon_threadsafe(queue.put_nowait, event)

        self.session.listeners.append(listener)
        try:
            first: dict[str, Any] = {
                "revision": self.session.revision,
                "state": self.session.state,
            }
            if self.session.job is not None:
                first["job"] = self.session.job.to_json()
            yield f"data: {json.dumps(first)}\n\n"
            while not self.ends():
                try:
                    event = await asyncio.wait_for(queue.get(), BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                yield f"data: {json.dumps(event)}\n\n"
        finally:
            self.session.listeners.remove(listener)


def _file(name: str) -> bytes:
    return files("veladura.studio").joinpath("static", name).read_bytes()


STATIC = ("studio.css", "studio.js", "editor.js", "icon.svg")
