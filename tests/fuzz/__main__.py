"""``make fuzz SECONDS=600``: mutated plans, tables, hierarchies, regions and manifests."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.fuzz.harness import fuzz
from tests.fuzz.targets import TARGETS


def main() -> None:
    """Run cases until the time is over, or one case again, and print what was found."""
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=None)
    options.add_argument("--cases", type=int, default=None)
    options.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3)))
    options.add_argument("--only", choices=[target.name for target in TARGETS])
    given = options.parse_args()
    targets = [target for target in TARGETS if given.only in (None, target.name)]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        os.environ["VELADURA_CUSTODIAN"] = os.environ["VELADURA_LEDGER"] = f"{folder}/custodian"
        Path(folder, "custodian").mkdir()
        found = fuzz(home, given.seed, given.cases, given.seconds, targets)
    sys.stdout.write(f"seed {given.seed}\n{found}\n")
    sys.exit(bool(found.faults))


if __name__ == "__main__":
    main()
