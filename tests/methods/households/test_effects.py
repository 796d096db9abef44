"""Effects of clusters: drawn from their posterior, so that clusters differ as those sampled."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veladura as vd
from veladura.methods.households.effects import fit_effects, target_of
from veladura.table.codes import encode
from veladura.table.schema import Field

AREAS, EACH = 200, 20


def world(share: float, seed: int = 0, areas: int = AREAS) -> tuple[np.ndarray, np.ndarray]:
    """Return clusters, and numbers of which a share of the variance lies between them."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(areas), EACH)
    effect = np.sqrt(share) * rng.normal(size=areas)
    return cluster, effect[cluster] + np.sqrt(1 - share) * rng.normal(size=cluster.size)


def effects_of(cluster: np.ndarray, **columns: np.ndarray):
    own = np.arange(cluster.size)
    made = {
        name: (encode(pa.array(values), Field(name, "number", pa.float64())), own)
        for name, values in columns.items()
    }
    return fit_effects(cluster, np.zeros(cluster.size, dtype=np.int64), made)


def between(values: np.ndarray, cluster: np.ndarray) -> float:
    """Return the variance of cluster means."""
    return float(pd.Series(values).groupby(cluster).mean().var(ddof=1))


def test_draws_of_effects_have_the_variance_between_clusters():
    """B = .2: draws have it; means of clusters have .2 + .8 / 20 = .24 (a normal model)."""
    cluster, y = world(0.2)
    effects = effects_of(cluster, y=y)
    drawn = [effects.drawn(np.random.default_rng(s)) for s in range(30)]
    spread = np.mean([between(d["(cluster effect 1 on y)"].values, cluster) for d in drawn])
    observed = between(y, cluster)
    expected = observed - 0.8 / EACH
    # draws vary about it by 1 / sqrt(2 * 200 * 30 / (1 + 30 * reliability)); means do not agree
    assert spread == pytest.approx(expected, rel=0.12)
    shrunk = between(effects.mean[cluster, 0], cluster)
    assert shrunk < spread  # posterior means alone would understate it


def test_two_columns_that_go_together_between_clusters_do_so_in_the_draws():
    cluster, y = world(0.3)
    rng = np.random.default_rng(5)
    mean = pd.Series(y).groupby(cluster).transform("mean").to_numpy()
    z = mean + 0.7 * rng.normal(size=y.size)
    drawn = effects_of(cluster, y=y, z=z).drawn(np.random.default_rng(1))
    first, second = (column.values[::EACH] for column in drawn.values())
    assert np.corrcoef(first, second)[0, 1] > 0.7
    assert abs(np.corrcoef(first, rng.permutation(second))[0, 1]) < 0.3  # broken control


def test_what_clusters_do_not_share_has_no_effect_or_a_small_one():
    cluster, y = world(0.0, seed=3)
    effects = effects_of(cluster, y=y)
    spread = 0.0
    if effects is not None:
        drawn = effects.drawn(np.random.default_rng(0))
        spread = between(next(iter(drawn.values())).values, cluster)
    assert spread < 0.3 / EACH


def test_too_few_clusters_have_no_effects():
    cluster, y = world(0.2, areas=8)
    assert effects_of(cluster, y=y) is None


def test_an_effect_names_its_column():
    cluster, y = world(0.3)
    effects = effects_of(cluster, **{"rent on top": y})
    assert [target_of(name) for name in effects.names] == ["rent on top"]


def sampled(seed: int) -> pd.DataFrame:
    """Return couples in areas that share nothing in their ratio, and much in rent and income.

    The more areas differ, the more of it a ratio keeps by mistake: with effects of .3 instead of
    .15 its variance is 1.75 times that of the sample, where one effect a column is drawn apart.
    """
    rng = np.random.default_rng(seed)
    homes = 80 * EACH
    area = np.repeat(np.arange(80), EACH)
    wealth = 0.15 * rng.normal(size=80)[area]
    rent = np.round(600 * np.exp(wealth + 0.3 * rng.normal(size=homes)))
    frame = pd.DataFrame({"home": np.arange(homes), "area": area, "rent": rent}).loc[
        np.repeat(np.arange(homes), 2)
    ]
    noise = 0.4 * rng.normal(size=len(frame))
    income = np.round(30_000 * np.exp(wealth[frame["home"]] + noise))
    return frame.assign(relation=["head", "partner"] * homes, income=income).reset_index(drop=True)


def variance_of(frame: pd.DataFrame) -> np.ndarray:
    """Return design-based variances of mean rent, mean income and their ratio, by pandas."""
    ratio = frame.income.sum() / frame.rent.sum()
    scores = pd.DataFrame(
        {
            "rent": frame.rent - frame.rent.mean(),
            "income": frame.income - frame.income.mean(),
            "ratio": (frame.income - ratio * frame.rent) / frame.rent.mean(),
        }
    )
    return scores.groupby(frame.area).sum().var(ddof=1).to_numpy()


def variances_over(roles: dict, *, named: bool) -> np.ndarray:
    """Return variances in the release over those of the sample, means of six samples."""
    shares = []
    for seed in range(6):
        frame = sampled(seed)
        table = frame.assign(area="a" + frame.area.astype(str)) if named else frame
        recipe = vd.HouseholdCart(keep=("area",), draws="plain", m=2)
        datasets = recipe.protect(vd.open(table, roles), seed=seed).datasets
        own = variance_of(frame)
        shares.append(np.mean([variance_of(one) for one in datasets], axis=0) / own)
    return np.mean(shares, axis=0)


def test_design_based_variances_are_those_of_the_sample():
    """Broken controls: a term for every area (the ratio's is too large), and areas as amounts.

    Area effects of rent and income are the same here, so that what is lost between them shows in
    their ratio most of all.
    """
    home = {"home": {"role": "household"}}
    made = variances_over({**home, "area": {"role": "cluster"}}, named=False)
    assert np.all(np.abs(made[:2] - 1) < 0.15), made
    fixed, amounts = variances_over(home, named=True), variances_over(home, named=False)
    assert made[2] < 1.6 < fixed[2], (made, fixed)
    assert amounts[1] < 0.6, amounts


def test_what_draws_add_sums_to_nought_in_strata_and_over_weights():
    """Clusters of 5 to 20 households. Control: chance alone is off by .01 to .1 a household."""
    rng = np.random.default_rng(11)
    size = rng.integers(5, 21, AREAS)
    cluster = np.repeat(np.arange(AREAS), size)
    stratum, weight = np.arange(AREAS) % 4, rng.gamma(3.0, size=AREAS)
    y = 0.5 * rng.normal(size=AREAS)[cluster] + rng.normal(size=cluster.size)
    own = np.arange(cluster.size)
    made = {
        name: (encode(pa.array(values), Field(name, "number", pa.float64())), own)
        for name, values in (("weight", weight[cluster]), ("y", y))
    }
    effects = fit_effects(cluster, stratum[cluster], made)
    name = "(cluster effect 1 on y)"
    at = effects.names.index(name)
    scores = effects.mean[:, effects.names.index("(cluster effect 1 on weight)")]
    alone = rng.normal(size=(AREAS, len(effects.names)))
    alone = np.einsum("cij,cj->ci", effects.root, alone)[cluster, at]
    drawn = effects.drawn(np.random.default_rng(3))[name].values - effects.mean[cluster, at]
    for added, least, most in ((drawn, 0.0, 2e-6), (alone, 2e-3, np.inf)):
        sums = pd.Series(added).groupby(stratum[cluster]).mean().abs()
        with_weight = abs(float(np.mean(added * scores[cluster])))
        assert least <= sums.max() <= most
        assert with_weight <= most
    assert drawn.std() == pytest.approx(alone.std(), rel=0.3)
