"""A short run of what `make fuzz` does for longer, always with the same cases.

A case is a mutated plan, table, hierarchy, region or release. Opening it ends in time, with nothing
but our own errors; no message repeats a planted value or prints a control character, and nothing
is written outside the folder of the case.
"""

from __future__ import annotations

import random
import sys

import pytest
from tests.fuzz.harness import Findings, fuzz, run_case
from tests.fuzz.mutate import CANARY
from tests.fuzz.targets import TARGETS, Target

from veladura.errors import DataError

BROKEN = {
    "an error of a library": lambda: {}["x"],
    "a value in a message": lambda: (_ for _ in ()).throw(DataError(f"{CANARY} is wrong")),
    "a control character": lambda: sys.stdout.write("\x1b[2J"),
}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_mutated_documents_are_refused_in_words(target, tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "custodian"))
    (tmp_path / "custodian").mkdir()
    found = fuzz(tmp_path / "home", seed=1, cases=60, targets=[target])
    assert not found.faults, str(found)
    assert found.cases[target.name] == 60
    assert 0 < found.refused[target.name] < 60  # some are good, some are not


@pytest.mark.slow
def test_ten_thousand_mutated_documents(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "custodian"))
    (tmp_path / "custodian").mkdir()
    found = fuzz(tmp_path / "home", seed=2, cases=10_000)
    assert not found.faults, str(found)


@pytest.mark.parametrize("opened", BROKEN.values(), ids=BROKEN)
def test_the_harness_sees_what_is_wrong(opened, tmp_path):
    found = Findings()
    (tmp_path / "home" / "stock").mkdir(parents=True)
    target = Target("tables", lambda *_: opened, 1)
    run_case(tmp_path / "home", tmp_path, target, random.Random(1), "case", found)  # noqa: S311
    assert len(found.faults) == 1


def test_the_harness_sees_a_file_elsewhere(tmp_path):
    found, home = Findings(), tmp_path / "home"
    (home / "stock").mkdir(parents=True)
    target = Target("tables", lambda *_: (tmp_path / "x").touch, 1)
    run_case(home, tmp_path, target, random.Random(1), "case", found)  # noqa: S311
    assert found.faults == ["case: wrote outside its folder"]
