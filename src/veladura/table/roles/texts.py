"""The shape of texts: e-mails, phones, names of people, hashes, codes, free text, categories."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from veladura.table.roles.evidence import FEWEST_ROWS, Evidence

TextShape = Literal[
    "e-mail",
    "address on a network",
    "hash",
    "phone",
    "person name",
    "one name",
    "street",
    "free text",
    "code",
    "words",
]

_MOST = 0.8  # share of the texts that must have a shape
_EMAIL = re.compile(r"^[^@\s]+@[^@\s]+$")
_NETWORK = re.compile(r"^(https?://\S+|\d{1,3}(\.\d{1,3}){3})$")
_HASH = re.compile(
    r"^(?=.*\d)(?=.*[a-f])[0-9a-f]{12,}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE
)
_PHONE = re.compile(r"^\+?[\d\s()/.\-]{7,24}$")
_APOSTROPHES = "'\u2019-"
_WORD = rf"[^\W\d_]+(?:[{_APOSTROPHES}][^\W\d_]+)*\.?"
_NAME = re.compile(rf"^{_WORD},?(?: {_WORD}){{1,4}}$")
_ONE_NAME = re.compile(rf"^{_WORD}(?: {_WORD})?$")
_STREET = re.compile(r"^(?:\d+\w?,? [^\d]{4,}|[^\d]{4,}\.? ?\d+\s?\w?)(?:[,/].*)?$")
_CODE = re.compile(r"^\S*\d\S*(?: \S*\d\S*)*$")  # also in groups, as accounts are written
_DIGITS = re.compile(r"\d")
_SPOKEN = re.compile(r"(?<!\S)[^\d\s]+(?!\S)")  # words without a digit
_FEWEST_DIGITS = 7
_FEWEST_LETTERED = 15
_DIGITLESS = 0.7  # of random letters and digits, the most that have no digit by chance
_SHORTEST_LETTERED = 5  # shorter ones stand for countries or towns
_LONG = 30  # characters
_MANY_WORDS = 4
_FREE_LEVELS = 50
_FEWEST_ALONE = 10  # sentences that one row has: fewer may be rare categories
_CAPITALISED = 0.5  # of the words of names that stand in lists


def shape_of(column: Evidence) -> TextShape:
    """Return the shape that most texts of a column have."""
    texts = column.texts
    if not texts:
        return "words"
    if _are_lettered(column):
        return "code"
    for shape, fits in _SHAPES:
        if column.distinct >= _FEWEST[shape] and _share(texts, fits) >= _MOST:
            return shape
    if _is_free(column):
        return "free text"
    return "code" if _share(texts, lambda text: bool(_CODE.match(text))) >= _MOST else "words"


def _share(texts: tuple[str, ...], fits: Callable[[str], bool]) -> float:
    return sum(map(fits, texts)) / len(texts)


def _are_lettered(column: Evidence) -> bool:
    """Whether texts are codes of letters: many, of one length, in capitals or with digits."""
    texts = column.texts
    if column.distinct < _FEWEST_LETTERED or len({len(text) for text in texts}) > 1:
        return False
    if len(texts[0]) < _SHORTEST_LETTERED or not all(text.isalnum() for text in texts):
        return False
    capitals = _share(texts, lambda text: text.isalpha() and text.isupper()) == 1
    return capitals or _DIGITLESS > _share(texts, str.isalpha) > 0


def _is_phone(text: str) -> bool:
    digits = len(_DIGITS.findall(text))
    return (
        bool(_PHONE.match(text))
        and digits >= _FEWEST_DIGITS
        and (text[0] in "+0(" or len(re.findall(r"[\s()/.\-]", text)) > 1)
    )


def _is_name(text: str) -> bool:
    """Whether a text is two to five words, nearly all of them capitalised."""
    if not _NAME.match(text):
        return False
    words = text.replace(",", " ").split()
    capitals = sum(word[0].isupper() for word in words)
    return capitals >= max(2, len(words) - 1)


def _is_free(column: Evidence) -> bool:
    """Whether texts are sentences: many, long or of many words, and hardly any twice.

    Also where many say the same ("no", "all well"): sentences that nobody else says.
    """
    many = column.distinct >= _FREE_LEVELS and column.distinct > 0.2 * column.present
    if many and _are_sentences(column.texts):
        return True
    if len(column.texts) < column.distinct:
        return False
    alone = [text for text, size in zip(column.texts, column.sizes, strict=True) if size == 1]
    return len(alone) >= max(_FEWEST_ALONE, column.distinct / 2) and _are_sentences(alone)


def _are_sentences(texts: Sequence[str]) -> bool:
    words = float(np.mean([len(_SPOKEN.findall(text)) for text in texts]))
    length = float(np.mean([len(text) for text in texts]))
    return (length > _LONG and words > _MANY_WORDS - 1) or words >= _MANY_WORDS


_SHAPES: tuple[tuple[TextShape, Callable[[str], bool]], ...] = (
    ("e-mail", lambda text: bool(_EMAIL.match(text))),
    ("address on a network", lambda text: bool(_NETWORK.match(text))),
    ("hash", lambda text: bool(_HASH.match(text))),
    ("phone", _is_phone),
    ("person name", _is_name),
    ("one name", lambda text: bool(_ONE_NAME.match(text)) and text[0].isupper()),
    ("street", lambda text: bool(_STREET.match(text)) and not text.isupper() and "_" not in text),
)
# A few levels of such a shape are a category, as in "New York".
_FEWEST = {
    "e-mail": 2,
    "address on a network": 2,
    "hash": FEWEST_ROWS // 2,
    "phone": FEWEST_ROWS // 2,
    "person name": FEWEST_ROWS // 2,
    "one name": FEWEST_ROWS // 2,
    "street": FEWEST_ROWS // 2,
}
