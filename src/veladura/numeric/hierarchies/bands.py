"""Numbers from generalised values: the midpoint of an interval such as ``[20, 30)``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from veladura.base.arrays import Floats

_NUMBER = r"-?\d+(?:\.\d+)?"
_BAND = re.compile(rf"\s*[\[(]?\s*({_NUMBER})\s*(?:,|-|\u2013|to|\.\.)\s*({_NUMBER})\s*([\])]?)\s*")
_OPEN = re.compile(rf"\s*(?:<=?|>=?)\s*({_NUMBER})\s*")
_PLAIN = re.compile(rf"\s*({_NUMBER})\s*")
TOP = "*"


def midpoint(values: Iterable[Any]) -> Floats:
    """Return the midpoint of each interval, the limit of an open one, and numbers as they are.

    Anything else is missing.

    Examples
    --------
    >>> midpoint(["[20, 30)", "30-39", ">= 90", "41", "*", None])
    array([25. , 34.5, 90. , 41. ,  nan,  nan])
    """
    middles: dict[Any, float] = {}
    numbers = []
    for value in values:
        if value not in middles:
            middles[value] = _middle(value)
        numbers.append(middles[value])
    return np.array(numbers, dtype=np.float64)


def looks_banded(values: Iterable[Any]) -> bool:
    """Whether text values are intervals of numbers, apart from ``*``."""
    texts = [value for value in values if isinstance(value, str) and value != TOP]
    banded = [bool(_BAND.fullmatch(text) or _OPEN.fullmatch(text)) for text in texts]
    return any(banded) and all(
        band or _PLAIN.fullmatch(text) for band, text in zip(banded, texts, strict=True)
    )


def _middle(value: Any) -> float:
    if not isinstance(value, str):
        return np.nan if value is None else float(value)
    if band := _BAND.fullmatch(value):
        return (float(band[1]) + float(band[2])) / 2
    number = _OPEN.fullmatch(value) or _PLAIN.fullmatch(value)
    return float(number[1]) if number else np.nan
