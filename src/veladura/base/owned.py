"""Folders that belong to one running process: a lock, which ends with the process, says so."""

from __future__ import annotations

import atexit
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from veladura.base.private_files import FILE_MODE, private_folder

LOCK = "lock"


@dataclass(frozen=True)
class Owned:
    """A folder that no other process may touch as long as this one lives."""

    folder: Path
    handle: int
    process: int

    def remove(self) -> None:
        """Remove the folder. Its lock goes last: until then nobody else can own it."""
        if os.getpid() != self.process or not self._is_mine():  # a forked child leaves it alone
            return
        for path in self.folder.iterdir():
            if path.name != LOCK:
                _remove(path)
        (self.folder / LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # another process made it its own in this moment
            self.folder.rmdir()
        os.close(self.handle)
        atexit.unregister(self.remove)

    def _is_mine(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.handle), (self.folder / LOCK).stat())
        except OSError:
            return False


def own(folder: Path) -> Owned | None:
    """Make a folder the process's own, with what is in it; None if a living process has it.

    It is removed at the end of the process at the latest. A process that is killed leaves it, and
    the next one that asks gets it.
    """
    while True:
        try:
            private_folder(folder)
            handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, FILE_MODE)
        except (FileNotFoundError, FileExistsError):
            if folder.exists() and not folder.is_dir():
                raise
            continue  # its owner removed it in this moment
        if not lock(handle, wait=False):
            os.close(handle)
            return None
        owned = Owned(folder, handle, os.getpid())
        if owned._is_mine():  # noqa: SLF001  # else its owner removed it in this moment
            atexit.register(owned.remove)
            return owned
        os.close(handle)


def abandoned(home: Path, pattern: str) -> Iterator[Owned]:
    """Yield the folders below another that killed processes left; they are the caller's now."""
    for folder in sorted(home.glob(pattern)):
        if folder.is_symlink() or not folder.is_dir():
            continue
        if (folder / LOCK).exists():
            if (owned := own(folder)) is not None:
                yield owned
        else:
            with suppress(OSError):  # made and never owned; one with anything in it is not ours
                folder.rmdir()


def lock(handle: int, *, wait: bool) -> bool:
    """Lock an open file for this process, until it is closed; False if another one has it.

    The system ends the lock with the process, however that ends.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        return _lock_on_windows(handle, wait=wait)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _lock_on_windows(handle: int, *, wait: bool) -> bool:
    import msvcrt

    mode = "LK_LOCK" if wait else "LK_NBLCK"
    try:
        msvcrt.locking(handle, getattr(msvcrt, mode), 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError:
        if wait:
            raise
        return False
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
