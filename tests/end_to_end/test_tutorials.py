"""Every tutorial runs as it is pasted, in order, in an empty folder.

The site builds and all its links lead somewhere.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from veladura.comparison import worker
from veladura.comparison.candidate import evaluate

ROOT = Path(__file__).parents[2]
# the one on Spark runs with the other tests on Spark
TUTORIALS = sorted(p for p in (ROOT / "docs" / "tutorials").glob("*.md") if p.stem != "spark")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


BLOCK = re.compile(r"^```(python|bash)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty folder, and a state folder of its own."""
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "state"))
    monkeypatch.setattr(worker, "run", evaluate)  # a comparison here needs no processes of its own
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_there_are_tutorials_and_examples():
    assert len(TUTORIALS) >= 5
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_it_is_pasted(page, home, veladura, python):
    namespace = {"__name__": "__main__"}
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            python(code, namespace, home)
            continue
        for line in filter(None, map(str.strip, code.splitlines())):
            name, *arguments = shlex.split(line, comments=True)
            assert name == "veladura", (
                line
            )  # what another shell command would need is not known here
            done = veladura(*arguments, cwd=home)
            assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, home, python):
    assert python(path.read_text(encoding="utf-8"), {"__name__": "__main__"}, home).strip()


def test_the_site_builds_and_its_links_lead_somewhere(tmp_path):
    # Not quiet: mkdocs counts only the warnings that it prints.
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        ROOT / "mkdocs.yml",
        "--site-dir",
        tmp_path / "site",
    ]
    subprocess.run(list(map(str, command)), cwd=tmp_path, check=True, capture_output=True)
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 10
    for page in pages:  # nothing is fetched from elsewhere
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//", text)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_the_links_of_the_other_pages_lead_somewhere(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", text):
        assert "://" in target or (ROOT / target).exists(), target
