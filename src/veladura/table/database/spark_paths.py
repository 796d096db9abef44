"""Folders as Spark reads their names: it takes the text as it is, not as a URL with escapes.

A path that Java or Hadoop read otherwise leads rows, which are original values, to another folder.
So whoever has a custodian folder with unusual characters has it tried first, without a row.
"""

from __future__ import annotations

import locale
import re
import secrets
import shutil
from pathlib import Path
from typing import Any

from veladura.errors import FolderError

_PLAIN = re.compile(r"[A-Za-z0-9/._ +=@~-]*\Z")
_PATTERN = re.compile(r"([*?\[\]{}\\])")  # Hadoop takes these for patterns of names
_tried: set[tuple[str, Path]] = set()


def path_to_write(folder: Path) -> str:
    """Return a folder on this machine, or on shared storage, as a writer of Spark wants it.

    Examples
    --------
    >>> path_to_write(Path("/my safe/100 %"))
    'file:///my safe/100 %'
    """
    return f"file://{folder.absolute()}"


def path_to_read(path: Path) -> str:
    r"""Return a file or folder as a reader of Spark wants it, which knows patterns of names.

    Examples
    --------
    >>> print(path_to_read(Path("/safe [1]/a")))
    file:///safe \[1\]/a
    """
    escaped = _PATTERN.sub(r"\\\1", str(path.absolute()))
    return f"file://{escaped}"


def refuse_unreachable(session: Any, home: Path) -> None:
    """Refuse a folder that Spark would miss, before any row is written.

    A table without rows is written below it and read back, once for each folder with other
    characters than plain ones.

    Parameters
    ----------
    home
        The folder in which a new one is about to be written.
    """
    home = home.absolute()
    key = str(session.conf.get("spark.app.id", "")), home
    if _PLAIN.match(str(home)) or key in _tried:
        return
    trial = home / f"{secrets.token_hex(8)}.trial"
    try:
        _write_nothing(session, trial)
    except Exception:  # noqa: BLE001  # Java, Hadoop and Connect raise many types
        reached = False
    else:
        reached = True
    finally:
        shutil.rmtree(trial, ignore_errors=True)
    if not reached:
        msg = (
            f"Spark does not reach the folder {home}: Java or Hadoop read its name otherwise. No"
            " row was written.\n\nHint: name a custodian folder of plain letters, without colons,"
            " with [custodian] folder or VELADURA_CUSTODIAN; where only accents are the matter,"
            " set LC_ALL=C.UTF-8 for the driver and the workers."
        )
        raise FolderError(msg)
    _tried.add(key)


def _write_nothing(session: Any, trial: Path) -> None:
    session.range(0).coalesce(1).write.parquet(path_to_write(trial))
    (part,) = trial.glob("part-*.parquet")
    # a reader finds the schema in the file: it need not run
    if session.read.parquet(path_to_read(part)).columns != ["id"]:
        raise FileNotFoundError


def local_folder(home: Path) -> str:
    """Return a folder for what Spark sorts on this machine, as its setting wants it."""
    if "," in str(home):
        msg = (
            f"Spark takes the comma in {home} for two folders.\n\nHint: name a custodian folder"
            " without commas, with [custodian] folder or VELADURA_CUSTODIAN."
        )
        raise FolderError(msg)
    if not str(home).isascii() and locale.setlocale(locale.LC_CTYPE) in ("C", "POSIX"):
        msg = (
            f"Java cannot name the folder {home} in the locale C.\n\nHint: set LC_ALL=C.UTF-8, or"
            " name a custodian folder without accents, with [custodian] folder or"
            " VELADURA_CUSTODIAN."
        )
        raise FolderError(msg)
    return str(home)
