"""Synthesis in chunks: whatever threads and files there are, the same rows, and the right law."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.core import chunks as spine
from veladura.errors import PlanError
from veladura.numeric.trees import model
from veladura.numeric.trees.leaf import Donors
from veladura.release.verify import holds, verify
from veladura.table import chunks
from veladura.table.database.connection import read_parquet
from veladura.table.sample import random_rows

LEVEL = 1e-5


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1_000)


def people(seed, rows):
    """Rounded and skewed numbers with gaps, and categories that go with them."""
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abc"), rows, p=[0.5, 0.3, 0.2])
    income = np.rint(rng.gamma(2, 1000, rows) + 2000 * (area == "c")).astype(float)
    income[rng.random(rows) < 0.05] = np.nan
    rent = np.round(np.nan_to_num(income, nan=2000) * 0.3 + rng.normal(0, 200, rows), -1)
    return pd.DataFrame(
        {"area": area, "income": income, "rent": rent, "size": rng.integers(1, 6, rows)}
    )


def drawn(frame, folder, name="people", threads=1, seed=3, **settings):
    path = folder / f"{name}.parquet"
    frame.to_parquet(path, row_group_size=settings.pop("row_group", 100_000))
    recipe = vd.Cart(**{"fit_rows": 1_500, **settings})
    release = recipe.protect(lazily(path), seed=seed, threads=threads)
    return release, [_sorted(data) for data in release.datasets]


def lazily(path):
    """A file as a table of DuckDB: its rows stay there."""
    return vd.open(read_parquet(path))


def _sorted(data):
    return data.sort_values(list(data.columns)).reset_index(drop=True)


def test_threads_parts_and_order_of_the_source_change_nothing(tmp_path):
    frame = people(1, 6_500)
    _, first = drawn(frame, tmp_path, m=2)
    shuffled = frame.sample(frac=1, random_state=4).reset_index(drop=True)
    for number, (other, threads, group) in enumerate(
        [(frame, 2, 500), (frame, 8, 3_000), (shuffled, 3, 700)]
    ):
        _, again = drawn(other, tmp_path, f"p{number}", threads, m=2, row_group=group)
        for one, two in zip(first, again, strict=True):
            pd.testing.assert_frame_equal(one, two)
    _, other_seed = drawn(frame, tmp_path, "seed", seed=4, m=2)
    assert not other_seed[0].equals(first[0])
    assert not first[0].equals(first[1])


def test_frames_and_tables_elsewhere_give_the_same_rows(tmp_path):
    frame = people(1, 4_000)
    _, (there,) = drawn(frame, tmp_path, m=1)
    here = vd.Cart(fit_rows=1_500, m=1).protect(frame, seed=3).datasets[0]
    pd.testing.assert_frame_equal(_sorted(here), there, check_dtype=False)


def test_the_release_is_of_the_size_of_the_source_and_verifies(tmp_path):
    frame = people(1, 6_500)
    release, (data,) = drawn(frame, tmp_path, m=1)
    assert len(data) == len(frame)
    assert release.manifest["steps"][0]["settings"]["fit_rows"] == 1_500
    folder = release.save(tmp_path / "out" / "people", custodian=tmp_path / "safe" / "people")
    assert holds(verify(folder))


def test_pairs_are_as_near_to_the_source_as_without_chunks(tmp_path):
    """Two-way total variation to the source over six seeds: .024 in chunks, .023 in memory.

    Fitted to all people but one, so that nothing differs but the chunks. Fitted to a quarter of
    them it is .051 (.054 with ranks of the sample), and a random sample of that size has .055; Cart
    in memory on such a sample has .097.
    """
    frame = people(2, 6_000)
    found = {"chunks": [], "memory": [], "quarter": [], "sample": [], "rows": []}
    for seed in range(6):
        found["chunks"].append(nearness(frame, tmp_path, seed, fit_rows=5_999))
        whole = vd.Cart(m=1).protect(frame, seed=seed).datasets[0]
        found["memory"].append(pair_distance(frame, whole))
        found["quarter"].append(nearness(frame, tmp_path, seed))
        some = frame.sample(1_500, random_state=seed)
        found["rows"].append(pair_distance(frame, some.sample(6_000, replace=True)))
        few = vd.Cart(m=1, rows=6_000).protect(some, seed=seed).datasets[0]
        found["sample"].append(pair_distance(frame, few))
    assert stats.ttest_ind(found["chunks"], found["memory"]).pvalue > LEVEL
    nearer = {"alternative": "greater"}
    assert stats.ttest_ind(found["quarter"], found["sample"], **nearer).pvalue > LEVEL
    assert stats.ttest_ind(found["quarter"], found["rows"], **nearer).pvalue > LEVEL
    rng = np.random.default_rng(1)
    independent = pd.DataFrame({name: rng.permutation(frame[name]) for name in frame})
    assert pair_distance(frame, independent) > 1.5 * np.mean(found["quarter"])  # the control


def nearness(frame, folder, seed, **settings):
    _, (data,) = drawn(frame, folder, seed=seed, m=1, **settings)
    return pair_distance(frame, data)


def pair_distance(frame, data):
    """Mean total variation distance of two-way tables, numbers in eight bands of the source."""
    coded = []
    for name in frame:
        if name == "area":
            coded.append([one[name].astype(str).to_numpy() for one in (frame, data)])
        else:
            cuts = np.unique(frame[name].quantile(np.linspace(0, 1, 9)[1:-1]))
            coded.append(
                [
                    np.where(one[name].isna(), 99, np.searchsorted(cuts, one[name])).astype(str)
                    for one in (frame, data)
                ]
            )
    found = []
    for i, first in enumerate(coded):
        for second in coded[:i]:
            tables = [
                pd.Series(np.char.add(a.astype(str), b.astype(str))).value_counts(normalize=True)
                for a, b in zip(first, second, strict=True)
            ]
            found.append(tables[0].sub(tables[1], fill_value=0).abs().sum() / 2)
    return float(np.mean(found))


def spread_of_means(tmp_path):
    """Variance of the mean over sixty datasets of one fit, in units of what it should be.

    100 / 1,500 for the weights of the Bayesian bootstrap (Rubin 1981, section 2) over the sample,
    and 100 / 12,000 for the rows that are drawn with them.
    """
    frame = pd.DataFrame({"x": np.random.default_rng(5).normal(100, 10, 12_000).round(1)})
    _, datasets = drawn(frame, tmp_path, m=60, draws="bayesian")
    means = [data["x"].mean() for data in datasets]
    return np.var(means, ddof=1) / (100 * (1 / 1_500 + 1 / 12_000))


@pytest.mark.slow
def test_all_chunks_of_a_dataset_share_their_bootstrap_weights(tmp_path, monkeypatch):
    low, high = stats.chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], 59) / 59
    assert low < spread_of_means(tmp_path) < high

    # the broken control: weights of its own for every chunk, which average out
    def weighted(tree, rng, _recipients, draws):
        return Donors.weighted(tree, rng, draws)

    monkeypatch.setattr(model, "_donors", weighted)
    assert spread_of_means(tmp_path) < low


def test_a_sample_is_drawn_at_random_and_twins_apart(tmp_path):
    """Of 6,000 rows that hold two values a sample has as many of each as chance gives."""
    pd.DataFrame({"v": ["a"] * 4_000 + ["b"] * 2_000}).to_parquet(tmp_path / "v.parquet")
    table = lazily(tmp_path / "v.parquet")
    counts = []
    for seed in range(30):
        sample = random_rows(table, 600, np.random.default_rng(seed))
        assert sample.rows == 600
        counts.append(sample.arrow.column("v").to_pylist().count("a"))
    law = stats.hypergeom(6_000, 4_000, 600)
    chi2 = sum(((count - law.mean()) / law.std()) ** 2 for count in counts)
    low, high = stats.chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], len(counts))
    assert low < chi2 < high


def test_what_does_not_fit_is_drawn_in_chunks_without_being_asked(tmp_path, monkeypatch):
    frame = people(1, 6_500)
    frame.to_parquet(tmp_path / "people.parquet")
    monkeypatch.setattr(spine, "cells_within", lambda: 4 * 3_000)
    release = vd.Cart(m=1).protect(lazily(tmp_path / "people.parquet"), seed=1)
    assert release.manifest["steps"][0]["settings"]["fit_rows"] == 1_500
    assert release.tables[0].table.rows == 6_500


def test_what_cannot_be_done_in_chunks_is_refused_in_words(tmp_path):
    frame = people(1, 3_000)
    with pytest.raises(PlanError, match="a leaf needs them"):
        vd.Cart(fit_rows=2)
    frame["person"] = np.arange(3_000) // 2
    table = vd.open(frame, {"person": {"role": "person"}})
    with pytest.raises(PlanError, match="people or households have several"):
        vd.Cart(fit_rows=500).protect(table)
