"""Run cases: only our own errors, in time, without a value, and nothing written elsewhere."""

from __future__ import annotations

import contextlib
import io
import random
import re
import shutil
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.mutate import CANARY
from tests.fuzz.targets import TARGETS, Target, prepare

from veladura.errors import InternalError, VeladuraError

LIMIT = 20  # processor seconds for one case: the machine may have other work
WAIT = 300  # seconds in all: a case that waits for something uses no processor
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class TookTooLong(BaseException):
    """A case did not end."""


@dataclass
class Findings:
    """What came out of a run of cases."""

    cases: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{name}: {n:,} cases, {self.refused[name]:,} refused in words"
            for name, n in self.cases.items()
        ]
        return "\n".join([*lines, f"{len(self.faults)} faults", *self.faults])


def fuzz(
    home: Path,
    seed: int,
    cases: int | None = None,
    seconds: float | None = None,
    targets: Sequence[Target] = TARGETS,
) -> Findings:
    """Run so many cases, or as many as there is time for."""
    found, begun, number = Findings(), time.monotonic(), 0
    stock = home / "stock"
    stock.mkdir(parents=True)
    with warnings.catch_warnings(), contextlib.chdir(home):
        warnings.simplefilter("ignore")
        prepare(stock)
        while (cases is None or number < cases) and (
            seconds is None or time.monotonic() - begun < seconds
        ):
            rng = random.Random(f"{seed}-{number}")  # noqa: S311
            target = rng.choices(targets, [target.share for target in targets])[0]
            run_case(home, stock, target, rng, f"{target.name} case {seed}-{number}", found)
            number += 1
    return found


def run_case(
    home: Path, stock: Path, target: Target, rng: random.Random, name: str, found: Findings
) -> None:
    """Run one case in a folder of its own."""
    folder = home / "case" / "in"
    folder.mkdir(parents=True)
    opened = target.make(folder, rng, stock)
    outside = listing(home)
    found.cases[target.name] += 1
    printed = io.StringIO()
    try:
        with timed(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            opened()
    except VeladuraError as error:
        found.refused[target.name] += 1
        if isinstance(error, InternalError):
            found.faults.append(f"{name}: {type(error).__name__}")
        printed.write(str(error) + "".join(traceback.format_exception(error, chain=True)[-1:]))
    except TookTooLong:
        found.faults.append(f"{name}: took longer than {LIMIT} processor seconds")
    except Exception as error:  # noqa: BLE001  # the finding itself
        where = traceback.extract_tb(error.__traceback__)[-1]
        ours = [f for f in traceback.extract_tb(error.__traceback__) if "veladura" in f.filename]
        at = ours[-1] if ours else where
        found.faults.append(
            f"{name}: {type(error).__name__} at {Path(at.filename).name}:{at.lineno}"
        )
    text = printed.getvalue()
    if CANARY in text:
        found.faults.append(
            f"{name}: a value was repeated: {text[max(0, text.index(CANARY) - 60) :][:120]!r}"
        )
    if strange := CONTROL.search(text):
        found.faults.append(f"{name}: a control character was printed: {strange[0]!r}")
    if listing(home) != outside:
        found.faults.append(f"{name}: wrote outside its folder")
    shutil.rmtree(home / "case")


def listing(home: Path) -> list[str]:
    """Return the files of everything but the case itself and the custodian's scratch."""
    places = [home, home.parent, home / "stock", home / "case"]
    return sorted(str(path) for place in places for path in place.iterdir())


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Raise after the limit of time."""

    def late(*_: object) -> None:
        raise TookTooLong

    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, LIMIT),
        signal.SIGALRM: (signal.ITIMER_REAL, WAIT),
    }
    before = {number: signal.signal(number, late) for number in timers}
    for timer, seconds in timers.values():
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
