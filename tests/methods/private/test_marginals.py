"""Marginals: workload, rules, size, budget, promises, and noise-aware inference from the folder."""

from __future__ import annotations

import json
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError, VeladuraWarning
from veladura.methods.private import measuring
from veladura.methods.private.measuring import Design, Noise, closure, measure
from veladura.methods.private.proof import noise_too_small

pytestmark = pytest.mark.quick

pytest.importorskip(
    "opendp",
    reason="the extra dp is not installed: pip install 'veladura[dp]'; these tests DID NOT RUN",
)
RNG = np.random.default_rng(8)
ROWS = 3000
AGE = RNG.choice(["child", "adult", "old"], ROWS, p=[0.3, 0.5, 0.2])
INCOME = np.where(AGE == "child", "none", RNG.choice(["low", "high"], ROWS))
ILL = np.where(RNG.random(ROWS) < 0.1 + 0.4 * (AGE == "old"), "yes", "no")
FRAME = pd.DataFrame({"age": AGE, "income": INCOME, "ill": ILL})
DOMAIN = {"age": ["child", "adult", "old"], "income": ["none", "low", "high"], "ill": ["no", "yes"]}
COMMON = {"columns": ["age", "income", "ill"], "domain": DOMAIN, "epsilon": 1.0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workload": [["age", "sex"]]}, "workload.*sex"),
        ({"workload": []}, "list of tables"),
        ({"workload": ["age"]}, "list of columns"),
        ({"workload": [["age", "age"]]}, "twice"),
        ({"weights": [1.0]}, "without a workload"),
        ({"workload": [["age", "ill"]], "weights": [1.0, 2.0]}, "1 numbers above 0"),
        ({"workload": [["age", "ill"]], "weights": [-1.0]}, "above 0"),
        ({"m": 0}, "m \\(0\\)"),
        ({"rules": ["age implies"]}, "condition is not valid"),
        ({"model_size": 1e-6}, "megabytes"),
        ({"structural_zeros": [{"sex": ["f"]}]}, "structural_zeros"),
        ({"bounds": {"pay": [0, 1]}}, "not released"),
        ({"bounds": {"age": [0, 1]}}, "a domain and bounds"),
        ({"bins": {"age": 4}}, "without bounds"),
        ({"private_cuts": ["age"]}, "that have bounds"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        vd.Marginals(**COMMON, **settings)


def test_a_rule_about_an_unknown_column_is_refused():
    with pytest.raises(PlanError, match="rules"):
        vd.Marginals(**COMMON, rules=['sex == "f" implies ill == "no"']).protect(FRAME)


def test_a_domain_of_a_trillion_cells_is_released_or_refused_by_its_tables():
    many = {f"c{i}": list(range(10)) for i in range(12)}
    frame = pd.DataFrame({name: RNG.integers(0, 10, 500) for name in many})
    release = vd.Marginals(columns=list(many), domain=many, epsilon=1, rounds=2).protect(frame)
    assert len(release.datasets[0]) == 500
    wide = {"a": list(range(200)), "b": list(range(200)), "c": [0, 1]}
    with pytest.raises(PlanError, match="40,000 cells"):
        vd.Marginals(columns=["a", "b"], domain=wide, epsilon=1, workload=[["a", "b"]])
    with pytest.raises(PlanError, match="recode them"):
        vd.Marginals(columns=["a"], domain={"a": list(range(20_001))}, epsilon=1)


WIDE = {"a": list(range(100)), "b": list(range(100)), "c": [0, 1]}


def test_a_named_table_that_no_model_can_hold_is_refused(tmp_path):
    named = {"columns": ["a", "b", "c"], "epsilon": 1, "workload": [["a", "c"], ["a", "b"]]}
    words = r"table of \['a', 'b'\], which the workload names, needs .* model_size allows 0.05"
    with pytest.raises(PlanError, match=words):
        vd.Marginals(**named, domain=WIDE, model_size=0.05)
    assert [*vd.Marginals(**named, domain=WIDE, model_size=1).tables()] == [("a", "c"), ("a", "b")]
    (tmp_path / "domain.json").write_text(json.dumps(WIDE))
    made = vd.Marginals(**named, domain=str(tmp_path / "domain.json"), model_size=0.05)
    frame = pd.DataFrame({name: RNG.integers(0, 2, 100) for name in WIDE})
    ledger = vd.Ledger(epsilon=1, delta=1e-9)
    with pytest.raises(PlanError, match=words):
        made.protect(frame, ledger=ledger)
    assert ledger.spent == 0


def test_named_tables_that_fit_one_by_one_only_are_told_before_anything_is_spent():
    """Pairs of three columns make one clique of 40^3 cells; two of them make none."""
    domain = {name: list(range(40)) for name in "abc"}
    pairs = [["a", "b"], ["b", "c"], ["a", "c"]]
    frame = pd.DataFrame({name: RNG.integers(0, 40, 200) for name in domain})
    common = {"columns": [*domain], "domain": domain, "epsilon": 1, "model_size": 0.2}
    words = "the 3 tables of the workload need a model of .* together, and model_size allows 0.2"
    with pytest.warns(VeladuraWarning, match=words):
        release = vd.Marginals(**common, workload=pairs, rounds=3).protect(frame)
    measured = [t["columns"] for t in release.manifest["steps"][0]["settings"]["measured"]]
    assert sum(len(columns) == 2 for columns in measured) < 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vd.Marginals(**common, workload=pairs[:2], rounds=2).fit(frame)


@pytest.mark.parametrize("settings", [{"model_size": 0.05}, {}])
def test_pairs_that_are_never_measured_are_named(settings):
    sizes = {"a": 100 if settings else 150, "b": 150, "c": 2}
    domain = {name: list(range(size)) for name, size in sizes.items()}
    frame = pd.DataFrame({name: RNG.integers(0, 2, 100) for name in domain})
    made = vd.Marginals(columns=[*domain], domain=domain, epsilon=1, rounds=1, **settings)
    with pytest.warns(VeladuraWarning, match=rf"a x b \({sizes['a'] * 150:,} cells\)\."):
        made.protect(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error", VeladuraWarning)
        vd.Marginals(**COMMON, rounds=1).protect(FRAME)


def test_rules_and_structural_zeros_hold_in_every_row_and_are_proved():
    free = vd.Marginals(**COMMON, m=3, rounds=0).protect(FRAME)
    ruled = vd.Marginals(**COMMON, m=3, rules=['age == "child" implies income == "none"'])
    release = ruled.protect(FRAME)
    zero = vd.Marginals(
        **COMMON, structural_zeros=[{"age": ["child"], "income": ["low", "high"]}]
    ).protect(FRAME)

    def earning_children(released):
        return sum(
            int(((data["age"] == "child") & (data["income"] != "none")).sum())
            for data in released.datasets
        )

    assert earning_children(release) == earning_children(zero) == 0
    assert earning_children(free) > 0  # a control: independent columns make hundreds
    settings = release.manifest["steps"][0]["settings"]
    assert settings["structural_zeros"] == [{"age": ["child"], "income": ["low", "high"]}]
    posterior = vd.posterior(release)
    impossible = posterior.where(age="child") & ~posterior.where(income="none")
    assert posterior.mean[impossible].sum() == 0
    with pytest.raises(DataError, match="impossible"):
        ruled.protect(FRAME.assign(income="low"))


def test_only_tables_of_the_workload_get_noise():
    # Noise comes from the system: at epsilon 50 it cannot keep a strong relation from being chosen.
    release = vd.Marginals(
        **{**COMMON, "epsilon": 50.0}, workload=[["age", "ill"]], weights=[2.0]
    ).protect(FRAME)
    measured = release.manifest["steps"][0]["settings"]["measured"]
    assert {tuple(table["columns"]) for table in measured} <= {
        ("age",),
        ("income",),
        ("ill",),
        ("age", "ill"),
    }
    assert ["age", "ill"] in [table["columns"] for table in measured]


@pytest.mark.parametrize("rounds", [None, 0, 3])
def test_all_of_rho_is_spent_and_no_more(rounds):
    """The costs that the noise itself had, added up by the test, are the budget."""
    spent = []

    def gaussian(counts, sigma):
        spent.append(1 / sigma**2)  # sensitivity sqrt(2): 2 / (2 sigma^2)
        return counts + RNG.normal(0, sigma, counts.size)

    def choose(scores, sensitivity, rho):
        assert sensitivity >= 2
        spent.append(rho)
        return int(np.argmax(scores))

    design = Design((2, 3, 2), closure({(0, 1): 1.0, (1, 2): 1.0}), 1000, rounds=rounds)
    counts = {(0, 1): [200, 100, 200, 100, 300, 100], (1, 2): [100, 300, 200, 200, 100, 100]}

    def count(columns):
        size = int(np.prod([design.shape[c] for c in columns]))
        return np.array(counts.get(columns, [1000 / size] * size), dtype=float)

    state = measure(design, count, 0.02, Noise(gaussian, choose))
    assert sum(spent) == pytest.approx(0.02, rel=1e-9)
    assert sum(spent) <= 0.02 * (1 + 1e-9)
    assert state.spending.left == pytest.approx(0, abs=1e-12)


def test_sensitivities_are_those_of_a_replaced_row():
    """By enumeration: every pair of neighbouring tables of four rows over three cells."""
    tables = [np.array([a, b, 4 - a - b], dtype=float) for a in range(5) for b in range(5 - a)]
    pairs = [(x, y) for x in tables for y in tables if np.abs(x - y).sum() == 2]  # one replaced
    longest = max(float(np.linalg.norm(x - y)) for x, y in pairs)
    assert longest == pytest.approx(measuring.REPLACED.table)
    model = np.array([1.3, 2.1, 0.6])
    scores = [abs(np.abs(x - model).sum() - np.abs(y - model).sum()) for x, y in pairs]
    assert max(scores) <= measuring.REPLACED.score * (1 + 1e-9)
    added = [(x, x + one) for x in tables for one in np.eye(3)]
    assert max(np.linalg.norm(x - y) for x, y in added) == measuring.ADDED.table
    scores = [abs(np.abs(x - model).sum() - np.abs(y - model).sum()) for x, y in added]
    assert max(scores) <= measuring.ADDED.score * (1 + 1e-9)


def test_an_added_row_needs_less_noise_and_the_promise_knows_it():
    def settings(**neighbours):
        recipe = vd.Marginals(**COMMON, rounds=3, **neighbours)
        return dict(recipe.protect(FRAME).manifest["steps"][0]["settings"])

    replaced, added = settings(), settings(neighbours="add-remove")
    ratio = replaced["measured"][0]["sigma"] / added["measured"][0]["sigma"]
    assert ratio == pytest.approx(2**0.5)
    assert noise_too_small(None, replaced) == noise_too_small(None, added) == 0
    # a control: the same noise is too small for a row that is replaced
    assert noise_too_small(None, {**added, "neighbours": "replace-one"}) == 1
    assert added["n"] == pytest.approx(ROWS, abs=60 * added["measured"][0]["sigma"])


def test_noise_that_was_not_paid_for_breaks_the_promise():
    settings = dict(vd.Marginals(**COMMON).protect(FRAME).manifest["steps"][0]["settings"])
    assert noise_too_small(None, settings) == 0
    halved = [{**table, "sigma": table["sigma"] / 2} for table in settings["measured"]]
    assert noise_too_small(None, {**settings, "measured": halved}) == 1
    dearer = str(Fraction(settings["choosing"]) * 20)
    assert noise_too_small(None, {**settings, "choosing": dearer}) == 1


def test_the_folder_alone_gives_shares_odds_ratios_and_models(tmp_path):
    # Noise comes from the system: at epsilon 50 it is too small to decide what is asserted here.
    release = vd.Marginals(**{**COMMON, "epsilon": 50.0}).protect(FRAME)
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    loaded = vd.load(tmp_path / "out" / "release")
    posterior = vd.posterior(loaded)
    assert posterior.mean.shape == posterior.variance.shape == (18,)
    assert posterior.mean.sum() == pytest.approx(1)
    assert posterior.draw(7).shape == (7, 18)
    low, high = posterior.interval(0.95)
    assert (low <= high).all()
    old, adult = posterior.where(age="old"), posterior.where(age="adult")
    ill = posterior.where(ill="yes")
    ratio = posterior.odds_ratio(ill, old, adult)
    assert ratio.lower < 9 < ratio.upper  # the odds of 1/2 over those of 1/10
    assert posterior.share(ill, old).value == pytest.approx(0.5, abs=0.15)
    assert posterior.difference(ill, old, adult).value == pytest.approx(0.4, abs=0.15)
    table = posterior.table(columns=["ill", "age"])
    assert table["share"].sum() == pytest.approx(1)
    again = vd.posterior(loaded).mean
    np.testing.assert_array_equal(again, posterior.mean)  # the same folder, the same answers
    model = loaded.analyze("ill ~ C(age)", family="binomial")  # adults are the first category
    slopes = model.table()
    old_row = next(name for name in slopes.index if "old" in name)
    assert slopes.loc[old_row, "lower"] < np.log(9) < slopes.loc[old_row, "upper"]
    assert model.rule == "noise-aware"
    assert model.pooling.m == 50


def test_relations_that_were_not_measured_are_named(tmp_path):
    """Two of three pairs are in the workload; the questions and models about the third say so."""
    release = vd.Marginals(
        **COMMON, workload=[["age", "ill"], ["income", "ill"]], rounds=2
    ).protect(FRAME)
    posterior = vd.posterior(release)
    ill, old, child = (
        posterior.where(ill="yes"),
        posterior.where(age="old"),
        posterior.where(age="child"),
    )
    high = posterior.where(income="high")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # measured together: nothing is said
        posterior.share(ill, old)
        posterior.odds_ratio(ill, old, child)
        posterior.table(columns=["ill", "income"])
        posterior.table()
        assert release.analyze("ill ~ C(age)", family="binomial").cautions == ()
    for ask in (
        lambda: posterior.share(high, old),
        lambda: posterior.difference(high, old, child),
        lambda: posterior.odds_ratio(high, old, child),
        lambda: posterior.table(columns=["income", "age"]),
        lambda: release.analyze("ill ~ C(age) + C(income)", family="binomial"),
    ):
        with pytest.warns(vd.errors.VeladuraWarning, match="not measured together"):
            ask()


def test_a_manifest_with_tables_that_do_not_fit_is_refused(tmp_path):
    release = vd.Marginals(**COMMON).protect(FRAME)
    folder = tmp_path / "out" / "release"
    release.save(folder, custodian=tmp_path / "safe" / "record")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["steps"][0]["settings"]["noisy"][0].pop()
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(vd.errors.VeladuraError):
        vd.posterior(vd.load(folder))


def test_a_large_domain_answers_about_groups_and_refuses_a_list_of_cells():
    many = {f"c{i}": list(range(6)) for i in range(7)}
    rows = RNG.integers(0, 6, (800, 7))
    rows[:, 1] = rows[:, 0]
    frame = pd.DataFrame(rows, columns=list(many))
    release = vd.Marginals(
        columns=list(many), domain=many, epsilon=50, workload=[["c0", "c1"]]
    ).protect(frame)
    posterior = vd.posterior(release)
    assert posterior.method == "perturbed refits"
    same = posterior.share(posterior.where(c1=3), posterior.where(c0=3))
    assert same.value > 0.7
    assert posterior.share(posterior.where(c0=[0, 1, 2])).value == pytest.approx(0.5, abs=0.1)
    with pytest.raises(PlanError, match="279,936 cells"):
        posterior.mean  # noqa: B018
    assert len(posterior.table(columns=["c0", "c1"])) == 36


@pytest.mark.slow
def test_intervals_cover_and_the_naive_ones_do_not():
    """95 % intervals of a two-way cell hold the population's share; those of the rows alone do not.

    150 releases at epsilon .3 of 2,000 people; a right interval holds at least 127 of 150 with
    probability 1 - 1e-5 (binomial), and the naive one is the control that must fail.
    """
    rng = np.random.default_rng(9)
    hits = naive = 0
    for _ in range(150):
        scores = rng.normal(0, 0.7, (3, 3, 2))
        share = np.exp(scores - scores.max())
        share /= share.sum()
        cells = rng.choice(18, 2000, p=share.ravel())
        frame = pd.DataFrame(
            {
                name: np.array(DOMAIN[name], dtype=object)[codes]
                for name, codes in zip(DOMAIN, np.unravel_index(cells, (3, 3, 2)), strict=True)
            }
        )
        release = vd.Marginals(**{**COMMON, "epsilon": 0.3}, rounds=3).protect(frame)
        posterior = vd.posterior(release)
        group = posterior.where(age="old", income="high")
        estimate = posterior.share(group)
        truth = share[2, 2].sum()
        hits += estimate.lower <= truth <= estimate.upper
        data = release.datasets[0]
        p = float(((data["age"] == "old") & (data["income"] == "high")).mean())
        naive += abs(p - truth) <= 1.96 * (p * (1 - p) / len(data)) ** 0.5
    assert hits >= 127
    assert naive < 127
