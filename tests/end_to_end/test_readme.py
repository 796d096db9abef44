"""What the README shows, works as it is pasted."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from veladura import example
from veladura.comparison import worker
from veladura.comparison.candidate import evaluate

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "run", evaluate)  # a comparison here needs no processes of its own
    shutil.copyfile(example.path("clinic.csv"), tmp_path / "people.csv")
    return tmp_path


def test_it_says_what_it_is_shows_it_and_gives_two_commands_before_anything_else():
    title, what, picture, commands, *_ = README.split("\n\n")
    assert title == "# veladura"
    assert "for" in what
    assert "safe to publish" in what
    assert picture.startswith("![")
    assert picture.endswith("overview.svg)")
    assert commands == "    make demo\n    make test"


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_the_python_runs(block, folder, python):
    python(block, {"__name__": "__main__"}, folder)


def test_the_commands_run(veladura, folder):
    commands = re.findall(r"^(?:    )?(veladura \S.*?)(?:\s+#.*)?$", README, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        done = veladura(*shlex.split(command)[1:], cwd=folder)
        assert done.returncode == 0, (command, done.stderr)


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md"), ROOT / "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), (page.name, link)
