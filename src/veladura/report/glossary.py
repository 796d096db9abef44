"""The glossary of a page: terms are linked to their entry at the end of the same page."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from markupsafe import Markup, escape


@dataclass(frozen=True)
class Entry:
    """A term of the field and what it means.

    Attributes
    ----------
    text
        Two short sentences: what it is, and an example with numbers of people.
    also
        Other words for it that are linked too.
    figures
        The measures that the entry explains, as in "risk.replicated".
    """

    term: str
    text: str
    also: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """The name of the entry's place on a page."""
        return "term-" + re.sub(r"[^a-z0-9]+", "-", self.term.lower()).strip("-")


@cache
def entries() -> tuple[Entry, ...]:
    """Return all entries, by the alphabet."""
    text = files("veladura.report").joinpath("glossary.toml").read_text(encoding="utf-8")
    listed = [
        Entry(
            entry["term"],
            entry["text"],
            tuple(entry.get("also", ())),
            tuple(entry.get("figures", ())),
        )
        for entry in tomllib.loads(text)["entry"]
    ]
    return tuple(sorted(listed, key=lambda entry: entry.term.lower()))


@cache
def _words() -> dict[str, Entry]:
    return {
        word.lower(): entry for entry in entries() for word in (entry.term, *entry.also) if word
    }


@cache
def _pattern() -> re.Pattern[str]:
    longest_first = sorted(_words(), key=lambda word: (-len(word), word))
    words = "|".join(map(re.escape, longest_first))
    return re.compile(rf"(?<![\w-])({words})(s?)(?![\w-])", re.IGNORECASE)


@dataclass
class Glossary:
    """The entries that one page needs; filled while the page is rendered."""

    used: dict[str, Entry] = field(default_factory=dict)

    def link(self, text: str) -> Markup:
        """Return a text, escaped, with the first mention of each term on the page linked."""
        parts, end = [], 0
        for match in _pattern().finditer(text):
            entry = _words()[match[1].lower()]
            if entry.anchor in self.used:
                continue
            parts += [escape(text[end : match.start()]), self._linked(entry, match[0])]
            end = match.end()
        return Markup("").join([*parts, escape(text[end:])])

    def figure(self, name: str) -> Markup:
        """Return the name of a figure, linked to the entry that explains it."""
        entry = entry_of(name)
        return escape(name) if entry is None else self._linked(entry, name)

    def shown(self) -> list[Entry]:
        """Return the entries that the page mentions, by the alphabet."""
        return [entry for entry in entries() if entry.anchor in self.used]

    def _linked(self, entry: Entry, text: str) -> Markup:
        self.used[entry.anchor] = entry
        return Markup('<a href="#{}">{}</a>').format(entry.anchor, text)


def entry_of(figure: str) -> Entry | None:
    """Return the entry that explains a figure: that of the figure itself, or of its measure."""
    listed = {name: entry for entry in entries() for name in entry.figures}
    return listed.get(figure) or listed.get(figure.rpartition(".")[0])
