"""A release folder is written in one step, by one run at a time; killed runs leave no trace."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from veladura.base.owned import own
from veladura.errors import FolderError
from veladura.release import folder as folders
from veladura.release.folder import exchanged, new_folder

# Writes a release in two files; SIGKILL comes when a name is given for the second time, which is
# between the two steps where folders cannot be exchanged.
KILLED = """
import os, signal, sys
from pathlib import Path
from veladura.release import folder as folders
folders.exchanged = lambda *_: False
given, rename = [], Path.rename
def counted(path, target):
    given.append(path)
    if len(given) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)
Path.rename = counted
with folders.new_folder(Path(sys.argv[1]), force=True) as fresh:
    (fresh / "manifest.json").write_text("new")
"""
RIVAL = """
import sys
from pathlib import Path
from veladura.release.folder import new_folder
for i in range(40):
    with new_folder(Path(sys.argv[1]), force=True) as fresh:
        for name in ("manifest.json", "data"):
            (fresh / name).write_text(sys.argv[2])
"""


def write(folder, content, *, force=False):
    with new_folder(folder, force=force) as fresh:
        (fresh / "manifest.json").write_text(content)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_run_left_is_cleared_by_the_next_beside_it(tmp_path):
    left = tmp_path / ".other.part"
    (left / "new" / "data").mkdir(parents=True)
    (left / "lock").touch()
    write(tmp_path / "r", "whole")
    assert names(tmp_path) == ["r"]


def test_folders_are_exchanged_in_one_step(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchanged(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this disk cannot exchange folders")
    assert (tmp_path / "a" / "b").exists()
    assert (tmp_path / "b" / "a").exists()


@pytest.mark.parametrize("can", [True, False])
def test_a_release_is_replaced_whole(tmp_path, monkeypatch, can):
    if not can:
        monkeypatch.setattr(folders, "exchanged", lambda *_: False)
    write(tmp_path / "r", "old")
    with pytest.raises(FolderError, match="exists already"):
        write(tmp_path / "r", "new")
    write(tmp_path / "r", "new", force=True)
    assert (tmp_path / "r" / "manifest.json").read_text() == "new"
    assert names(tmp_path) == ["r"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signals of this kind")
def test_killed_between_two_renames_the_old_release_comes_back(tmp_path):
    write(tmp_path / "r", "old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "r")], check=False)
    assert killed.returncode == -9
    assert names(tmp_path) == [".r.part"]  # the worst moment
    write(tmp_path / "s", "another")  # any run beside it puts it back
    assert (tmp_path / "r" / "manifest.json").read_text() == "old"
    assert names(tmp_path) == ["r", "s"]


def test_a_run_waits_for_another_one_and_then_says_so(tmp_path, monkeypatch):
    other = own(tmp_path / ".r.part")
    assert other is not None
    monkeypatch.setattr(folders, "PATIENCE", 0)
    with pytest.raises(FolderError, match="another run is writing"):
        write(tmp_path / "r", "mine")
    assert names(tmp_path) == [".r.part"]
    other.remove()
    write(tmp_path / "r", "mine")
    assert names(tmp_path) == ["r"]


def test_two_runs_into_one_folder_never_mix(tmp_path):
    write(tmp_path / "r", "first", force=True)
    commands = [[sys.executable, "-c", RIVAL, str(tmp_path / "r"), who] for who in "ab"]
    rivals = [subprocess.Popen(command) for command in commands]
    while any(rival.poll() is None for rival in rivals):
        assert (tmp_path / "r").exists()
    assert [rival.returncode for rival in rivals] == [0, 0]
    assert len({(tmp_path / "r" / name).read_text() for name in ("manifest.json", "data")}) == 1
    assert names(tmp_path) == ["r"]
