"""Edit the text of a plan: single lines change, comments and everything else stay."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from veladura.errors import PlanError
from veladura.plan.accounting import toml_key

OTHERS = "Other settings and their defaults. To change one, remove the first # of its line."
CONFIRMED = "# Written by veladura confirm: the shape of the source that the holder confirmed."
_HEADER = re.compile(r"^\s*\[")


def set_column(text: str, name: str, settings: Mapping[str, Any]) -> str:
    """Return the text with some settings of a column, in its table or in a new one.

    None takes a setting out.
    """
    lines = text.splitlines()
    if _header(lines, ["columns", name]) is None:
        inline = _set_inline(lines, name, settings)
        return inline or _add_table(text, ["columns", name], settings)
    return set_table(text, ["columns", name], settings)


def set_table(text: str, path: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Return the text with some settings of a table such as ``[release]``, or with a new table.

    Plain values and lists are written, and tables on one line. None takes a setting out.
    """
    lines = text.splitlines()
    start = _header(lines, path)
    if start is None:
        return _add_table(text, path, settings)
    for key, value in settings.items():
        if (below := _header(lines, [*path, key])) is not None:  # written as a table of its own
            del lines[below : _end(lines, below)]
        place = _place_of(lines, start, key)
        if place is not None:
            del lines[place[0] : place[1]]
        if value is not None:
            end = _end(lines, start)
            last = max(i for i in range(start, end) if lines[i].strip() and lines[i][0] != "#")
            at = place[0] if place is not None else last + 1
            lines.insert(at, _line(key, value))
    return "\n".join(lines) + "\n"


def _line(key: str, value: Any) -> str:
    """Return a setting on a line of its own; of a list, on several."""
    if not isinstance(value, Mapping):
        return tomli_w.dumps({key: value}).strip()
    parts = ", ".join(_line(name, item) for name, item in value.items() if item is not None)
    return f"{toml_key(key)} = {{{parts}}}"


def _place_of(lines: Sequence[str], start: int, key: str) -> tuple[int, int] | None:
    """Return the lines of a setting in a table, from its first to the one after its last."""
    end = _end(lines, start)
    for i in range(start + 1, end):
        own = next(
            (parsed for j in range(i + 1, end + 1) if (parsed := _parsed("\n".join(lines[i:j])))),
            None,
        )
        if lines[i].strip() and own is not None and key in own and not lines[i].startswith("#"):
            stop = next(j for j in range(i + 1, end + 1) if _parsed("\n".join(lines[i:j])) == own)
            return i, stop
    return None


def set_steps(text: str, steps: str) -> str:
    """Return the text with other ``[[step]]`` tables, given as text, where the first one stood.

    The comments above them go with them.
    """
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip() == "[[step]]"), len(lines))
    last = first
    while (
        start := next((i for i in range(last, len(lines)) if _is_step(lines[i])), None)
    ) is not None:
        last = _end(lines, start)
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    below = "\n".join(lines[last:]).lstrip("\n").splitlines()
    if below and below[0].startswith(f"# {OTHERS[:14]}"):
        below = below[below.index("") + 1 :] if "" in below else []
    return "\n".join([*lines[:first], steps.rstrip(), "", *below]) + "\n"


def _is_step(line: str) -> bool:
    return line.strip() == "[[step]]" or line.lstrip().startswith(("[step.", "[[step."))


def set_unconfirmed(text: str, points: Sequence[str]) -> str:
    """Return the text with the points that are still to be confirmed."""
    lines = text.splitlines()
    line = tomli_w.dumps({"unconfirmed": list(points)}).strip()
    first = next((i for i, old in enumerate(lines) if _HEADER.match(old)), len(lines))
    start = next((i for i in range(first) if _is_key(lines[i], "unconfirmed")), None)
    if start is None:
        return text if not points else f"{line}\n\n{text}"
    end = next(
        end for end in range(start + 1, len(lines) + 1) if _parses("\n".join(lines[start:end]))
    )
    return "\n".join([*lines[:start], line, *lines[end:]]) + "\n"


def set_confirmed(text: str, confirmed: Mapping[str, Any] | None) -> str:
    """Return the text with the table ``[confirmed]`` at its end, in place of an older one.

    None takes it out.
    """
    lines = text.splitlines()
    for header in (["confirmed", "levels"], ["confirmed", "columns"], ["confirmed"]):
        if (start := _header(lines, header)) is not None:
            del lines[start : _end(lines, start)]
    kept = "\n".join(line for line in lines if line != CONFIRMED).rstrip()
    if confirmed is None:
        return f"{kept}\n"
    return f"{kept}\n\n{CONFIRMED}\n{tomli_w.dumps({'confirmed': confirmed})}"


def set_intruders(text: str, intruders: Sequence[Mapping[str, Any]]) -> str:
    """Return the text with other ``[[intruder]]`` tables, where the first one stood."""
    lines = text.splitlines()
    first = None
    while (
        start := next((i for i, line in enumerate(lines) if _is_intruder(line)), None)
    ) is not None:
        first = start if first is None else first
        del lines[start : _end(lines, start)]
    new = "\n".join(map(_intruder_table, intruders)).rstrip()
    if first is None:
        return f"{text.rstrip()}\n\n{new}\n" if new else text
    return "\n".join([*lines[:first], *([new] if new else []), *lines[first:]]) + "\n"


def _is_intruder(line: str) -> bool:
    return line.strip() == "[[intruder]]" or line.lstrip().startswith("[intruder.")


def _intruder_table(intruder: Mapping[str, Any]) -> str:
    flat = {key: value for key, value in intruder.items() if key != "within"}
    within = {"intruder": {"within": intruder["within"]}} if intruder.get("within") else {}
    return f"[[intruder]]\n{tomli_w.dumps(flat)}{tomli_w.dumps(within)}"


def comment_above(text: str, name: str) -> str:
    """Return the comment directly above the table of a column; a line for each sentence."""
    lines = text.splitlines()
    start = _header(lines, ["columns", name])
    above: list[str] = []
    for line in reversed(lines[:start] if start is not None else []):
        if not line.startswith("#"):
            break
        above.insert(0, line.lstrip("# "))
    joined = " ".join(above)
    return re.sub(r"(?:(?<=\.) | )(?=In this plan: |[\d,]+ distinct )", "\n", joined)


def check_edit(text: str, expected: Mapping[str, Any]) -> None:
    """Refuse an edited text that does not say what it should: the plan is written unusually."""
    try:
        said: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        said = None
    if said != expected:
        msg = (
            "the plan is written in a way that veladura confirm cannot edit. It was left as it"
            " is.\n\nHint: write every column as a table of its own: [columns.NAME], with role and"
            " kind on lines of their own."
        )
        raise PlanError(msg)


def write_private(path: Path, text: str) -> None:
    """Write a plan, readable by its owner only; it appears whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text.encode())
    part.replace(path)


def _header(lines: Sequence[str], path: Sequence[str]) -> int | None:
    """Return the line of the header of a table."""
    wanted: Any = {}
    for key in reversed(path):
        wanted = {key: wanted}
    for i, line in enumerate(lines):
        if line.lstrip().startswith(f"[{path[0]}") and _parsed(line) == wanted:
            return i
    return None


def _end(lines: Sequence[str], start: int) -> int:
    """Return the end of a table: where its settings end, before comments on the next table."""
    end = next((i for i in range(start + 1, len(lines)) if _HEADER.match(lines[i])), len(lines))
    while end < len(lines) and not _parses("\n".join(lines[start:end])):
        end += 1  # the header was a line of a list
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _set_inline(lines: list[str], name: str, settings: Mapping[str, Any]) -> str | None:
    """Return the text where the column is one line of ``[columns]``; None where it is not."""
    start = _header(lines, ["columns"])
    for i in range(start + 1, _end(lines, start)) if start is not None else ():
        if (own := _parsed(lines[i])) is not None and name in own and isinstance(own[name], dict):
            both = {**own[name], **settings}
            new = {key: value for key, value in both.items() if value is not None}
            parts = [_line(key, value) for key, value in new.items()]
            lines[i] = f"{toml_key(name)} = {{ {', '.join(parts)} }}"
            return "\n".join(lines) + "\n"
    return None


def _add_table(text: str, path: Sequence[str], settings: Mapping[str, Any]) -> str:
    given = {key: value for key, value in settings.items() if value is not None}
    if not given:
        return text
    header = ".".join(map(toml_key, path))
    lines = "\n".join(_line(key, value) for key, value in given.items())
    return f"{text.rstrip()}\n\n[{header}]\n{lines}\n"


def _is_key(line: str, key: str) -> bool:
    return re.match(rf"\s*{re.escape(key)}\s*=", line) is not None


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None


def _parses(text: str) -> bool:
    return _parsed(text) is not None
