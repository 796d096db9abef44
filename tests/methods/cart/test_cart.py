"""The recipe on tables as people have them, and on those nobody should have."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura import testing
from veladura.core.rules import Single
from veladura.errors import ColumnError, DataError, PlanError, PromiseError
from veladura.methods.cart.promises import single_numbers
from veladura.methods.cart.rules import RuleWarning

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def people():
    """A table like real ones: missing values, spikes, dates, orders, booleans, a rule."""
    rng = np.random.default_rng(0)
    n = 800
    smoke = rng.choice(["NO", "YES"], n, p=[0.7, 0.3])
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(rng.choice(["f", "m"], n)),
            "age": rng.integers(18, 90, n),
            "smoke": smoke,
            "cigarettes": np.where(smoke == "NO", -8, rng.poisson(15, n)),
            "income": np.round(rng.lognormal(10, 0.8, n), 2),
            "born": (
                pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 15000, n), unit="D")
            ),
            "size": rng.choice(["small", "medium", "large"], n),
            "member": rng.random(n) < 0.3,
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[frame["age"] > 80, "income"] = 0.0
    return frame


def singles(series):
    return set(series.dropna()[~series.dropna().duplicated(keep=False)])


@pytest.fixture(scope="module")
def synthetic_case():
    return testing.Case(vd.Cart(m=2), testing.example_frame(300), ("name", "social_number"))


@pytest.mark.parametrize(
    "check",
    [check for check in testing.CHECKS if check.__name__ != "ignores_unused_columns"],
    ids=lambda c: c.__name__,
)
def test_a_fully_synthetic_table_keeps_the_contract(check, synthetic_case):
    # Every column is used when every column is replaced: the one check left out has nothing to say.
    check(synthetic_case)


@pytest.mark.parametrize("model", ["cart", "bagging", "forest", "parametric", "sample"])
@pytest.mark.parametrize("smoothing", ["local", "kernel", "none"])
def test_no_single_number_is_republished(people, model, smoothing):
    release = vd.Cart(m=2, model=model, smoothing=smoothing, trees=3).protect(
        people[["age", "sex", "income", "born"]], seed=1
    )
    for data in release.datasets:
        for name in ("age", "income", "born"):
            assert not singles(people[name]) & set(data[name].dropna())


def test_single_numbers_come_out_where_they_may(people):
    release = vd.Cart(columns=["income"], smoothing="none", republish=["income"], m=1).protect(
        people, seed=1
    )
    assert singles(people["income"]) & set(release.datasets[0]["income"])
    assert not release.promises


def test_the_proof_sees_a_republished_number(people):
    release = vd.Cart(m=1, republish=["income"], smoothing="none").protect(people, seed=1)
    assert single_numbers(release.evidence()[0], {"columns": ["income"]}) > 0


def test_missing_values_spikes_decimals_and_kinds_are_kept(people):
    data = (
        vd.Cart(m=1, columns=["income", "cigarettes", "born", "size", "member", "age"])
        .protect(people, seed=2)
        .datasets[0]
    )
    assert data.dtypes.equals(people.dtypes)
    assert abs(data["income"].isna().mean() - people["income"].isna().mean()) < 0.05
    assert abs((data["income"] == 0).mean() - (people["income"] == 0).mean()) < 0.05
    assert (data["income"].dropna().round(2) == data["income"].dropna()).all()
    assert (data["born"].dt.normalize() == data["born"]).all()
    assert (data["cigarettes"] == -8).sum() == pytest.approx(
        (people["cigarettes"] == -8).sum(), rel=0.1
    )
    assert set(data["size"]) == {"small", "medium", "large"}


def test_relations_are_kept_and_shuffled_columns_are_seen(people):
    """Claim: mean income by smoking and the pair table are kept; not so in the control."""
    frame = people.assign(
        income=people["income"].fillna(1) * np.where(people["smoke"] == "YES", 3, 1)
    )
    gaps = {}
    for model in ("cart", "sample"):
        data = vd.Cart(m=1, model=model).protect(frame, seed=3).datasets[0]
        gaps[model] = data.groupby("smoke")["income"].median().pipe(lambda s: s["YES"] / s["NO"])
    true = frame.groupby("smoke")["income"].median().pipe(lambda s: s["YES"] / s["NO"])
    assert abs(gaps["cart"] / true - 1) < 0.25
    assert abs(gaps["sample"] / true - 1) > 0.4


@pytest.mark.filterwarnings("ignore::veladura.methods.cart.cart.AttenuationWarning")
@pytest.mark.parametrize("order", ["late", "given", ["cigarettes", "smoke"], "dependence"])
def test_rules_hold_in_every_row(people, order):
    rules = [
        'smoke == "NO" implies cigarettes == -8',
        "age > 80 implies income == 0 or income is missing",
        "cigarettes < 200",
    ]
    for model in ("cart", "sample"):
        release = vd.Cart(m=2, rules=rules, order=order, model=model).protect(people, seed=4)
        for data in release.datasets:
            assert (data.loc[data["smoke"] == "NO", "cigarettes"] == -8).all()
            assert data.loc[data["age"] > 80, "income"].fillna(0).eq(0).all()


def test_a_rule_on_columns_that_stay_binds_the_one_that_is_drawn(people):
    release = vd.Cart(
        columns=["smoke"], m=1, rules=['smoke == "NO" implies cigarettes == -8']
    ).protect(people, seed=4)
    data = release.datasets[0]
    assert (data.loc[data["smoke"] == "NO", "cigarettes"] == -8).all()
    assert release.rule.name == "partial"


def test_a_rule_that_a_few_rows_break_is_told_with_their_number(people):
    frame = people.copy()
    frame.loc[frame.index[frame["smoke"] == "NO"][:2], "cigarettes"] = 20
    with pytest.warns(RuleWarning, match="in 2 rows"):
        release = vd.Cart(m=1, rules=['smoke == "NO" implies cigarettes == -8']).protect(
            frame, seed=1
        )
    assert (release.datasets[0].query("smoke == 'NO'")["cigarettes"] == -8).all()


def test_groups_are_drawn_from_one_donor(people):
    frame = people[["sex", "age", "smoke", "size"]].assign(
        twin=people["smoke"] + "/" + people["size"]
    )
    data = (
        vd.Cart(m=1, model="sample", groups=[["smoke", "size", "twin"]])
        .protect(frame, seed=1)
        .datasets[0]
    )
    assert (data["twin"] == data["smoke"] + "/" + data["size"]).all()
    apart = vd.Cart(m=1, model="sample").protect(frame, seed=1).datasets[0]
    assert (apart["twin"] != apart["smoke"] + "/" + apart["size"]).mean() > 0.3
    exact = (
        vd.Cart(m=1, groups=[["age", "income"]], smoothing="none", republish=["age", "income"])
        .protect(people, seed=1)
        .datasets[0]
    )
    assert ((exact["income"] == 0) == (exact["age"] > 80)).all()


def test_strata_are_synthesised_each_by_itself(people):
    frame = people[["smoke", "age"]].assign(
        age=np.where(people["smoke"] == "NO", people["age"], people["age"] + 1000)
    )
    for strata in (["smoke"], ["age > 1000"]):
        release = vd.Cart(
            columns=["age"] if strata == ["smoke"] else ["smoke"],
            strata=strata,
            model="sample",
            m=1,
        ).protect(frame, seed=1)
        data = release.datasets[0]
        assert ((data["age"] >= 1000) == (data["smoke"] == "YES")).all()
    whole = (
        vd.Cart(strata=["smoke"], model="sample", m=1, rows=300).protect(frame, seed=1).datasets[0]
    )
    assert ((whole["age"] >= 1000) == (whole["smoke"] == "YES")).all()


def test_limits_hold_and_are_promised(people):
    release = vd.Cart(columns=["age"], limits={"age": (20, 70)}, m=1).protect(people, seed=1)
    assert release.datasets[0]["age"].between(20, 70).all()
    assert "limits" in {promise.name for promise in release.promises}


def test_other_numbers_of_rows_and_what_the_manifest_tells(people):
    release = vd.Cart(m=3, rows=250).protect(people, seed=1)
    assert [len(data) for data in release.datasets] == [250] * 3
    assert release.rule == Single(rows=250, original_rows=800, proper=True)
    assert release.manifest["rule"] == "single"
    assert release.manifest["rule_settings"] == {"rows": 250, "original_rows": 800, "proper": True}
    assert release.rows is None


def test_weights_and_order_of_categories_are_carried():
    frame = testing.example_frame(200)[["sex", "stay"]].assign(
        weight=np.arange(200.0) + 0.5, level=(["low", "mid", "top", "low"] * 50)
    )
    table = vd.open(
        frame,
        {
            "weight": {"role": "weight"},
            "level": {"kind": "ordered", "order": ["low", "mid", "top"]},
        },
    )
    release = vd.Cart(columns=["stay", "level"], m=1).protect(table, seed=1)
    assert release.datasets[0]["weight"].tolist() == frame["weight"].tolist()
    assert release.tables[0].table.schema["level"].order == ("low", "mid", "top")


def test_predictors_that_are_not_named_have_no_say(people):
    frame = people[["sex", "age", "smoke", "cigarettes"]]
    alone = (
        vd.Cart(columns=["cigarettes"], predictors={"cigarettes": ["sex"]}, m=1)
        .protect(frame, seed=1)
        .datasets[0]
    )
    assert (alone.loc[alone["smoke"] == "NO", "cigarettes"] != -8).mean() > 0.1


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"m": 0}, "m \\(0\\)"),
        ({"min_leaf": 1}, "one row copies it"),
        ({"columns": []}, "empty"),
        ({"columns": "age"}, "list of names"),
        ({"model": "tree"}, "model 'tree'"),
        ({"models": {"age": "carte"}}, "did you mean 'cart'"),
        ({"smoothing": "spline"}, "smoothing"),
        ({"order": "random"}, "order"),
        ({"rules": ["age = 3"]}, "write =="),
        ({"groups": [["a", "b"], ["b", "c"]]}, "two groups"),
        ({"limits": {"age": (9, 3)}}, "must not be above max"),
        ({"limits": {"age": 3}}, "a min, a max"),
        ({"rows": 0}, "rows"),
        ({"bandwidth": 0}, "bandwidth"),
        ({"complexity": 1.5}, "complexity"),
        ({"prune": 1}, "folds"),
        ({"republish": True}, "names the columns"),
    ],
)
def test_settings_are_checked(settings, why):
    with pytest.raises(PlanError, match=why):
        vd.Cart(**settings)


@pytest.mark.parametrize(
    ("settings", "error", "why"),
    [
        ({"columns": ["agee"]}, ColumnError, "did you mean"),
        ({"columns": ["age"], "rows": 9}, PlanError, "every column is replaced"),
        ({"predictors": {"age": ["sex"], "sex": ["age"]}}, PlanError, "cycle"),
        ({"predictors": {"sex": ["age"]}, "order": ["sex", "age"]}, PlanError, "drawn after it"),
        ({"predictors": {"age": ["age"]}}, PlanError, "itself"),
        ({"predictors": ["nobody"]}, ColumnError, "nobody"),
        ({"limits": {"nobody": (0, 1)}}, ColumnError, "limits"),
        ({"rules": ["nobody > 3"]}, ColumnError, "nobody"),
        ({"rules": ["age > 60"]}, DataError, "contradicts.*'age > 60' in"),
        ({"columns": ["age"], "strata": ["age > 30"]}, PlanError, "replaced too"),
        ({"strata": ["income"]}, PlanError, "holds numbers"),
        ({"columns": ["age"], "strata": ["cigarettes == 31"]}, DataError, "strata have fewer rows"),
    ],
)
def test_settings_that_do_not_fit_the_table_are_refused(people, settings, error, why):
    frame = (
        people.assign(
            cigarettes=people["cigarettes"].where(people.index != 3, 31).where(people.index == 3, 5)
        )
        if "strata" in settings
        else people
    )
    with pytest.raises(error, match=why):
        vd.Cart(m=1, **settings).protect(frame, seed=1)


def test_odd_columns_are_synthesised_as_they_are(people):
    frame = people.assign(
        constant=7, empty=np.nan, word="x", nothing=pd.Series([None] * len(people), dtype="object")
    )
    data = vd.Cart(m=1).protect(frame, seed=1).datasets[0]
    assert (data["constant"] == 7).all()
    assert (data["word"] == "x").all()
    assert data["empty"].isna().all()
    assert data["nothing"].isna().all()


@pytest.mark.parametrize("rows", [1, 4])
def test_fewer_rows_than_a_leaf_are_refused(people, rows):
    with pytest.raises(DataError, match="fewer than a leaf"):
        vd.Cart(m=1).protect(people.head(rows), seed=1)


def test_infinite_values_identifiers_and_text_are_refused(people):
    with pytest.raises(DataError, match="'income' has 1 infinite"):
        vd.Cart(m=1).protect(
            people.assign(income=people["income"].where(people.index != 0, np.inf)), seed=1
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DataError, match="'code' has 800 categories in 800 rows"):
            vd.Cart(m=1).protect(people.assign(code=[f"c{i}" for i in range(800)]), seed=1)
        with pytest.raises(PlanError, match=r"free text.*remarks"):
            vd.Cart(m=1).protect(
                vd.open(people.assign(remarks="none"), {"remarks": "text"}), seed=1
            )


def test_a_column_without_a_free_number_is_told_and_not_promised():
    frame = pd.DataFrame({"x": np.arange(30), "g": ["a", "b"] * 15})
    release = vd.Cart(m=1).protect(frame, seed=1)
    assert release.manifest["steps"][0]["settings"]["single_numbers_in"] == ["x"]
    assert not release.promises
    figures = vd.assess(frame, release)
    assert int(figures["risk.republished.single_numbers"]) == 30


def test_a_leaf_of_single_whole_numbers_gives_others():
    frame = pd.DataFrame({"x": np.arange(0, 300, 3), "g": ["a", "b"] * 50})
    data = vd.Cart(m=1).protect(frame, seed=1).datasets[0]
    assert not set(frame["x"]) & set(data["x"])


def test_categories_that_one_row_holds_are_told_as_a_risk(people):
    frame = people[["sex", "age"]].assign(job=["rare", *(["a", "b"] * 400)][:800])
    counts = [
        int(
            vd.assess(frame, vd.Cart(m=1).protect(frame, seed=s))[
                "risk.republished.single_categories"
            ]
        )
        for s in range(6)
    ]
    assert max(counts) == 1


def test_a_promise_that_is_broken_is_seen(people, monkeypatch):
    monkeypatch.setattr(
        "veladura.numeric.trees.numbers.AllowedNumbers.accepted",
        lambda self, places: np.ones(places.size, dtype=bool),
    )
    monkeypatch.setattr(
        "veladura.numeric.trees.numbers.AllowedNumbers.settle", lambda self, places: places
    )
    with pytest.raises(PromiseError, match=r"occur once|occurs once"):
        vd.Cart(m=1, smoothing="none").protect(people, seed=1)


def test_the_same_values_for_any_number_of_threads(people):
    for settings in ({}, {"proper": True}, {"model": "forest", "trees": 3}):
        one, two = (
            vd.Cart(m=3, **settings).protect(people, seed=5, threads=threads) for threads in (1, 2)
        )
        assert all(a.equals(b) for a, b in zip(one.datasets, two.datasets, strict=True))


def test_many_levels_do_not_freeze():
    rng = np.random.default_rng(1)
    n = 20_000
    frame = pd.DataFrame(
        {
            "a": rng.integers(0, 1000, n).astype(str),
            "b": rng.integers(0, 1000, n).astype(str),
            "x": rng.normal(size=n),
        }
    )
    data = vd.Cart(m=1).protect(frame, seed=1).datasets[0]
    assert data["b"].nunique() > 900
