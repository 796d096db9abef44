"""A hierarchy drawn: the chain of its domains, and the tree of its values."""

from __future__ import annotations

from collections.abc import Sequence

from veladura.base.drawing import LABEL, LETTER, SMALL, Drawing

MOST_LEAVES = 48  # values side by side that can still be read
LONGEST = 18  # characters of a value
ROW, GAP, EDGE = 46.0, 10.0, 16.0
LISTED = 3  # values that a domain names
Row = Sequence[str]


def hierarchy_svg(rows: Sequence[Row], name: str) -> bytes:
    """Return the domain and the value generalisation hierarchy side by side.

    As Samarati and Sweeney (1998, Fig. 2) draw them: domains ``Z0``, ``Z1``, ... one above the
    other, each with its values; and every value below what it becomes. Levels with more than 48
    values are in the chain only, with their number.

    Parameters
    ----------
    rows
        One row for each value: the value, then what it becomes at each level.
    name
        What the domains are called, such as the column.
    """
    ordered = sorted(rows, key=lambda row: tuple(reversed(row)))
    height = len(rows[0]) - 1
    domains = [list(dict.fromkeys(row[level] for row in ordered)) for level in range(height + 1)]
    first = next(level for level in range(height + 1) if len(domains[level]) <= MOST_LEAVES)
    words = [_domain(name, level, values) for level, values in enumerate(domains)]
    chain = 12 + max(len(text) for text in words) * LETTER * LABEL + 2 * EDGE
    leaf = max(len(_short(v)) for v in domains[first]) * LETTER * SMALL + GAP
    tree = max(len(domains[first]) * leaf, len(name) * LABEL)
    room = 2 * EDGE + ROW * height + 24
    drawing = Drawing(chain + tree + 2 * EDGE, room)
    bottom = room - EDGE - 8
    _draw_chain(drawing, words, bottom)
    _draw_tree(drawing, ordered, domains, first, (chain, leaf, bottom))
    if first:
        note = f"values below level {first} are too many to draw"
        drawing.text(chain + EDGE, bottom - ROW * first + 18, note, size=SMALL)
    return drawing.svg()


def _domain(name: str, level: int, values: Sequence[str]) -> str:
    shown = ", ".join(_short(value) for value in values[:LISTED])
    more = f", \u2026 ({len(values):,})" if len(values) > LISTED else ""
    domain = f"{name}{level} =" if len(name) == 1 else f"{name}, level {level}:"
    return f"{domain} {{{shown}{more}}}"


def _short(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}\u2026"


def _draw_chain(drawing: Drawing, words: Sequence[str], bottom: float) -> None:
    """Draw the domains from the bottom up, each with a line to the next."""
    for level, text in enumerate(words):
        y = bottom - ROW * level
        drawing.text(EDGE, y, text)
        if level:
            drawing.line(EDGE + 8, y + ROW - LABEL - 3, EDGE + 8, y + 5)


def _draw_tree(
    drawing: Drawing,
    rows: Sequence[Row],
    domains: Sequence[Sequence[str]],
    first: int,
    place: tuple[float, float, float],
) -> None:
    """Draw every value above the middle of the values that become it."""
    left, width, bottom = place
    middle = {
        (first, value): left + EDGE + (i + 0.5) * width for i, value in enumerate(domains[first])
    }
    for level in range(first, len(domains)):
        y = bottom - ROW * level
        if level > first:
            below: dict[str, list[str]] = {}
            for row in rows:
                children = below.setdefault(row[level], [])
                children += [row[level - 1]] if row[level - 1] not in children else []
            for value, children in below.items():
                spots = [middle[level - 1, child] for child in children]
                middle[level, value] = sum(spots) / len(spots)
                for spot in spots:
                    ends = (spot, y + ROW - SMALL - 3, middle[level, value], y + 4)
                    drawing.line(*ends)
        for value in domains[level]:
            drawing.text(middle[level, value], y, _short(value), size=SMALL, anchor="middle")
