"""A folder belongs to one living process: others can neither take nor remove it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from veladura.base import owned
from veladura.base.owned import LOCK, abandoned, own

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the tests use signals")

HOLD = """
import sys, time
from pathlib import Path
from veladura.base.owned import own
owned = own(Path(sys.argv[1]))
(owned.folder / "work").write_text("mine")
print("owned", flush=True)
time.sleep(60)
"""
# Each takes the folder when it can, looks whether anybody else is in it, and removes it.
RACE = """
import sys
from pathlib import Path
from veladura.base.owned import own
place, wins = Path(sys.argv[1]), 0
while wins < 100:
    if (owned := own(place)) is not None:
        mark = owned.folder / "mark"
        assert not mark.exists(), "two owners"
        mark.touch()
        assert [path.name for path in sorted(owned.folder.iterdir())] == ["lock", "mark"]
        owned.remove()
        wins += 1
print(wins)
"""


def held(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "owned\n"
    return process


def test_the_folder_of_a_living_process_is_left_alone(tmp_path):
    with held(tmp_path / ".a.part") as process:
        assert own(tmp_path / ".a.part") is None
        assert list(abandoned(tmp_path, ".*.part")) == []
        assert (tmp_path / ".a.part" / "work").read_text() == "mine"
        process.send_signal(signal.SIGKILL)
        process.wait()
        (left,) = abandoned(tmp_path, ".*.part")
    left.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_private(tmp_path):
    before = os.umask(0)
    try:
        owned = own(tmp_path / "above" / "below")
        assert owned is not None
        modes = [path.stat().st_mode & 0o777 for path in (owned.folder.parent, owned.folder)]
        assert modes == [0o700, 0o700]
        assert (owned.folder / LOCK).stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
    owned.remove()


def test_what_is_not_ours_is_not_abandoned(tmp_path):
    (tmp_path / ".notes.part").mkdir()
    (tmp_path / ".notes.part" / "text").write_text("somebody's")
    (tmp_path / ".empty.part").mkdir()
    (tmp_path / ".link.part").symlink_to(tmp_path / ".notes.part")
    assert list(abandoned(tmp_path, ".*.part")) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == [".link.part", ".notes.part"]


def test_processes_that_race_for_a_folder_never_share_it(tmp_path):
    command = [sys.executable, "-c", RACE, str(tmp_path / "place")]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    wins = [int(racer.communicate()[0]) for racer in racers]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert wins == [100, 100, 100]  # each got it again and again, never two at once
    assert not (tmp_path / "place").exists()


def test_a_folder_that_its_owner_removes_while_it_is_made_is_made_again(tmp_path, monkeypatch):
    """Between two looks of `mkdir` it was there and is gone: that is no error of the caller."""
    made = owned.private_folder
    tries = []

    def removed_at_first(folder):
        tries.append(folder)
        if len(tries) == 1:
            raise FileExistsError(folder)
        return made(folder)

    monkeypatch.setattr(owned, "private_folder", removed_at_first)
    place = own(tmp_path / "place")
    assert place is not None
    assert len(tries) == 2
    place.remove()
    (tmp_path / "file").touch()
    tries.clear()
    with pytest.raises(FileExistsError):
        own(tmp_path / "file")
