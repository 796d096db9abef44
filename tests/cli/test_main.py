"""The command line starts as a module, and its help speaks plainly."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.main import get_command

import veladura as vd
from veladura.cli.main import app


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "veladura", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"veladura {vd.__version__}"


def test_help_and_version_are_offered_in_the_usual_words(veladura, tmp_path):
    text = " ".join(veladura("--help", cwd=tmp_path).stdout.split())
    assert "Show the version and exit." in text
    assert "Exit codes: 0 done" in text


@pytest.mark.parametrize("name", sorted(get_command(app).commands))
def test_every_option_has_a_sentence(name):
    command = get_command(app).commands[name]
    assert command.help
    for parameter in command.params:
        if parameter.name != "help":
            assert re.search(r"[.)]$", parameter.help or ""), parameter.name


def test_private_folders_are_marked(veladura, tmp_path):
    (tmp_path / "t.csv").write_text(
        "sex,income\n" + "".join(f"{'fm'[i % 2]},{900 + (i * i * 7) % 83}.5\n" for i in range(60)),
        encoding="utf-8",
    )
    assert veladura("init", "t.csv", "--method", "noise", cwd=tmp_path).returncode == 0
    assert veladura("confirm", "plan.toml", "--accept-all", cwd=tmp_path).returncode == 0
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert "(private: do not share)" in done.stdout
    verified = veladura("verify", "release/t", cwd=tmp_path).stdout
    assert "All files match their checksums." in verified
    assert "Rows and columns match the manifest." in verified
