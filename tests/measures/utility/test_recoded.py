"""Information lost in recoded columns, against variances and entropies counted by pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import NotApplicable

ROWS = 500


@pytest.fixture
def people():
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, ROWS),
            "zip": [f"{n:03d}" for n in rng.integers(100, 400, ROWS)],
            "ill": rng.choice(["yes", "no"], ROWS),
        }
    )


def recipe(**settings):
    given = {
        "quasi_identifiers": ["age", "zip"],
        "k": 8,
        "max_suppression": 0.1,
        "hierarchies": {
            "age": vd.Hierarchy.intervals([10, 50, 100]),
            "zip": vd.Hierarchy.mask(3),
        },
    }
    return vd.KAnonymity(**{**given, **settings})


def by_pandas(people, released, rows, weights):
    """1 - eta^2 of the ranks, and H(X | Y) / H(X); people who are not released are lost."""
    seen = pd.Series(index=people.index, dtype=object)
    seen.iloc[rows] = released["age"].astype(str).to_numpy()
    rank = pd.Series(
        {
            age: weights[people["age"] < age].sum() + weights[people["age"] == age].sum() / 2
            for age in people["age"].unique()
        }
    )
    x = people["age"].map(rank)
    grand = np.average(x, weights=weights)
    within = 0.0
    for _, part in x.groupby(seen):
        w = weights[part.index]
        within += np.sum(w * (part - np.average(part, weights=w)) ** 2)
    gone = seen.isna()
    within += np.sum(weights[gone] * (x[gone] - grand) ** 2)
    age = within / np.sum(weights * (x - grand) ** 2)

    def entropy(*columns):
        shares = pd.Series(weights[kept]).groupby([column[kept].to_numpy() for column in columns])
        p = shares.sum() / weights[kept].sum()
        return -(p * np.log(p)).sum()

    seen = pd.Series(index=people.index, dtype=object)
    seen.iloc[rows] = released["zip"].to_numpy()
    kept = pd.Series(True, index=people.index)
    most = entropy(people["zip"])
    kept = seen.notna()
    lost = weights[~kept].sum() / weights.sum()
    left = (entropy(people["zip"], seen) - entropy(seen)) / most
    return age, lost + (1 - lost) * left


@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_is_that_counted_by_pandas(people, weighted):
    roles = {"age": {"role": "quasi-identifier"}}
    weights = pd.Series(np.ones(ROWS))
    if weighted:
        weights = people["w"] = pd.Series(np.random.default_rng(1).uniform(1, 9, ROWS))
        roles["w"] = {"role": "weight"}
    table = vd.open(people, roles)
    release = recipe().protect(table)
    lost = vd.utility.recoded(table, release)
    expected = by_pandas(people, release.datasets[0], release.rows, weights)
    assert [float(lost.columns[name]) for name in ("age", "zip")] == pytest.approx(expected)
    assert float(lost.mean) == pytest.approx(np.mean(expected))
    assert float(lost.worst) == pytest.approx(max(expected))
    assert set(lost.columns) == {"age", "zip"}


def test_a_starred_column_is_lost_and_an_untouched_one_is_not_counted(people):
    star = recipe(quasi_identifiers=["zip"], k=ROWS, hierarchies={"zip": vd.Hierarchy.star()})
    lost = vd.utility.recoded(people, star.protect(people))
    assert {name: float(value) for name, value in lost.columns.items()} == {"zip": 1.0}


def test_columns_recoded_row_by_row_and_by_rules_are_measured_too(people):
    for method in (recipe(recoding="mondrian"), recipe(recoding="local")):
        lost = vd.utility.recoded(people, method.protect(people))
        assert 0 < float(lost.mean) < 1
    halves = {"groups": {"low": [z for z in set(people["zip"]) if z < "250"]}, "other": "high"}
    lost = vd.utility.recoded(people, vd.Recode(columns={"zip": halves}).protect(people))
    assert 0.5 < float(lost.columns["zip"]) < 1


def test_a_release_without_coarser_values_has_no_such_loss(people):
    with pytest.raises(NotApplicable, match="no released column has coarser"):
        vd.utility.recoded(people, vd.Noise(columns=["age"]).protect(people, seed=1))


def test_generalised_columns_are_in_the_headlines(people):
    release = recipe().protect(people)
    figures = vd.assess(people, release).figures
    assert figures["utility.recoded.worst"].headline
    assert figures["utility.recoded.worst"].estimate is not None
