"""Private scratch space: spill files and transcoded copies hold original values."""

from __future__ import annotations

import atexit
import os
import secrets
from pathlib import Path

import platformdirs

from veladura.base.owned import Owned, abandoned, own
from veladura.base.private_files import private_folder
from veladura.errors import FolderError

_named: Path | None = None
_folders: dict[tuple[Path, int], Path] = {}


def custodian_home() -> Path:
    """Return the default custodian folder: ``VELADURA_CUSTODIAN``, or the user's state folder."""
    given = os.environ.get("VELADURA_CUSTODIAN")
    return Path(given) if given else platformdirs.user_state_path("veladura", appauthor=False)


def scratch_below(custodian: Path | None) -> None:
    """Keep all scratch of this process below the custodian folder of its plan, if it names one."""
    global _named  # noqa: PLW0603  # a process runs one plan, and spills wherever rows are counted
    _named = None if custodian is None else custodian.absolute()  # wherever the process goes next


def scratch_folder(custodian: Path | None = None) -> Path:
    """Return this process's scratch folder below a custodian folder, made with mode 0700.

    It is made once per process, and again when somebody has deleted the custodian folder since.
    """
    home = (custodian or _named or custodian_home()).absolute() / "scratch"
    mine = (home, os.getpid())
    if mine not in _folders or not _folders[mine].is_dir():
        _folders[mine] = _own_scratch(home)
    return _folders[mine]


def _own_scratch(home: Path) -> Path:
    """Make the folder, after clearing what killed runs left behind."""
    owned = None
    try:
        private_folder(home)
        clear_stale(home)
        while owned is None:
            owned = own(home / f"run-{secrets.token_hex(4)}")
    except OSError as error:
        msg = (
            f"the custodian folder {home.parent} cannot be written: {error.strerror}.\n\nHint: name"
            " another one with [custodian] folder, or VELADURA_CUSTODIAN."
        )
        raise FolderError(msg) from None
    atexit.register(_clear, owned)
    return owned.folder


def _clear(owned: Owned) -> None:
    owned.remove()
    for parent in (owned.folder.parent, owned.folder.parent.parent):
        try:
            parent.rmdir()  # only when empty: other runs may be at work beside this one
        except OSError:
            break


def clear_stale(home: Path) -> None:
    """Remove scratch folders whose process is gone."""
    for left in abandoned(home, "run-*"):
        left.remove()
