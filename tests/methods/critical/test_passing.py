"""Critical cells of tables that are not held: other rows pass, the law is that of all cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.table import chunks
from veladura.table.database.connection import read_parquet

CRITICAL = {"income": "income > 4_500", "rent": "rent > 1_800"}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 400)


def people(seed=1, rows=3_000):
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abc"), rows)
    income = np.rint(rng.gamma(3, 900, rows) + 800 * (area == "c"))
    rent = np.rint(0.3 * income + rng.normal(0, 150, rows)).clip(50)
    return pd.DataFrame(
        {"area": area, "income": income, "rent": rent, "age": rng.integers(18, 80, rows)}
    )


def lazily(frame, folder, name="people", row_group=100_000):
    frame.to_parquet(folder / f"{name}.parquet", row_group_size=row_group)
    return vd.open(read_parquet(folder / f"{name}.parquet"))


def in_order(data):
    return data.sort_values(list(data.columns)).reset_index(drop=True)


@pytest.mark.parametrize("groups", [(), (("income", "rent"),), None])
def test_only_critical_cells_change_whatever_brings_the_rows(tmp_path, groups):
    frame = people()
    recipe = vd.CriticalCart(critical=CRITICAL, groups=groups, m=2, fit_rows=1_200)
    release = recipe.protect(lazily(frame, tmp_path), seed=3, threads=1)
    shuffled = frame.sample(frac=1, random_state=2).reset_index(drop=True)
    again = recipe.protect(lazily(shuffled, tmp_path, "again", 333), seed=3, threads=3)
    critical = (frame["income"] > 4_500) | (frame["rent"] > 1_800)
    others = in_order(frame[~critical])
    for one, two in zip(release.datasets, again.datasets, strict=True):
        pd.testing.assert_frame_equal(in_order(one), in_order(two))
        replaced = (one["income"] > 4_500) | (one["rent"] > 1_800)
        pd.testing.assert_frame_equal(in_order(one[~replaced]), others)
        assert (one["income"] > 4_500).sum() == (frame["income"] > 4_500).sum()
        assert len(one.merge(frame[critical])) < 0.1 * critical.sum()
    assert release.rule.original_rows == len(frame)
    assert release.manifest["steps"][0]["settings"]["fit_rows"] == 1_200
    folder = release.save(tmp_path / "out" / "p", custodian=tmp_path / "safe" / "p")
    assert all(proof.status != "broken" for proof in vd.verify(folder))


def test_critical_numbers_are_distributed_as_in_memory(tmp_path):
    """Means of the critical incomes over ten seeds, within five standard errors of a mean."""
    frame = people(2, 4_000)
    settings = {"critical": {"income": "income > 4_500"}, "groups": (), "m": 1}
    table, means = lazily(frame, tmp_path), {"passing": [], "memory": []}
    for seed in range(5):
        for kind, recipe, source in (
            ("passing", vd.CriticalCart(**settings, fit_rows=1_500), table),
            ("memory", vd.CriticalCart(**settings), frame),
        ):
            data = recipe.protect(source, seed=seed).datasets[0]
            means[kind].append(data.loc[data["income"] > 4_500, "income"].mean())
    true = frame.loc[frame["income"] > 4_500, "income"]
    error = true.std() / np.sqrt(len(true))
    assert abs(np.mean(means["passing"]) - np.mean(means["memory"])) < 3 * error
    assert abs(np.mean(means["passing"]) - true.mean()) < 5 * error


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"keep_inside": False}, "keep_inside = false"),
        ({"others": "replace"}, "needs all rows"),
        ({"rows": [True] * 3_000}, "rows as a list"),
    ],
)
def test_what_needs_all_rows_is_refused_in_words(settings, words):
    with pytest.raises(PlanError, match=words):
        vd.CriticalCart(critical=CRITICAL, groups=(), fit_rows=900, **settings).protect(people())


def test_more_critical_rows_than_can_be_held_are_refused():
    with pytest.raises(DataError, match="too many rows have one"):
        vd.CriticalCart(critical=CRITICAL, groups=(), fit_rows=50).protect(people())
    with pytest.raises(DataError, match="no row has a critical cell"):
        vd.CriticalCart(critical={"rent": "rent > 1e9"}, groups=(), fit_rows=50).protect(people())
