"""Mutations of documents: trees of values, lines and bytes, drawn from one seeded Random."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

CANARY = "Zyzzyva9071"  # a value of the data that no message may repeat
TEXTS = (
    "",
    " ",
    "\0",
    "a\0b",
    "../../../outside",
    "/",
    "//",
    "~",
    ".",
    "a" * 5000,
    "*",
    "?",
    "[",
    "'",
    '"',
    "`",
    "%s%n",
    "{}",
    "\n",
    "\r",
    "\x1b[2J",
    "\u202eabc",
    "é",
    "é",
    "İ",
    "NaN",
    "null",
    "None",
    "inf",
    "-0",
    "1e400",
    "0x10",
    "1_000",
    "age",
    "no such column",
    "people.csv",
    CANARY,
    "🦜" * 50,
    "=1+1",
    "; DROP TABLE people",
    "$(touch x)",
    "con",
    "file:///etc/passwd",
    "sqlite:///x",
    "a=b",
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    2**31,
    2**63,
    -(2**63),
    10**30,
    0.0,
    -0.0,
    0.5,
    1.5,
    -1.5,
    1e-300,
    1e300,
    -1e300,
    5e-324,
    float("inf"),
    float("-inf"),
    float("nan"),
)
BYTES = (
    b"\0",
    b"\xff",
    b"\xfe\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xc3\x28",
    b"\r",
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b"|",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"1e999",
    b"-",
    b"NaN",
    b"true",
    b"null",
    b"\xe2\x80\xa8",
    b"\x1a",
    b"\x85",
    b"9" * 400,
    b"[" * 100_000,
    b'{"a":' * 30_000,
    b"a." * 30_000,
)


def deep(levels: int, leaf: Any) -> Any:
    """Return a value inside so many lists."""
    for _ in range(levels):
        leaf = [leaf]
    return leaf


def odd_value(rng: random.Random) -> Any:
    """Return a value that a setting seldom has."""
    kind = rng.randrange(8)
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 5:
        return rng.choice(TEXTS)
    return rng.choice(
        [
            True,
            False,
            [],
            {},
            [[]],
            [{}],
            {"": ""},
            deep(rng.choice([3, 60]), 1),
            [rng.choice(TEXTS)] * rng.choice([1, 2, 300]),
            {rng.choice(TEXTS): rng.choice(NUMBERS)},
            [rng.choice(NUMBERS) for _ in range(rng.randrange(5))],
        ]
    )


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value of a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    found: list[tuple[Any, ...]] = []
    for key, value in items:
        found.append((*path, key))
        if isinstance(value, (dict, list)):
            found += places(value, (*path, key))
    return found


def mutated_tree(tree: Any, rng: random.Random) -> Any:
    """Return a tree with one to three values replaced, removed, renamed, exchanged or repeated."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        known = places(tree)
        if not known:
            return odd_value(rng)
        path = rng.choice(known)
        parent = tree
        for key in path[:-1]:
            parent = parent[key]
        key = path[-1]
        act = rng.randrange(6)
        if act <= 2:
            parent[key] = odd_value(rng)
        elif act == 3:
            del parent[key]
        elif act == 4 and isinstance(parent, dict):
            parent[rng.choice([*TEXTS[:8], f"{key}x", str(key).upper()])] = parent.pop(key)
        elif isinstance(parent, list):
            parent.insert(rng.randrange(len(parent) + 1), copy.deepcopy(parent[key]))
        else:
            other = rng.choice(list(parent))
            parent[key], parent[other] = parent[other], parent[key]
    return tree


def mutated_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to four places cut, filled, repeated, exchanged or encoded anew."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(content) + 1)
        end = min(len(content), at + rng.choice([1, 2, 10, 200]))
        act = rng.randrange(8)
        if act == 0:
            content = content[:at]
        elif act == 1:
            content = content[:at] + content[end:]
        elif act <= 3:
            content = content[:at] + rng.choice(BYTES) + content[end if act == 3 else at :]
        elif act == 4:
            content = content[:at] + content[at:end] * rng.choice([2, 30]) + content[end:]
        elif act == 5:
            content = content[:at] + bytes(rng.randrange(256) for _ in range(4)) + content[at:]
        elif act == 6:
            content = content[:at] + b"x" * rng.choice([10, 70_000]) + content[at:]
        else:
            content = _encoded(content, rng)
    return content


def mutated_lines(content: bytes, rng: random.Random) -> bytes:
    """Return lines of fields with one to three fields replaced, or lines repeated or removed."""
    lines = content.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 3])):
        at = rng.randrange(len(lines))
        act = rng.randrange(5)
        if act <= 2:
            fields = re.split(rb"([,;])", lines[at])
            odd = rng.choice([*TEXTS, *map(str, NUMBERS)])
            fields[rng.randrange(0, len(fields), 2)] = odd.encode("utf-8", "surrogatepass")
            lines[at] = b"".join(fields)
        elif act == 3:
            lines.insert(at, lines[rng.randrange(len(lines))])
        else:
            del lines[at]
        lines = lines or [b""]
    return b"\n".join(lines)


def _encoded(content: bytes, rng: random.Random) -> bytes:
    encoding = rng.choice(["utf-16", "utf-16-be", "utf-32", "cp1252", "utf-8-sig", "utf-7"])
    return content.decode("utf-8", "replace").encode(encoding, "replace")
