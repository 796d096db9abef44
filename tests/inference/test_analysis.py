"""Models by formula: statsmodels on each dataset, combined by the rule, with cautions."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy import stats
from tests.inference.worlds import people

import veladura as vd
from veladura.core.release import Dataset, Release, Step
from veladura.core.rules import AsReleased, rule_named
from veladura.errors import ColumnError, DataError, PlanError
from veladura.inference.analysis import analyze
from veladura.inference.design import read_formula
from veladura.numeric.hierarchies.bands import looks_banded, midpoint
from veladura.table.source import open as open_table

pytestmark = pytest.mark.quick

FORMULA = "log(income) ~ age + C(sex) + region"


def made(frames, rule="partial", **settings):
    """Return a release that holds the frames as they are."""
    tables = tuple(Dataset(open_table(frame)) for frame in frames)
    known = {"rows": len(frames[0]), "original_rows": len(frames[0]), **settings}
    return Release(tables, None, (Step("cart", {}, (), vd.Cart),), (), rule_named(rule, known))


@pytest.fixture(scope="module")
def several():
    return [people(seed=seed) for seed in range(3)]


def dummies(frame, *names):
    """Build a design by hand, the way R and statsmodels name it."""
    columns = {"Intercept": np.ones(len(frame))}
    for name in names:
        if name == "age":
            columns[name] = frame[name].to_numpy(dtype=float)
        else:
            columns |= {
                f"{name}[{level}]": (frame[name] == level).to_numpy(dtype=float)
                for level in sorted(frame[name].unique())[1:]
            }
    return pd.DataFrame(columns)


def by_statsmodels(family, frame):
    x = dummies(frame, "age", "sex", "region")
    if family == "gaussian":
        return sm.OLS(np.log(frame.income).to_numpy(), x).fit()
    if family == "binomial":
        return sm.Logit((frame.smokes == "yes").to_numpy(dtype=float), x).fit(disp=0)
    return sm.Poisson(frame.visits.to_numpy(), x).fit(disp=0)


RESPONSES = {"gaussian": "log(income)", "binomial": "smokes", "poisson": "visits"}


@pytest.mark.parametrize("family", RESPONSES)
def test_a_model_is_that_of_statsmodels_on_each_dataset(family, several):
    found = made(several).analyze(f"{RESPONSES[family]} ~ age + C(sex) + region", family=family)
    fits = [by_statsmodels(family, frame) for frame in several]
    own = vd.combine(
        np.array([f.params for f in fits]), np.array([f.bse**2 for f in fits]), rule="partial"
    )
    assert found.coefficients.names == (
        "Intercept",
        "age",
        "C(sex)[T.m]",
        "region[T.north]",
        "region[T.west]",
    )
    for part in ("value", "error", "lower", "upper", "df", "p"):
        assert np.allclose(
            getattr(found.coefficients, part), getattr(own, part), rtol=1e-4, atol=1e-9
        ), part
    assert found.rows == (400, 400, 400)


@pytest.mark.parametrize("family", RESPONSES)
def test_tests_of_one_table_are_those_of_statsmodels(family):
    frame = people()
    found = made([frame], "none").analyze(
        f"{RESPONSES[family]} ~ age + C(sex) + region", family=family
    )
    fit = by_statsmodels(family, frame)
    null = {"gaussian": sm.OLS, "binomial": sm.Logit, "poisson": sm.Poisson}[family](
        fit.model.endog, dummies(frame, "age", "sex")
    ).fit(**({} if family == "gaussian" else {"disp": 0}))
    ratio = 2 * (fit.llf - null.llf)
    for asked in ("region", f"{RESPONSES[family]} ~ age + C(sex)"):
        assert found.likelihood_ratio(asked).p == pytest.approx(stats.chi2.sf(ratio, 2), rel=1e-4)
    matrix = np.eye(5)[3:]
    assert found.wald("region").p == pytest.approx(
        float(
            fit.f_test(matrix).pvalue
            if family == "gaussian"
            else fit.wald_test(matrix, scalar=True).pvalue
        ),
        rel=1e-3,
    )
    assert found.rule == "none"
    assert found.coefficients.df[0] == (395 if family == "gaussian" else np.inf)


def test_wald_and_likelihood_ratio_agree_over_datasets(several):
    found = made(several).analyze(FORMULA)
    for term in (
        "age",
        "region",
    ):  # they agree in large samples only, and r is estimated in two ways
        assert found.wald(term).p == pytest.approx(found.likelihood_ratio(term).p, abs=0.05)
    assert found.wald(["age", "C(sex)"]).df == 2
    assert found.wald().df == 4
    assert found.wald("region[T.west]").df == 1
    with pytest.raises(PlanError, match="did you mean 'region'"):
        found.wald("regoin")
    for smaller in ("log(income) ~ age + visits", "income ~ age", FORMULA):
        with pytest.raises(PlanError, match=r"not in the table|not a smaller model"):
            found.likelihood_ratio(smaller)
    with pytest.raises(PlanError, match="no terms to test"):
        made(several).analyze("income ~ 1").wald()


def test_weights_give_robust_errors_and_no_likelihood(several):
    frame = several[0]
    found = made([frame], "none").analyze("log(income) ~ age", weights="weight")
    x, y, w = (
        dummies(frame, "age").to_numpy(),
        np.log(frame.income).to_numpy(),
        frame.weight.to_numpy(),
    )
    bread = np.linalg.inv(x.T @ (x * w[:, None]))
    beta = bread @ (x.T @ (w * y))
    scores = x * (w * (y - x @ beta))[:, None]
    assert np.allclose(found.coefficients.value, beta)
    assert np.allclose(
        found.coefficients.variance, np.diag(bread @ scores.T @ scores @ bread) * 400 / 398
    )
    logit = made([frame], "none").analyze("smokes ~ age", family="binomial", robust=True)
    hc1 = sm.Logit((frame.smokes == "yes").to_numpy(dtype=float), dummies(frame, "age")).fit(
        disp=0, cov_type="HC0"
    )
    assert np.allclose(logit.coefficients.error, hc1.bse * np.sqrt(400 / 398), rtol=1e-4)
    with pytest.raises(PlanError, match="likelihood-ratio test is not available"):
        found.likelihood_ratio("age")
    with pytest.raises(ColumnError, match="weights"):
        made([frame], "none").analyze("income ~ age", weights="wait")
    with pytest.raises(DataError, match="at least 0"):
        made([frame.assign(weight=-1.0)], "none").analyze("income ~ age", weights="weight")


def test_quasi_families_take_the_dispersion_from_the_data(several):
    plain, quasi = (
        made(several).analyze("visits ~ age", family=family)
        for family in ("poisson", "quasi-poisson")
    )
    assert np.allclose(plain.coefficients.value, quasi.coefficients.value)
    x, y = dummies(several[0], "age").to_numpy(), several[0].visits.to_numpy()
    mean = np.exp(x @ quasi.fits[0].params)
    pearson = float(np.sum((y - mean) ** 2 / mean) / (400 - 2))
    assert np.allclose(quasi.fits[0].covariance, plain.fits[0].covariance * pearson)
    ratios = plain.table(exponentiate=True)
    assert np.allclose(ratios["lower"], np.exp(plain.coefficients.lower))
    assert made(several).analyze("income ~ age", family="gamma").coefficients.value[1] > 0
    with pytest.raises(PlanError, match="no odds or rate ratios"):
        made(several).analyze("income ~ age").table(exponentiate=True)


def test_levels_and_knots_are_the_same_in_every_dataset(several):
    shifted = [frame.assign(age=frame.age + 10 * i) for i, frame in enumerate(several)]
    found = made(shifted).analyze("log(income) ~ center(age)")
    centre = np.mean([frame.age.mean() for frame in shifted])
    fits = [
        sm.OLS(np.log(f.income), np.column_stack([np.ones(400), f.age - centre])).fit()
        for f in shifted
    ]
    assert np.allclose(found.coefficients.value, np.mean([f.params for f in fits], axis=0))


@pytest.mark.parametrize(
    "library", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"]
)
def test_every_kind_of_frame_and_a_package_give_the_same(library, tmp_path):
    frame = people()
    recipe = vd.Cart(columns=["income", "smokes"], m=3)
    release = recipe.protect(frame, seed=1)
    found = release.analyze(FORMULA)
    other = recipe.protect(library(frame), seed=1)
    assert np.allclose(other.analyze(FORMULA).coefficients.value, found.coefficients.value)
    loaded = vd.load(
        other.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c", format="csv")
    )
    again = loaded.analyze(FORMULA)
    assert np.allclose(again.coefficients.lower, found.coefficients.lower)
    assert again.rule == "partial"
    with pytest.raises(PlanError, match="original is not available"):
        again.on_original()
    original = found.on_original()
    assert np.allclose(original.coefficients.value, by_statsmodels("gaussian", frame).params)
    assert found.plot(tmp_path / "c.png", beside=original).stat().st_size > 5000
    both = found.beside(original)
    mine, theirs = found.table()["estimate"], original.table()["estimate"]
    np.testing.assert_allclose(both["relative_error"], (mine - theirs) / theirs.abs())
    assert (original.beside(original)["overlap"] == 1).all()
    assert (both["overlap"] <= 1).all()
    drawn = found.plot(tmp_path / "c.svg", beside=original).read_text()
    assert "of original" in drawn
    assert (
        json.loads(json.dumps(found.to_dict(), allow_nan=False))["coefficients"][1]["term"] == "age"
    )
    assert "3 datasets, 400 rows each" in str(found)


def test_an_event_can_be_a_level_a_comparison_or_a_number(several):
    found = [
        made(frames).analyze(f"{left} ~ age", family="binomial").coefficients.value
        for left, frames in (
            ("smokes", several),
            ('I(smokes == "yes")', several),
            (
                "smokes",
                [frame.assign(smokes=(frame.smokes == "yes").astype(int)) for frame in several],
            ),
            ("smokes", [frame.assign(smokes=frame.smokes == "yes") for frame in several]),
        )
    ]
    assert all(np.allclose(one, found[0]) for one in found)
    assert (
        made(several).analyze("smokes ~ age", family="binomial").design.response == "smokes = yes"
    )


BAD = {
    "a column that is not there": ("income ~ agee", {}, ColumnError, "did you mean"),
    "a column in a transform that is not there": (
        "income ~ center(agee)",
        {},
        ColumnError,
        "did you mean",
    ),
    "a function that is not there": ("lgo(income) ~ age", {}, PlanError, "did you mean 'log'"),
    "no formula": ("income ~ (age", {}, PlanError, "is not a valid formula"),
    "no response": ("age + sex", {}, PlanError, "has no response"),
    "a category for a number": ("sex ~ age", {}, PlanError, "is a category"),
    "three values for two": ("region ~ age", {"family": "binomial"}, PlanError, "has 3"),
    "numbers for two values": (
        "age ~ sex",
        {"family": "binomial"},
        PlanError,
        "values other than 0 and 1",
    ),
    "negative counts": ("I(-visits) ~ age", {"family": "poisson"}, PlanError, "negative values"),
    "nought for gamma": ("visits ~ age", {"family": "gamma"}, PlanError, "above 0"),
    "a family that is not there": (
        "income ~ age",
        {"family": "gausian"},
        PlanError,
        "did you mean 'gaussian'",
    ),
    "a level of 95": ("income ~ age", {"level": 95}, PlanError, "between 0 and 1"),
    "columns that say the same": ("income ~ age + I(age * 2)", {}, DataError, "are collinear"),
    "a function of a category": (
        "income ~ log(sex)",
        {},
        PlanError,
        "cannot be evaluated at 'log\\(sex\\)'",
    ),
    "a response that does not vary": ("I(age * 0) ~ sex", {}, DataError, "response is constant"),
    "an outcome that a category decides": (
        "I(sex == 'f') ~ sex + age",
        {"family": "binomial"},
        DataError,
        "does not converge",
    ),
    "no row left": ("log(-income) ~ age", {}, DataError, "have no rows for this model"),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_told(case, several):
    formula, settings, kind, why = BAD[case]
    with pytest.raises(kind, match=why):
        made(several).analyze(formula, **settings)


def test_what_a_release_cannot_give_is_refused(several):
    with pytest.raises(PlanError, match="at least 2 datasets, got 1"):
        made(several[:1]).analyze(FORMULA)
    with pytest.raises(PlanError, match="no combining rule"):
        made(several, "none").analyze(FORMULA)
    with pytest.raises(PlanError, match="'strange' is not known"):
        made(several, "strange").analyze(FORMULA)
    rare = [
        several[0].assign(region=several[0].region.where(several[0].index > 3, "south")),
        *several[1:],
    ]
    with pytest.raises(
        DataError, match=r"no row of datasets \[2, 3\] of 3 has the term 'region\[T.south\]'"
    ):
        made(rare).analyze(FORMULA)
    with pytest.raises(DataError, match="5 rows for 5 coefficients"):
        made(
            [
                frame.head(5).assign(
                    sex=list("fmfmf"), region=["east", "north", "west", "east", "west"]
                )
                for frame in several
            ]
        ).analyze(FORMULA)
    with pytest.raises(PlanError, match="different quantities"):
        made(rare).estimate(
            lambda d: d.groupby("region")["income"].agg(["mean", "var"]).T.to_numpy()
        )


def test_a_private_release_points_to_its_posterior():
    release = vd.DirichletMultinomial(
        columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=2
    ).protect(people())
    for call in (
        lambda: release.analyze("sex ~ 1", family="binomial"),
        lambda: release.estimate(lambda d: (0.0, 1.0)),
    ):
        with pytest.raises(PlanError, match=r"vd.posterior\(release\)"):
            call()
    with pytest.raises(PlanError, match="has no posterior"):
        made([people()], "private").analyze(FORMULA)


def test_rows_left_out_and_weights_left_unused_are_told(several):
    gaps = [frame.assign(age=frame.age.where(frame.index % 4 > 0)) for frame in several]
    with pytest.warns(UserWarning, match=r"300 of 1,200 rows \(25.0%\) are left out: a value"):
        assert made(gaps).analyze(FORMULA).rows == (300, 300, 300)
    zeros = [
        frame.assign(income=frame.income.where(frame.index % 10 > 0, 0.0)) for frame in several
    ]
    with pytest.warns(UserWarning, match=r"10.0%\) .* not defined"):
        made(zeros).analyze(FORMULA)
    weighted = open_table(vd.open(people(), columns={"weight": {"role": "weight"}}))
    release = Release(
        (Dataset(weighted),), None, (Step("cart", {}, (), vd.Cart),), (), AsReleased()
    )
    with pytest.warns(UserWarning, match="sampling weights in 'weight'"):
        release.analyze(FORMULA, sampling=vd.Sampling())
    assert release.analyze(FORMULA).weights == "weight"


def test_generalised_columns_are_explained():
    keys, bands = ["age", "sex", "region"], {"age": vd.Hierarchy(widths=(10, 20))}
    release = vd.KAnonymity(
        quasi_identifiers=keys, k=5, hierarchies=bands, max_suppression=0.05
    ).protect(people())
    found = analyze(release, "log(income) ~ age + sex")
    words = " ".join(found.cautions)
    assert "generalised to intervals, which are text" in words
    assert "midpoint(age)" in words
    assert ("few share their combination" in words) == bool(
        release.steps[0].settings["suppressed_rows"]
    )
    assert found.coefficients.names[1].startswith("age[T.[")
    middle = analyze(release, "log(income) ~ midpoint(age) + sex")
    assert "the midpoint stands for every number" in " ".join(middle.cautions)
    assert middle.coefficients.lower[1] < 0.01 < middle.coefficients.upper[1]


def test_suppressed_values_are_no_category():
    keys, bands = ["age", "sex", "region"], {"age": vd.Hierarchy(widths=(10, 20))}
    recipe = vd.KAnonymity(
        quasi_identifiers=keys, k=20, hierarchies=bands, max_suppression=0.3, suppressed="star"
    )
    release = recipe.protect(people())
    found = analyze(release, "log(income) ~ sex")
    stars = int((release.datasets[0]["sex"] == "*").sum())
    assert stars > 0
    assert found.rows == (400 - stars,)
    assert "a value is suppressed" in " ".join(found.cautions)


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        (vd.Noise(columns=["income"]), "additive noise shrinks"),
        (vd.Swap(columns=["income"]), "rank swapping moved values"),
        (vd.Microaggregation(columns=["income"]), "group means"),
        (vd.Pram(columns=["sex"]), "post-randomisation changed categories"),
    ],
)
def test_masks_say_what_they_do_to_a_model(recipe, why):
    release = recipe.protect(people(), seed=1)
    with pytest.warns(UserWarning, match=why):
        assert release.analyze("income ~ age + sex").rule == "none"
    assert release.analyze("visits ~ age").cautions == ()  # a column that nothing happened to


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("log(income) ~ center(age) + C(sex)", {"income", "age", "sex"}),
        ('I(sex == "m") ~ np.sqrt(age) + I(region == "income")', {"sex", "age", "region"}),
        ("income ~ bs(age, df=4) + `odd name`", {"income", "age", "odd name"}),
        ('income ~ C(sex, contr.treatment("m")) + age:sex', {"income", "sex", "age"}),
        ("income ~ poly(age, degree=2) + {age ** 2}", {"income", "age"}),
    ],
)
def test_the_columns_of_a_formula_are_found(formula, columns):
    assert set(read_formula(formula, ["age", "sex", "region", "income", "odd name"])[1]) == columns
    frame = people().assign(**{"odd name": np.arange(400.0)})
    family = "binomial" if formula.startswith("I(") else "gaussian"
    assert made([frame], "none").analyze(
        formula.replace("poly(age, degree=2) + ", "").replace('"income"', '"west"'), family=family
    ).rows == (400,)


def test_bands_are_read_as_people_write_them():
    assert midpoint(
        ["[0, 10)", "10-19", "5 to 7", "-4", "< 18", ">= 90", "*", "x", 3, None]
    ).tolist()[:6] == [5, 14.5, 6, -4, 18, 90]
    assert np.isnan(midpoint(["*", "x", None])).all()
    assert looks_banded(["[0, 10)", "12", "*"])
    assert not looks_banded(["a", "b"])
    assert not looks_banded(["12", "13"])
    frame = people().assign(
        age=lambda d: [f"[{a // 40 * 40}, {a // 40 * 40 + 40})" for a in d.age + 40]
    )
    names = made([frame], "none").analyze("income ~ age").coefficients.names
    assert names[1:] == (
        "age[T.[80, 120)]",
    )  # by size: '[40' is the base, though '[80' is not before it as text


def test_dates_enter_as_years():
    frame = people().assign(
        born=lambda d: pd.to_datetime("1950-01-01") + pd.to_timedelta(d.age * 365.25, unit="D")
    )
    found = made([frame], "none").analyze("log(income) ~ year(born)")
    assert found.coefficients.value[1] == pytest.approx(by_statsmodels_age(frame), rel=0.05)


def by_statsmodels_age(frame):
    return sm.OLS(np.log(frame.income), dummies(frame, "age")).fit().params["age"]
