"""The architecture page names the folders that are there, and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import veladura

ROOT = Path(__file__).parents[1]
PACKAGE = Path(veladura.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
DRAWING = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")


def folders():
    """The folders of the package that hold code, the bundled table apart."""
    return {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"example"}


def test_every_folder_is_on_the_page_and_no_other():
    rows = re.findall(r"^\| (`\w+/`(?:, `\w+/`)*) \|", PAGE, re.MULTILINE)
    assert {name.strip("`/") for row in rows for name in row.split(", ")} == folders()


def test_every_folder_is_in_the_drawing():
    rows = re.findall(r'class="code" xml:space="preserve">([^<]+)<', DRAWING)
    drawn = {name for row in rows for name in row.replace("/", "").split()}
    assert folders() <= drawn
    for name in drawn - folders():
        assert list(PACKAGE.glob(f"*/{name}/__init__.py")), name


def test_files_that_the_page_names_exist():
    for name in re.findall(r"`((?:src|tests|tools|skeletons)/[\w/.]+)`", PAGE):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`(\w+/[\w/]+(?:\.py|/))`", PAGE):
        if not name.startswith(("src/", "tests/", "tools/", "skeletons/", "docs/")):
            assert (PACKAGE / name).exists(), name
