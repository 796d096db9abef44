"""`make acceptance`: every run on real data, from the folder in VELADURA_DATA."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from benchmarks import data_folder, machine


def main() -> None:
    data = data_folder()
    names = sys.argv[1:] or sorted(
        path.stem.removeprefix("acceptance_")
        for path in Path(__file__).parent.glob("acceptance_*.py")
    )
    print(machine())
    for name in names:
        print(f"\n## {name}")
        import_module(f"benchmarks.acceptance_{name}").main(data)
    print("\nall acceptance runs passed.")


if __name__ == "__main__":
    main()
