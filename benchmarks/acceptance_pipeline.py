"""init, confirm, run and verify on tables nobody described, with every method, by command line."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import data_folder
from veladura.core.registry import METHODS

TABLES = ("SD2011.csv", "nist/ma2019.csv", "adult/adult.csv", "termlife.csv")


def main(data: Path) -> None:
    failed = []
    for table in TABLES:
        for method in (None, *(name for name in METHODS if name != "steps")):
            words = _line(data / table, method)
            print(f"{table:20} {method or '(default)':18} {words}")
            # A table without categories gives PRAM nothing to do: init says so, and that is the
            # right answer.
            if not words.endswith("verified") and "nothing to do" not in words:
                failed.append((table, method))
    if failed:
        sys.exit(f"failed: {failed}")


def _line(table: Path, method: str | None) -> str:
    """Return what happened: released and verified, refused by init with a reason, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        made = _veladura(
            "init",
            str(table),
            "--out",
            str(home / "plan.toml"),
            *(["--method", method] if method else []),
        )
        if made.returncode:
            return f"init: {made.stderr.strip()}"
        for arguments in (
            ["confirm", str(home / "plan.toml"), "--accept-all"],
            ["run", str(home / "plan.toml")],
            ["verify", str(home / "release" / table.stem)],
        ):
            done = _veladura(*arguments)
            if done.returncode:
                return f"{arguments[0]}: {done.stderr.strip() or done.stdout.strip()}"
        record = home / "custodian" / table.stem / "record.json"
        again = _veladura(
            "verify",
            str(home / "release" / table.stem),
            "--source",
            str(table),
            "--record",
            str(record),
        )
        return (
            "released, verified, and proved against its source: verified"
            if again.returncode == 0
            else f"verify --source: {again.stdout}"
        )


def _veladura(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "veladura.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    main(data_folder())
