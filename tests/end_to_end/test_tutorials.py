"""Every tutorial runs as it is pasted, in order, in an empty folder; the site builds and all its links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from veladura import example

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


def script(page: str) -> str:
    """Return the code of a page as one script; shell lines become calls that must succeed."""
    parts = ["import subprocess as _subprocess"]
    for language, code in re.findall(r"^```(python|bash)\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        lines = [line for line in code.splitlines() if line.strip()]
        parts += [code] if language == "python" else [f"_subprocess.run({line!r}, shell=True, check=True)" for line in lines]
    return "\n".join(parts)


def run(arguments, folder):
    environment = os.environ | {"PATH": PATH, "VELADURA_CUSTODIAN": str(folder / "state")}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_are_tutorials_and_examples():
    assert len(TUTORIALS) >= 5
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_runs_as_it_is_pasted(page, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    for name in example.NAMES:
        shutil.copyfile(example.path(name), home / name)
    run(["-c", script(page.read_text(encoding="utf-8"))], home)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    assert run([str(path)], tmp_path).strip()


def test_the_site_builds_and_its_links_lead_somewhere(tmp_path):
    run(
        ["-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(ROOT / "mkdocs.yml"), "--site-dir", str(tmp_path / "site")],
        tmp_path,
    )
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
