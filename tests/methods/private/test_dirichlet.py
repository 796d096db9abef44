"""The private recipes: errors, manifests, and what a package proves without its source."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError, PromiseError
from veladura.methods.private.domain import Domain
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.run import run
from veladura.plan.steps import steps_to_toml
from veladura.release.verify import holds, verify

pytestmark = pytest.mark.quick

CANARY = "canary-value"
SEX, AGE = ["f", "m"], [1, 2, 3]
DOMAIN = {"sex": SEX, "age": AGE}
FRAME = pd.DataFrame({"sex": ["f", "m", "m"] * 40, "age": [1, 2, 3, 3] * 30, "other": range(120)})


def recipe(**settings):
    return vd.DirichletMultinomial(
        **{"columns": ["sex", "age"], "domain": DOMAIN, "epsilon": 1.5, **settings}
    )


def test_only_the_named_columns_come_out_with_their_types_and_size():
    release = recipe(size=55, m=3).protect(FRAME)
    assert [list(d.columns) for d in release.datasets] == [["sex", "age"]] * 3
    assert [len(d) for d in release.datasets] == [55] * 3
    assert release.datasets[0]["age"].dtype == FRAME["age"].dtype
    assert release.rows is None
    assert release.rule.name == "posterior"


def test_the_manifest_tells_all_that_inference_needs():
    manifest = (
        recipe(m=2, structural_zeros=[{"sex": "f", "age": 2}])
        .protect(FRAME.query("not (sex == 'f' and age == 2)"))
        .manifest
    )
    settings = manifest["steps"][0]["settings"]
    assert {
        key: settings[key]
        for key in ("epsilon", "delta", "size", "m", "n", "neighbours", "repeatable")
    } == {
        "epsilon": "1.5",
        "delta": "0",
        "size": 110,
        "m": 2,
        "n": 110,
        "neighbours": "replace-one",
        "repeatable": False,
    }
    assert float(settings["alpha"]) == pytest.approx(110 / math.expm1(0.75))
    assert settings["domain"] == DOMAIN
    assert settings["structural_zeros"] == [{"sex": ["f"], "age": [2]}]
    assert settings["events"][0]["epsilon"] == "1.5"
    json.dumps(manifest)


def test_alphas_by_cell_keep_their_proportions_and_epsilon(tmp_path):
    shape = [1, 2, 1, 1, 4, 1]
    release = recipe(alpha=shape).protect(FRAME)
    settings = release.steps[0].settings
    alphas = [float(alpha) for alpha in settings["alpha"]]
    assert alphas == pytest.approx([120 / math.expm1(1.5) * part for part in shape])
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    loaded = vd.load(tmp_path / "out" / "release")
    assert holds(verify(tmp_path / "out" / "release"))
    assert vd.posterior(loaded).mean.sum() == pytest.approx(1)


@pytest.mark.parametrize("wrong", [[1, 2], [1, 2, 3, 4, 5, 0], [1, 2, 3, 4, 5, -1], ["a"] * 6])
def test_alphas_that_fit_no_cell_are_refused(wrong):
    with pytest.raises(PlanError, match="alpha"):
        recipe(alpha=wrong)


def test_a_package_alone_gives_the_posterior_and_its_proof(tmp_path):
    release = recipe().protect(FRAME)
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record", format="csv")
    loaded = vd.load(tmp_path / "out" / "release")
    np.testing.assert_array_equal(vd.posterior(loaded).mean, vd.posterior(release).mean)
    lines = verify(tmp_path / "out" / "release")
    assert holds(lines)
    assert any("exp(1.5)" in line.claim for line in lines)


def tampered(home: Path, **settings) -> Path:
    """Return a package whose manifest was changed, with hashes to fit."""
    from veladura.release.folder import write_hashes

    folder = home / "out" / "release"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for key, value in settings.items():
        for stated in (manifest["steps"][0]["settings"], manifest["promises"][0]["settings"]):
            stated.pop(key, None) if value is None else stated.update({key: value})
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    write_hashes(folder)
    return folder


@pytest.mark.parametrize(
    "settings", [{"alpha": "34.4"}, {"epsilon": "1.4999"}, {"m": 2}, {"size": 119}, {"alpha": "0"}]
)
def test_verify_sees_an_alpha_that_does_not_keep_epsilon(tmp_path, settings):
    recipe().protect(FRAME).save(
        tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record"
    )
    assert not holds(verify(tampered(tmp_path, **settings)))


@pytest.mark.parametrize("key", ["n", "alpha", "domain", "size", "m"])
def test_a_manifest_that_lacks_something_gives_no_posterior(tmp_path, key):
    recipe().protect(FRAME).save(
        tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record"
    )
    with pytest.raises(PromiseError, match=f"lacks .*'{key}'"):
        vd.posterior(vd.load(tampered(tmp_path, **{key: None})))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n", "many"),
        ("n", 0),
        ("alpha", "-3"),
        ("alpha", "x"),
        ("domain", {"sex": ["f"], "age": AGE}),
    ],
)
def test_a_manifest_that_makes_no_sense_gives_no_posterior(tmp_path, key, value):
    recipe().protect(FRAME).save(
        tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record"
    )
    with pytest.raises(PromiseError, match=r"cannot be read|do not fit"):
        vd.posterior(vd.load(tampered(tmp_path, **{key: value})))


@dataclass(frozen=True, kw_only=True)
class OwnMethod(vd.DirichletMultinomial):
    """The same mechanism under a name that no table of methods has."""

    method = "own-method"


def test_the_class_of_a_recipe_says_how_its_posterior_is_read():
    settings = {"columns": ["sex"], "domain": DOMAIN, "epsilon": 2}
    own, usual = (
        made(**settings).protect(FRAME, seed=1, unsafe_repeatable=True)
        for made in (OwnMethod, vd.DirichletMultinomial)
    )
    assert own.steps[-1].method == "own-method"
    np.testing.assert_array_equal(vd.posterior(own).mean, vd.posterior(usual).mean)


def test_other_releases_have_no_posterior():
    with pytest.raises(PlanError, match="noise has no exact posterior"):
        vd.posterior(vd.Noise(columns=["other"]).protect(FRAME, seed=1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0}, "epsilon .0. must be above 0"),
        ({"epsilon": -1.0}, "must be above 0"),
        ({"epsilon": math.inf}, "finite"),
        ({"epsilon": math.nan}, "finite"),
        ({"epsilon": "much"}, "finite"),
        ({"domain": None}, "domain is missing"),
        ({"domain": {}}, "domain is missing"),
        ({"domain": {"sex": SEX}}, r"declares no values for \['age'\]"),
        ({"domain": {"sex": SEX, "age": []}}, "domain of 'age' is empty"),
        ({"domain": {"sex": SEX, "age": [1, 2, 2]}}, "has repeated values .1."),
        ({"domain": {"sex": SEX, "age": [1, "1"]}}, "has repeated values .1."),
        ({"domain": {"sex": SEX, "age": "123"}}, "must be a list"),
        ({"domain": {"sex": SEX, "age": [1, None]}}, "setting of their own: missing"),
        (
            {"domain": {"sex": list(map(str, range(2000))), "age": list(range(2000))}},
            "4000000 cells",
        ),
        ({"size": 0}, "size .0. must be a whole number from 1"),
        ({"size": 1.5}, "size"),
        ({"m": 0}, "m .0. must be"),
        ({"missing": ["income"]}, "not released"),
        ({"columns": []}, "columns is empty"),
        ({"structural_zeros": [{"sex": "x"}]}, "does not declare"),
        ({"structural_zeros": [{"income": 1}]}, "released columns"),
        ({"structural_zeros": [{"sex": SEX}]}, "no cell that can occur"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        recipe(**settings)


def test_a_seed_is_refused_unless_the_run_is_a_test():
    for call in (recipe().protect, recipe().fit):
        with pytest.raises(PlanError, match="a seed was given"):
            call(FRAME, seed=1)
    with pytest.raises(PlanError, match="a seed was given"):
        recipe().fit(FRAME).sample(seed=1)
    releases = [recipe().protect(FRAME, seed=1, unsafe_repeatable=True) for _ in range(2)]
    pd.testing.assert_frame_equal(*(release.datasets[0] for release in releases))
    assert releases[0].manifest["steps"][0]["settings"]["repeatable"] is True


def test_strays_are_counted_never_shown():
    frame = FRAME.assign(sex=[CANARY, CANARY, None, *FRAME["sex"][3:]])
    with pytest.raises(DataError, match=r"\{'sex': 3\}") as error:
        recipe().protect(frame)
    assert CANARY not in str(error.value)
    with pytest.raises(DataError, match=r"\{'sex': 2\}"):
        recipe(missing=["sex"]).protect(frame)
    with pytest.raises(DataError, match="10 rows are in cells declared as impossible"):
        recipe(structural_zeros=[{"sex": "f", "age": 2}]).protect(FRAME)
    with pytest.raises(DataError, match="no rows"):
        recipe().protect(FRAME[:0])
    with pytest.raises(PlanError, match="recode numbers"):
        recipe(columns=["sex", "x"], domain={"sex": SEX, "x": ["1"]}).protect(FRAME.assign(x=0.5))


def test_missing_can_be_a_category_of_its_own():
    frame = FRAME.assign(sex=[None, *FRAME["sex"][1:]])
    release = recipe(missing=["sex"], size=2000).protect(frame)
    assert release.datasets[0]["sex"].isna().any()
    posterior = vd.posterior(release)
    assert posterior.mean.shape == (9,)
    assert posterior.where(sex=None).sum() == 3


def test_truth_values_and_categories_come_back():
    frame = pd.DataFrame(
        {
            "a": [True, False] * 20,
            "b": pd.Categorical(["x", "y"] * 20, categories=["y", "x", "z"], ordered=True),
        }
    )
    settings = {
        "columns": ["a", "b"],
        "domain": {"a": [True, False], "b": ["y", "x", "z"]},
        "epsilon": 1,
    }
    released = vd.DirichletMultinomial(**settings).protect(frame).datasets[0]
    assert released["a"].dtype == bool
    assert set(released["b"].cat.categories) <= {"x", "y", "z"}


def test_a_domain_file_is_found_beside_its_plan(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "domain.json").write_text(json.dumps(DOMAIN), encoding="utf-8")
    text = steps_to_toml(recipe(domain="domain.json"))
    (tmp_path / "plan.toml").write_text(
        '[source]\npath = "people.csv"\n[columns.other]\nrole = "dropped"\n'
        '[custodian]\nfolder = "safe/people"\n[release]\nfolder ='
        ' "out/people"\n' + text,
        encoding="utf-8",
    )
    outcome = run(read_plan(tmp_path / "plan.toml"))
    assert outcome.release.manifest["steps"][0]["settings"]["domain"] == DOMAIN
    for text in ("no json", "[1]"):
        (tmp_path / "domain.json").write_text(text, encoding="utf-8")
        with pytest.raises(PlanError, match="domain file"):
            recipe(domain=str(tmp_path / "domain.json")).protect(FRAME)


def test_structural_zeros_survive_a_plan():
    zeros = [{"sex": ["f"], "age": [1, 2, 3]}, {"sex": "m", "age": [1]}]
    made = recipe(structural_zeros=zeros)
    assert parse_plan('[source]\npath = "t.csv"\n' + steps_to_toml(made)).recipe == made


def test_a_gate_is_refused_before_anything_is_drawn(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    gate = '[gate]\n"risk.uniqueness.average_prosecutor" = {max = 0.9}\n'
    text = (
        '[source]\npath = "people.csv"\n[custodian]\nfolder = "safe/people"\n[release]\nfolder ='
        ' "out/people"\n' + gate
    )
    (tmp_path / "plan.toml").write_text(text + steps_to_toml(recipe()), encoding="utf-8")
    with pytest.raises(PlanError, match="cannot have a gate"):
        run(read_plan(tmp_path / "plan.toml"))
    assert not (tmp_path / "safe").exists()


def test_figures_stay_with_the_custodian(tmp_path):
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    text = (
        '[source]\npath = "people.csv"\n[columns.other]\nrole = "dropped"\n'
        '[custodian]\nfolder = "safe/people"\n[release]\nfolder ='
        ' "out/people"\n'
    )
    (tmp_path / "plan.toml").write_text(text + steps_to_toml(recipe()), encoding="utf-8")
    outcome = run(read_plan(tmp_path / "plan.toml"))
    names = [figure.name for figure in outcome.assessment]
    public = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in (tmp_path / "out" / "people").rglob("*")
        if path.is_file()
    )
    private = (tmp_path / "safe" / "people" / "report-custodian.html").read_text(encoding="utf-8")
    assert not [name for name in names if name in public]
    assert "They stay with the holder" in public
    assert [name for name in names if name in private]


def test_only_steps_that_treat_each_row_alone_come_before():
    grouped = vd.Recode(columns={"sex": {"groups": {"w": ["f"]}, "other": "m"}})
    release = vd.Steps(
        [grouped, vd.TopCode(columns={"other": 60}), recipe(domain={"sex": ["w", "m"], "age": AGE})]
    ).protect(FRAME)
    assert release.rule.name == "posterior"
    assert set(release.datasets[0]["sex"]) <= {"w", "m"}
    assert vd.posterior(release).mean.shape == (6,)
    for wrong in (
        vd.Noise(columns=["other"]),
        vd.TopCode(columns=["other"], quantile=0.9),
        vd.Pram(columns=["sex"]),
    ):
        with pytest.raises(PlanError, match="look at more than one row"):
            vd.Steps([wrong, recipe()])
    with pytest.raises(PlanError, match="must be the last"):
        vd.Steps([recipe(), grouped])


def test_two_categories_make_a_beta_binomial():
    release = vd.BetaBinomial(columns=["sex"], domain={"sex": SEX}, epsilon=2).protect(FRAME)
    assert vd.posterior(release, prior=1).mean.shape == (2,)
    with pytest.raises(PlanError, match="needs two categories, the domain has 6"):
        vd.BetaBinomial(columns=["sex", "age"], domain=DOMAIN, epsilon=2)


def test_a_domain_says_its_cells_in_product_order():
    domain = Domain({"sex": ("f", "m"), "age": (1, 2)}, missing=("age",))
    assert domain.labels() == [
        ("f", "1"),
        ("f", "2"),
        ("f", None),
        ("m", "1"),
        ("m", "2"),
        ("m", None),
    ]
    assert Domain.from_json(json.loads(json.dumps(domain.to_json()))) == domain
