"""How much memory a run may take: a setting, from which everything that holds rows takes its share.

``[run] memory`` in a plan, or ``VELADURA_MEMORY``; without either there is no limit beside those of
the machine.
"""

from __future__ import annotations

import os
import re

from veladura.errors import PlanError

VARIABLE = "VELADURA_MEMORY"
LEAST = 1 << 30
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_UNITS |= {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKMGT]i?B)")
OF_DATABASE = 0.4  # share of the memory that DuckDB may hold; beyond it spills to scratch
OF_ROWS = 0.4  # share for rows that a method holds; the rest is for code and libraries
OF_NUMBERS = 0.125  # share for one number of every row, while it is sorted
MOST_NUMBERS = 1 << 26  # of them where nobody sets a limit
BYTES_A_CELL = 70  # an estimate of what protecting and assessing takes for every cell that is held
OF_MACHINE = 0.75  # share of a machine's memory for rows, where nobody sets a limit
_A_THREAD = 1 << 28  # memory that DuckDB wants for each of its threads

_limit: int | None = None


def size_of(text: str) -> int:
    """Return a size in bytes.

    Examples
    --------
    >>> size_of("4 GiB"), size_of("1.5GB")
    (4294967296, 1500000000)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2] not in _UNITS:
        msg = (
            f"memory must be a number with a unit, got {text!r}.\n\nHint: as in"
            f' memory = "4 GiB"; units are {", ".join(_UNITS)}.'
        )
        raise PlanError(msg)
    size = int(float(match[1]) * _UNITS[match[2]])
    if size < LEAST:
        msg = (
            f"memory = {text!r} is less than Python and its libraries need with any table at"
            ' all.\n\nHint: give at least memory = "1 GiB".'
        )
        raise PlanError(msg)
    return size


def limit_memory(text: str | None) -> None:
    """Set the memory of this process's runs; None leaves it to the environment."""
    global _limit  # noqa: PLW0603  # a process runs one plan
    _limit = None if text is None else size_of(text)


def memory_limit() -> int | None:
    """Return the bytes that a run may take: the plan's word, else the environment's, else None."""
    if _limit is not None:
        return _limit
    given = os.environ.get(VARIABLE, "")
    return size_of(given) if given else None


def database_memory() -> int | None:
    """Return the bytes that DuckDB may hold."""
    limit = memory_limit()
    return None if limit is None else int(OF_DATABASE * limit)


def database_threads(threads: int) -> int:
    """Return how many of some threads DuckDB may use within the memory."""
    share = database_memory()
    return threads if share is None else max(1, min(threads, share // _A_THREAD))


def cells_within() -> int | None:
    """Return the number of cells (rows times columns) that may be held; None without a limit."""
    limit = memory_limit()
    return None if limit is None else int(OF_ROWS * limit) // BYTES_A_CELL


def rows_within(most: int, columns: int) -> int:
    """Return how many rows a piece may have, at most so many: fewer where a table is wide.

    By the setting of the run, neither by the machine nor by its threads: draws and the cuts of
    files depend on it.

    Examples
    --------
    >>> limit_memory("1 GiB")
    >>> rows_within(100_000, 10), rows_within(100_000, 300)
    (100000, 10226)
    >>> limit_memory(None)
    """
    within = cells_within()
    return most if within is None else max(1, min(most, within // (2 * columns)))


def holds_numbers(rows: int) -> bool:
    """Whether one number of every row may be held: sorting them here is faster than in a database.

    No result depends on it.
    """
    limit = memory_limit()
    return rows <= (MOST_NUMBERS if limit is None else min(MOST_NUMBERS, OF_NUMBERS * limit / 8))


def cells_here() -> int | None:
    """Return the number of cells that this process may hold: by the setting, else by the machine.

    For what is asked of a release that is there already; a release itself never depends on it.
    """
    within = cells_within()
    if within is not None or "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return within
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return int(OF_MACHINE * memory) // BYTES_A_CELL


def refuse_to_hold(cells: int, what: str, instead: str) -> None:
    """Refuse to bring the rows of a release into memory where they do not fit.

    Parameters
    ----------
    instead
        What to do, as a sentence.
    """
    most = cells_here()
    if most is None or cells <= most:
        return
    msg = (
        f"{what} has {cells:,} cells (rows times columns), and at most {most:,} are held in memory"
        f" here.\n\nHint: {instead}"
    )
    raise PlanError(msg)


def refuse_beyond(cells: int, what: str, why: str) -> None:
    """Refuse to hold a table that does not fit, before anything is read.

    Parameters
    ----------
    why
        Who holds it, as in "the method 'cart'".
    """
    most = cells_within()
    if most is None or cells <= most:
        return
    limit, needed = memory_limit() or 0, int(cells * BYTES_A_CELL / OF_ROWS)
    msg = (
        f"{what} has {cells:,} cells (rows times columns), and {why} holds them all: about"
        f" {needed / 2**30:.1f} GiB, where {limit / 2**30:.1f} GiB are allowed. Nothing was"
        " read.\n\nHint: allow more with [run] memory (or VELADURA_MEMORY), leave columns out, draw"
        " a sample of rows first, or use a method that only counts, such as k-anonymity."
    )
    raise PlanError(msg)
