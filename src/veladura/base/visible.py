"""Text of strangers made visible: no character of it moves a cursor, a colour or a direction."""

from __future__ import annotations

import re

# C0 and C1 controls (ESC and CSI start commands of a terminal), marks, overrides and isolates of
# the writing direction, separators of lines and paragraphs, and halves of a surrogate pair.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    r"""Return a text with control characters written out; tabs and ends of lines stay.

    Examples
    --------
    >>> print(visible("a\x1b[31mb\u202ec"))
    a\u001b[31mb\u202ec
    """
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
