"""Attacks by a user who runs the tool again, and by someone who finds the computer afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
from tests.attacks.both.common import MAIN, Attack, Outcome, command, people

import veladura as vd

PLAN = """
[source]
path = "{path}"
{name}
[columns]
sex = {{role = "quasi-identifier", kind = "category"}}
[release]
folder = "{out}/people"
[custodian]
folder = "{custodian}"
[[step]]
method = "dirichlet-multinomial"
columns = ["sex"]
epsilon = 1.0
[step.domain]
sex = ["f", "m"]
[budget]
epsilon = 1.0
"""
NOISE = """
[source]
path = "people.csv"
[columns]
income = {kind = "number", role = "sensitive"}
[release]
folder = "out/people"
[custodian]
folder = "safe/people"
[[step]]
method = "noise"
columns = ["income"]
"""
TERM = """
import os, signal, sys
sent = []
def watch(event, arguments):
    if event == "open" and "people.csv" in str(arguments[0]) and not sent:
        sent.append(os.kill(os.getpid(), signal.SIGTERM))
sys.addaudithook(watch)
"""


def plan(home: Path, path: str = "people.csv", number: int = 1, name: str = "") -> str:
    text = PLAN.format(path=path, out=f"out{number}", custodian=f"safe/{number}", name=name)
    (home / f"plan{number}.toml").write_text(text, encoding="utf-8")
    return f"plan{number}.toml"


def spent_again(home: Path, path: str = "people.csv", name: str = "") -> Outcome:
    """Spend the whole budget, and then again."""
    if not (home / "people.csv").exists():
        pd.DataFrame({"sex": ["f", "m"] * 50}).to_csv(home / "people.csv", index=False)
    first = command("run", plan(home), cwd=home)
    if first.returncode != 0:
        raise RuntimeError(first.stderr)
    if path != "people.csv":
        shutil.copyfile(home / "people.csv", home / path)
    second = command("run", plan(home, path, 2, name), cwd=home)
    return second.returncode == 0, f"the second run ends with {second.returncode}"


def other_custodian(home: Path) -> Outcome:
    return spent_again(home)


def other_name(home: Path) -> Outcome:
    return spent_again(home, name='name = "patients"')


def renamed_file(home: Path) -> Outcome:
    return spent_again(home, path="patients.csv")


def who_is_in(home: Path) -> Outcome:
    """Run the plan that `init` drafts, and look for a disease that one person has."""
    seen = []
    for last in ("kuru", "flu"):
        place = home / last
        place.mkdir()
        rows = {"disease": ["flu", "cold"] * 30 + [last], "sex": ["f", "m", "m"] * 20 + ["f"]}
        pd.DataFrame(rows).to_csv(place / "people.csv", index=False)
        command("init", "people.csv", "--method", "dirichlet-multinomial", cwd=place)
        command("run", "plan.toml", cwd=place)
        made = list(place.rglob("manifest.json"))
        texts = [json.loads(path.read_text(encoding="utf-8"))["steps"] for path in made]
        seen.append("kuru" in str(texts) if made else None)
    return seen == [True, False], f"in the manifest with the person and without: {seen}"


def strange_epsilon(_home: Path) -> Outcome:
    from veladura.errors import VeladuraError

    crashes = []
    for epsilon in (1e-300, 1e300):
        try:
            vd.DirichletMultinomial(
                columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=epsilon
            ).protect(people())
        except VeladuraError:
            pass
        except Exception as error:  # noqa: BLE001  # the finding itself
            crashes.append(f"{epsilon:g}: {type(error).__name__}")
    return bool(crashes), ", ".join(crashes) or "told in words"


def path_with_nul(home: Path) -> Outcome:
    from veladura.errors import VeladuraError

    release, crashes = vd.Noise(columns=["income"]).protect(people(), seed=1), []
    ways = {
        "open": lambda: vd.open("people\0.csv"),
        "load": lambda: vd.load("release\0"),
        "save": lambda: release.save(home / "out\0" / "r", custodian=home / "safe" / "r"),
        "hierarchy": lambda: vd.Hierarchy.from_csv("ages\0.csv"),
    }
    for name, way in ways.items():
        try:
            way()
        except VeladuraError:
            continue
        except Exception as error:  # noqa: BLE001  # the finding itself
            crashes.append(f"{name}: {type(error).__name__}")
    return bool(crashes), ", ".join(crashes) or "told in words"


def open_files(home: Path) -> Outcome:
    """Read the custodian's files as another user of the computer."""
    os.umask(0o022)
    people().to_csv(home / "people.csv", index=False)
    release = vd.Noise(columns=["income"]).protect(home / "people.csv", seed=1)
    release.save(home / "out" / "release", custodian=home / "safe" / "release")
    files = [path for path in (home / "safe").rglob("*") if path.is_file()]
    readable = [path.name for path in files if path.stat().st_mode & 0o077]
    return bool(readable), f"{len(readable)} of {len(files)} files can be read by others"


def ended_by_term(home: Path) -> Outcome:
    """Send TERM to a run when it opens its source: does it clear up, as after Ctrl-C?"""
    people(300)[["income"]].to_csv(home / "people.csv", index=False)
    (home / "plan.toml").write_text(NOISE, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", TERM + MAIN, "run", "plan.toml"],
        cwd=home,
        capture_output=True,
        check=False,
    )
    return ended.returncode == -signal.SIGTERM, f"the run ends with {ended.returncode}"


ATTACKS: dict[str, Attack] = {
    "who is in the domain": who_is_in,
    "budget anew, other custodian": other_custodian,
    "budget anew, other name": other_name,
    "budget anew, renamed file": renamed_file,
    "epsilon of 1e-300 and 1e300": strange_epsilon,
    "NUL in a path": path_with_nul,
    "files of the custodian": open_files,
    "run ended by TERM": ended_by_term,
}
