"""A folder that is written whole or not at all, and the files in it with their hashes."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veladura.base.owned import Owned, abandoned, own
from veladura.errors import FolderError, PromiseError

SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
MOST_JSON = 1 << 26  # bytes of a file of words and numbers
PART = ".part"
PATIENCE = 60  # seconds that a run waits for another one into the same folder


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a release folder that exists, unless it is a release and may be replaced."""
    if "\0" in str(folder):
        msg = "the name of the release folder has a NUL character.\n\nHint: name another folder."
        raise FolderError(msg)
    try:
        if not folder.exists():
            return
    except OSError as error:  # a name that is too long, or a folder that may not be looked into
        msg = f"the release folder cannot be used: {error.strerror}.\n\nHint: name another folder."
        raise FolderError(msg) from None
    if not force:
        msg = f"{folder} exists already.\n\nHint: name another folder, or replace it with --force."
        raise FolderError(msg)
    if not folder.is_dir() or (any(folder.iterdir()) and not (folder / "manifest.json").exists()):
        msg = (
            f"{folder} exists and is not a release folder, so it is not replaced.\n\nHint: name"
            " another folder."
        )
        raise FolderError(msg)


@contextmanager
def new_folder(folder: Path, *, force: bool) -> Iterator[Path]:
    """Yield an empty folder; it gets the wanted name when everything is written, in one step.

    It lies in a hidden folder beside the wanted one, which belongs to this run: another run into
    the same place waits, and one that finds what a killed run left removes it.
    """
    with _reported(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        clear_unfinished(folder.parent)
        part = _own_part(folder)
    try:
        with _reported(folder):
            check_folder(folder, force=force)  # another run may have written it meanwhile
            fresh = part.folder / "new"
            fresh.mkdir()
            yield fresh
            for path in (*fresh.rglob("*"), fresh):
                _sync(path)
            _put(fresh, folder, aside=part.folder / "old")
            _sync(folder.parent)
    finally:
        part.remove()


def clear_unfinished(home: Path) -> None:
    """Remove what killed runs left beside releases, and put back what they had set aside."""
    for left in abandoned(home, f".*{PART}"):
        _restore(left.folder)
        left.remove()


@contextmanager
def _reported(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = (
            f"{folder} could not be written: {error.strerror}. Nothing was released.\n\nHint: check"
            " the free space and the permissions there."
        )
        raise FolderError(msg) from None


def _own_part(folder: Path) -> Owned:
    """Return the hidden folder in which a release is written, as soon as no other run has it."""
    place = folder.parent / f".{folder.name}{PART}"
    end = time.monotonic() + PATIENCE
    while (part := own(place)) is None:
        if time.monotonic() > end:
            msg = (
                f"another run is writing {folder} and has not finished within {PATIENCE} seconds."
                " Nothing was released.\n\nHint: name another folder, or run again when it is done."
            )
            raise FolderError(msg)
        time.sleep(0.05)
    return part


def _put(fresh: Path, folder: Path, aside: Path) -> None:
    """Give a new folder its name; a release that has the name is exchanged with it in one step.

    Where the disk cannot do that, the old one is set aside first: a run that is killed between the
    two steps leaves it there, and the next run puts it back.
    """
    if not folder.exists():
        fresh.rename(folder)
    elif not exchanged(fresh, folder):
        folder.rename(aside)
        fresh.rename(folder)


def _restore(part: Path) -> None:
    """Put back the release that a killed run had set aside."""
    folder = part.parent / part.name.removeprefix(".").removesuffix(PART)
    if (part / "old").exists() and not folder.exists():
        (part / "old").rename(folder)


def set_aside(folder: Path) -> Path | None:
    """Return where a run that was killed set a release aside, if one did."""
    aside = folder.parent / f".{folder.name}{PART}" / "old"
    try:
        return None if folder.exists() or not (aside / "manifest.json").is_file() else aside
    except OSError:
        return None


def say_set_aside(folder: Path) -> str:
    """Return words on a release that a killed run set aside; an empty text where there is none."""
    aside = set_aside(folder)
    if aside is None:
        return ""
    return (
        f" A run that was killed while it replaced this release set it aside in {aside}: the next"
        " veladura run beside it puts it back, or move it there yourself."
    )


def exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2  # Linux, glibc 2.28 and later
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of <fcntl.h>
    return bool(rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)


def read_json(path: Path) -> Any:
    """Return a JSON file of a package: a plain file of bounded size, in which no key is twice."""
    try:
        text = path.read_text(encoding="utf-8") if _is_small(path) else ""
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError):
        msg = (
            f"{path} is missing or not valid JSON: this is not a whole release folder."
            f"{say_set_aside(path.parent)}\n\nHint: name a folder that veladura run wrote."
        )
        raise PromiseError(msg) from None


def _is_small(path: Path) -> bool:
    return is_plain(path) and path.stat().st_size <= MOST_JSON


def _refuse(constant: str) -> None:
    """Refuse NaN and infinite numbers, which JSON does not have."""
    raise ValueError(constant)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that occurs twice: another reader might take the other one."""
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError
    return dict(pairs)


def write_json(path: Path, value: Mapping[str, Any] | list[dict[str, Any]]) -> None:
    """Write a JSON file of a package."""
    path.write_text(
        json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )


def listed_files(folder: Path) -> list[str]:
    """Return the path of every file inside a package, except the list of hashes and its signature.

    Links, devices and empty folders are listed too, so that nothing in the folder goes unseen.
    """
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_symlink() or not path.is_dir() or not any(path.iterdir())
        if path.relative_to(folder).as_posix() not in (SUMS, SIGNATURE)
    )


def is_plain(path: Path) -> bool:
    """Whether a path is a file of its own: no link, no device, no folder."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_hashes(folder: Path) -> None:
    """Write the hash of every file of a package, as ``sha256sum -c`` reads them."""
    lines = [f"{file_hash(folder / name)}  {name}" for name in listed_files(folder)]
    (folder / SUMS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_hashes(folder: Path) -> dict[str, str]:
    """Return the hash of every file by its path inside the package."""
    if not _is_small(folder / SUMS):
        msg = f"{SUMS} is no file that can be read"
        raise ValueError(msg)
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    return dict(_once([(name, digest) for digest, name in (line.split("  ", 1) for line in lines)]))


def _sync(path: Path) -> None:
    """Flush a file or folder to disk, so that a name never points to half of it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
