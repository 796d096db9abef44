"""The register of a series: its files in the custodian's home, and whether they are whole.

Every release has two files: settings (JSON) and hashes (Parquet). Both are sealed with the key of
the series, and every entry has the number of those before it: one that was changed, cut, taken out
or written with another key is seen. A register that cannot be read is never an empty one.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veladura.base.arrays import Ints
from veladura.base.owned import lock
from veladura.base.private_files import FILE_MODE, private_file, private_folder, write_private
from veladura.errors import FolderError
from veladura.release.entry import Entry

KEY, LOCK, SEAL = "key", "lock", "seal"
VALUES = ".values.parquet"  # released values that a consistent series keeps
SHOWN = "shown: "  # columns of hashes of released values, one for each column
KEPT = ("columns", "identity", "known", "outside", "exact", "drawn")  # lists in JSON
HASHES = ("person", "group", "alone")
NOT_KEPT = ("home", "values", "source", "whose")


@dataclass(frozen=True)
class Register:
    """The files of one series."""

    folder: Path

    def key(self) -> bytes:
        """Return the key of its hashes, made with the first release."""
        path = self.folder / KEY
        if not path.exists():
            if self._stems():
                self._refuse("its key is gone, so that nobody can say who is in two releases")
            with self.locked():
                if not path.exists():
                    write_private(path, secrets.token_hex(32))
        try:
            return bytes.fromhex(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self._refuse("its key cannot be read")

    def read(self) -> list[Entry]:
        """Return the entries, oldest first; refuse a register that is not whole."""
        stems = self._stems()
        if not stems:
            return []
        key, found = self.key(), []
        for stem in stems:
            try:
                found.append(self._entry(stem, key))
            except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
                self._refuse("a file of it is missing, or cannot be read")
        found.sort(key=lambda entry: entry.made)
        if any(entry.before > place for place, entry in enumerate(found)):
            self._refuse("releases are missing from it")
        return found

    def write(self, entry: Entry) -> None:
        """Write an entry, or write it anew: hashes and settings, no values."""
        key, stem = self.key(), _stem(entry)
        hashes = {name: getattr(entry, name) for name in HASHES}
        hashes |= {f"{SHOWN}{name}": array for name, array in entry.shown.items()}
        given = {name: array for name, array in hashes.items() if name in HASHES[:2] or array.size}
        with private_file(self.folder / f"{stem}.parquet") as stream:
            pq.write_table(_padded(given), stream)
        left_out = {*HASHES, *NOT_KEPT, "shown"}
        about = {f.name: getattr(entry, f.name) for f in fields(entry) if f.name not in left_out}
        about = json.loads(json.dumps(about))  # as it will be read
        about[SEAL] = self._seal(stem, about, key)
        write_private(self.folder / f"{stem}.json", json.dumps(about, indent=2) + "\n")

    def forget(self, entry: Entry) -> None:
        """Take out an entry whose release was never handed out."""
        for ending in (".json", ".parquet"):
            (self.folder / f"{_stem(entry)}{ending}").unlink(missing_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out while it is read and written; the system ends it with the process."""
        try:
            private_folder(self.folder)
            handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, FILE_MODE)
        except OSError:
            self._refuse("it cannot be written", "make the folder writable for you")
        try:
            lock(handle, wait=True)
            yield
        finally:
            os.close(handle)  # which releases the lock

    def _stems(self) -> list[str]:
        """Return the names of its entries, of which some file is there."""
        if not self.folder.exists():
            return []
        names = [path.name for path in self.folder.iterdir() if not path.name.endswith(VALUES)]
        ends = (".json", ".parquet")
        return sorted({Path(name).stem for name in names if name.endswith(ends)})

    def _entry(self, stem: str, key: bytes) -> Entry:
        about = json.loads((self.folder / f"{stem}.json").read_text(encoding="utf-8"))
        seal = about.pop(SEAL, None)  # registers of earlier versions have none
        if unknown := about.keys() - {f.name for f in fields(Entry)}:
            what = f"it is of a later version of veladura (it has {', '.join(sorted(unknown))})"
            self._refuse(what, "install the version that wrote it")
        if seal is not None and not secrets.compare_digest(seal, self._seal(stem, about, key)):
            self._refuse("a file of it, or its key, was changed since it was written")
        rows = pq.read_table(self.folder / f"{stem}.parquet")
        arrays = {name: rows[name].drop_null().to_numpy() for name in rows.column_names}
        shown = {n.removeprefix(SHOWN): arrays.pop(n) for n in [*arrays] if n.startswith(SHOWN)}
        about |= {name: tuple(about.get(name, ())) for name in KEPT}
        return Entry(**about, **arrays, shown=shown)

    def _seal(self, stem: str, about: Mapping[str, Any], key: bytes) -> str:
        """Return the keyed hash of both files of an entry.

        Where the release lies is not sealed: it may be moved, and has a digest of its own.
        """
        settings = json.dumps({**about, "folder": ""}, sort_keys=True)
        sealed = blake2b(settings.encode(), digest_size=16, key=key)
        sealed.update((self.folder / f"{stem}.parquet").read_bytes())
        return sealed.hexdigest()

    def _refuse(self, why: str, what: str = "restore the folder from a backup") -> NoReturn:
        msg = (
            f"the register of the series {self.folder.name!r} ({self.folder}): {why}. What earlier"
            f" releases told is not known, so nothing was released.\n\nHint: {what}. Another name"
            " of the series would begin anew, and compare with none of them."
        )
        raise FolderError(msg) from None


def _stem(entry: Entry) -> str:
    return entry.made.replace(":", "")


def _padded(arrays: Mapping[str, Ints]) -> pa.Table:
    """Return arrays of different lengths as one table of whole numbers."""
    longest = max(array.size for array in arrays.values())
    return pa.table(
        {
            name: pa.array(
                np.pad(np.asarray(array, dtype=np.int64), (0, longest - array.size)),
                mask=np.arange(longest) >= array.size,
            )
            for name, array in arrays.items()
        }
    )
