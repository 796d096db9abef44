"""The picture that anyone may see of a generalisation: how much detail of each column stays, and how many rows.

It is drawn from what the manifest tells of the release. The other generalisations of the lattice
are not on it: how many rows each of them would have left out is a count of values that were not
released.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

LEFT, BAR, RIGHT, ROW, LETTERS = 190, 240, 170, 24, 26
INK, SOFT, PALE, FULL = "#22272e", "#57606a", "#e6e9ed", "#5b93b8"
TITLE = "How much detail stays: precision of each generalised column, and the rows that stay"


def kept_picture(told: Mapping[str, Any]) -> bytes:
    """Return the picture as SVG, from the settings that the manifest tells."""
    levels, heights = told["levels"] if told["recoding"] == "global" else {}, told["heights"]
    rows = [
        (name, share, f", level {levels[name]} of {heights[name]}" if name in levels else "")
        for name, share in told["precision"].items()
    ]
    rows.append(("rows", float(told["completeness"]), f", {told['suppressed_rows']:,} left out"))
    lines = [line for i, row in enumerate(rows) for line in _bar(i * ROW, *row)]
    width, height = LEFT + BAR + RIGHT, ROW * len(rows) + 4
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt" viewBox="0'
        f' 0 {width} {height}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *lines, "</svg>"]).encode()


def _bar(top: int, name: str, share: float, words: str) -> list[str]:
    shown = name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}\u2026"
    return [
        (
            f'<text x="{LEFT - 10}" y="{top + 16}" text-anchor="end"'
            f' fill="{INK}">{escape(shown)}</text>'
        ),
        f'<rect x="{LEFT}" y="{top + 5}" width="{BAR}" height="14" fill="{PALE}"/>',
        f'<rect x="{LEFT}" y="{top + 5}" width="{BAR * share:.1f}" height="14" fill="{FULL}"/>',
        (
            f'<text x="{LEFT + BAR + 10}" y="{top + 16}" fill="{SOFT}">{100 * share:.3g}'
            f" %{words}</text>"
        ),
    ]
