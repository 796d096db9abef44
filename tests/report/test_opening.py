"""The first screen of a page: people at risk, exact columns, uses, in sentences."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.core.standing import ExactColumn, Standing
from veladura.measures.assessment import Assessment
from veladura.measures.measure import Figure
from veladura.release.certificate import certificate
from veladura.release.package import save
from veladura.report.gather import WITHHELD, gather
from veladura.report.opening import risk_sentence, shortened, tells
from veladura.report.render import render
from veladura.report.uses import uses

ROLES = {"age": {"role": "quasi-identifier"}, "sex": {"role": "quasi-identifier"}}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2)
    n = 300
    return pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "income": rng.lognormal(10, 0.5, n).round(),
            "job": rng.choice(list("abc"), n),
        }
    )


@pytest.fixture(scope="module")
def release(people):
    recipe = vd.KAnonymity(quasi_identifiers=["age", "sex"], k=4, max_suppression=0.05)
    return recipe.protect(vd.open(people, ROLES))


@pytest.fixture(scope="module")
def assessment(people, release):
    return vd.assess(vd.open(people, ROLES), release)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page))


def test_the_sentence_counts_people(people, release, assessment):
    before = int((people.groupby(["age", "sex"]).size() == 1).sum())
    after = release.datasets[0]
    columns = list(people.columns)
    every = int((after.groupby(columns, dropna=False).size() == 1).sum())
    sentence = gather(release, assessment).opening.sentence
    assert sentence.startswith(
        f"{before} of 300 people could be found by the register; now the register finds 0,"
    )
    assert sentence.endswith(f"and someone who knows every unperturbed column {every}.")


def test_bars_are_in_proportion(release, assessment):
    opening = gather(release, assessment).opening
    for threat, record in zip(opening.threats, assessment.intruders, strict=True):
        assert threat.before_length == pytest.approx(280 * float(record.before) / 300)
        assert threat.after_length == pytest.approx(280 * float(record.after) / 300)


@pytest.mark.parametrize("audience", ["public", "custodian"])
def test_the_page_opens_with_the_verdict(release, assessment, audience):
    page = render(gather(release, assessment, release.prove(), audience=audience))
    first = page.index('id="verdict"')
    assert first < page.index('id="what"') < page.index('id="figures"')
    assert "Columns that are exact, and why" in page
    for record in assessment.intruders:
        assert f"{int(record.before):,} before" in page
        assert f"{int(record.after):,} after" in page


def test_exact_columns_and_what_is_not_confirmed(release, assessment):
    from dataclasses import replace

    standing = Standing(
        ("roles were guessed",),
        (
            ExactColumn("income", "asked for by the study", 250, ("job",)),
            ExactColumn("job"),
        ),
    )
    page = text_of(render(gather(replace(release, standing=standing), assessment)))
    assert "income: asked for by the study. 250 people are unique by it alone; gives back job." in (
        page
    )
    assert "Also exact, without a reason: job." in page
    assert "Not confirmed by the holder roles were guessed" in page
    assert tells({"unique": 1}) == "1 person is unique by it alone"


def test_a_private_release_says_no_figure_in_public(people):
    domain = {"sex": ["f", "m"], "job": list("abc")}
    release = vd.DirichletMultinomial(columns=["sex", "job"], domain=domain, epsilon=2.0).protect(
        people
    )
    figures = vd.assess(people, release)
    public = gather(release, figures).opening
    assert (public.sentence, public.threats, public.good, public.bad) == (WITHHELD, (), (), ())
    assert gather(release, figures, audience="custodian").opening.threats
    assert "risk" not in release.manifest


def test_manifest_and_certificate_say_the_risk(people, release, assessment, tmp_path):
    incomes = release.datasets[0]["income"]
    alone = int((incomes.map(incomes.value_counts()) == 1).sum())
    exact = (ExactColumn("income", "asked for", alone), ExactColumn("job"))
    standing = Standing((), exact, "teaching", "a school", "2026-11-16")
    folder = save(
        release,
        tmp_path / "out" / "r",
        tmp_path / "safe" / "c",
        assessment=assessment,
        standing=standing,
    )
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert [entry["intruder"] for entry in manifest["risk"]] == [
        record.name for record in assessment.intruders
    ]
    assert manifest["risk"][0]["before"] == int(assessment.intruders[0].before)
    sheet = text_of(certificate(folder))
    assert risk_sentence(manifest["risk"]) in sheet
    assert f"income: asked for ({alone} people are unique by it alone)." in sheet
    for word in ("teaching", "a school", "2026-11-16"):
        assert word in sheet


def figure(name, value, unit="share", base=0):
    return Figure(name, "", "low", Estimate.exact(value), unit=unit, base=base)


def test_figures_become_sentences(release):
    names = ("utility.columns.worst", "utility.pmse.ratio", "utility.overlap.mean")
    for values, wanted in (((0.02, 2.0, 0.9), (3, 0)), ((0.6, 400.0, 0.1), (0, 2))):
        figures = dict(zip(names, map(figure, names, values), strict=True))
        good, bad = uses(Assessment(figures), release)
        assert (len(good), len(bad)) == wanted
    far = {
        f"utility.pmse.{short}": figure("", value)
        for short, value in (("value", 0.2), ("ratio", 400))
    }
    assert "The pMSE ratio is 400" in uses(Assessment(far), release)[1][0]
    name = "utility.generalisation.completeness"
    gone = Assessment({name: figure(name, 0.9, "people", 300)})
    assert uses(gone, release)[1][0] == "Totals: 30 of 300 people are not in the release."


def test_a_column_with_one_value_is_told():
    frame = pd.DataFrame({"sex": ["f", "m"] * 20, "job": ["a", "b"] * 20})
    rules = {name: {"groups": {"all": sorted(set(frame[name]))}} for name in frame}
    release = vd.Recode(columns=rules).protect(frame)
    (sentence,) = uses(Assessment({}), release)[1]
    assert sentence.startswith("sex and job: each has one value in all rows: they tell nothing.")


def test_nobody_is_said_twice(people):
    keys = {name: {"role": "quasi-identifier"} for name in people}
    release = vd.TopCode(columns={"income": 1e9}).protect(vd.open(people, keys))
    figures = vd.assess(vd.open(people, keys), release)
    assert [record.name for record in figures.intruders] == ["register", "everything"]
    assert [threat.name for threat in gather(release, figures).opening.threats] == ["register"]


def test_many_names_are_shortened():
    assert shortened([str(i) for i in range(9)]).endswith("7 and 8")
    assert shortened([str(i) for i in range(20)]).endswith("7 and 12 more")


def test_the_column_that_moved_is_named(release):
    name = "utility.columns.worst"
    moved = replace(figure(name, 0.43), note="Column: icd.10.")
    (sentence,) = uses(Assessment({name: moved}), release)[1]
    assert sentence.startswith("Single columns: icd.10 is 43 % away from the original")


def test_nothing_is_good_for_prediction_where_nothing_can_be_predicted(release):
    lost = figure("utility.prediction.lost", -0.05)
    for real, said in ((0.4, 1), (-0.1, 0)):
        figures = {lost.name: lost, "utility.prediction.real": figure("", real)}
        assert len(uses(Assessment(figures), release)[0]) == said


def test_relations_that_moved_are_named_on_the_first_screen(people):
    mixed = people.assign(job=people["age"].gt(50).map({True: "a", False: "b"}))
    release = vd.Cart(columns=["job"], model="sample", m=1).protect(mixed, seed=1)
    page = text_of(render(gather(release, vd.assess(mixed, release), audience="public")))
    assert "Relations of age and job: they moved most; ask the holder" in page
    kept = vd.Cart(columns=["job"], m=1).protect(mixed, seed=1)
    page = text_of(render(gather(kept, vd.assess(mixed, kept), audience="public")))
    assert "they moved most" not in page
    assert "No relation of two columns moved much, of 6 pairs." in page
