"""The recipe on tables as people have them, and on those nobody should have."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura import testing
from veladura.core.moved_numbers import not_by_chance
from veladura.core.promise import Evidence
from veladura.core.rules import Single
from veladura.errors import ColumnError, DataError, PlanError, PromiseError
from veladura.methods.cart.promises import rare_values_out
from veladura.methods.cart.rare import RareLevelsWarning
from veladura.methods.cart.rules import RuleWarning
from veladura.numeric.chance import own_numbers

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


def chance(frame, release, name):
    """How often numbers of one person are released, and how often chance gives."""
    before, *after = (vd.open(data).codes([name])[name] for data in (frame, *release.datasets))
    return own_numbers(before, after, np.arange(len(frame)), 5)


@pytest.mark.parametrize("model", ["cart", "bagging", "forest", "parametric", "sample"])
def test_numbers_of_one_person_come_out_by_chance_only(people, model):
    frame = people[["age", "sex", "income", "born"]].assign(income=people["income"].round(-1))
    release = vd.Cart(m=2, model=model, trees=3).protect(frame, seed=1)
    moved = next(promise for promise in release.promises if promise.name == "moved-numbers")
    assert {"income", "born"} <= set(moved.settings["columns"])
    for name in ("income", "born"):
        assert chance(frame, release, name).pvalue > 1e-5
    bare = vd.Cart(m=2, model=model, trees=3, smoothing="none").protect(frame, seed=1)
    assert chance(frame, bare, "born").pvalue < 1e-5  # the control: donors' own numbers


def test_a_number_that_five_people_share_stays_and_any_other_moves():
    rng = np.random.default_rng(1)
    odd = rng.permutation(np.arange(1000.137, 9000, 20))[:300].round(3)
    frame = pd.DataFrame({"pay": np.append(odd, np.repeat([2500.5, 3333.25, 7000.125], 100))})
    data = vd.Cart(m=1, spikes={"pay": []}).protect(frame, seed=1).datasets[0]["pay"]
    for heap in (2500.5, 3333.25, 7000.125):
        assert 70 < (data == heap).sum() < 130  # 100 by chance
    assert not set(odd) & set(data)


def test_the_settings_of_the_old_guard_warn(people):
    with pytest.warns(DeprecationWarning, match="republish has no effect"):
        vd.Cart(republish=["income"])
    with pytest.warns(DeprecationWarning, match='"kernel" is now called "local"'):
        vd.Cart(smoothing="kernel")


def test_numbers_are_handed_out_where_smoothing_is_none(people):
    recipe = vd.Cart(columns=["income", "born"], smoothing={"income": "none"}, m=1)
    release = recipe.protect(people, seed=1)
    assert set(release.datasets[0]["income"].dropna()) <= set(people["income"])
    (promise,) = release.promises
    assert promise.settings["columns"] == ["born"]


def test_the_proof_sees_numbers_that_were_not_moved(people):
    release = vd.Cart(m=1, smoothing="none").protect(people, seed=1)
    settings = {"columns": ["income"], "people": 5}
    assert not_by_chance(release.evidence()[0], settings) == 1


def test_the_proof_sees_numbers_that_are_avoided():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 1500, 800)})
    release = vd.Cart(m=1, rows=5000).protect(frame, seed=1)
    values, count = np.unique(frame["x"], return_counts=True)
    others = np.setdiff1d(np.arange(1500), values[count == 1])
    avoided = pd.DataFrame({"x": rng.choice(others, 5000)})
    evidence = Evidence(vd.open(avoided), release.original)
    assert not_by_chance(evidence, {"columns": ["x"], "people": 5}) == 1
    assert not_by_chance(release.evidence()[0], {"columns": ["x"], "people": 5}) == 0


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


@pytest.mark.filterwarnings("ignore::veladura.methods.cart.harm.AttenuationWarning")
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
        vd.Cart(m=1, groups=[["age", "income"]], smoothing="none")
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


def test_limits_that_leave_out_a_value_of_many_people_are_refused():
    rng = np.random.default_rng(3)
    income = np.where(rng.random(500) < 0.2, 0, np.round(np.exp(rng.normal(7, 0.5, 500))))
    frame = pd.DataFrame({"income": income, "sex": rng.choice(["f", "m"], 500)})
    held = int((income == 0).sum())
    with pytest.raises(DataError, match=rf"leave out values .* \({held} of 500 rows\)"):
        vd.Cart(m=1, limits={"income": (1, None)}).protect(frame, seed=1)
    kept = vd.Cart(m=1, limits={"income": (0, None)}).protect(frame, seed=1).datasets[0]
    assert kept["income"].min() == 0


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
        ({"min_leaf": 1}, "one person copies it"),
        ({"min_people": 1}, "min_people"),
        ({"draws": "bootstrap"}, "draws"),
        ({"purpose": "fun"}, "purpose"),
        ({"smoothing": {"age": "spline"}}, "smoothing.age"),
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


def test_numbers_without_a_gap_are_moved_too():
    """Somebody holds every number: what is released is always somebody's, and nobody's own."""
    frame = pd.DataFrame({"x": np.arange(300), "g": ["a", "b"] * 150})
    release = vd.Cart(columns=["x"], m=1).protect(frame, seed=1)
    data = release.datasets[0]
    assert data["x"].between(0, 299).all()
    assert np.corrcoef(data["x"], frame["x"])[0, 1] < 0.5
    assert "moved-numbers" in {promise.name for promise in release.promises}


def test_a_leaf_of_single_whole_numbers_gives_those_between_them():
    frame = pd.DataFrame({"x": np.arange(0, 3000, 3), "g": ["a", "b"] * 500})
    data = vd.Cart(m=1).protect(frame, seed=1).datasets[0]
    assert 0.25 < data["x"].isin(frame["x"]).mean() < 0.42  # a third by chance


def test_categories_that_few_people_hold_are_merged(people):
    job = np.array(["a", "b"] * 400, dtype=object)
    job[:1], job[1:5] = "rare", "seldom"
    level = pd.Series(np.tile([1, 2, 3, 4], 200)).where(people.index > 2, 9)
    frame = people[["sex", "age"]].assign(job=job, level=level)
    release = vd.Cart(m=2).protect(frame, seed=1)
    for data in release.datasets:
        assert set(data["job"]) == {"a", "b"}
        assert set(data["level"]) == {1, 2, 3, 4}
    assert int(vd.assess(frame, release)["risk.republished.single_categories"]) == 0
    settings = release.manifest["steps"][0]["settings"]
    assert settings["rare_levels_merged_in"] == ["job", "level"]
    assert "rare-levels" in {promise.name for promise in release.promises}
    copied = Evidence(vd.open(frame), release.original)
    assert rare_values_out(copied, {"columns": ["job", "level"], "people": 5}) == 8


def test_codes_are_never_moved():
    rng = np.random.default_rng(2)
    codes = np.sort(rng.choice(np.arange(100, 9999), 60, replace=False))
    frame = pd.DataFrame({"industry": rng.choice(codes, 3000), "x": rng.normal(size=3000)})
    frame.loc[:1, "industry"] = 10_000
    table = vd.open(frame, {"industry": {"kind": "integer", "labels": {10_000: "new"}}})
    data = vd.Cart(m=1).protect(table, seed=1).datasets[0]
    assert set(data["industry"].astype(int)) <= set(codes)


def test_codes_without_labels_are_never_moved():
    """An even list of industries was taken for running numbers: codes came out that are none."""
    rng = np.random.default_rng(5)
    codes = np.sort(rng.choice(np.arange(170, 9990), 263, replace=False))
    held = rng.choice(codes, 1000, p=rng.dirichlet(np.full(263, 0.6)))
    frame = pd.DataFrame({"industry": held, "x": rng.normal(size=1000).round(2)})
    with pytest.warns(RareLevelsWarning, match=r"industry: \d+ of \d+ categories, held by"):
        release = vd.Cart(m=2).protect(frame, seed=1)
    for data in release.datasets:
        assert set(data["industry"].astype(int)) <= set(held)
    assert release.manifest["steps"][0]["settings"]["rare_levels_merged_in"] == ["industry"]


def test_people_whose_category_is_merged_are_counted():
    few = pd.DataFrame({"ward": ["a"] * 90 + ["b"] * 106 + ["one", "two", "two", "six"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RareLevelsWarning)
        vd.Cart(m=1).protect(few.assign(x=range(200)), seed=1)
    many = pd.DataFrame({"ward": ["a"] * 180 + [f"w{i // 2}" for i in range(20)]})
    wanted = r"(?s)fewer than 5 people hold.*ward: 10 of 11 categories, held by 20 of 200 people"
    with pytest.warns(RareLevelsWarning, match=wanted):
        vd.Cart(m=1).protect(many.assign(x=range(200)), seed=1)


def test_leaves_hold_people_not_rows():
    """Four people have 50 rows each of their own value: a leaf of 5 rows would tell it."""
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(4), 50)
    frame = pd.DataFrame(
        {
            "who": np.append(own, np.arange(100, 400)),
            "town": np.append(own, rng.integers(0, 4, 300)).astype(str),
            "pay": np.append(5000.0 + 7 * own, rng.normal(1000, 100, 300)).round(2),
        }
    )
    table = vd.open(frame, {"who": {"role": "person"}})
    fitted = vd.Cart(columns=["pay"], m=1).fit(table, seed=1)
    model = fitted.models[0][0]
    tree, who = model.pairs[0].numbers, frame["who"].to_numpy()[fitted.codes.rows]
    sizes = [
        len(set(who[tree.order[tree.nodes[leaf, 5] : tree.nodes[leaf, 6]]]))
        for leaf in tree.leaves()
    ]
    assert min(sizes) >= 5
    data = fitted.sample(seed=1).datasets[0]
    assert data["pay"].isin(5000.0 + 7 * np.arange(4)).mean() < 0.02  # of 40 % in the original


@pytest.mark.parametrize(
    ("settings", "draws", "leaf", "level"),
    [
        ({"m": 1}, "plain", 5, 5),
        ({"m": 5}, "bayesian", 5, 5),
        ({"m": 5, "draws": "plain"}, "plain", 5, 5),
        ({"m": 1, "purpose": "analysis"}, "bayesian", 5, 5),
        ({"m": 5, "purpose": "teaching"}, "plain", 5, 5),
        ({"m": 1, "purpose": "open-data"}, "bayesian", 10, 10),
        ({"m": 1, "purpose": "open-data", "min_leaf": 5}, "bayesian", 5, 10),
    ],
)
def test_the_purpose_sets_what_is_not_given(people, settings, draws, leaf, level):
    recipe = vd.Cart(**settings)
    assert recipe.kind_of_draws == draws
    assert (recipe.people_in_leaf, recipe.people_in_level) == (leaf, level)
    release = recipe.protect(people[["sex", "age"]], seed=1)
    told = release.manifest["steps"][0]["settings"]
    assert (told["draws"], told["min_leaf"], told["min_people"]) == (draws, leaf, level)
    assert release.rule.proper == (draws == "bayesian")


def test_plain_draws_vary_less_than_bayesian_ones(people):
    """The standard deviation of a category's count: about 0 at the root, 1 and sqrt(2) times."""
    frame = people[["smoke"]]
    share = (frame["smoke"] == "YES").mean()
    usual = np.sqrt(len(frame) * share * (1 - share))
    spread = {}
    for draws in ("plain", "bayesian"):
        datasets = vd.Cart(m=60, draws=draws).protect(frame, seed=1).datasets
        spread[draws] = np.std([(data["smoke"] == "YES").sum() for data in datasets]) / usual
    assert spread["plain"] < 0.5
    assert 1 < spread["bayesian"] < 1.9


def test_a_promise_that_is_broken_is_seen(people, monkeypatch):
    monkeypatch.setattr(
        "veladura.numeric.trees.law.LeafLaw.moved",
        lambda self, donors, steps: self.law.places[self.rows[donors]],
    )
    with pytest.raises(PromiseError, match="was moved at random"):
        vd.Cart(m=1).protect(people, seed=1)


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


def test_a_column_of_many_levels_does_not_bias_the_others():
    """300 areas of 12 people, 60 times: most areas are new to a small node.

    Sent to the larger side of every split, their rows took the commonest values: the share of those
    who work part time was nine standard errors too small.
    """
    drawn, number, gaps = ["age", "sex", "school", "work"], 3_600, []
    recipe = vd.Cart(columns=drawn, order=drawn, m=1, draws="plain", calibrated=False)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        age = rng.integers(0, 66, number)
        full = rng.random(number) < np.interp(age, (16, 30, 66), (0.0, 0.6, 0.4))
        frame = pd.DataFrame(
            {
                "area": rng.permutation(np.repeat(np.arange(300), 12)).astype(str),
                "age": age,
                "sex": rng.choice(["f", "m"], number),
                "school": rng.choice(list("abcd"), number),
                "work": np.where(full, "full", np.where(rng.random(number) < 0.25, "part", "none")),
            }
        )
        data = recipe.protect(frame, seed=seed).datasets[0]
        gaps.append((data["work"] == "part").mean() - (frame["work"] == "part").mean())
    assert abs(np.mean(gaps)) < 4.5 * np.std(gaps, ddof=1) / np.sqrt(60)
