"""Write docs/studies.md from runs of `veladura study NUMBER --full --out FOLDER`.

``python tools/studies.py FOLDER ...`` reads the figures.json of each folder; documents that are not
named keep their part of the page.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "studies.md"
HEAD = (
    "# Studies of the source documents\n\n`veladura study NUMBER` runs the study of a source"
    " document again. Every table and figure of the document has a line: **reproduced**,"
    " **corrected** (the document errs, and the right value is computed) or **not"
    " reproducible**, with the reason. A figure is ours, (its Monte Carlo standard error),"
    " [what the document prints]. The numbers here are those of `--full`; by default a study"
    " takes a minute or two.\n"
)
MARK = "<!-- study {} -->"
IMAGES = PAGE.parent / "images"
SHOWN = {  # pictures of each kind that the page shows
    "000": ("Figure 1.1", "Figure 1.2", "Figure 3.1", "Figure 3.8"),
    "001": ("Figure 3", "Figure 5", "Figure 7", "Figure 9", "Figure 10", "Figure 12"),
    "002": ("Figure 3", "Graph A"),
    "003": ("Figure 3.1", "Figure 3.3", "Figure 3.12"),
    "004": ("Figure 2",),
}


def main() -> None:
    """Write the page anew, parts of other documents as they are."""
    parts = _parts(PAGE.read_text(encoding="utf-8")) if PAGE.exists() else {}
    for folder in sys.argv[1:]:
        told = json.loads((Path(folder) / "figures.json").read_text(encoding="utf-8"))
        parts[told["study"]] = _part(told) + _pictures(told, Path(folder))
    body = [f"{MARK.format(number)}\n{parts[number]}" for number in sorted(parts)]
    PAGE.write_text("\n".join([HEAD, *body]).rstrip() + "\n", encoding="utf-8")
    print(PAGE)


def _parts(text: str) -> dict[str, str]:
    found = re.split(r"<!-- study (\d+) -->\n", text)[1:]
    return dict(zip(found[::2], (part.strip() + "\n" for part in found[1::2]), strict=True))


def _part(told: dict[str, Any]) -> str:
    """Return one study: a table of verdicts, then the tables that have numbers."""
    lines = [f"## {told['study']}: {told['title']}", "", told["source"], "", told["settings"], ""]
    if told["warnings"]:
        lines += ["Warned: " + "; ".join(told["warnings"]), ""]
    lines += ["| | what | verdict | why |", "| --- | --- | --- | --- |"]
    for one in told["exhibits"]:
        row = (one["number"], one["title"], f"**{one['verdict']}**", one["why"])
        lines.append(f"| {' | '.join(map(_plain, row))} |")
    for one in told["exhibits"]:
        if one.get("rows"):
            lines += ["", f"**{one['number']}**: {_plain(one['title'])}", ""]
            lines += _table(one["header"], one["rows"])
            if one["remark"]:
                lines += ["", _plain(one["remark"])]
    return "\n".join(lines) + "\n"


def _pictures(told: dict[str, Any], folder: Path) -> str:
    """Copy the pictures that are shown, and return the lines that show them."""
    titles = {one["number"]: one["title"] for one in told["exhibits"]}
    lines = []
    for number in SHOWN[told["study"]]:
        name = re.sub(r"[^a-z0-9]+", "-", number.lower())
        file = folder / f"{name}.svg"
        if file.exists():
            image = f"study-{told['study']}-{name}.svg"
            (IMAGES / image).write_bytes(file.read_bytes())
            lines.append(f"\n![{number}: {titles[number]}](images/{image})\n")
    return "".join(lines)


def _table(header: list[str], rows: list[list[Any]]) -> list[str]:
    names = [name or " " for name in header]
    out = [f"| {' | '.join(map(_plain, names))} |", f"|{' --- |' * len(names)}"]
    return out + [f"| {' | '.join(_plain(_entry(entry)) for entry in row)} |" for row in rows]


def _entry(entry: Any) -> str:
    """Return a figure as the terminal shows it: ours (error) [theirs]."""
    if isinstance(entry, str):
        return entry.replace("  ", "\u00a0\u00a0")
    digits = entry["digits"]
    parts = []
    if entry["ours"] is not None:
        parts.append(f"{entry['ours']:,.{digits}f}")
    if entry["error"] is not None:
        parts.append(f"({entry['error']:.{digits}f})")
    if entry["theirs"] is not None:
        parts.append(f"[{entry['theirs']:,.{digits}f}]")
    return " ".join(parts)


def _plain(text: str) -> str:
    """Return text that Markdown does not take for anything else."""
    return re.sub(r"([|<>*_\[\]])", r"\\\1", str(text)) if not text.startswith("**") else text


if __name__ == "__main__":
    main()
