"""Lines that a recipient can copy to load, check and analyse a release."""

from __future__ import annotations

import json
import keyword
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from veladura.table.schema import WEIGHTS
from veladura.table.summary import summarize

if TYPE_CHECKING:
    from veladura.core.release import Release

FOLDER = "path/to/this/folder"
MOST_LEVELS = 8  # of a category in a first model


def snippet(release: Release, folder: str = FOLDER) -> str:
    """Return Python lines that load the release and run a first analysis.

    A folder of a stranger may have quotes in its name: they must not end the text in the code.
    """
    model, numbers = first_model(release), _numbers(release)
    formula = "" if model is None else _arguments(*model)
    lines = release.rule.snippet(formula, numbers[0] if numbers else "", len(release.tables))
    return f"import veladura as vd\n\nrelease = vd.load({json.dumps(folder)})\n{lines}"


def command(release: Release, folder: str = FOLDER) -> str:
    """Return two commands: the check of the folder, and a first analysis."""
    place = shlex.quote(folder)
    check = f"veladura verify {place}"
    if release.rule.posterior:
        return f"{check}\nveladura analyze {place} --posterior"
    if (model := first_model(release)) is None:
        return check
    formula, family = model
    extra = "" if family == "gaussian" else f" --family {family}"
    return f'{check}\nveladura analyze {place} "{formula}"{extra}'


def r_snippet(release: Release, folder: str = FOLDER) -> str:
    """Return R lines that read the datasets and ask the command line for combined estimates.

    The rule of the manifest combines them, so that no formula is copied.
    """
    reader = (
        "arrow::read_parquet" if release.manifest["files"]["format"] == "parquet" else "read.csv"
    )
    lines = [
        f"folder <- {json.dumps(folder)}",
        'files <- list.files(file.path(folder, "data"), full.names = TRUE)',
        f"datasets <- lapply(files, {reader})",
    ]
    asked = ["--posterior"] if release.rule.posterior else []
    if not asked and (model := first_model(release)) is not None:
        formula, family = model
        asked = [f"shQuote('{formula}')", *([] if family == "gaussian" else ["--family", family])]
    if asked:
        quoted = [word if word.startswith("shQuote") else f'"{word}"' for word in asked]
        call = ", ".join(['"analyze"', "shQuote(folder)", *quoted, '"--json"'])
        lines += [
            f'told <- system2("veladura", c({call}), stdout = TRUE)',
            'jsonlite::fromJSON(paste(told, collapse = "\\n"))',
        ]
    return "\n".join(lines)


def _arguments(formula: str, family: str) -> str:
    """Return the arguments of `analyze` as Python."""
    return f'"{formula}"' + ("" if family == "gaussian" else f', family="{family}"')


def first_model(release: Release) -> tuple[str, str] | None:
    """Return a formula and family that fit the columns of a release.

    None where no model can be combined, or none can be proposed.
    """
    if not release.rule.combines(len(release.tables)):
        return None
    numbers = list(
        islice(
            (name for name in _numbers(release) if _is_word(name) and _levels(release, name) > 1),
            2,
        )
    )
    groups = (
        name
        for name in _groups(release)
        if _is_word(name) and 1 < _levels(release, name) <= MOST_LEVELS
    )
    if numbers:
        terms = [*numbers[1:], *(f"C({name})" for name in islice(groups, 1))]
        return (f"{numbers[0]} ~ {' + '.join(terms)}", "gaussian") if terms else None
    few = list(groups)
    two = [name for name in few if _levels(release, name) == 2]  # noqa: PLR2004
    others = [name for name in few if name not in two[:1]]
    return (f"{two[0]} ~ C({others[0]})", "binomial") if two and others else None


def _numbers(release: Release) -> list[str]:
    """Return the number columns: sensitive ones first, then those that were replaced."""
    return _of_kind(release, ("integer", "number"))


def _groups(release: Release) -> list[str]:
    return _of_kind(release, ("category", "ordered"))


def _of_kind(release: Release, kinds: tuple[str, ...]) -> list[str]:
    changed = set(release.changed)
    fields = [
        f for f in release.tables[0].table.schema if f.kind in kinds and f.role not in WEIGHTS
    ]
    return [
        f.name for f in sorted(fields, key=lambda f: (f.role != "sensitive", f.name not in changed))
    ]


def _levels(release: Release, name: str) -> int:
    """Return how many categories a column has in the first dataset; of numbers 1 or 2."""
    summary = summarize([release.tables[0].table.select([name])])[name]
    if summary.distinct is not None:
        return summary.distinct
    return len(set(summary.ends)) if summary.values is None else len(summary.values)


def _is_word(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
