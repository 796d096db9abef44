"""How long it takes to import the package and to show the help."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

REPEATS = 7


def main() -> None:
    bare = _seconds("pass")
    for label, code, aim in (
        ("import veladura", "import veladura", 0.5),
        (
            "veladura --help",
            (
                "import sys; sys.argv = ['veladura', '--help']; from veladura.cli.main import main;"
                " main()"
            ),
            0.7,
        ),
    ):
        seconds = _seconds(code)
        print(
            f"{label:18} {seconds:.2f} s (aim under {aim}), {seconds / bare:.1f} times a bare"
            " interpreter"
        )


def _seconds(code: str) -> float:
    def once() -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(REPEATS))


if __name__ == "__main__":
    main()
