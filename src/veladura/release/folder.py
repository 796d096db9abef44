"""A folder that is written whole or not at all, and the files in it with their hashes."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veladura.errors import FolderError, PromiseError

SUMS, SIGNATURE = "SHA256SUMS", "SHA256SUMS.sig"
MOST_JSON = 1 << 26  # bytes of a file of words and numbers


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a release folder that exists, unless it is a release and may be replaced."""
    if not folder.exists():
        return
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
    """Yield a folder beside the wanted one; it gets the wanted name when everything is written."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}.part-"
    for stale in folder.parent.glob(f"{prefix}*"):
        shutil.rmtree(stale, ignore_errors=True)  # left by a run that was killed
    fresh = folder.parent / f"{prefix}{secrets.token_hex(4)}"
    fresh.mkdir()
    try:
        yield fresh
        for path in (*fresh.rglob("*"), fresh):
            _sync(path)
        if folder.exists() and force:
            aside = folder.parent / f"{prefix}{secrets.token_hex(4)}"
            folder.rename(aside)
            fresh.rename(folder)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            fresh.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        msg = (
            f"{folder} could not be written: {error.strerror}. Nothing was released.\n\nHint: check"
            " the free space and the permissions there."
        )
        raise FolderError(msg) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def read_json(path: Path) -> Any:
    """Return a JSON file of a package: a plain file of bounded size, in which no key is twice."""
    try:
        text = path.read_text(encoding="utf-8") if _is_small(path) else ""
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)
    except (OSError, ValueError, RecursionError):
        msg = (
            f"{path} is missing or not valid JSON: this is not a whole release folder.\n\nHint:"
            " name a folder that veladura run wrote."
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
