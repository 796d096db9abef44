"""Made-up people and places, with what real files have: heaps, rounding, tails, gaps, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
_FIRST = [
    "Anna",
    "Jan",
    "Maria",
    "Peter",
    "Julia",
    "Marek",
    "Sofia",
    "Lukas",
    "Elena",
    "Paul",
    "Nora",
    "David",
    "Irene",
    "Tomas",
    "Clara",
    "Hugo",
    "Lea",
    "Oskar",
    "Ewa",
    "Karl",
    "Ines",
    "Felix",
    "Rosa",
    "Viktor",
    "Greta",
    "Adam",
    "Olga",
    "Emil",
    "Marta",
    "Simon",
]
_SYLLABLES = [
    "ka",
    "ro",
    "mi",
    "ne",
    "ba",
    "lo",
    "tes",
    "gar",
    "van",
    "der",
    "sto",
    "wie",
    "kow",
    "mann",
    "berg",
    "ska",
    "ner",
    "lin",
    "dal",
    "es",
]
ICD = [f"{letter}{n:02}" for letter in "EFIJKMNRZ" for n in (3, 10, 11, 25, 31, 45, 54, 66, 78)]
ISCO = np.array(
    [
        1112,
        1211,
        1346,
        2142,
        2221,
        2310,
        2341,
        2411,
        2512,
        2611,
        3112,
        3221,
        3313,
        3343,
        4110,
        4222,
        4321,
        5120,
        5131,
        5223,
        5311,
        5412,
        6111,
        7112,
        7223,
        7231,
        7512,
        8160,
        8322,
        8344,
        9112,
        9313,
        9412,
        9621,
    ]
)


def ages(rng: Rng, n: int, low: int = 0, high: int = 97) -> np.ndarray:
    """Ages by a pyramid, some of them rounded to five."""
    every = np.arange(low, high + 1)
    share = np.exp(-(((every - 42) / 25) ** 2))
    age = rng.choice(every, n, p=share / share.sum())
    age = np.where(rng.random(n) < 0.05, age // 5 * 5, age)
    return np.clip(age, low, high)


def incomes(rng: Rng, n: int) -> np.ndarray:
    """Incomes with a heavy tail, mostly rounded, some of them nothing."""
    money = np.exp(rng.normal(7.7, 0.75, n))
    base = rng.choice([1, 10, 50, 100, 500], n, p=[0.15, 0.25, 0.15, 0.35, 0.15 - 0.05])
    money = np.round(money / base) * base
    return np.where(rng.random(n) < rng.choice([0, 0.08]), 0, money).astype(int)


def surnames(rng: Rng, n: int) -> list[str]:
    """Surnames, a few of them common."""
    pool = sorted({"".join(rng.choice(_SYLLABLES, rng.integers(2, 4))).title() for _ in range(900)})
    share = 1 / np.arange(4, len(pool) + 4)
    return list(rng.choice(pool, n, p=share / share.sum()))


def full_names(rng: Rng, n: int) -> list[str]:
    """First name and surname, in one of two orders."""
    first, last = rng.choice(_FIRST, n), surnames(rng, n)
    listed = rng.random() < 0.3
    return [f"{b}, {a}" if listed else f"{a} {b}" for a, b in zip(first, last, strict=True)]


def numbers_of(rng: Rng, n: int) -> np.ndarray:
    """Distinct numbers of units, in one of the ways registers write them."""
    return _WAYS[rng.integers(len(_WAYS))](rng, n)


def _lettered(rng: Rng, n: int) -> np.ndarray:
    letters = rng.choice(list("ABCDEFGH"), n)
    digits = rng.choice(np.arange(10_000, 99_999), n, replace=False)
    return np.array([f"{a}{b}" for a, b in zip(letters, digits, strict=True)])


_WAYS: tuple[Callable[[Rng, int], np.ndarray], ...] = (
    lambda _, n: np.arange(1, n + 1),
    lambda rng, n: rng.choice(np.arange(100_000, 999_999), n, replace=False),
    lambda rng, n: 1_000_000 + np.cumsum(rng.integers(1, 9, n)),
    _lettered,
    lambda rng, n: np.array([f"{b:07}" for b in rng.choice(9_999_999, n, replace=False)]),
    lambda rng, n: np.array([f"{a:08x}{b:08x}" for a, b in rng.integers(1 << 28, 1 << 32, (n, 2))]),
    lambda rng, n: rng.permutation(n) * int(rng.integers(1, 4)) + 101,
)


def social_numbers(rng: Rng, birth: np.ndarray) -> np.ndarray:
    """Numbers that begin with the date of birth."""
    tail = rng.choice(np.arange(1000, 9999), birth.size)
    days = pd.to_datetime(birth).strftime("%y%m%d")
    sep = rng.choice(["", "-", " "])
    return np.array([f"{day}{sep}{number}" for day, number in zip(days, tail, strict=True)])


def e_mails(rng: Rng, n: int) -> np.ndarray:
    """Distinct e-mail addresses."""
    return np.array([f"{a.lower()}{i}@example.org" for i, a in enumerate(surnames(rng, n))])


def phones(rng: Rng, n: int) -> np.ndarray:
    """Distinct phone numbers."""
    numbers = rng.choice(9_999_999, n, replace=False)
    return np.array([f"+4{i % 9} {i % 97:02} {i:07}" for i in numbers])


def notes(rng: Rng, n: int) -> np.ndarray:
    """Sentences."""
    words = [
        "patient",
        "came",
        "with",
        "pain",
        "after",
        "fall",
        "seen",
        "by",
        "doctor",
        "told",
        "to",
        "rest",
        "and",
        "call",
        "again",
    ]
    return np.array([" ".join(rng.choice(words, rng.integers(5, 14))) + "." for _ in range(n)])


def town_names(rng: Rng, n: int) -> list[str]:
    """Distinct names of towns, some of two words."""
    words = ["".join(rng.choice(_SYLLABLES, 3)).title() for _ in range(n)]
    return [f"{'Bad ' if i % 7 == 0 else ''}{word}{'au' * (i % 3)}" for i, word in enumerate(words)]


class Places:
    """Regions with municipalities and zip codes in them, and a centre each."""

    def __init__(self, rng: Rng) -> None:
        self.regions = int(rng.integers(4, 14))
        towns = rng.integers(3, 12, self.regions)
        self.region_of = np.repeat(np.arange(self.regions), towns)
        self.towns = self.region_of.size
        self.share = rng.dirichlet(np.full(self.towns, 0.7))
        self.names = np.array(town_names(rng, self.towns))
        self.code = (self.region_of + 1) * 1000 + rng.choice(999, self.towns, replace=False)
        self.zip = (self.region_of + 10) * 1000 + rng.choice(999, self.towns, replace=False)
        middle = rng.random((self.regions, 2)) * 4
        self.centre = middle[self.region_of] + rng.normal(0, 0.35, (self.towns, 2))
        self.urban = rng.random(self.towns) < 0.45

    def draw(self, rng: Rng, n: int) -> np.ndarray:
        """Towns of n households."""
        return rng.choice(self.towns, n, p=self.share)


def coded(rng: Rng, codes: np.ndarray, levels: int, labels: str) -> tuple[np.ndarray, bool]:
    """Return categories as words, letters or whole numbers, and whether they are numbers."""
    style = rng.integers(4)
    if style == 0:
        words = np.array([f"{labels} {chr(97 + i % 26)}{'x' * (i // 26)}" for i in range(levels)])
        return words[codes], False
    if style == 1:
        return np.array([f"{labels[:1].upper()}{i:02}" for i in range(levels)])[codes], False
    if style == 2:
        return codes + 1, True
    gaps = np.cumsum(rng.integers(1, 4, levels))
    return gaps[codes], True


def with_gaps(rng: Rng, values: Any, share: float) -> pd.Series:
    """Return values with some of them missing."""
    series = pd.Series(values)
    return series.mask(rng.random(len(series)) < share) if share > 0 else series
