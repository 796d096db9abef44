"""Ended at any moment, a run leaves a whole release or none, and nothing of the original outside.

Runs of five methods are ended by KILL, TERM and INT, half of them while the release is written,
and every tenth time while a second run writes into the same folder. The source has people's names
and incomes that occur nowhere else; after every end all files are searched for them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from veladura.release.verify import holds, verify

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of this kind")

HEAD = """
[source]
path = "people.csv"
[columns]
name = {role = "identifier"}
age = {kind = "integer", exact = "invented"}
sex = {kind = "category", exact = "invented"}
area = {kind = "category", exact = "invented"}
income = {role = "sensitive", kind = "integer", exact = "invented"}
x = {kind = "number", exact = "invented"}
y = {kind = "number", exact = "invented"}
[release]
folder = "out/people"
format = "FORMAT"
[custodian]
folder = "safe/people"
[budget]
epsilon = 100000
"""
STEPS = {
    "k-anonymity": 'quasi_identifiers = ["age", "sex", "area"]\nk = 3\nmax_suppression = 0.9',
    "cart": 'columns = ["income"]\nm = 2',
    "critical-cart": 'm = 2\n[step.critical]\nincome = "income >= 0"',
    "geography": 'x = "x"\ny = "y"\nregion = [0, 0, 1, 1]\ngrid = [4, 4]\nm = 2\nsweeps = 40\n'
    "burn = 10\nchains = 2",
    "dirichlet-multinomial": 'columns = ["sex"]\nepsilon = 2.0\n[step.domain]\nsex = ["f", "m"]',
}
CANARY = "Canária"  # a name no library has; in the file's own encoding, and in that of the copies
FIRST_INCOME = 700_000_001


def home_of(tmp_path: Path, method: str) -> Path:
    """Return a home with a table and the plan of a method; scratch files of the system go there."""
    home = tmp_path / method
    (home / "tmp").mkdir(parents=True)
    rng = np.random.default_rng(1)
    people = 300
    lines = ["name,age,sex,area,income,x,y"] + [
        f"{CANARY}{i},{rng.integers(20, 30)},{'fm'[i % 2]},{'abc'[i % 3]},"
        f"{FIRST_INCOME + 2 * i},{rng.random():.3f},{rng.random():.3f}"
        for i in range(people)
    ]
    # not UTF-8: a copy is made
    (home / "people.csv").write_text("\n".join(lines) + "\n", encoding="cp1252")
    text = HEAD.replace("FORMAT", "csv" if method == "cart" else "parquet")
    if method not in ("cart", "critical-cart"):  # no other replaces the income
        text = text.replace(
            'role = "sensitive", kind = "integer", exact', 'role = "dropped", exact'
        )
    (home / "plan.toml").write_text(f'{text}[[step]]\nmethod = "{method}"\n{STEPS[method]}\n')
    return home


def start(home: Path) -> subprocess.Popen[str]:
    """Start a run as a user would, with temporary files and the state folder in its home."""
    places = {
        "TMPDIR": home / "tmp",
        "VELADURA_LEDGER": home / "ledger",
        "XDG_STATE_HOME": home / "state",
        "VELADURA_HELD_CELLS": "0",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "veladura", "run", "plan.toml", "--quiet", "--force"],
        cwd=home,
        env={**os.environ, **{name: str(value) for name, value in places.items()}},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  # it has one thread
    )


def unfinished(home: Path) -> dict[str, tuple[int, int]]:
    """Return the hidden parts of releases and the scratch folders, and what tells them apart."""
    places = [*home.glob("out/.*/new"), *home.glob("safe/people/scratch/*")]
    found = {}
    for path in places:
        with contextlib.suppress(FileNotFoundError):
            found[str(path)] = (path.stat().st_ino, path.stat().st_ctime_ns)
    return found


def wait_for_writing(
    home: Path, process: subprocess.Popen[str], before: dict[str, tuple[int, int]]
) -> None:
    """Wait until the release is being written; a killed run may have left another one before."""
    part = str(home / "out" / ".people.part" / "new")
    while process.poll() is None and unfinished(home).get(part) in (None, before.get(part)):
        time.sleep(0.002)


def leaks(home: Path) -> list[str]:
    """Return the files outside the custodian's folder, the source apart, that hold the original."""
    bytes_of = [CANARY.encode(), CANARY.encode("cp1252"), CANARY.encode("utf-16-le")]
    found = []
    for path in home.rglob("*"):
        inside = path.relative_to(home).parts[0]
        if inside in ("safe", "people.csv") or not path.is_file():
            continue
        content = path.read_bytes()
        if any(word in content for word in bytes_of) or original_incomes(path, content):
            found.append(str(path.relative_to(home)))
    return found


def original_incomes(path: Path, content: bytes) -> bool:
    """Whether most of the incomes of the source, all of them odd and unique, are in a file."""
    if path.suffix == ".parquet" and content.endswith(b"PAR1"):
        table = pq.read_table(path)
        values = set(table["income"].to_pylist()) if "income" in table.column_names else set()
    else:
        values = {
            FIRST_INCOME + 2 * i
            for i in range(300)
            if str(FIRST_INCOME + 2 * i).encode() in content
        }
    return sum(FIRST_INCOME + 2 * i in values for i in range(300)) > 150


def check(home: Path, how: signal.Signals | None, before: dict[str, tuple[int, int]]) -> None:
    """Check what an ended run left."""
    release = home / "out" / "people"
    if release.exists():
        lines = verify(release)
        assert holds(lines), (how, [line for line in lines if line.status == "broken"])
    assert not leaks(home), (how, leaks(home))
    assert not list((home / "tmp").iterdir()), "scratch of the system was used"
    assert not (home / "state").exists(), "scratch lies where the plan says"
    if how is not signal.SIGKILL:  # nothing is left but what a run left that was killed before
        assert unfinished(home).items() <= before.items(), (how, unfinished(home))
    for path in (home / "safe").rglob("*"):  # DuckDB's own files lie in a folder that is closed
        closed = path.stat().st_mode & 0o077 == 0
        assert closed or (path.parent.stat().st_mode & 0o077 == 0 and "scratch" in path.parts), path


def kill_once(
    home: Path, how: signal.Signals, rng: random.Random, whole: float, *, writing: bool, two: bool
) -> bool:
    """End one run, beside another one if wanted; return whether it was ended before its end."""
    before, begun = unfinished(home), time.time()
    process = start(home)
    other = start(home) if two else None
    if writing:
        wait_for_writing(home, process, before)
        time.sleep(rng.uniform(0, 0.3))
    else:
        time.sleep(rng.uniform(0.1, whole))
    process.send_signal(how)
    _, words = process.communicate(timeout=120)
    if other is not None:
        _, said = other.communicate(timeout=300)
        assert other.returncode in (0, 2), said
        assert other.returncode == 0 or "already holds" in said or "exist" in said, said
    interrupted = process.returncode != 0
    if interrupted and how is not signal.SIGKILL:
        asked = process.returncode == 130 and "interrupted:" in words and "Traceback" not in words
        manifest = home / "out" / "people" / "manifest.json"
        done = manifest.exists() and manifest.stat().st_mtime > begun  # the interpreter was leaving
        assert asked or ((done or not writing) and process.returncode == -how), words
    check(home, how, before)
    return interrupted


def attack(tmp_path: Path, methods: list[str], kills: int, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    signals = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
    homes, durations, interrupted = {}, {}, 0
    for method in methods:
        homes[method] = home_of(tmp_path, method)
        begun = time.monotonic()
        first = start(homes[method])
        _, words = first.communicate(timeout=300)
        assert first.returncode == 0, words
        durations[method] = time.monotonic() - begun
        check(homes[method], None, {})
    for number in range(kills):
        method = methods[number % len(methods)]
        interrupted += kill_once(
            homes[method],
            signals[(number // 2) % 3],
            rng,
            durations[method],
            writing=number % 2 == 0,
            two=number % 10 == 9 or (kills < 10 and number == 1),
        )
    assert interrupted > kills / 2, "too few runs were ended before their end"
    for method in methods:  # the next run clears up
        last = start(homes[method])
        _, words = last.communicate(timeout=300)
        assert last.returncode == 0, words
        check(homes[method], None, {})


def test_an_ended_run_leaves_no_half_release(tmp_path):
    attack(tmp_path, ["k-anonymity"], kills=6, seed=1)


@pytest.mark.slow
def test_a_hundred_ended_runs_of_five_methods(tmp_path):
    attack(tmp_path, list(STEPS), kills=100, seed=2)
