"""Columns written in ways that files have and nobody expects: accounts, hashes, bands, weights."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
import pandas as pd

Rng = np.random.Generator
_FIRST = [
    "Aino",
    "Eero",
    "Ayşe",
    "Mehmet",
    "Иван",
    "Ольга",
    "Jiří",
    "Zdeňka",
    "Wei",
    "Li",
    "Siobhán",
    "Aoife",
    "José",
    "María",
    "Łukasz",
    "Zoë",
    "Ngũgĩ",
    "Anaïs",
    "Bjørn",
    "Søren",
    "Noor",
    "Fatima",
    "Kofi",
    "Ama",
    "Hiro",
    "Yuki",
    "Priya",
    "Arjun",
    "Luca",
    "Chiara",
]
_SYLLABLES = [
    "vir",
    "ta",
    "nen",
    "kor",
    "ho",
    "la",
    "maz",
    "de",
    "mir",
    "öz",
    "ko",
    "va",
    "lenko",
    "ov",
    "sky",
    "nová",
    "ček",
    "ová",
    "mur",
    "phy",
    "gar",
    "cía",
    "ló",
    "pez",
    "ski",
    "wicz",
    "sen",
    "dóttir",
    "el",
    "man",
    "na",
    "ka",
    "mu",
    "ra",
]
_FORMATS = ("%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y", "%Y%m%d", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S")


def unit_numbers(rng: Rng, n: int) -> np.ndarray:
    """Distinct numbers of units, in one of the ways that systems write them."""
    return np.asarray(_WAYS[rng.integers(len(_WAYS))](rng, n))


def _letters(rng: Rng, n: int) -> list[str]:
    """Different codes of eight capital letters."""
    drawn = {"".join(rng.choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), 8)) for _ in range(n + 9)}
    return list(rng.permutation(sorted(drawn))[:n])


def _mixed(rng: Rng, n: int) -> list[str]:
    every = list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    return ["".join(rng.choice(every, 11)) for _ in range(n)]


_WAYS: tuple[Callable[[Rng, int], object], ...] = (
    lambda _, n: np.arange(1, n + 1),
    lambda _, n: np.arange(n) * 10 + 1000,
    lambda rng, n: rng.integers(10**11, 10**12, n),
    lambda rng, n: [hashlib.sha256(b"%d" % x).hexdigest() for x in rng.integers(0, 1 << 40, n)],
    lambda rng, n: [f"DE{x:020d}" for x in rng.integers(10**17, 10**18, n)],
    lambda rng, n: [
        f"FI{i % 90 + 10} {x // 10**8:04d} {x // 10**4 % 10**4:04d} {x % 10**4:04d} {i % 100:02d}"
        for i, x in enumerate(rng.integers(0, 10**12, n))
    ],
    _letters,
    _mixed,
    lambda rng, n: [f"{a:03d}-{i:05d}-{a % 10}" for i, a in enumerate(rng.integers(0, 999, n))],
    lambda rng, n: [f"{a}/{i:05d}" for i, a in enumerate(rng.integers(2012, 2024, n))],
    lambda rng, n: [f"PAT_{i}" for i in rng.permutation(n) + 1],
)


def names(rng: Rng, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Full names in several alphabets and orders, with first names and surnames."""
    pool = sorted(
        {"".join(rng.choice(_SYLLABLES, rng.integers(2, 4))).capitalize() for _ in range(900)}
    )
    share = 1 / np.arange(5, len(pool) + 5)
    last, first = rng.choice(pool, n, p=share / share.sum()), rng.choice(_FIRST, n)
    style = ("{0} {1}", "{2}, {0}", "{3} {4}", "{5}. {1}")[rng.integers(4)]
    full = [
        style.format(a, b, b.upper(), a.lower(), b.lower(), a[0])
        for a, b in zip(first, last, strict=True)
    ]
    return np.array(full), first, last


def e_mails(rng: Rng, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Addresses in upper, lower and mixed case."""
    homes = rng.choice(["Mail.ORG", "example.com", "Univ.edu", "post.NET"], first.size)
    written = [
        f"{a}.{b}{i}@{c}" for i, (a, b, c) in enumerate(zip(first, last, homes, strict=True))
    ]
    case = rng.choice([str.upper, str.lower, str], first.size)
    return np.array([change(text) for change, text in zip(case, written, strict=True)])


def phones(rng: Rng, n: int) -> np.ndarray:
    """Phone numbers in one of four ways, one of them a whole number."""
    number = rng.integers(10**6, 10**7, n)
    style = rng.integers(4)
    if style == 0:
        return 900_000_000 + 9 * number
    form = ("", "+358 40 {0}", "0530{0}", "(212) {1:03d}-{2:04d}")[style]
    return np.array([form.format(x, x // 10_000, x % 10_000) for x in number])


def written_dates(rng: Rng, days: np.ndarray) -> np.ndarray:
    """Dates as text, or as whole numbers such as 19800229."""
    return np.asarray(pd.to_datetime(days).strftime(_FORMATS[rng.integers(len(_FORMATS))]))


def labels(rng: Rng, number: int) -> np.ndarray:
    """Categories as whole numbers with and without gaps, padded numbers, words, letters, items."""
    style = rng.integers(7)
    if style < 2:
        return np.arange(style, number + style)
    if style == 2:
        return np.sort(rng.choice(np.arange(1, 9 * number + 3), number, replace=False))
    forms: tuple[Callable[[int], str], ...] = (
        lambda i: f"{i + 1:02d}",
        lambda i: "".join(rng.choice(list("abcdefghij"), 4)) + chr(97 + i % 26) * (1 + i // 26),
        lambda i: chr(65 + i % 26) * (1 + i // 26),
        lambda i: f"{i + 1}) item {chr(97 + i % 26)}{i // 26 or ''}",
    )
    return np.array([forms[style - 3](i) for i in range(number)])


def weights(rng: Rng, base: np.ndarray) -> np.ndarray:
    """Weights with two values, with one, with all decimals, whole, rounded, or large."""
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: np.where(base > np.median(base), 1.5, 0.75),
        lambda: np.full(base.size, 37.2),
        lambda: base / base.mean(),
        lambda: np.maximum(np.round(base * rng.uniform(100, 3000)), 1).astype(int),
        lambda: np.round(base / base.mean(), 2),
        lambda: base * rng.uniform(100, 5000),
    )
    return ways[rng.integers(len(ways))]()


def answers(rng: Rng, n: int) -> np.ndarray:
    """Answers on a scale, some of them with a code for "no answer"."""
    scale = rng.binomial(int(rng.choice([3, 4, 6])), rng.uniform(0.2, 0.8), n) + 1
    refused = rng.random(n) < rng.choice([0, 0.05])
    return np.where(refused, rng.choice([9, -1, 99]), scale)
