"""Classes that share a hash: a stranger's file in which nobody shares anything, called 2-anonymous.

DuckDB's hash of a whole number is a permutation of 64 bits, and the hash of a row joins those of
its values by an invertible step and an exclusive or. So for any row and any other first value there
is a second value that gives the same hash. Who counts classes by it finds two people in each.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.table.telling import Telling

ALL, FACTOR = 2**64 - 1, 0xD6E8FEB86659FD93
PAIRS = 200


def step(number: int, factor: int = FACTOR) -> int:
    return (number ^ number >> 32) * factor & ALL


def hashed(number: int) -> int:
    """Return DuckDB's hash of a whole number: two steps of shift, exclusive or and product."""
    twice = step(step(number))
    return twice ^ twice >> 32


def unhashed(number: int) -> int:
    back = pow(FACTOR, -1, 2**64)
    once = (number ^ number >> 32) * back & ALL
    twice = (once ^ once >> 32) * back & ALL
    found = twice ^ twice >> 32
    return found - 2**64 if found >= 2**63 else found


def twin(first: int, second: int, other: int) -> int:
    """Return the second value of a row that begins otherwise and has the same hash."""
    return unhashed(step(hashed(first)) ^ hashed(second) ^ step(hashed(other)))


@pytest.fixture
def forged(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    drawn = rng.choice(10**9, (PAIRS, 3), replace=False).tolist()
    rows = [[a, b] for a, b, _ in drawn] + [[other, twin(a, b, other)] for a, b, other in drawn]
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / "forged.parquet")
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    table = vd.open(tmp_path / "forged.parquet", dict.fromkeys("ab", "integer"))
    assert not table.in_memory
    return table


def test_the_proof_of_k_counts_values_and_not_hashes(forged, tmp_path):
    hashes = f"SELECT hash(a, b) AS h, count(*) AS n FROM '{tmp_path}/forged.parquet' GROUP BY h"  # noqa: S608
    sizes = duckdb.execute(f"SELECT n, count(*) FROM ({hashes}) GROUP BY n").fetchall()  # noqa: S608
    assert sizes == [(2, PAIRS)]  # the attack: by its hash everybody has a companion
    assert Telling(forged).rarer(["a", "b"], 2) == 2 * PAIRS  # everybody is alone
