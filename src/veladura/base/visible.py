"""Text of strangers made visible: no character of it moves a cursor, a colour or a direction."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

# Marks without a width: two texts look the same, and are not.
_WIDTHLESS = "\u00ad\u200b\u2060\ufeff"
# C0 and C1 controls (ESC and CSI start commands of a terminal), marks, overrides and isolates of
# the writing direction, separators of lines and paragraphs, and halves of a surrogate pair.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    f"{_WIDTHLESS}]"
)
# Letters of the Cyrillic and Greek scripts that look like Latin ones.
_TWINS = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u051b\u0410\u0412"
    "\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0408\u0405\u0391\u0392"
    "\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd",
    "aeopcyxijsdqABEKMHOPCTXIJSABEZHIKMNOPTYXov",
)


def visible(text: str) -> str:
    r"""Return a text with control characters written out; tabs and ends of lines stay.

    Examples
    --------
    >>> print(visible("a\x1b[31mb\u202ec"))
    a\u001b[31mb\u202ec
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def look_alikes(names: Sequence[str]) -> list[str]:
    """Return the names that look like another one: other scripts, forms, blanks, hidden marks.

    Examples
    --------
    >>> look_alikes(["age", "sex", "\u0430ge"])
    ['age', '\u0430ge']
    """
    shapes = [_shape(name) for name in names]
    number = Counter(shapes)
    return [name for name, shape in zip(names, shapes, strict=True) if number[shape] > 1]


def _shape(name: str) -> str:
    """Return how a name looks, more or less."""
    plain = unicodedata.normalize("NFKC", name).translate(_TWINS)
    seen = (letter for letter in plain if unicodedata.category(letter) not in ("Cf", "Cc"))
    return " ".join("".join(seen).split())
