"""People made up for benchmarks: skewed, dependent columns, as many rows as wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

QUASI = ("age", "sex", "zip", "marital", "education", "country", "occupation", "class")


def recipe_of() -> Any:
    import veladura as vd

    return vd.KAnonymity(
        quasi_identifiers=QUASI,
        k=5,
        max_suppression=0.02,
        hierarchies={
            "age": vd.Hierarchy.intervals((5, 10, 20, 40)),
            "zip": vd.Hierarchy.mask(5),
        },
    )


def generate(path: Path, rows: int, *, distinct: bool, columns: int = 12) -> None:
    """Write the first columns of people with skewed, dependent values, a million rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(7)
    labels = {
        name: pa.array([f"{name} {i}" for i in range(size)])
        for name, size in (
            ("sex", 2),
            ("marital", 5),
            ("education", 12),
            ("country", 40),
            ("occupation", 14),
            ("class", 2),
            ("note", 500),
        )
    }
    zips = pa.array([f"{i:05d}" for i in rng.permutation(100_000)[:2000]])
    writer = None
    for start in range(0, rows, 1_000_000):
        size = min(rows - start, 1_000_000)

        def skewed(count: int, power: float) -> Any:
            return pa.array(
                np.minimum(
                    (count * rng.random(size) ** (1.0 if distinct else power)).astype(int),  # noqa: B023
                    count - 1,
                )
            )

        table = pa.table(
            {
                "age": pa.array(
                    np.clip(rng.normal(45, 10, size), 0, 99).astype(int)
                    if not distinct
                    else rng.integers(0, 100_000, size)
                ),
                "sex": labels["sex"].take(skewed(2, 1.0)),
                "zip": zips.take(skewed(2000, 24.0)),
                "marital": labels["marital"].take(skewed(5, 5.0)),
                "education": labels["education"].take(skewed(12, 9.0)),
                "country": labels["country"].take(skewed(40, 30.0)),
                "occupation": labels["occupation"].take(skewed(14, 9.0)),
                "class": labels["class"].take(skewed(2, 4.0)),
                "income": pa.array(np.round(rng.lognormal(10, 1, size), 2)),
                "stay": pa.array(rng.poisson(5, size)),
                "note": labels["note"].take(skewed(500, 1.0)),
                "score": pa.array(rng.random(size)),
            }
        )
        table = table.select(range(columns))
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer:
        writer.close()
