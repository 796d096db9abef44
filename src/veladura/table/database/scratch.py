"""Private scratch space: spill files and transcoded copies hold original values."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import platformdirs


def custodian_home() -> Path:
    """Return the default custodian folder: ``VELADURA_CUSTODIAN``, or the user's state folder."""
    given = os.environ.get("VELADURA_CUSTODIAN")
    return Path(given) if given else platformdirs.user_state_path("veladura", appauthor=False)


def scratch_folder(custodian: Path | None = None) -> Path:
    """Return this process's scratch folder below a custodian folder, made with mode 0700."""
    return _own_scratch((custodian or custodian_home()).absolute() / "scratch", os.getpid())


@cache
def _own_scratch(home: Path, process: int) -> Path:
    """Make the folder once per process, after clearing what killed runs left behind."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    clear_stale(home)
    folder = Path(tempfile.mkdtemp(prefix=f"{process}-", dir=home))
    atexit.register(_clear, folder, process)
    return folder


def _clear(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a forked child must not clear its parent's folder
        shutil.rmtree(folder, ignore_errors=True)
        for parent in (folder.parent, folder.parent.parent):
            try:
                parent.rmdir()  # only when empty: other runs may be at work beside this one
            except OSError:
                break


def clear_stale(home: Path) -> None:
    """Remove scratch folders whose process is gone."""
    for folder in home.iterdir():
        process = folder.name.split("-")[0]
        if process.isdigit() and not _alive(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
