"""`veladura analyze FOLDER FORMULA` as an analyst uses it: from the folder alone."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.inference.worlds import people
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import VeladuraError


def call(*arguments):
    """Run the command; a refusal comes back as its message, as `main` would tell it."""
    done = CliRunner().invoke(app, ["analyze", *map(str, arguments)])
    if isinstance(done.exception, VeladuraError):
        return done.exception.exit_code, str(done.exception)
    assert done.exception is None, done.exception
    return done.exit_code, done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("analyze")
    release = vd.Cart(columns=["income", "smokes"], m=3).protect(people(), seed=1)
    return release.save(home / "out" / "people", custodian=home / "safe" / "people")


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    home = tmp_path_factory.mktemp("private")
    domain = {"sex": ["f", "m"], "smokes": ["no", "yes"]}
    release = vd.DirichletMultinomial(columns=["sex", "smokes"], domain=domain, epsilon=4).protect(
        people()
    )
    return release.save(home / "out" / "people", custodian=home / "safe" / "people")


def test_a_table_a_picture_and_json_say_the_same(folder, tmp_path):
    formula = "log(income) ~ age + C(sex)"
    code, shown = call(
        folder,
        formula,
        "--test",
        "C(sex)",
        "--picture",
        tmp_path / "c.svg",
        "--out",
        tmp_path / "c.csv",
    )
    assert code == 0
    assert "combined by rule 'partial'" in shown
    assert "C(sex)[T.m]" in shown
    assert "likelihood ratio test of C(sex)" in shown
    assert "<svg" in (tmp_path / "c.svg").read_text(encoding="utf-8")
    code, text = call(folder, formula, "--json", "--level", 0.9)
    told = json.loads(text)
    found = vd.load(folder).analyze(formula, level=0.9)
    assert np.allclose([row["lower"] for row in told["coefficients"]], found.coefficients.lower)
    assert np.allclose(pd.read_csv(tmp_path / "c.csv")["estimate"], found.coefficients.value)
    assert (told["rule"], told["datasets"], told["level"]) == ("partial", 3, 0.9)
    assert told["tests"][0]["kind"] == "Wald"


def test_ratios_of_a_logistic_model(folder):
    code, shown = call(folder, "smokes ~ sex", "--family", "binomial", "--ratios")
    assert code == 0
    assert "ratio of" in shown
    assert "smokes = yes" in shown


def test_a_call_that_asks_nothing_gets_one_that_works(folder, private):
    code, told = call(folder)
    assert code == 2
    hint = told.partition("Hint: veladura analyze ")[2]
    formula = hint.split('"')[1]
    assert call(folder, formula)[0] == 0
    assert "--posterior" in call(private)[1].partition("Hint")[2]


def test_mistakes_are_told(folder, private, tmp_path):
    for arguments, why in (
        ((folder, "income ~ agee"), "did you mean"),
        ((folder, "income ~ age", "--posterior"), "cannot be used with a formula"),
        ((folder, "--posterior"), "no exact posterior"),
        ((private, "smokes ~ sex", "--family", "binomial"), "--posterior"),
        ((private, "--posterior", "--among", "sex=f"), "needs --event"),
        ((private, "--posterior", "--column", "sexx"), "did you mean 'sex'"),
        (
            (folder, "income ~ age", "--picture", tmp_path / "no" / "folder.png"),
            "cannot be written",
        ),
        ((folder, "income ~ age", "--picture", tmp_path / "picture.xyz"), "cannot be written"),
    ):
        code, told = call(*arguments)
        assert code == 2, told
        assert why in told


def test_a_posterior_answers_from_the_folder_alone(private, tmp_path):
    posterior = vd.posterior(vd.load(private))
    code, text = call(private, "--posterior", "--json")
    told = json.loads(text)
    assert code == 0
    assert [row["share"] for row in told["cells"]] == pytest.approx(list(posterior.mean))
    _, text = call(
        private,
        "--posterior",
        "--json",
        "--column",
        "sex",
        "--event",
        "smokes=yes",
        "--among",
        "sex=f",
        "--among",
        "sex=m",
    )
    told = json.loads(text)
    assert sum(row["share"] for row in told["sex"]) == pytest.approx(1)
    assert [row["question"].split(" (")[0] for row in told["answers"]][-2:] == [
        "difference",
        "odds ratio",
    ]
    code, shown = call(
        private,
        "--posterior",
        "--column",
        "sex",
        "--picture",
        tmp_path / "p.png",
        "--out",
        tmp_path / "p.csv",
    )
    assert "400 people in the original" in shown
    assert list(pd.read_csv(tmp_path / "p.csv").columns) == ["sex", "share", "lower", "upper"]
