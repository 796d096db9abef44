"""Scratch files hold original values: they stay below the custodian's folder of the plan."""

from __future__ import annotations

from pathlib import Path

from veladura.table.database import scratch


def test_a_process_that_changes_its_folder_keeps_its_scratch(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.setattr(scratch, "_named", None)
    monkeypatch.chdir(here)
    scratch.scratch_below(Path("custodian"))
    monkeypatch.chdir(there)
    assert scratch.scratch_folder().is_relative_to(here / "custodian")
    assert not (there / "custodian").exists()
