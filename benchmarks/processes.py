"""Processor seconds of a process and of all that it started, as Linux tells them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def spent_by(root: int, named: Callable[[str], str]) -> dict[str, float]:
    """Return the processor seconds of a process and its family, those that have ended included.

    Parameters
    ----------
    named
        Gives the name under which a process is counted, from its command line.
    """
    parents, spent, commands = {}, {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            command = (stat.parent / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:  # it has ended meanwhile
            continue
        pid = int(stat.parent.name)
        parents[pid], commands[pid] = int(fields[1]), command
        spent[pid] = sum(map(int, fields[11:15])) / _TICKS  # with those of children that ended
    family, grown = {root}, True
    while grown:
        children = {pid for pid, parent in parents.items() if parent in family}
        grown, family = not children <= family, family | children
    seconds: dict[str, float] = {}
    for pid in family & spent.keys():
        name = named(commands[pid])
        seconds[name] = seconds.get(name, 0.0) + spent[pid]
    return seconds
