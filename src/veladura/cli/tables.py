"""Text and tables of the command line: figures stay whole, nothing is cut or hidden."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.text import Text

from veladura.base.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import ConsoleOptions, RenderableType
    from rich.table import Column, Table

_LEAST_TEXT = 16  # columns of the terminal that a text gets, before lines become longer than it
_GAP = 2


class PlainConsole(Console):
    """A console on which no text of a file can move the cursor or change a colour."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of what is printed, control characters in texts written out."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


def print_table(console: Console, table: Table) -> None:
    """Print a table without losing a letter.

    Columns that are justified to the right hold figures: their headings wrap, their cells do not.
    Other columns wrap between words, or within a word that is too long. A terminal that is too
    narrow even for that gets longer lines.
    """
    spare = console.width - sum(_GAP + _least(column) for column in table.columns)
    least = 0
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.justify == "right"
        if column.no_wrap:
            spare = _wrap_heading(column, max(spare, 0))
        longest = _longest(column)
        least += _GAP + (longest if column.no_wrap else min(longest, _LEAST_TEXT))
    options = console.options.update(width=max(console.width, least))
    console.print(Segments(console.render(table, options)), crop=False, end="")


def _wrap_heading(column: Column, spare: int) -> int:
    """Wrap the heading of a column of figures where there is no room for it; return what is left.

    Parameters
    ----------
    spare
        Columns of the terminal that no cell needs.
    """
    least = _least(column)
    lines = wrap(str(column.header), least + spare, break_on_hyphens=False)
    column.header = "\n".join(lines)
    return spare - max(0, _longest(column) - least)


def _least(column: Column) -> int:
    """Return the width that a column needs: that of its figures or texts, and of a heading's word.

    A text wraps, but not for the sake of a heading.
    """
    words = [cell_len(word) for word in str(column.header).split()]
    return max([*words, *_widths(column)], default=1)


def _longest(column: Column) -> int:
    headings = [cell_len(line) for line in str(column.header).split("\n")]
    return max([*headings, *_widths(column)], default=0)


def _widths(column: Column) -> list[int]:
    """Return the width of every line of the cells of a column."""
    return [
        cell_len(line)
        for cell in column.cells
        for line in Text.from_markup(str(cell)).plain.split("\n")
    ]
