"""Start work in a process of its own, and take over what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.studio.jobs import Job

if TYPE_CHECKING:
    from veladura.studio.session import Session


def begin(session: Session, kind: str, more: Mapping[str, Any]) -> None:
    """Start a job on the plan as it is now; one at a time."""
    from veladura.studio.rooms.protect import ways_key

    session.refuse_read_only()
    session.refuse_changed()
    plan, _ = session.ready
    if session.job is not None and session.job.state == "running":
        msg = "the studio is at work already.\n\nHint: wait until it is done, or cancel it."
        raise PlanError(msg)
    task = {
        "text": plan.text,
        "home": str(plan.home.resolve()),
        "folder": str(session.cards.folder.resolve()),
        "key": ways_key(session),
        **more,
    }

    def tell() -> None:
        if session.job is not None:
            session.tell(job=session.job.to_json())

    session.job = Job(kind, task, tell, lambda job: _ended(session, job))
    session.job.start()
    tell()


def _ended(session: Session, job: Job) -> None:
    """Keep the result of a job, so that every tab and the next start see it."""
    if job.kind == "ways" and job.state == "done":
        session.note(ways={"key": job.task["key"], "ways": job.result})
    elif job.kind == "release" and job.state == "done":
        session.note(released=job.result)
    else:
        session.changed()
