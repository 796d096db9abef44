"""A recipe on trial: the frame with planted values, its releases made once.

What "the same" means of two of them.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from veladura import example
from veladura.core.recipe import Recipe
from veladura.core.release import Release
from veladura.measures.assessment import assess
from veladura.release.package import save
from veladura.table.source import open as open_table
from veladura.table.table import Table

if TYPE_CHECKING:
    from veladura.measures.assessment import Assessment

CANARY = "canary-5d41402abc4b"
CANARY_NUMBER = 7_919_193
SEED = 20


class ContractError(AssertionError):
    """A recipe breaks the contract."""


@dataclass(frozen=True, eq=False)
class Case:
    """A recipe and the frame it is tried on; what several checks look at is made once."""

    recipe: Recipe
    frame: pd.DataFrame
    identifiers: tuple[str, ...]
    folders: dict[str, Path] = field(default_factory=dict, init=False, repr=False)  # by format

    def table(self, frame: Any = None) -> Table:
        """Return a frame, by default the case's own, opened with its identifiers declared."""
        columns = {name: {"role": "identifier"} for name in self.identifiers}
        return open_table(self.frame if frame is None else frame, columns, name="contract")

    def protect(self, frame: Any = None, *, seed: int = SEED, threads: int = 2) -> Release:
        """Return a release of a frame, by default of the case's own.

        A private recipe is told that it is a test.
        """
        given = seed if self.recipe.seedable else None
        return self.recipe.protect(
            self.table(frame), seed=given, threads=threads, unsafe_repeatable=True
        )

    @cached_property
    def release(self) -> Release:
        """A release of the case's own frame."""
        return self.protect()

    @cached_property
    def _drawn_once(self) -> Release:
        """The release with pictures that are drawn once, however often it is saved."""
        made = self.release
        return replace(
            made,
            pictures=tuple(map(cache, made.pictures)),
            public_pictures=tuple(map(cache, made.public_pictures)),
        )

    def saved(self, format_: str) -> Path:
        """Return the folder in which the release is saved, with all its pages."""
        if format_ not in self.folders:
            self.folders[format_] = self.save(self._drawn_once, format_)
        return self.folders[format_]

    def save(self, release: Release, format_: str = "parquet") -> Path:
        """Return a new folder with a release in it.

        Package and record. It is gone when the case is.
        """
        home = Path(tempfile.mkdtemp())
        finalize(self, shutil.rmtree, home, ignore_errors=True)
        save(
            release,
            home / "out" / "release",
            home / "safe" / "record",
            format=format_,
            assessment=self._assessment,
        )
        return home

    @cached_property
    def _assessment(self) -> Assessment | None:
        return (
            None if self.release.original is None else assess(self.release.original, self.release)
        )


def example_frame(rows: int = 400) -> pd.DataFrame:
    """Return the head of the clinic register with varied dtypes.

    Canaries that must never come out.

    They stand in the identifiers, the index, the attributes of the frame, an unused category and
    a rare cell of a category and of a number.
    """
    text = {"zip": "str", "social_number": "str"}
    frame = pd.read_csv(example.path("clinic.csv"), dtype=text, parse_dates=["birth"], nrows=rows)
    frame["name"] = [f"{CANARY}-{i}" for i in range(rows)]
    frame["income"] = frame["income"].astype("Int64")
    frame.loc[3, "income"] = CANARY_NUMBER
    frame["stay"] = frame["stay"].astype("int32")
    frame["marital"] = pd.Categorical(
        frame["marital"],
        categories=["single", "married", "divorced", "widowed", f"{CANARY}-unused"],
    )
    frame["sex"] = pd.Categorical(frame["sex"])
    frame.loc[5, "diagnosis"] = f"{CANARY}-rare"
    frame.index = pd.Index([f"{CANARY}-row-{i}" for i in range(rows)], name="patient")
    frame.attrs["origin"] = CANARY
    return frame


def data_bytes(home: Path) -> list[bytes]:
    """Return the data files of a saved release."""
    return [path.read_bytes() for path in sorted((home / "out" / "release" / "data").iterdir())]


def same_values(one: Release, other: Release) -> bool:
    """Whether two releases hold the same values."""
    pairs = zip(one.tables, other.tables, strict=True)
    return all(equal_tables(a.table.arrow, b.table.arrow) for a, b in pairs)


def equal_tables(one: pa.Table, other: pa.Table) -> bool:
    """Whether two tables hold the same values."""
    return one.num_rows == other.num_rows and all(
        equal(one[name], other[name]) for name in one.column_names
    )


def equal(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Whether two columns hold the same values."""
    return bool(one.equals(other)) or bool(one.to_pylist() == other.to_pylist())


def sorted_rows(table: pa.Table) -> list[tuple[str, ...]]:
    """Return the rows of a table in an order of their own."""
    return sorted(tuple(map(repr, row.values())) for row in table.to_pylist())


def content(path: Path) -> bytes:
    """Return what a file says: its bytes and, for Parquet, its values and metadata in the clear."""
    raw = path.read_bytes()
    if path.suffix != ".parquet":
        return raw
    table = pq.read_table(path)
    about = (
        repr(pq.read_metadata(path).metadata)
        + repr(table.schema.metadata)
        + repr([field.metadata for field in table.schema])
    )
    values = "\n".join(
        str(value) for column in table.columns for value in column.unique().to_pylist()
    )
    return raw + about.encode() + values.encode() + "".join(table.column_names).encode()
