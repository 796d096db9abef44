"""Lines that a recipient can copy: how to load, check and analyse a release."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veladura.recipe import Release

FOLDER = "path/to/this/folder"
_HEAD = f'import veladura as vd\n\nrelease = vd.load("{FOLDER}")'


def snippet(release: Release) -> str:
    """Return Python that loads the release and makes a first analysis with the right rule."""
    numbers = _numbers(release)
    if release.rule == "posterior":
        return f"{_HEAD}\nposterior = vd.posterior(release)\nposterior.mean, posterior.interval(0.95)"
    if release.rule in ("none", "private"):
        last = f"data[{numbers[:2]!r}].describe()" if numbers else "data.describe()"
        return f"{_HEAD}\ndata = release.datasets[0]\n{last}"
    if not numbers:
        return f"{_HEAD}\nfor data in release.datasets:\n    print(data.describe())"
    name = numbers[0]
    return f"{_HEAD}\nrelease.estimate(lambda data: (data[{name!r}].mean(), data[{name!r}].var() / len(data)))"


def command(release: Release) -> str:
    """Return what to type into a terminal: the check of the folder, then an analysis where a rule needs one."""
    check = f"veladura verify {FOLDER}"
    numbers = [name for name in _numbers(release) if _is_word(name)]
    if release.rule == "posterior":
        return f"{check}\nveladura analyze {FOLDER} --posterior"
    if release.rule in ("none", "private") or len(numbers) < 2:  # noqa: PLR2004
        return check
    return f'{check}\nveladura analyze {FOLDER} "{numbers[0]} ~ {numbers[1]}"'


def _numbers(release: Release) -> list[str]:
    """Return the number columns, those that were replaced first."""
    changed = {name for step in release.steps for name in step.changed}
    names = [f.name for f in release.tables[0].table.schema if f.kind in ("integer", "number") and f.role != "weight"]
    return sorted(names, key=lambda name: name not in changed)


def _is_word(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
