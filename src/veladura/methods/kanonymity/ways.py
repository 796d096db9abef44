"""The ways to make a table k-anonymous, in words: what each column becomes, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, overload

import tomli_w

from veladura.methods.kanonymity.choice import Node, strategies_to
from veladura.methods.kanonymity.quality import measure, numbers_given_up
from veladura.numeric.hierarchies.level_words import KEPT, level_words

if TYPE_CHECKING:
    from veladura.methods.kanonymity.fitted import FittedKAnonymity
    from veladura.methods.kanonymity.lattice import Vector

MOST_SHOWN = 20
DIGITS = 9  # of losses that are compared
HEADINGS = ("way", "people suppressed", "loss", "what each column becomes")


@dataclass(frozen=True, eq=False)
class Way:
    """One generalisation, with what it costs.

    Attributes
    ----------
    rank
        1 for the best; ways that tie have the same rank.
    tied
        Whether another way is exactly as good.
    minimal
        Whether no other way is below it in every column.
    equal
        Whether the policies prefer it as much as the chosen one.
    """

    rank: int
    node: Node
    loss: float
    columns: dict[str, str]
    tied: bool
    chosen: bool
    minimal: bool
    equal: bool = False

    @property
    def line(self) -> str:
        """The line of a plan that chooses it."""
        levels = self.node.levels.items()
        inside = ", ".join(tomli_w.dumps({name: level}).strip() for name, level in levels)
        return f"levels = {{{inside}}}"

    @property
    def cells(self) -> tuple[str, ...]:
        """The way as a row of a table."""
        marks = [f"{self.rank}", "tie" if self.tied else "", "chosen" if self.chosen else ""]
        marks.append("as preferred" if self.equal and not self.chosen else "")
        marks.append("" if self.minimal else "not minimal")
        rows = self.node.lattice.rows
        return (
            " ".join(filter(None, marks)),
            f"{self.node.suppressed:,} of {rows:,}",
            f"{self.loss:.3f}",
            self.words,
        )

    @property
    def words(self) -> str:
        """What each column becomes, in one sentence."""
        changed = [f"{name}: {text}" for name, text in self.columns.items() if text != KEPT]
        kept = [name for name, text in self.columns.items() if text == KEPT]
        return "; ".join([*changed, f"{KEPT}: {', '.join(kept)}"] if kept else changed)


@dataclass(frozen=True, eq=False, repr=False)
class Ways(Sequence[Node]):
    """The k-minimal generalisations, lowest levels first; printed, the best come first.

    Those that give up fewest columns are better; of these, those with less loss of information.
    """

    nodes: tuple[Node, ...]
    fitted: FittedKAnonymity = field(repr=False)

    def __len__(self) -> int:
        return len(self.nodes)

    @overload
    def __getitem__(self, place: int) -> Node: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Node]: ...
    def __getitem__(self, place: int | slice) -> Node | Sequence[Node]:
        return self.nodes[place]

    @cached_property
    def best(self) -> list[Way]:
        """The best ways, at most twenty, and the chosen one."""
        return self.ranked(MOST_SHOWN)

    def ranked(self, most: int) -> list[Way]:
        """Return the best ways, at most a number of them, and the chosen one."""
        fitted, vectors = self.fitted, list(self.fitted.vectors)
        quality = measure("loss", fitted.lattice, fitted.recipe.weights)
        given_up = numbers_given_up(fitted.lattice, vectors).tolist()
        ordered = sorted(zip(given_up, quality.least_costs(vectors), vectors, strict=True))
        equal = [tuple(node.levels.values()) for node in fitted.equally_preferred[:most]]
        best = [v for _, _, v in ordered[:most]]
        shown = list(dict.fromkeys([*best, *equal, fitted.vector]))
        costs: dict[Vector, tuple[int, float]] = {
            vector: (number, quality.value(vector, fitted.criteria.at(vector)))
            for vector, number in zip(
                shown, numbers_given_up(fitted.lattice, shown).tolist(), strict=True
            )
        }
        return list(self._ranked(costs))

    def _ranked(self, costs: dict[Vector, tuple[int, float]]) -> Iterator[Way]:
        """Yield the ways from the best; those whose costs agree to nine digits tie."""
        fitted, rank = self.fitted, 1
        preferred = {tuple(node.levels.values()) for node in fitted.equally_preferred}
        ordered = sorted(costs, key=lambda vector: (*costs[vector], vector))
        rounded = {v: (costs[v][0], round(costs[v][1], DIGITS)) for v in ordered}
        for _, group in groupby(ordered, key=rounded.__getitem__):
            equal = list(group)
            for vector in equal:
                node = fitted.node(vector)
                columns = {
                    name: level_words(levels, level)
                    for (name, level), levels in zip(
                        node.levels.items(), fitted.lattice.levels, strict=True
                    )
                }
                yield Way(
                    rank,
                    node,
                    costs[vector][1],
                    columns,
                    tied=len(equal) > 1,
                    chosen=vector == fitted.vector,
                    minimal=vector in fitted.vectors,
                    equal=vector in preferred,
                )
            rank += len(equal)

    @property
    def heading(self) -> str:
        """One sentence on how many ways there are."""
        return self.heading_of(MOST_SHOWN)

    def heading_of(self, most: int) -> str:
        """Return one sentence on how many ways there are, of which at most some are shown."""
        recipe, number = self.fitted.recipe, len(self)
        some = "" if self.fitted.complete else " of those that were searched"
        ways = "1 minimal way" if number == 1 else f"{number:,} minimal ways"
        shown = min(number, most)
        best = f"; the best {shown} are shown" if number > shown else ""
        return (
            f"{ways}{some} to reach k = {recipe.k} with max_suppression ="
            f" {recipe.max_suppression}{best}. Every other way makes some column coarser."
            f"{self._size}"
        )

    @property
    def _size(self) -> str:
        """How large the lattice is, and between how many ways the policies do not decide."""
        lattice, equal = self.fitted.lattice, len(self.fitted.equally_preferred)
        top = [int(height) for height in lattice.heights]
        ties = f" The policies prefer {equal:,} ways equally." if equal > 1 else ""
        return (
            f" The lattice has {lattice.nodes:,} nodes and {strategies_to(top):,} strategies"
            f" (paths from the values to the top).{ties}"
        )

    @property
    def advice(self) -> str:
        """What to paste to take another way."""
        other = next((way for way in self.best if not way.chosen), self.best[0])
        return f"To take way {other.rank}, put this line into the step: {other.line}"

    def __repr__(self) -> str:
        rows = [HEADINGS, *(way.cells for way in self.best)]
        widths = [max(len(row[c]) for row in rows) for c in range(3)]
        lines = []
        for i, row in enumerate(rows):
            padded = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
            lines.append("  ".join([*padded, row[3]]).rstrip())
            if i:
                lines.append(f"    {self.best[i - 1].line}")
        return "\n".join([self.heading, "", *lines, "", self.advice])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(text)}</th>" for text in (*HEADINGS, "line for the plan"))
        body = ""
        for way in self.best:
            cells = "".join(f"<td>{escape(text)}</td>" for text in way.cells)
            body += f"<tr>{cells}<td><code>{escape(way.line)}</code></td></tr>"
        return f"<p>{escape(self.heading)}</p><table><tr>{head}</tr>{body}</table>"
