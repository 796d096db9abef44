"""The state of a studio: undo, restarts, a second studio, files that change under it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import pytest
from tests.studio.browser import SECONDS, write_people

from veladura.errors import PlanError
from veladura.plan.edit import set_table
from veladura.studio import rooms
from veladura.studio.answers import FieldError
from veladura.studio.jobs import KILLED, Job
from veladura.studio.session import Session
from veladura.studio.worker import disk_words


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    opened = Session(Path("plan.toml"), "people.csv")
    opened.open()
    assert opened.problem == ""
    yield opened
    opened.close()


def test_the_draft_is_that_of_init(session, veladura, tmp_path):
    done = veladura("init", "people.csv", "--out", "other.toml", "--quiet", cwd=tmp_path)
    assert done.returncode == 0
    drafted = (tmp_path / "other.toml").read_text(encoding="utf-8")
    assert Path("plan.toml").read_text(encoding="utf-8") == drafted


def test_undo_and_redo_survive_a_restart(session):
    first = Path("plan.toml").read_text(encoding="utf-8")
    rooms.do(session, "columns/set", {"column": "ill", "role": "sensitive"})
    second = Path("plan.toml").read_text(encoding="utf-8")
    assert first != second
    session.close()
    again = Session(Path("plan.toml"))
    again.open()
    assert "Undone" in rooms.do(again, "plan/undo", {}).say
    assert Path("plan.toml").read_text(encoding="utf-8") == first
    rooms.do(again, "plan/redo", {})
    assert Path("plan.toml").read_text(encoding="utf-8") == second
    with pytest.raises(PlanError, match="nothing to do again"):
        rooms.do(again, "plan/redo", {})
    again.close()


def test_an_edit_outside_the_studio_is_taken_over_and_can_be_undone(session):
    mine = Path("plan.toml").read_text(encoding="utf-8") + "# by hand\n"
    Path("plan.toml").write_text(mine, encoding="utf-8")
    rooms.do(session, "columns/set", {"column": "ill", "role": "sensitive"})
    assert "# by hand" in Path("plan.toml").read_text(encoding="utf-8")
    rooms.do(session, "plan/undo", {})
    assert Path("plan.toml").read_text(encoding="utf-8") == mine


def test_a_refused_edit_changes_nothing(session):
    before = Path("plan.toml").read_bytes()
    with pytest.raises(FieldError) as caught:
        rooms.do(session, "protect/set", {"step": 0, "columns": "nonsense ="})
    assert caught.value.field == "columns"
    assert Path("plan.toml").read_bytes() == before


def test_a_second_studio_only_looks(session):
    second = Session(Path("plan.toml"))
    second.open()
    assert second.read_only
    for name in ("columns", "risk", "protect", "run", "release"):
        assert "Another studio has this plan open" in rooms.show(second, name, {})
    before = Path("plan.toml").read_bytes()
    for action, form in (
        ("columns/set", {"column": "ill", "role": "sensitive"}),
        ("columns/confirm", {"column": "ill"}),
        ("run/try", {}),
        ("release/write", {}),
        ("plan/undo", {}),
    ):
        with pytest.raises(PlanError, match="another studio"):
            rooms.do(second, action, form)
    assert Path("plan.toml").read_bytes() == before
    second.close()
    session.close()
    third = Session(Path("plan.toml"))
    third.open()
    assert not third.read_only
    third.close()


def test_a_source_that_changes_is_told_and_nothing_runs_on_it(session):
    with Path("people.csv").open("a", encoding="utf-8") as file:
        file.write("f,30,north,no,20000,1.5,1.5\n")
    os.utime("people.csv", (1, 1))
    assert "has changed since it was read" in rooms.show(session, "risk", {})
    with pytest.raises(PlanError, match="has changed"):
        rooms.do(session, "run/try", {})
    rooms.do(session, "plan/reload", {})
    assert session.ready[1].table.rows == 401
    assert "has changed" not in rooms.show(session, "risk", {})


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read"), ("[source]\nnewer = 1\n", "newer"), ("= 1", "not valid TOML")],
)
def test_a_plan_that_cannot_be_opened_is_a_sentence(tmp_path, content, words):
    path = tmp_path / "plan.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    session = Session(path)
    session.open()
    assert session.state == "failed"
    assert words in rooms.show(session, "columns", {})


def test_a_table_that_cannot_be_read_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_bytes(b"\x00\x01\x02")
    session = Session(Path("plan.toml"), "people.csv")
    session.open()
    assert session.state == "failed"
    assert "It could not be opened" in rooms.show(session, "columns", {})
    assert not Path("plan.toml").exists()


def seeded(session: Session) -> None:
    """Give the plan a seed: whether a release passes its gate is not left to chance."""
    session.edit(lambda text: set_table(text, ["run"], {"seed": 7}), "a seed")


def wait(job: Job, seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while job.state == "running" and time.monotonic() < end:
        time.sleep(0.05)


def test_a_killed_worker_is_a_sentence_and_loses_nothing(session):
    before = Path("plan.toml").read_bytes()
    rooms.do(session, "run/try", {})
    session.job._process.kill()
    wait(session.job)
    assert (session.job.state, session.job.problem) == ("failed", KILLED)
    assert "ended without a word" in rooms.show(session, "run", {})
    assert Path("plan.toml").read_bytes() == before
    assert session.cards.all() == []


def test_a_cancelled_run_writes_nothing(session):
    rooms.do(session, "release/write", {})
    assert "Cancelled" in rooms.do(session, "plan/cancel", {}).say
    session.job._process.wait(timeout=SECONDS)
    wait(session.job)
    assert session.job.state == "cancelled"
    assert not Path("release/people").exists()


def test_a_full_disk_is_a_sentence():
    words = disk_words(OSError(28, "No space left on device"))
    assert "No space left on device" in words
    assert "Hint: make room" in words


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process: Linux only")
def test_a_disk_that_is_full_during_a_run_loses_nothing(session):
    """No file of the worker may grow beyond some bytes, as on a disk without room."""
    import resource

    seeded(session)
    rooms.do(session, "release/write", {})
    wait(session.job)
    assert session.job.state == "done", session.job.problem
    before = files_here()
    for limit in (0, 2_000):
        rooms.do(session, "release/write", {"force": "yes"})
        resource.prlimit(session.job._process.pid, resource.RLIMIT_FSIZE, (limit, limit))
        wait(session.job)
        assert session.job.state == "failed"
        assert "Nothing was released" in session.job.problem
        assert re.search("Hint: (make room|check the free space)", session.job.problem)
        assert files_here() == before
    assert "Nothing was released" in rooms.show(session, "release", {})


def files_here() -> dict[str, bytes]:
    """The release and the plan as they lie on the disk, nothing hidden beside them."""
    found = [Path("plan.toml"), *Path("release").rglob("*")]
    return {str(path): path.read_bytes() for path in found if path.is_file()}


def test_a_broken_release_folder_says_so(session, veladura, tmp_path):
    seeded(session)
    done = veladura("run", "plan.toml", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "A draft" in rooms.show(session, "analyst", {})
    folder = Path("release/people")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["rows"] = [1]
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    session.changed()
    assert "does not verify" in rooms.show(session, "analyst", {})
    alone = Session(None, release=folder)
    assert "does not verify" in rooms.show(alone, "analyst", {})
    assert "only the" in rooms.show(alone, "columns", {})
    shutil.rmtree(folder / "data")
    session.changed()
    assert "cannot be used" in rooms.show(session, "analyst", {})
