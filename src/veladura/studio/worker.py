"""One piece of work in a process of its own: a task comes in, events go out, one line of JSON each.

Ends when the studio does: its input closes then.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from veladura.base.context import Advance, Progress
from veladura.errors import VeladuraError

OFTEN = 0.1  # seconds between two events of one stage


def main() -> None:
    """Do the task that the first line of the input describes."""
    from veladura.cli.interruption import Interrupted, deaf, interruptible

    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    sys.stdout = sys.stderr  # whatever a library prints is no event
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_studio, daemon=True).start()
    warnings.simplefilter("ignore")
    try:
        with interruptible():
            result = TASKS[task["kind"]](task, _progress(out))
        _send(out, {"done": result})
    except Interrupted:
        deaf()
        _send(out, {"cancelled": True})
    except VeladuraError as error:
        _send(out, {"error": str(error)})
    except OSError as error:
        _send(out, {"error": disk_words(error)})
    except Exception as error:  # its message may hold values
        kind = type(error).__name__
        _send(out, {"error": f"unexpected failure ({kind}): a mistake of the program."})
        if os.environ.get("VELADURA_DEBUG"):
            raise


def disk_words(error: OSError) -> str:
    """Return in words why a file could not be read or written."""
    return (
        f"a file could not be read or written: {error.strerror or type(error).__name__}. Nothing"
        " was released, and nothing that was there before is lost.\n\nHint: make room on the disk,"
        " or check the rights of the folder, then run it again."
    )


def _end_with_studio() -> None:
    """Leave when the studio is gone, however it ended."""
    sys.stdin.read()
    os._exit(1)


def _send(out: TextIO, event: Mapping[str, Any]) -> None:
    out.write(json.dumps(event) + "\n")


def _progress(out: TextIO) -> Progress:
    @contextmanager
    def stage(label: str, total: int) -> Iterator[Advance]:
        done, last = 0, time.monotonic()
        _send(out, {"stage": label, "total": total, "at": 0})

        def advance() -> None:
            nonlocal done, last
            done += 1
            if done == total or time.monotonic() - last > OFTEN:
                last = time.monotonic()
                _send(out, {"stage": label, "total": total, "at": done})

        yield advance

    return stage


def _trial(task: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Protect and measure as the plan says, and keep the result as a card."""
    from veladura.plan.reading import plan_in
    from veladura.plan.run import rehearsed
    from veladura.studio.cards import card_of, write_card

    start = time.perf_counter()
    tried = rehearsed(plan_in(task["text"], Path(task["home"])), progress=progress)
    card = card_of(tried, task["text"], time.perf_counter() - start)
    return {"card": write_card(Path(task["folder"]), card)}


def _release(task: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Run the plan: write the release, and the record."""
    from veladura.plan.reading import plan_in
    from veladura.plan.run import run
    from veladura.studio.cards import outcome_facts

    plan = plan_in(task["text"], Path(task["home"]))
    return outcome_facts(run(plan, force=task["force"], progress=progress))


def _ways(task: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """List the ways to reach k-anonymity."""
    from veladura.plan.reading import plan_in
    from veladura.plan.ways import ways_of
    from veladura.studio.lattice import ways_facts

    return ways_facts(ways_of(plan_in(task["text"], Path(task["home"])), progress))


Task = Callable[[Mapping[str, Any], Progress], dict[str, Any]]
TASKS: Mapping[str, Task] = {"trial": _trial, "release": _release, "ways": _ways}


if __name__ == "__main__":
    main()
