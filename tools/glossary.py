"""Write docs/glossary.md from the terms that the reports use too."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TERMS = ROOT / "src" / "veladura" / "report" / "glossary.toml"
PAGE = ROOT / "docs" / "glossary.md"
HEAD = """# Glossary

The terms of the reports and of these pages, each with an example in numbers of people.

<!-- Made by tools/glossary.py from src/veladura/report/glossary.toml: change that file. -->
"""


def page() -> str:
    """Return the page: a heading and a paragraph for each term."""
    entries = tomllib.loads(TERMS.read_text(encoding="utf-8"))["entry"]
    return HEAD + "".join(map(_paragraph, entries))


def _paragraph(entry: dict[str, Any]) -> str:
    figures = ", ".join(f"`{name}`" for name in entry.get("figures", ()))
    measured = f" Figures: {figures}." if figures else ""
    return f"\n## {entry['term']}\n\n{entry['text']}{measured}\n"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return re.split(r"(?<=[.!?\"])\s+(?=[A-Z0-9\"])", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
