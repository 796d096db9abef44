"""Rows that come in chunks: whatever brings them, the same release, and the law of all rows."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

import veladura as vd
from veladura.core import chunks as spine
from veladura.errors import DataError, PlanError
from veladura.methods.masks import column_law
from veladura.release.verify import holds, verify
from veladura.table import chunks, tuple_sums
from veladura.table import frequencies as counting
from veladura.table.chunks import KEY, ChunkPlan, in_chunks, range_of
from veladura.table.database.connection import read_parquet
from veladura.table.whole import Whole, number_facts

LEVEL = 1e-5
RECIPES = {
    "noise": vd.Noise(columns=["income", "size"], scale=0.3, fit_rows=500),
    "plain noise": vd.Noise(columns=["income", "size"], scale=0.3, fit_rows=500, min_people=0),
    "pram": vd.Pram(columns=["area", "job"], fit_rows=500),
    "cart": vd.Cart(columns=["income", "job"], m=2, fit_rows=500),
}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 400)


def people(seed=1, rows=3_000):
    """Categories and numbers that go together, gaps, and rows that hold the same."""
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abc"), rows, p=[0.5, 0.3, 0.2])
    income = np.round(rng.gamma(2, 1000, rows) + 2000 * (area == "c"), 2)
    job = np.where(income > 2500, rng.choice(["x", "y"], rows), "z")
    frame = pd.DataFrame({"area": area, "job": job, "income": income})
    frame["size"] = rng.integers(1, 6, rows)
    frame.loc[rng.random(rows) < 0.05, "income"] = np.nan
    frame.loc[rng.random(rows) < 0.02, "job"] = None
    return pd.concat([frame, frame.iloc[:200]], ignore_index=True)


def lazily(frame, folder, name="people", row_group=100_000):
    """A file as a table of DuckDB: its rows stay there."""
    frame.to_parquet(folder / f"{name}.parquet", row_group_size=row_group)
    return vd.open(read_parquet(folder / f"{name}.parquet"))


def in_order(data):
    data = data.astype({name: float for name in data if data[name].dtype.kind in "if"})
    text = {name: str for name in data if data[name].dtype.kind != "f"}
    return data.astype(text).sort_values(list(data.columns)).reset_index(drop=True)


def drawn(recipe, table, seed=3, threads=1):
    release = recipe.protect(table, seed=seed, threads=threads)
    return release, [in_order(data) for data in release.datasets]


@pytest.mark.parametrize("method", RECIPES)
def test_neither_threads_nor_sources_nor_their_order_change_a_row(tmp_path, method):
    frame, recipe = people(), RECIPES[method]
    shuffled = frame.sample(frac=1, random_state=4).reset_index(drop=True)
    frame.to_csv(tmp_path / "people.csv", index=False)
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.register("rows", pa.Table.from_pandas(shuffled, preserve_index=False))
        connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    first = drawn(recipe, lazily(frame, tmp_path))[1]
    for source, threads in (
        (lazily(frame, tmp_path, "a", 300), 2),
        (lazily(shuffled, tmp_path, "b", 1_000), 8),
        (frame, 1),
        (shuffled, 3),
        (tmp_path / "people.csv", 1),
        (tmp_path / "people.duckdb", 2),
    ):
        again = drawn(recipe, source, threads=threads)[1]
        for one, two in zip(first, again, strict=True):
            pd.testing.assert_frame_equal(one, two)
    assert not drawn(recipe, frame, seed=4)[1][0].equals(first[0])


@pytest.mark.parametrize("method", RECIPES)
def test_a_release_in_chunks_proves_its_promises_and_verifies(tmp_path, method):
    frame, recipe = people(), RECIPES[method]
    release, datasets = drawn(recipe, lazily(frame, tmp_path))
    assert [proof.status for proof in release.proofs] == ["holds"] * len(release.proofs)
    assert release.proofs or method == "cart"
    changed = recipe.columns
    kept = [name for name in frame if name not in changed]
    for data in datasets:
        assert len(data) == len(frame)
        pd.testing.assert_frame_equal(in_order(data[kept]), in_order(frame[kept]))
        assert not data[list(changed)].equals(in_order(frame)[list(changed)])
    assert release.manifest["steps"][0]["settings"]["fit_rows"] == 500
    folder = release.save(tmp_path / "out" / "people", custodian=tmp_path / "safe" / "people")
    assert holds(verify(folder))


def test_a_proof_sees_noise_that_is_too_small(tmp_path, monkeypatch):
    """The broken control: a tenth of the noise that is told."""
    from veladura.errors import PromiseError
    from veladura.methods.masks.noise import FittedNoise

    whole = FittedNoise.replaced

    def small(self, columns, stream):
        masked = whole(self, columns, stream)
        return {
            name: column.rounded(0.9 * columns[name].numbers() + 0.1 * column.numbers())
            for name, column in masked.items()
        }

    monkeypatch.setattr(FittedNoise, "replaced", small)
    with pytest.raises(PromiseError, match="does not keep its promise"):
        drawn(
            vd.Noise(columns=["income"], scale=0.3, fit_rows=500, min_people=0),
            lazily(people(), tmp_path),
        )


def test_relations_with_columns_that_stay_are_those_of_cart_in_memory():
    """The two-way distance to the source, beside Cart in memory with trees of as many rows."""
    frame, found = people(2, 6_000), {"chunks": [], "memory": []}
    for seed in range(4):
        recipe = vd.Cart(columns=["income", "job"], m=1, fit_rows=1_500)
        found["chunks"].append(distance(frame, drawn(recipe, frame, seed)[1][0]))
        whole = vd.Cart(columns=["income", "job"], m=1).protect(frame, seed=seed).datasets[0]
        found["memory"].append(distance(frame, whole))
    # trees of a quarter of the rows know what a sample of that size tells, no more
    samples = [distance(frame, frame.sample(1_500, random_state=seed)) for seed in range(6)]
    assert np.mean(found["chunks"]) < np.mean(found["memory"]) + np.mean(samples)
    broken = frame.assign(income=np.random.default_rng(1).permutation(frame["income"]))
    assert distance(frame, broken) > 1.5 * np.mean(found["chunks"])  # the control


def distance(frame, data):
    """Total variation distance of area by income in eight bands."""
    cuts = frame["income"].quantile(np.linspace(0, 1, 9)[1:-1]).to_numpy()
    tables = [
        pd.crosstab(
            one["area"],
            np.where(one["income"].isna(), 99, np.searchsorted(cuts, one["income"])),
            normalize=True,
        )
        for one in (frame, data.astype({"income": float}))
    ]
    return float(tables[0].sub(tables[1], fill_value=0).abs().to_numpy().sum() / 2)


def test_noise_has_the_scale_of_all_rows_and_not_of_the_sample(tmp_path):
    """One number in 3,000 is huge: hardly a sample of 100 knows it, the noise does."""
    frame = people()[["area", "income"]].dropna()
    frame.loc[frame.index[0], "income"] = 1e7
    release, (data,) = drawn(
        vd.Noise(
            columns=["income"],
            scale=0.5,
            fit_rows=100,
            min_people=0,
            limits={"income": (None, None)},
        ),
        lazily(frame, tmp_path),
    )
    before = np.sort(frame["income"])[:-1]
    after = np.sort(data["income"].to_numpy())
    # all but one person are within some thousands: their variance is that of the noise
    variance = np.var(after[np.abs(after) < 5e6]) - np.var(before)
    declared = (0.5 * frame["income"].std()) ** 2
    low, high = stats.chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], before.size - 1) / (before.size - 1)
    assert low < variance / declared < high
    assert release.proofs


def test_values_that_few_of_the_sample_but_many_of_all_share_stay(tmp_path):
    """30 of 3,000 people hold one level, 40 one round number: a sample of 300 has about 3 and 4.

    Counted in the sample alone, the level is merged and the number moved: the broken control.
    """
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": np.round(rng.normal(5_000, 900, 3_000), 2), "kind": "common"})
    frame["other"] = rng.integers(0, 9, 3_000)
    frame.loc[:29, "kind"] = "rare"
    frame.loc[frame.index[100:140], "x"] = 9_999.99
    recipe = vd.Cart(columns=["x", "kind"], m=1, fit_rows=300)
    shares = []
    table = lazily(frame, tmp_path)
    for seed in range(8):
        data = drawn(recipe, table, seed)[1][0]
        shares.append([(data["kind"] == "rare").mean(), (data["x"] == 9_999.99).mean()])
    rare, round_number = np.mean(shares, axis=0)
    assert 0.5 < rare / 0.01 < 1.6
    assert 0.5 < round_number / (40 / 3_000) < 1.6


def test_more_numbers_than_can_be_held_have_the_ranks_of_the_sample(tmp_path, monkeypatch):
    """Who shares a number is still counted over all rows: 40 of 3,000 people hold one."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": np.round(rng.normal(5_000, 900, 3_000), 2)})
    frame.loc[frame.index[100:140], "x"] = 9_999.99
    table, recipe = lazily(frame, tmp_path), vd.Cart(m=1, fit_rows=300)
    known = drawn(recipe, table)[1][0]
    monkeypatch.setattr(counting, "most_numbers", lambda: 1_000)
    shares = [(drawn(recipe, table, seed)[1][0]["x"] == 9_999.99).mean() for seed in range(8)]
    assert not drawn(recipe, table)[1][0].equals(known)
    assert 0.5 < np.mean(shares) / (40 / 3_000) < 1.6


def test_the_same_without_what_is_known_of_all_rows(tmp_path, monkeypatch):
    from veladura.methods.cart import fit as fitting

    real = fitting.fit
    monkeypatch.setattr(
        fitting, "fit", lambda recipe, table, context, whole=None: real(recipe, table, context)
    )
    frame = pd.DataFrame({"kind": ["rare"] * 20 + ["common"] * 2_980, "other": range(3_000)})
    recipe = vd.Cart(columns=["kind"], m=1, fit_rows=300)
    shares = [
        (drawn(recipe, lazily(frame, tmp_path), seed)[1][0]["kind"] == "rare").mean()
        for seed in range(4)
    ]
    assert np.mean(shares) < 0.002  # of 0.0067: merged away in most samples


RULES = {
    "recode": vd.Recode(
        columns={"job": {"groups": {"xy": ["x", "y"]}}, "income": {"cuts": [1000, 3000]}}
    ),
    "top-code": vd.TopCode(columns={"income": 4_000}),
    "quantile": vd.TopCode(columns=["income"], quantile=0.9),
    "suppress by risk": vd.Suppress(risk=0.4, known=["area", "job", "size", "income"]),
    "other cells by risk": vd.Suppress(
        risk=0.01, known=["area", "size", "job"], columns=["income", "job"], weight="weight"
    ),
    "suppress": vd.Suppress(cells={"income": "income > 4_000", "job": "income is missing"}),
}


@pytest.mark.parametrize("rule", RULES)
def test_declared_rules_leave_the_rows_where_they_are(tmp_path, monkeypatch, rule):
    """Beyond the memory of the run: the release of rows that are held."""
    frame, recipe = people(), RULES[rule]
    if rule.endswith("by risk"):
        frame["income"] = frame["income"] // 400
        frame["weight"] = np.random.default_rng(5).uniform(0.1, 3, len(frame)).round(2)
    held, (near,) = drawn(recipe, frame)
    monkeypatch.setattr(spine, "cells_within", lambda: 2_000)
    release, (far,) = drawn(recipe, lazily(frame, tmp_path))
    pd.testing.assert_frame_equal(near, far)
    if "by risk" in rule:
        assert 0.01 < near["income"].isna().mean() - frame["income"].isna().mean() < 0.9
    assert not release.tables[0].table.in_memory
    assert release.manifest["steps"] == held.manifest["steps"]
    assert [proof.status for proof in release.proofs] == ["holds"] * len(release.proofs)


def test_combinations_that_do_not_fit_are_refused_before_they_are_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(spine, "cells_within", lambda: 2_000)
    monkeypatch.setattr(tuple_sums, "cells_within", lambda: 2_000)
    recipe = vd.Suppress(risk=0.4, known=["area", "income"])
    with pytest.raises(PlanError, match=r"combinations of .* and at most 1,000"):
        recipe.protect(lazily(people(), tmp_path))
    bad = lazily(people().assign(w=0.0), tmp_path, "bad")
    with pytest.raises(DataError, match="must hold numbers above 0"):
        vd.Suppress(risk=0.4, known=["area"], weight="w").protect(bad)


def test_a_column_without_any_value_left_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(spine, "cells_within", lambda: 2_000)
    with pytest.raises(DataError, match="every cell"):
        vd.Suppress(cells={"income": "income > 0"}).protect(lazily(people(), tmp_path))


def test_rows_that_hold_the_same_are_treated_as_many_rows(tmp_path):
    """Two values only: one range of keys has thousands of rows, and is cut into several chunks."""
    frame = pd.DataFrame({"v": ["a"] * 4_000 + ["b"] * 2_000})
    release, (data,) = drawn(vd.Pram(columns=["v"], fit_rows=200), lazily(frame, tmp_path))
    matrix = release.manifest["steps"][0]["settings"]["matrix"]["v"]
    kept = 4_000 * matrix["a"]["a"] + 2_000 * matrix["b"]["a"]
    spread = np.sqrt(
        4_000 * matrix["a"]["a"] * matrix["a"]["b"] + 2_000 * matrix["b"]["a"] * matrix["b"]["b"]
    )
    assert abs((data["v"] == "a").sum() - kept) < stats.norm.isf(LEVEL / 2) * spread
    plan = ChunkPlan.of(lazily(frame, tmp_path, "again"), "s")
    sizes = [rows.num_rows for _, rows in in_chunks(lazily(frame, tmp_path, "more"), plan)]
    assert max(sizes) <= 2 * chunks.CHUNK
    assert sum(sizes) == 6_000


def test_chunks_are_those_of_the_keys():
    """Against a loop over rows: the range of every key, and no chunk above twice the size."""
    rng = np.random.default_rng(3)
    keys = sorted("".join(rng.choice(list("0123456789abcdef"), 32)) for _ in range(2_000))
    keys = sorted(keys + keys[:1] * 300)
    expected = [int(key[:8], 16) * 7 // 2**32 for key in keys]
    assert range_of(pa.array(keys), 7).tolist() == expected
    table = pa.table({"x": range(len(keys)), KEY: keys})
    wanted = None
    for size in (1, 50, 999, 5_000):
        plan = ChunkPlan("s", 7, 100)
        got = [(n, rows["x"].to_pylist()) for n, rows in plan.cut(table.to_batches(size))]
        assert all(len(rows) <= 200 for _, rows in got)
        assert [x for _, rows in got for x in rows] == list(range(len(keys)))
        assert all(expected[x] == number[0] for number, rows in got for x in rows)
        wanted = wanted or got
        assert got == wanted


def test_figures_of_all_rows_are_those_of_numpy(tmp_path):
    frame = people()
    frame["thirds"] = np.arange(len(frame)) / 3
    names = ["income", "size", "thirds"]
    facts = number_facts(lazily(frame, tmp_path), names)
    np.testing.assert_allclose(facts.deviation, frame[names].std(), rtol=1e-7)
    complete = frame[names].dropna()
    np.testing.assert_allclose(facts.correlation, np.corrcoef(complete.T), atol=1e-8)
    assert list(facts.decimals) == [2, 0, None]
    assert facts.low.tolist() == frame[names].min().tolist()
    table = lazily(frame, tmp_path, "again")
    sample = vd.open(frame.iloc[:300])
    whole = Whole.of(table, ["area"])
    for name in ("area", "size", "income"):
        counts = frame[name].value_counts()
        values = np.unique(frame[name].iloc[:300].dropna())
        assert whole.holders(sample.column(name)).tolist() == counts[values].tolist()


def test_a_chain_of_steps_stays_lazy_and_proves_each(tmp_path):
    frame = people()
    recipe = vd.Steps([RECIPES["noise"], RECIPES["pram"]])
    first = drawn(recipe, lazily(frame, tmp_path))
    again = drawn(recipe, lazily(frame, tmp_path, "again", 500), threads=2)
    pd.testing.assert_frame_equal(first[1][0], again[1][0])
    assert not first[0].tables[0].table.in_memory


def test_what_does_not_fit_comes_in_chunks_without_being_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(spine, "cells_within", lambda: 4 * 1_000)
    noise = vd.Noise(columns=["income"], min_people=0)
    release = noise.protect(lazily(people(), tmp_path), seed=1)
    assert release.manifest["steps"][0]["settings"]["fit_rows"] == 500
    held = noise.protect(people(), seed=1)
    assert "fit_rows" not in held.manifest["steps"][0]["settings"]


def test_what_cannot_come_in_chunks_is_refused_in_words(monkeypatch):
    frame = people()
    with pytest.raises(PlanError, match="fit_rows"):
        vd.Noise(columns=["income"], fit_rows=1)
    with monkeypatch.context() as patch:
        patch.setattr(counting, "most_numbers", lambda: 1_000)
        patch.setattr(column_law, "most_numbers", lambda: 1_000)
        with pytest.raises(PlanError, match="more than 1,000 distinct numbers"):
            vd.Noise(columns=["income"], fit_rows=500).protect(frame)
    with pytest.raises(DataError, match="outside its limits"):
        vd.Noise(
            columns=["income"], limits={"income": (500, None)}, fit_rows=500, min_people=0
        ).protect(frame)
    with pytest.raises(DataError, match="no spread"):
        vd.Noise(columns=["one"], fit_rows=500, min_people=0).protect(frame.assign(one=1.5))
    with pytest.raises(DataError, match="infinite"):
        vd.Noise(columns=["income"], fit_rows=500, min_people=0).protect(
            frame.replace({1: np.inf}).assign(
                income=np.where(np.arange(len(frame)) == 5, np.inf, 1.25)
            )
        )
    table = vd.open(frame.assign(person=np.arange(len(frame)) // 2), {"person": {"role": "person"}})
    with pytest.raises(PlanError, match="people or households have several"):
        vd.Noise(columns=["income"], fit_rows=500, min_people=0).protect(table)
