"""What starting costs: the import, the first call of a process, a plan, and the first run ever.

Figures are processor seconds, those of child processes included, because machines are shared.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import veladura

PACKAGE = Path(veladura.__file__).parent
REPEATS = 3
COMMAND = "import sys; sys.argv[0] = 'veladura'; from veladura.cli.main import main; main()"
DOMAIN = {"sex": ["female", "male"], "marital": ["single", "married", "divorced", "widowed"]}
RECIPES = {
    "Cart": "vd.Cart(m=5)",
    "KAnonymity": (
        "vd.KAnonymity(quasi_identifiers=['zip', 'sex', 'ethnicity', 'marital'], k=5,"
        " max_suppression=0.05, hierarchies={'zip': vd.Hierarchy.mask(5)})"
    ),
    "DirichletMultinomial": f"vd.DirichletMultinomial(columns={list(DOMAIN)}, domain={DOMAIN},"
    " epsilon=2.0)",
    "Noise": "vd.Noise(columns=['income'])",
    "Microaggregation": "vd.Microaggregation(columns=['income', 'stay'], k=3)",
}
# pandas is the caller's own; the call starts when `vd` is imported.
CALLS = """
import time, warnings
import pandas as pd
warnings.simplefilter("ignore")
table = pd.read_csv({table!r}, dtype={{"zip": str}}, parse_dates=["birth"])
table = table.drop(columns=["name", "social_number"])
for number in range({calls}):
    start = time.process_time()
    import veladura as vd
    {recipe}.protect(table)
    print(time.process_time() - start)
"""


def main() -> None:
    start()
    with _copied() as folder:
        first_ever(folder)
        first_calls(folder)
        command_line(folder)


def start() -> None:
    """The import and the help, beside a bare interpreter."""
    bare = _median(["-c", "pass"])
    print(f"bare interpreter             {bare:.2f} s")
    print(f"import veladura              {_median(['-c', 'import veladura']):.2f} s (aim 0.5)")
    print(f"veladura --help              {_median(['-c', COMMAND, '--help']):.2f} s (aim 0.7)")


def first_ever(folder: Path) -> None:
    """Protect 5,000 rows with an empty cache of compiled code, and again: what compiling takes."""
    for name, recipe in RECIPES.items():
        _clear_caches(folder)
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
        cold, warm = (_seconds(_calls(recipe, 1), folder)[0] for _ in range(2))
        print(f"first run ever, {name:20} {cold - warm:5.2f} s more than later ones (aim 10)")


def first_calls(folder: Path) -> None:
    """The first call of a process, code compiled, beside later ones: 5,000 rows of a frame."""
    for name, recipe in RECIPES.items():
        runs = [_printed(_calls(recipe, 5), folder) for _ in range(REPEATS)]
        first = statistics.median(run[0] for run in runs)
        later = statistics.median(statistics.median(run[1:]) for run in runs)
        print(
            f"first call, {name:20} {first:.2f} s, later {later:.2f} s, {first / later:.1f} times"
        )


def command_line(folder: Path) -> None:
    """`veladura init` and `run` on the bundled table, code compiled."""
    for method in ("whole protection", "k-anonymity", "cart"):
        asked = [] if method == "whole protection" else ["--method", method]
        with tempfile.TemporaryDirectory() as place:
            shutil.copy(PACKAGE / "example" / "clinic.csv", place)
            init = ["-c", COMMAND, "init", "clinic.csv", *asked, "--force", "--quiet"]
            run = ["-c", COMMAND, "run", "plan.toml", "--force", "--quiet"]
            inits = [_seconds(init, folder, place)[0] for _ in range(REPEATS)]
            _seconds(["-c", COMMAND, "confirm", "plan.toml", "--accept-all"], folder, place)
            runs = [_seconds(run, folder, place)[0] for _ in range(REPEATS + 1)][1:]
        print(f"veladura init, {method:17} {statistics.median(inits):.2f} s (aim 1.5)")
        print(f"veladura run, {method:18} {statistics.median(runs):.2f} s (aim 4)")


@contextmanager
def _copied() -> Iterator[Path]:
    """Copy the package without caches: what happens to them is nobody else's."""
    with tempfile.TemporaryDirectory() as folder:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(PACKAGE, Path(folder) / "veladura", ignore=ignored)
        yield Path(folder)


def _clear_caches(folder: Path) -> None:
    for path in folder.rglob("__pycache__"):
        shutil.rmtree(path)


def _calls(recipe: str, calls: int) -> list[str]:
    table = str(PACKAGE / "example" / "clinic.csv")
    return ["-c", CALLS.format(table=table, calls=calls, recipe=recipe)]


def _printed(arguments: list[str], folder: Path) -> list[float]:
    return [float(line) for line in _seconds(arguments, folder)[1].split()]


def _median(arguments: list[str]) -> float:
    return statistics.median(_seconds(arguments)[0] for _ in range(2 * REPEATS + 1))


def _seconds(
    arguments: list[str], folder: Path = PACKAGE.parent, place: str | None = None
) -> tuple[float, str]:
    """Run Python with the package of a folder; return its processor seconds and what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, done.stdout


if __name__ == "__main__":
    main()
