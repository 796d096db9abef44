"""`make bench`: every benchmark.

One after the other. Names on the command line choose some of them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks import machine


def main() -> None:
    names = sys.argv[1:] or sorted(
        path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py")
    )
    print(machine())
    for name in names:
        print(f"\n## {name}")
        import_module(f"benchmarks.bench_{name}").main()


if __name__ == "__main__":
    main()
