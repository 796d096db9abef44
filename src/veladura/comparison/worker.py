"""One candidate in a process of its own: a job comes in on standard input, a candidate goes out.

A bare process, rather than one that `multiprocessing` starts, does not run the caller's script
again.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

from veladura.comparison.candidate import Candidate, Job, evaluate
from veladura.errors import DataError


def run(job: Job) -> Candidate:
    """Return the candidate of a job, run in a process of its own."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", __name__], input=pickle.dumps(job), capture_output=True, check=False
    )  # our own module
    if done.returncode:
        msg = (
            f"{job.name}: the process ended with code {done.returncode}.\n\nHint: it may have run"
            " out of memory; run fewer at a time (workers=1, or --workers 1)."
        )
        raise DataError(msg)
    candidate: Candidate = pickle.loads(done.stdout)  # noqa: S301  # from the process above
    return candidate


def main() -> None:
    """Read a job, write its candidate."""
    job: Job = pickle.loads(sys.stdin.buffer.read())  # noqa: S301  # written by `run`
    warnings.simplefilter("ignore")  # shown when the recipe is run by itself
    sys.stdout.buffer.write(pickle.dumps(evaluate(job)))


if __name__ == "__main__":
    main()
