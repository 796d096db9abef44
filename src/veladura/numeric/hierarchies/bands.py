"""Numbers from what generalisation made of them: the middle of a band such as ``[20, 30)``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBER = r"-?\d+(?:\.\d+)?"
_BAND = re.compile(rf"\s*[\[(]?\s*({_NUMBER})\s*(?:,|-|\u2013|to|\.\.)\s*({_NUMBER})\s*([\])]?)\s*")
_OPEN = re.compile(rf"\s*(?:<=?|>=?)\s*({_NUMBER})\s*")
_PLAIN = re.compile(rf"\s*({_NUMBER})\s*")
TOP = "*"


def midpoint(values: Iterable[Any]) -> NDArray[np.float64]:
    """Return numbers for bands: the middle of a closed one, the limit of an open one, a number as it is, else missing.

    Examples
    --------
    >>> midpoint(["[20, 30)", "30-39", ">= 90", "41", "*", None])
    array([25. , 34.5, 90. , 41. ,  nan,  nan])
    """
    known: dict[Any, float] = {}
    return np.array(
        [known[v] if v in known else known.setdefault(v, _middle(v)) for v in values],
        dtype=np.float64,
    )


def looks_banded(values: Iterable[Any]) -> bool:
    """Whether text values are bands of numbers, all but the top of a hierarchy."""
    texts = [value for value in values if isinstance(value, str) and value != TOP]
    banded = [bool(_BAND.fullmatch(text) or _OPEN.fullmatch(text)) for text in texts]
    return any(banded) and all(
        band or _PLAIN.fullmatch(text) for band, text in zip(banded, texts, strict=True)
    )


def _middle(value: Any) -> float:
    if not isinstance(value, str):
        return np.nan if value is None else float(value)
    if found := _BAND.fullmatch(value):
        return (float(found[1]) + float(found[2])) / 2
    found = _OPEN.fullmatch(value) or _PLAIN.fullmatch(value)
    return float(found[1]) if found else np.nan
