"""Mutations of JSON files: what a stranger, or a broken disk, may make of a manifest."""

from __future__ import annotations

import copy
import json

NASTY = (
    None,
    True,
    0,
    -1,
    1,
    7,
    10**30,
    1e300,
    -0.5,
    "",
    "0",
    "1/0",
    "nan",
    "x" * 5000,
    "../../../etc/passwd",
    "/dev/zero",
    "\x1b[2J\x1b[31mholds\x1b[0m",
    "\u202edloh\u202c",
    "a\x00b",
    [],
    [[]],
    [None],
    ["age"],
    {},
    {"": None},
    {"file": "/etc/passwd"},
    {"columns": []},
)


def places(value, path=()):
    """Every place in a JSON value: the path of keys and numbers that leads there."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value[:20]):
            yield from places(inner, (*path, number))


def mutated(rng, content):
    """A JSON value with one to three places changed: replaced, removed, doubled or renamed."""
    changed = copy.deepcopy(content)
    for _ in range(int(rng.integers(1, 4))):
        found = [path for path in places(changed) if path]
        path = found[int(rng.integers(len(found)))]
        changed = _changed(rng, changed, path)
        if not isinstance(changed, (dict, list)) or not changed:
            return changed
    return changed


def _changed(rng, content, path):
    *way, last = path
    parent = content
    for step in way:
        parent = parent[step]
    kind = rng.choice(["replace", "replace", "replace", "remove", "double", "rename"])
    if kind == "replace":
        parent[last] = copy.deepcopy(NASTY[int(rng.integers(len(NASTY)))])
    elif kind == "remove":
        del parent[last]
    elif kind == "double" and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[last]))
    elif isinstance(parent, dict):
        parent[f"{last}_"] = parent.pop(last)
    return content


def written(path, content):
    """Write a mutated value as JSON, whatever it is."""
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8", errors="replace")
