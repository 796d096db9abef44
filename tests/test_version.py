"""One version number: `src/veladura/__init__.py` says it, everything else agrees."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import veladura as vd

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_project_reads_the_number_from_the_package():
    assert "version" not in PROJECT["project"]
    assert "version" in PROJECT["project"]["dynamic"]
    source = (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    assert re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE) == [vd.__version__]


def test_the_command_line_shows_it(veladura, tmp_path):
    assert veladura("--version", cwd=tmp_path).stdout.split() == ["veladura", vd.__version__]


def test_the_citation_repeats_it():
    import yaml  # only here: the environments of the quick tests do not have it

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert str(citation["version"]) == vd.__version__
    assert citation["license"] == PROJECT["project"]["license"]
    for work in citation["references"]:
        assert {"type", "title", "authors"} <= set(work), work


def test_no_other_file_of_the_project_states_it():
    for path in ("mkdocs.yml", "Makefile", "README.md"):
        assert vd.__version__ not in (ROOT / path).read_text(encoding="utf-8"), path
