"""Noise has the size and the correlations it claims, and leaves missing cells alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.base.streams import Streams
from veladura.core.promise import Evidence
from veladura.errors import ColumnError, DataError, PlanError
from veladura.methods.masks.noise import _correlation, _root
from veladura.methods.masks.noise_promises import noise_too_small
from veladura.table.inspect import inspect_table
from veladura.table.source import open as open_table

pytestmark = pytest.mark.quick

LEVEL = 1e-5
SCALE = 0.5


def people(rows: int = 4000) -> pd.DataFrame:
    rng = Streams(1)("people")
    x = rng.normal(size=rows)
    return pd.DataFrame(
        {"x": x, "y": 0.7 * x + rng.normal(size=rows), "who": ["a", "b"] * (rows // 2)}
    )


def noise_of(scale: float, frame: pd.DataFrame, seed: int = 3) -> pd.DataFrame:
    released = vd.Noise(columns=["x", "y"], scale=scale).protect(frame, seed=seed).datasets[0]
    return (
        (released - frame)[["x", "y"]]
        if "who" not in frame
        else released[["x", "y"]] - frame[["x", "y"]]
    )


def scale_pvalue(noise: pd.DataFrame, frame: pd.DataFrame) -> float:
    """Two-sided chi-squared test of the noise's variance in both columns, and of its shape."""
    ps = []
    for name in noise:
        unit = noise[name] / (SCALE * frame[name].std())
        tail = stats.chi2.cdf(float((unit**2).sum()), len(unit))
        ps += [2 * min(tail, 1 - tail), stats.kstest(unit, "norm").pvalue]
    return min(1.0, len(ps) * min(ps))


def too_small(frame):
    """Slip: a fifth less noise than claimed."""
    return noise_of(0.8 * SCALE, frame)


def too_large(frame):
    """Slip: a quarter more noise than claimed."""
    return noise_of(1.25 * SCALE, frame)


def uniform(frame):
    """Slip: the right variance, but not normal."""
    rng = Streams(5)("uniform")
    return pd.DataFrame(
        {
            n: (rng.random(len(frame)) - 0.5) * np.sqrt(12) * SCALE * frame[n].std()
            for n in ("x", "y")
        }
    )


def test_noise_has_the_declared_scale():
    frame = people()
    assert scale_pvalue(noise_of(SCALE, frame), frame) > LEVEL


@pytest.mark.parametrize("broken", [too_small, too_large, uniform])
def test_the_scale_test_sees(broken):
    frame = people()
    assert scale_pvalue(broken(frame), frame) < LEVEL


def correlation_pvalue(noise: pd.DataFrame, claimed: float) -> float:
    """Fisher's z for the correlation of the noise."""
    z = (np.arctanh(noise["x"].corr(noise["y"])) - np.arctanh(claimed)) * np.sqrt(len(noise) - 3)
    return float(2 * stats.norm.sf(abs(z)))


def test_correlated_noise_has_the_correlation_of_the_data():
    frame = people()
    claimed = frame["x"].corr(frame["y"])
    assert correlation_pvalue(noise_of(SCALE, frame), claimed) > LEVEL
    alone = (
        vd.Noise(columns=["x", "y"], scale=SCALE, correlated=False)
        .protect(frame, seed=3)
        .datasets[0]
    )
    assert correlation_pvalue(alone[["x", "y"]] - frame[["x", "y"]], claimed) < LEVEL
    assert correlation_pvalue(alone[["x", "y"]] - frame[["x", "y"]], 0.0) > LEVEL


def test_missing_stays_missing_and_whole_numbers_stay_whole():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, None, 30, 40, 5] * 20, dtype="Int64"),
            "x": [0.25, 1.5, np.nan, 2.75, 3.0] * 20,
        }
    )
    released = vd.Noise(columns=["n", "x"], scale=1.0).protect(frame, seed=1).datasets[0]
    assert (released.isna() == frame.isna()).all().all()
    assert released["n"].dtype == "Int64"
    assert np.array_equal(np.round(released["x"].dropna(), 2), released["x"].dropna())
    assert not released["n"].dropna().equals(frame["n"].dropna())


def test_numbers_near_the_end_of_64_bits_keep_their_noise():
    ends = np.iinfo(np.int64)
    frame = pd.DataFrame({"n": [ends.max, ends.min] * 200})
    released = vd.Noise(columns=["n"], scale=0.1).protect(frame, seed=1)  # its promise is proved
    assert released.datasets[0]["n"].dtype == np.int64


def test_the_release_does_not_depend_on_the_order_of_rows():
    frame = people(200)
    order = Streams(2)("order").permutation(200)
    plain = vd.Noise(columns=["x"]).protect(frame, seed=1).datasets[0]
    moved = vd.Noise(columns=["x"]).protect(frame.iloc[order], seed=1).datasets[0]
    pd.testing.assert_frame_equal(plain.iloc[order], moved)


def test_the_check_refuses_a_table_without_noise():
    table = open_table(people(500))
    same = Evidence(table, table, np.arange(500))
    assert noise_too_small(same, {"columns": ["x", "y"], "scale": 0.1}) == 2


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"columns": []}, "columns is empty"),
        ({"columns": "x"}, "list of names"),
        ({"columns": [1]}, "list of names"),
        ({"columns": ["x", "x"]}, "more than once"),
        ({"columns": ["x"], "scale": 0}, "scale"),
        ({"columns": ["x"], "scale": float("nan")}, "scale"),
        ({"columns": ["x"], "scale": "much"}, "scale"),
    ],
)
def test_settings_are_checked(settings, match):
    with pytest.raises(PlanError, match=match):
        vd.Noise(**settings)


def test_columns_are_checked():
    frame = people(10).assign(still=4.0, none=np.nan)
    with pytest.raises(ColumnError, match="not in the table"):
        vd.Noise(columns=["z"]).protect(frame)
    with pytest.raises(PlanError, match=r"\['who'\] have kinds that this method does not support"):
        vd.Noise(columns=["who"]).protect(frame)
    with pytest.raises(DataError, match=r"fewer than two distinct values.*'still', 'none'"):
        vd.Noise(columns=["x", "still", "none"]).protect(frame)
    with pytest.raises(DataError, match="fewer than two distinct values"):
        vd.Noise(columns=["x"]).protect(frame.head(1))
    with pytest.raises(DataError, match="infinite"):
        vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": [1.0, np.inf]}))


def test_a_suggestion_runs_or_says_why_not():
    table = open_table(people(50).assign(still=1))
    assert vd.Noise.suggest(table.schema, inspect_table(table)).columns == ("x", "y")
    words = open_table(people(50)[["who"]])
    with pytest.raises(PlanError, match="nothing to add noise to"):
        vd.Noise.suggest(words.schema, inspect_table(words))


def test_the_root_squares_to_the_matrix_even_when_singular():
    matrix = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    assert np.allclose(_root(matrix) @ _root(matrix), matrix, atol=1e-7)


def test_too_few_complete_rows_give_noise_of_their_own():
    numbers = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    assert np.array_equal(_correlation(numbers), np.eye(2))


def counts(rows: int = 3000) -> pd.DataFrame:
    """Numbers of which many are at a limit or near it: stays, incomes, marks from 1 to 10."""
    rng = Streams(8)("counts")
    income = np.where(rng.random(rows) < 0.3, 0.0, np.round(rng.lognormal(8, 1, rows), 2))
    return pd.DataFrame(
        {
            "stay": rng.poisson(1.2, rows),
            "income": income,
            "mark": rng.integers(1, 11, rows),
            "loss": rng.normal(0, 5, rows).round(1),
        }
    )


def test_columns_without_negative_values_stay_so():
    frame = counts()
    release = vd.Noise(columns=list(frame), scale=0.5).protect(frame, seed=2)
    released = release.datasets[0]
    assert (released[["stay", "income", "mark"]] >= 0).all().all()
    assert (released["loss"] < 0).any()  # it had negative values: no limit
    assert released.dtypes.equals(frame.dtypes)
    claims = {promise.name: promise.settings for promise in release.promises}
    assert claims["limits"]["columns"] == {name: [0.0, None] for name in ("stay", "income", "mark")}


def test_noise_at_a_limit_keeps_its_size_and_does_not_pile_up():
    """The squares of the noise have the declared mean in rows at the limit, as in all others."""
    frame = counts()
    released = vd.Noise(columns=["income"], scale=0.5).protect(frame, seed=2).datasets[0]
    unit = (released["income"] - frame["income"]) / (0.5 * frame["income"].std())
    for rows in (frame["income"] == 0, frame["income"].between(0, 4000), frame["income"] > 4000):
        energy, n = float((unit[rows] ** 2).sum()), int(rows.sum())
        assert min(stats.chi2.cdf(energy, n), stats.chi2.sf(energy, n)) > LEVEL
    assert (released["income"] == 0).sum() < 5  # cut off, they would be some thousand


def test_declared_limits_hold_on_both_sides():
    frame = counts()
    recipe = vd.Noise(columns=["mark", "income"], scale=0.3, limits={"mark": (0.5, 10)})
    released = recipe.protect(frame, seed=4).datasets[0]
    assert released["mark"].between(1, 10).all()
    assert not released["mark"].equals(frame["mark"])
    assert (released["income"] >= 0).all()
    free = vd.Noise(columns=["income"], limits={"income": (-np.inf, np.inf)})
    assert (free.protect(frame, seed=4).datasets[0]["income"] < 0).any()


def test_limits_do_not_tell_the_extremes_of_the_data():
    """One row is far above the others: what is released of the others does not depend on it."""
    frame = counts()
    released = vd.Noise(columns=["mark"], scale=0.3).protect(frame, seed=6).datasets[0]
    assert (released["mark"] > frame["mark"].max()).any()


def test_limits_that_cannot_hold_are_refused():
    frame = counts()
    with pytest.raises(DataError, match=r"\d+ values of column 'mark' are outside its limits"):
        vd.Noise(columns=["mark"], limits={"mark": (2, 9)}).protect(frame)
    with pytest.raises(PlanError, match=r"(?s)'mark' are too narrow .*lower scale"):
        vd.Noise(columns=["mark"], scale=1.0, limits={"mark": (0, 10)}).protect(frame)
    with pytest.raises(ColumnError, match="limits"):
        vd.Noise(columns=["mark"], limits={"stay": (0, 10)})
    with pytest.raises(PlanError, match="limits: each column needs a min"):
        vd.Noise(columns=["mark"], limits={"mark": 3})


# Numbers that few people share


def heaped(rows: int = 2000) -> pd.DataFrame:
    """Incomes of which six of ten are rounded to hundreds, and a code for none."""
    rng = Streams(12)("heaped")
    exact = np.round(rng.lognormal(7.5, 0.6, rows))
    income = np.where(rng.random(rows) < 0.6, np.round(exact, -2), exact)
    return pd.DataFrame({"income": np.where(rng.random(rows) < 0.1, -8, income).astype(int)})


def test_rounded_numbers_stay_rounded():
    """The share of hundreds is that of the source; noise alone leaves one in a hundred."""
    frame = heaped().query("income > 0")
    released = vd.Noise(columns=["income"], scale=0.2).protect(frame, seed=1).datasets[0]["income"]
    hundreds = (frame["income"] % 100 == 0).mean()
    assert abs((released % 100 == 0).mean() - hundreds) < 0.02
    assert (released != frame["income"]).mean() > 0.6


def test_shared_numbers_and_codes_stay_where_that_is_asked():
    frame = heaped()
    recipe = vd.Noise(columns=["income"], scale=0.2, keep_shared=True)
    release = recipe.protect(frame, seed=1)
    released = release.datasets[0]["income"]
    holders = frame["income"].map(frame["income"].value_counts())
    assert (released == frame["income"])[holders >= 5].all()
    assert (released != frame["income"])[holders < 5].mean() > 0.8
    assert (released[holders < 5] >= -8).all()  # nobody is beyond the end of a coded scale
    names = [promise.name for promise in release.promises]
    assert names == ["noise-scale", "moved-numbers"]
    few = {"columns": ["income"], "scale": 0.2, "people": 5, "kept": True}
    table = open_table(frame)
    assert noise_too_small(Evidence(table, table, np.arange(len(frame))), few) == 1


def test_a_lone_number_moves_by_its_isolation_whatever_the_scale():
    """Noise of a millionth: people in the bulk hardly move, the outermost by their distance."""
    rng = Streams(13)("lone")
    frame = pd.DataFrame({"x": np.append(rng.normal(0, 1, 999), 40.0)})
    gaps = []
    for seed in range(20):
        released = vd.Noise(columns=["x"], scale=1e-6).protect(frame, seed=seed).datasets[0]["x"]
        gaps.append(np.abs(released - frame["x"]))
    moves = np.median(gaps, axis=0)
    assert moves[-1] > 30
    assert np.median(moves[:-1]) < 0.05


@pytest.mark.parametrize("people", [1, -1, 2.5, True, "five"])
def test_the_people_who_share_are_checked(people):
    for mask in (vd.Noise, vd.Swap, vd.Microaggregation):
        with pytest.raises(PlanError, match="min_people"):
            mask(columns=["x"], min_people=people)
    with pytest.raises(PlanError, match="keep_shared needs min_people"):
        vd.Noise(columns=["x"], min_people=0, keep_shared=True)
