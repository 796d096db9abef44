"""``python -m tests.attacks.both [--tree FOLDER]``: who wins, against this version or another one.

The attacks use public names only, so that they run against the sources of any version: a checkout
of version 0.1.0 (``git worktree add FOLDER e5638e6``), or this one. Each runs in a process and a
folder of its own. Prints what every attack found; ends with 1 where one of them won.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.attacks.both import folders, numbers, places, runs

ROOT = Path(__file__).parents[3]
ATTACKS = {**numbers.ATTACKS, **places.ATTACKS, **folders.ATTACKS, **runs.ATTACKS}
PATIENCE = 300  # seconds for one attack


def outcome(name: str, tree: Path) -> tuple[bool, str]:
    """Return whether an attack won against the sources of a tree, and what it found."""
    with tempfile.TemporaryDirectory() as folder:
        state = {"VELADURA_LEDGER": f"{folder}/ledger", "XDG_STATE_HOME": f"{folder}/state"}
        path = os.pathsep.join([str(tree / "src"), str(ROOT)])
        try:
            ended = subprocess.run(
                [sys.executable, "-m", "tests.attacks.both", "--here", name],
                cwd=folder,
                env={**os.environ, **state, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True, "never ends"
    if ended.returncode != 0:
        raise RuntimeError(f"{name} could not be run:\n{ended.stderr[-2000:]}")
    won, words = json.loads(ended.stdout.splitlines()[-1])
    return bool(won), str(words)


def main() -> None:
    """Run all attacks, or one, against a tree."""
    options = argparse.ArgumentParser()
    options.add_argument("--tree", type=Path, default=ROOT)
    options.add_argument("--only", choices=list(ATTACKS))
    options.add_argument("--here", choices=list(ATTACKS), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.here:
        won, words = ATTACKS[given.here](Path.cwd())
        sys.stdout.write("\n" + json.dumps([bool(won), words]) + "\n")
        return
    wins = 0
    for name in [given.only] if given.only else ATTACKS:
        won, words = outcome(name, given.tree.resolve())
        wins += won
        sys.stdout.write(f"{'wins ' if won else 'loses'}  {name}: {words}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{wins} attacks win\n")
    sys.exit(wins > 0)


if __name__ == "__main__":
    main()
