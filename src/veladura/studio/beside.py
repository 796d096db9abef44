"""Two cards picture by picture: what a card keeps to be drawn, and how two are put together.

Everything comes from the custodian's reports of the two trials; nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from veladura.base.estimate import Estimate
from veladura.measures.utility.pair_table import PairTable
from veladura.report.codebook import Bar, ColumnFacts
from veladura.report.intervals import IntervalFacts, interval_of
from veladura.report.marks import Term, beside
from veladura.report.own_formulas import own_models, terms_of

if TYPE_CHECKING:
    from veladura.measures.assessment import Assessment
    from veladura.measures.measure import Unit
    from veladura.report.facts import Facts

MOST_PAIRS = 12
Drawn = Mapping[str, Any]


def drawn_of(facts: Facts, assessment: Assessment) -> dict[str, Any]:
    """Return what the pictures of a report show, as plain values."""
    pairs = [d for d in assessment.details.values() if isinstance(d, PairTable)]
    own = own_models(assessment)
    titles = {f"Your formula {model.formula}" for model in own}  # kept below, with their reasons
    return {
        "columns": [asdict(column) for column in facts.columns],
        "groups": [
            {
                "title": group.title,
                "unit": group.unit,
                "terms": [_plain(row.term) for row in group.rows],
            }
            for group in facts.intervals
            if group.title not in titles
        ],
        "formulas": [
            {"formula": m.formula, "why": m.why, "terms": [_plain(term) for term in terms_of(m)]}
            for m in own
        ],
        "pairs": [
            [" and ".join(names), float(score / table.expected)]
            for table in pairs
            for names, score in table.scores.items()
        ],
        "pictures": {picture.title: picture.address for picture in facts.pictures},
    }


def _plain(term: Term) -> dict[str, Any]:
    ends = {
        side: None if e is None else [e.value, e.lower, e.upper]
        for side, e in (("released", term.released), ("original", term.original))
    }
    return {"name": term.name, **ends}


@dataclass(frozen=True)
class Marginal:
    """A column as each card releases it; None where a card does not."""

    name: str
    sides: tuple[ColumnFacts | None, ...]
    highest: float = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether both cards release the same values."""
        return self.sides[0] == self.sides[1]


@dataclass(frozen=True)
class Estimates:
    """Intervals of one sort: a row an estimate, a side a card; all rows on one scale."""

    title: str
    rows: tuple[tuple[str, str, tuple[IntervalFacts | None, ...]], ...]
    why: tuple[str, ...] = ("", "")  # why a card has none

    @property
    def both(self) -> bool:
        """Whether both cards have such estimates."""
        return any(None not in sides for _, _, sides in self.rows)


def marginals(cards: Sequence[Drawn]) -> list[Marginal]:
    """Return every column of either card, its pictures on one scale; those that differ first."""
    each = [{c["name"]: _column(c) for c in card["columns"]} for card in cards]
    made = []
    for name in dict.fromkeys(name for columns in each for name in columns):
        first, second = (columns.get(name) for columns in each)
        sides = (first, second if first is None or second is None else _ordered(second, first))
        highest = max(side.highest for side in sides if side is not None)
        made.append(Marginal(name, sides, highest))
    return sorted(made, key=lambda marginal: marginal.same)


def _ordered(column: ColumnFacts, like: ColumnFacts) -> ColumnFacts:
    """Return a column with its categories in the order of another; bins stay where they are."""
    if column.binned or like.binned:
        return column
    place = {bar.label: i for i, bar in enumerate(like.bars)}
    bars = sorted(column.bars, key=lambda bar: place.get(bar.label, len(place)))
    return replace(column, bars=tuple(bars))


def _column(plain: Mapping[str, Any]) -> ColumnFacts:
    return ColumnFacts(**{**plain, "bars": tuple(Bar(**bar) for bar in plain["bars"])})


def pairs(cards: Sequence[Drawn]) -> list[tuple[str, tuple[float | None, ...]]]:
    """Return the pairs of columns that moved most in either card, with their scores."""
    each = [dict(card["pairs"]) for card in cards]
    listed = [
        (name, tuple(scores.get(name) for scores in each))
        for name in dict.fromkeys(name for scores in each for name in scores)
    ]
    return sorted(listed, key=lambda pair: -max(s for s in pair[1] if s is not None))[:MOST_PAIRS]


def estimates(cards: Sequence[Drawn]) -> list[Estimates]:
    """Return the standard estimates of both cards, sort by sort."""
    each = [{group["title"]: group for group in card["groups"]} for card in cards]
    titles = dict.fromkeys(title for groups in each for title in groups)
    return [_estimates(title, [groups.get(title) for groups in each]) for title in titles]


def formulas(cards: Sequence[Drawn]) -> list[Estimates]:
    """Return the coefficients of the holder's own formulas, formula by formula."""
    each = [{model["formula"]: model for model in card["formulas"]} for card in cards]
    made = []
    for formula in dict.fromkeys(formula for models in each for formula in models):
        sides = [models.get(formula) for models in each]
        why = tuple("its plan did not have this formula." if s is None else s["why"] for s in sides)
        made.append(replace(_estimates(formula, sides), why=why))
    return made


def _estimates(title: str, sides: Sequence[Mapping[str, Any] | None]) -> Estimates:
    """Return the rows of one sort, drawn in standard errors of the original on one axis."""
    unit: Unit = next((s["unit"] for s in sides if s is not None and "unit" in s), "number")
    terms = [[_term(plain) for plain in (side or {"terms": ()})["terms"]] for side in sides]
    marks, _ = beside([term for side in terms for term in side])
    left = iter(marks)
    drawn = [{term.name: interval_of(term, next(left), unit) for term in side} for side in terms]
    names = dict.fromkeys(name for side in drawn for name in side)
    return Estimates(title, tuple(_rows(names, drawn)))


def _rows(
    names: Mapping[str, Any], drawn: Sequence[Mapping[str, IntervalFacts]]
) -> Iterator[tuple[str, str, tuple[IntervalFacts | None, ...]]]:
    for name in names:
        sides = tuple(side.get(name) for side in drawn)
        # two trials may keep other people, and then compare with other parts of the original
        originals = dict.fromkeys(side.original for side in sides if side is not None)
        yield name, " or ".join(originals), sides


def _term(plain: Mapping[str, Any]) -> Term:
    released, original = (
        None if plain[side] is None else Estimate(*plain[side]) for side in ("released", "original")
    )
    assert released is not None  # noqa: S101  # a term always has the release
    return Term(plain["name"], released, original)


def pictures(
    cards: Sequence[Drawn], address: Callable[[str], str]
) -> list[tuple[str, tuple[str, ...]]]:
    """Return every picture of either card by its title.

    Parameters
    ----------
    address
        Makes an address of the page from the address inside a report.
    """
    each = [card["pictures"] for card in cards]
    titles = dict.fromkeys(title for shown in each for title in shown)
    return [
        (title, tuple(address(shown[title]) if title in shown else "" for shown in each))
        for title in titles
    ]
