"""The frame that comes back is the one that went in: polars stays polars, order and types kept."""

import numpy as np
import polars as pl

import veladura as vd

rng = np.random.default_rng(8)
people = pl.DataFrame(
    {
        "age": rng.integers(18, 90, 2000),
        "region": pl.Series(rng.choice(["north", "south", "west"], 2000), dtype=pl.Categorical),
        "wage": rng.lognormal(10, 0.6, 2000).round(2),
    },
)
release = vd.Steps(
    [vd.TopCode(columns={"wage": 80_000}), vd.Microaggregation(columns=["age", "wage"], k=5)]
).protect(people, seed=1)
print(release.datasets[0].head())
print(vd.assess(people, release)["utility.columns.worst"])
