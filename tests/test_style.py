"""How the code is written: what the linter cannot say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import veladura

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "tests", "benchmarks", "tools", "examples", "skeletons")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
PACKAGE = Path(veladura.__file__).parent
PRAGMA = re.compile(r"\s*#.*\b(noqa|type: ignore)\b.*")  # as the linter counts
RULES = {"none", "partial", "full", "single", "posterior", "private", "imputed", "noise-aware"}


def test_lines_fit_in_the_eye():
    """At most 100 characters, and no exceptions from the formatter."""
    mark = "fmt: " + "skip"
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if mark in line or len(PRAGMA.sub("", line)) > 100
    ]
    assert long == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.stem)
def test_no_rule_is_compared_with_a_string(path):
    """A combining rule is an object that is asked, never a word that is compared."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare) and re.search(r"\brule\b", ast.unparse(node.left)):
            words = {
                inner.value
                for side in node.comparators
                for inner in ast.walk(side)
                if isinstance(inner, ast.Constant)
            }
            assert not words & RULES, f"{path.name}:{node.lineno}"


def test_nothing_is_registered_by_being_imported():
    """No import stands for its effect alone."""
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"import \w+ as _\b", text), path.name
