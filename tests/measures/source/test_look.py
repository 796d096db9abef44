"""A look at a source agrees with pandas, SciPy and statsmodels, and stays private."""

from __future__ import annotations

import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats

import veladura as vd
from veladura.errors import ColumnError, FolderError, PlanError
from veladura.table.roles.guess import person_of


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(6)
    n = 700
    sex = rng.choice(["f", "m"], n)
    frame = pd.DataFrame(
        {
            "id": np.arange(n) + 10_000,
            "sex": sex,
            "region": rng.choice(["n", "s", "w"], n, p=[0.5, 0.3, 0.2]),
            "age": rng.integers(18, 80, n).astype(float),
            "income": np.exp(rng.normal(10, 0.7, n) + 0.3 * (sex == "m")).round(-1),
        }
    )
    frame.loc[rng.random(n) < 0.1, "income"] = np.nan
    frame.loc[rng.random(n) < 0.05, "sex"] = None
    return frame


def test_frequencies_are_those_of_pandas(people):
    for found in vd.look(people).frequencies:
        counts = people[found.name].value_counts()
        assert (found.present, found.missing) == (counts.sum(), people[found.name].isna().sum())
        assert found.distinct == counts.size
        assert (found.least, found.greatest, found.median) == (
            counts.min(),
            counts.max(),
            counts.median(),
        )
        assert found.alone == (counts == 1).sum()
        assert [size for _, size in found.most] == counts.head(10).tolist()


def test_moments_are_those_of_pandas_and_scipy(people):
    found = {m.name: m for m in vd.look(people).moments}
    assert set(found) == {"age", "income"}  # the number of a row is no quantity
    for name, m in found.items():
        values = people[name].dropna()
        assert m.mean == pytest.approx(values.mean())
        assert m.deviation == pytest.approx(values.std())
        assert m.skewness == pytest.approx(stats.skew(values))
        assert m.kurtosis == pytest.approx(stats.kurtosis(values))
        assert m.quantiles == pytest.approx(values.quantile([0.05, 0.25, 0.5, 0.75, 0.95]).tolist())


def test_two_groups_by_the_t_test_of_a_regression(people):
    """Welch's t is that of a regression whose errors have the variance of their group (HC2)."""
    (test,) = [t for t in vd.look(people, by="sex").tests if t.name == "income"]
    rows = people.dropna(subset=["sex", "income"])
    fit = smf.ols("income ~ C(sex)", rows).fit(cov_type="HC2")
    assert abs(test.statistic) == pytest.approx(abs(fit.tvalues.iloc[1]))
    assert test.test == "Welch's t test"
    assert test.rows == len(rows)
    assert test.p < 0.001


def test_three_groups_by_the_f_test_of_a_regression(people):
    (test,) = [t for t in vd.look(people, by="region").tests if t.name == "income"]
    fit = smf.ols("income ~ C(region)", people).fit()
    assert (test.test, test.degrees) == ("ANOVA", (2.0, fit.df_resid))
    assert test.statistic == pytest.approx(fit.fvalue)
    assert test.p == pytest.approx(fit.f_pvalue)
    assert test.effect == pytest.approx(fit.rsquared)


def test_categories_by_chi_square_by_hand(people):
    (test,) = [t for t in vd.look(people, by="region").tests if t.name == "sex"]
    table = pd.crosstab(people["sex"], people["region"]).to_numpy()
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
    chi2 = ((table - expected) ** 2 / expected).sum()
    assert test.statistic == pytest.approx(chi2)
    assert test.p == pytest.approx(stats.chi2.sf(chi2, 2))
    assert test.effect == pytest.approx(np.sqrt(chi2 / table.sum()))


def test_one_target_against_every_column(people):
    """The table of covariates beside an income: t test, analysis of variance, correlation."""
    found = {t.name: t for t in vd.look(people, target="income").tests}
    assert {name: t.test for name, t in found.items()} == {
        "id": "correlation",
        "sex": "Welch's t test",
        "region": "ANOVA",
        "age": "correlation",
    }
    r = people["age"].corr(people["income"])
    fit = smf.ols("income ~ age", people).fit()
    assert found["age"].effect == pytest.approx(r)
    assert found["age"].statistic == pytest.approx(fit.tvalues["age"])
    assert found["age"].p == pytest.approx(fit.pvalues["age"])


def test_correlations_are_those_of_pandas(people):
    (pair,) = vd.look(people).correlations
    assert pair.pearson == pytest.approx(people["age"].corr(people["income"]))
    rho = people["age"].corr(people["income"], method="spearman")
    assert pair.spearman == pytest.approx(rho)


def test_people_below_each_k(people):
    table = next(
        t for t in vd.look(people, known=["age", "region"]).tables if "Choosing" in t.title
    )
    sizes = people.groupby(["age", "region"])["id"].transform("size")
    for k, _, below, _ in table.rows:
        assert below == f"{(sizes < int(k)).sum()} of {len(people)}"


def test_the_repr_tells_no_value_and_the_text_says_private(people):
    found = vd.look(people.assign(region="Zyzzyva"))
    assert "Zyzzyva" not in repr(found)
    assert "Private" in str(found)
    assert "Private: for the custodian only" in found.to_html()


def test_the_page_is_private_and_never_beside_a_release(people, tmp_path):
    found = vd.look(people)
    page = found.save(tmp_path / "safe" / "look.html")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    release = vd.Noise(columns=["age"]).protect(people.drop(columns="id"), seed=1)
    folder = release.save(tmp_path / "out" / "release", tmp_path / "safe" / "record")
    for place in (
        folder / "look.html",
        folder / "data" / "x" / "look.html",
        folder.parent / "l.html",
    ):
        with pytest.raises(FolderError, match="inside or beside a release"):
            found.save(place)
        assert not place.exists()


def test_what_cannot_be_looked_at_is_refused(people):
    with pytest.raises(ColumnError, match="nobody"):
        vd.look(people, by="nobody")
    with pytest.raises(PlanError, match="too many groups"):
        vd.look(people, by="id")
    with pytest.raises(PlanError, match="must hold numbers"):
        vd.look(people, target="sex")


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [None, None], "b": [1.0, 1.0]}),
        pd.DataFrame({"a": ["x"], "b": [2]}),
        pd.DataFrame({"a": pd.to_datetime(["2000-01-01", None]), "b": [np.nan, np.nan]}),
    ],
    ids=["gaps", "one row", "dates"],
)
def test_odd_tables_are_looked_at(frame):
    found = vd.look(frame, by="a" if frame["a"].dtype != "M8[us]" else None)
    assert [f.name for f in found.frequencies] == ["a", "b"]
    assert found.to_html().startswith("<!doctype html>")


def test_the_command(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    command = [sys.executable, "-m", "veladura", "look", "people.csv", "--by", "sex"]
    done = subprocess.run(
        [*command, "--known", "age,region", "--html", "safe/look.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    for words in ("Frequencies", "Means by sex", "Welch's t test", "Choosing k", "Private"):
        assert words in done.stdout
    assert stat.S_IMODE((tmp_path / "safe" / "look.html").stat().st_mode) == 0o600


@pytest.mark.parametrize("named", [[], ["--person", "patient"]])
def test_the_command_counts_people_who_have_several_rows(tmp_path, named):
    rng = np.random.default_rng(4)
    stays = pd.DataFrame({"patient": np.repeat(np.arange(300) + 70_000, 1 + np.arange(300) % 3)})
    stays["age"] = rng.integers(20, 90, 300)[stays["patient"] - 70_000]
    stays["cost"] = rng.lognormal(7, 1, len(stays)).round(2)
    stays["ward"] = rng.choice(["a", "b", "c"], len(stays))
    stays.sample(frac=1, random_state=1).to_csv(tmp_path / "stays.csv", index=False)
    command = [sys.executable, "-m", "veladura", "look", "stays.csv", "--known", "age", *named]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "counted by 'patient'" in done.stdout
    assert "600 rows" in done.stdout
    assert "300 people" in done.stdout
    ages = stays.drop_duplicates("patient")["age"].value_counts()
    assert f"{ages[ages < 5].sum()} of 300" in done.stdout  # k = 5
    stays.loc[:4, "patient"] = None  # whose rows these are nobody knows: rows are counted
    assert person_of(vd.open(stays)) is None
