"""Design-based estimates: published worked examples, closed forms, a second implementation."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import hadamard

import veladura as vd
from veladura.errors import ColumnError, DataError, PlanError
from veladura.inference.pooling import Pooling
from veladura.report.intervals import interval_facts


def released(frame: pd.DataFrame, roles: dict[str, str]):
    """Return a release that keeps every value of the given columns."""
    spare = frame.assign(spare=np.arange(len(frame)) % 7)
    table = vd.open(spare, {name: {"role": role} for name, role in roles.items()})
    return vd.Recode(columns={"spare": {"round": 5}}).protect(table)


def test_a_cluster_sample_gives_the_published_mean_and_total():
    """Lohr (2010), example 5.4: five of 100 suites, the grade point averages of their students.

    The total's error without the finite population correction, 67.167, is what R's survey package
    and Stata print for these rows (vignette of the R package SDaA).
    """
    suites = [
        (3.08, 2.60, 3.44, 3.04),
        (2.36, 3.04, 3.28, 2.68),
        (2.00, 2.56, 2.52, 1.88),
        (3.00, 2.88, 3.44, 3.64),
        (2.68, 1.92, 3.28, 3.20),
    ]
    rows = [(f"s{s}", gpa) for s, students in enumerate(suites) for gpa in students]
    frame = pd.DataFrame(rows, columns=["suite", "gpa"]).assign(w=20.0, f=0.05)
    release = released(frame, {"suite": "cluster", "w": "weight"})
    corrected = vd.Sampling(weights="w", cluster="suite", fraction="f")
    mean = vd.survey_mean(release, "gpa", sampling=corrected)
    assert mean.value[0] == pytest.approx(2.826, abs=1e-9)
    assert mean.variance[0] == pytest.approx(0.0267862, abs=1e-7)
    assert mean.df[0] == 4
    total = vd.survey_total(release, "gpa")
    assert total.value[0] == pytest.approx(1130.4)
    assert total.error[0] == pytest.approx(67.16666, abs=1e-5)
    declared = vd.survey_mean(release, "gpa")  # without the correction, by the roles
    assert declared.error[0] == pytest.approx(mean.error[0] / np.sqrt(0.95))


def test_a_stratified_sample_gives_the_published_total():
    """Lohr (2010), example 3.2: acres of farms in 300 of 3,078 counties, by region."""
    regions = {  # counties, sampled, mean, variance
        "Northeast": (220, 21, 97_629.8, 7_647_472_708),
        "North Central": (1054, 103, 300_504.2, 29_618_183_543),
        "South": (1382, 135, 211_315.0, 53_587_487_856),
        "West": (422, 41, 662_295.5, 396_185_950_266),
    }
    rng = np.random.default_rng(1)
    parts = []
    for region, (counties, sampled, mean, variance) in regions.items():
        draw = rng.normal(size=sampled)
        draw = (draw - draw.mean()) / draw.std(ddof=1)  # mean and variance are the table's
        acres = mean + draw * np.sqrt(variance)
        weight, share = counties / sampled, sampled / counties
        parts.append(pd.DataFrame({"region": region, "acres": acres, "w": weight, "f": share}))
    frame = pd.concat(parts, ignore_index=True)
    release = released(frame, {"region": "strata", "w": "weight"})
    design = vd.Sampling(weights="w", strata="region", fraction="f")
    total = vd.survey_total(release, "acres", sampling=design)
    assert total.value[0] == pytest.approx(909_736_034, rel=1e-6)
    assert total.error[0] == pytest.approx(50_417_248, rel=1e-5)
    ends = (total.lower[0], total.upper[0])  # Student's t with 300 - 4 degrees of freedom
    assert ends == pytest.approx((810_514_350, 1_008_957_721), rel=1e-6)
    mean = vd.survey_mean(release, "acres", sampling=design)
    assert mean.value[0] == pytest.approx(295_561, rel=1e-5)
    assert mean.error[0] == pytest.approx(16_379.87, rel=1e-5)
    ignored = vd.survey_total(release, "acres", sampling=vd.Sampling(weights="w", fraction="f"))
    assert ignored.error[0] > 1.05 * total.error[0]  # the control: strata left out


def test_a_simple_random_sample_gives_the_published_regression():
    """Lohr (2010), chapter 4: dead trees on 25 plots, counted in photographs and in the field."""
    photo = [10, 12, 7, 13, 13, 6, 17, 16, 15, 10, 14, 12, 10]
    photo += [5, 12, 10, 10, 9, 6, 11, 7, 9, 11, 10, 10]
    field = [15, 14, 9, 14, 8, 5, 18, 15, 13, 15, 11, 15, 12]
    field += [8, 13, 9, 11, 12, 9, 12, 13, 11, 10, 9, 8]
    frame = pd.DataFrame({"photo": photo, "field": field, "w": 4.0})
    release = released(frame, {"w": "weight"})
    assert vd.survey_mean(release, "photo").value[0] == pytest.approx(10.6)
    assert vd.survey_mean(release, "field").value[0] == pytest.approx(11.56)
    slopes = release.analyze("field ~ photo").coefficients.value
    assert slopes == pytest.approx([5.059292, 0.613274], abs=1e-6)


def survey_frame(seed: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(40), 12)
    stratum = cluster // 10
    effect = rng.normal(0, 2, 40)[cluster]
    x = rng.normal(size=cluster.size) + 0.5 * effect
    y = 1 + 2 * x + effect + 3 * stratum + rng.normal(size=cluster.size)
    w = rng.uniform(1, 3, 4)[stratum] * rng.uniform(0.8, 1.2, cluster.size)
    return pd.DataFrame({"y": y, "x": x, "h": stratum.astype(str), "c": cluster, "w": w})


def test_coefficients_have_the_linearised_variance_written_out_by_hand():
    frame = survey_frame()
    release = released(frame, {"w": "weight", "h": "strata", "c": "cluster"})
    model = release.analyze("y ~ x")
    x = np.column_stack([np.ones(len(frame)), frame["x"]])
    w, y = frame["w"].to_numpy(), frame["y"].to_numpy()
    a = np.linalg.inv(x.T @ (w[:, None] * x))
    beta = a @ x.T @ (w * y)
    middle = np.zeros((2, 2))
    for h in frame["h"].unique():
        inside = frame.index[frame["h"] == h]
        sums = [
            sum(w[i] * (y[i] - x[i] @ beta) * x[i] for i in inside if frame["c"][i] == c)
            for c in frame["c"][inside].unique()
        ]
        off = np.array(sums) - np.mean(sums, axis=0)
        middle += len(sums) / (len(sums) - 1) * off.T @ off
    assert np.allclose(model.coefficients.value, beta)
    assert np.allclose(model.coefficients.variance, np.diag(a @ middle @ a))
    assert np.all(model.coefficients.df == 36)
    assert "strata h, clusters c" in model.heading()
    with pytest.warns(vd.errors.VeladuraWarning, match="does not use"):
        release.analyze("y ~ x", sampling=vd.Sampling())
    rows = release.analyze("y ~ x", sampling=vd.Sampling(weights="w", strata="h"))  # a control
    assert rows.coefficients.error[0] < 0.7 * model.coefficients.error[0]


def test_a_mean_is_the_model_without_terms():
    frame = survey_frame(3)
    release = released(frame, {"w": "weight", "h": "strata", "c": "cluster"})
    mean, model = vd.survey_mean(release, "y"), release.analyze("y ~ 1").coefficients
    assert mean.value[0] == pytest.approx(model.value[0])
    assert mean.error[0] == pytest.approx(model.error[0])
    by = vd.survey_mean(release, "y", by="h")
    assert by.names == ("0", "1", "2", "3")
    groups = release.analyze("y ~ 0 + C(h)").coefficients
    assert np.allclose(by.value, groups.value)
    assert np.allclose(by.error, groups.error)


def test_balanced_replicates_give_the_variance_of_two_clusters_a_stratum():
    """McCarthy (1966): with full orthogonal balance both are the same for a linear estimate."""
    rng = np.random.default_rng(4)
    stratum = np.repeat(np.arange(7), 2)
    frame = pd.DataFrame({"y": rng.normal(size=14), "h": stratum.astype(str), "w": 10.0})
    signs = hadamard(8)[:, 1:]
    names = [f"r{i}" for i in range(8)]
    for name, row in zip(names, signs, strict=True):
        half = np.where(np.tile([1, -1], 7) == row[stratum], 2.0, 0.0)
        frame[name] = frame["w"] * half
    roles = {"w": "weight", "h": "strata"} | dict.fromkeys(names, "replicate weight")
    release = released(frame, roles)
    strata = vd.Sampling(weights="w", strata="h")
    replicated = vd.survey_total(release, "y")  # by the roles
    assert replicated.error[0] == pytest.approx(
        vd.survey_total(release, "y", sampling=strata).error[0]
    )
    fay = frame.copy()
    for name in names:
        fay[name] = 0.5 * frame[name] + 0.5 * frame["w"]  # rho = 1/2
    half = vd.Sampling(weights="w", replicates=names, replication="fay", rho=0.5)
    assert vd.survey_total(released(fay, roles), "y", sampling=half).error[0] == pytest.approx(
        replicated.error[0]
    )


def test_the_jackknife_of_a_mean_is_its_standard_error():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"y": rng.normal(size=12), "w": 1.0})
    for i in range(12):
        frame[f"j{i}"] = np.where(np.arange(12) == i, 0.0, 12 / 11)
    design = vd.Sampling(
        weights="w", replicates=[f"j{i}" for i in range(12)], replication="jackknife"
    )
    release = released(frame, {"w": "weight"})
    mean = vd.survey_mean(release, "y", sampling=design)
    assert mean.error[0] == pytest.approx(frame["y"].std(ddof=1) / np.sqrt(12))
    model = release.analyze("y ~ 1", sampling=design)
    assert model.coefficients.error[0] == pytest.approx(mean.error[0])


def test_a_ratio_has_the_variance_of_its_residuals():
    frame = survey_frame(6).assign(z=lambda f: f["x"] + 5)
    release = released(frame, {"w": "weight", "h": "strata", "c": "cluster"})
    ratio = vd.survey_ratio(release, "y", "z")
    value = (frame["w"] @ frame["y"]) / (frame["w"] @ frame["z"])
    residual = frame.assign(e=(frame["y"] - value * frame["z"]) / (frame["w"] @ frame["z"]))
    total = vd.survey_total(released(residual, {"w": "weight", "h": "strata", "c": "cluster"}), "e")
    assert ratio.value[0] == pytest.approx(value)
    assert ratio.error[0] == pytest.approx(total.error[0])


def test_missing_values_are_a_domain_and_their_clusters_still_count():
    frame = survey_frame(7)
    frame.loc[frame["c"] == 0, "y"] = np.nan
    release = released(frame, {"w": "weight", "h": "strata", "c": "cluster"})
    with pytest.warns(vd.errors.VeladuraWarning, match="left out"):
        model = release.analyze("y ~ 1").coefficients
    mean = vd.survey_mean(release, "y")
    assert mean.df[0] == model.df[0] == 36  # not 35
    assert mean.error[0] == pytest.approx(model.error[0])


@pytest.mark.filterwarnings("ignore:.*row by row", "ignore:rows are drawn one by one")
def test_synthetic_datasets_are_combined_by_their_rule():
    frame = survey_frame(8)
    roles = {"w": {"role": "weight"}, "h": {"role": "strata"}, "c": {"role": "cluster"}}
    release = vd.Cart(columns=["y"], m=3).protect(vd.open(frame, roles), seed=1)
    combined = vd.survey_mean(release, "y")
    each = [
        vd.survey_mean(released(data, {k: v["role"] for k, v in roles.items()}), "y")
        for data in release.datasets
    ]
    q = np.array([one.value[0] for one in each])
    within = np.mean([one.variance[0] for one in each])
    assert combined.value[0] == pytest.approx(q.mean())
    assert combined.variance[0] == pytest.approx(within + q.var(ddof=1) / 3)  # Reiter 2003


def test_few_clusters_widen_the_intervals_of_synthetic_datasets():
    """Satterthwaite (1946) by hand; Reiter's degrees of freedom for a variance without error."""
    rule, q, v = Pooling("partial", 3), np.array([1.0, 2.0, 3.0]), np.full(3, 6.0)
    total = 1 / 3 + 6
    known = rule.combine(q, v, 0.95)
    assert known.df == pytest.approx(2 * (1 + 3 * 6) ** 2)
    few = rule.combine(q, v, 0.95, df=8)
    assert few.df == pytest.approx(total**2 / ((1 / 3) ** 2 / 2 + 6**2 / 8))
    assert few.variance == known.variance
    assert few.upper > known.upper
    same = rule.combine(np.ones(3), v, 0.95, df=8)  # nothing between the datasets
    assert same.df == pytest.approx(8)


@pytest.mark.filterwarnings("ignore:.*row by row", "ignore:rows are drawn one by one")
def test_intervals_of_a_synthesis_know_the_number_of_clusters():
    frame = survey_frame(8)
    roles = {"w": {"role": "weight"}, "h": {"role": "strata"}, "c": {"role": "cluster"}}
    release = vd.Cart(columns=["y"], m=3).protect(vd.open(frame, roles), seed=1)
    assert vd.survey_mean(release, "y").df[0] < 40  # 40 clusters in 4 strata
    assert release.analyze("y ~ x").coefficients.df[0] < 40
    with pytest.warns(vd.errors.VeladuraWarning, match="does not use"):
        alone = release.analyze("y ~ x", sampling=vd.Sampling())
    assert alone.coefficients.df[0] > 40


@pytest.mark.slow
def test_intervals_cover_the_population_in_95_of_100_samples():
    """Stratified clusters, 300 samples; a binomial at 1e-5. Independent rows fail it."""
    rng = np.random.default_rng(9)
    size = 400  # clusters of 10 people, 4 strata
    effect = rng.normal(0, 1.5, size)
    stratum = np.arange(size) // 100
    y = (effect + 2 * stratum)[:, None] + rng.normal(size=(size, 10))
    truth, hits, naive = y.mean(), 0, 0
    for _ in range(300):
        chosen = np.concatenate([100 * h + rng.choice(100, 8, replace=False) for h in range(4)])
        frame = pd.DataFrame({"y": y[chosen].ravel(), "c": np.repeat(chosen, 10)})
        frame = frame.assign(h=(frame["c"] // 100).astype(str), w=12.5)
        release = released(frame, {"w": "weight", "h": "strata", "c": "cluster"})
        mean = vd.survey_mean(release, "y")
        hits += bool(mean.lower[0] <= truth <= mean.upper[0])
        flat = vd.survey_mean(release, "y", sampling=vd.Sampling())
        naive += bool(flat.lower[0] <= truth <= flat.upper[0])
    assert 300 * 0.95 - 4.3 * np.sqrt(300 * 0.95 * 0.05) < hits
    assert naive < 300 * 0.85


def test_a_design_that_makes_no_sense_is_refused():
    frame = survey_frame(10)
    release = released(frame, {"w": "weight"})
    with pytest.raises(ColumnError, match="sampling"):
        release.analyze("y ~ x", sampling=vd.Sampling(strata="nowhere"))
    with pytest.raises(PlanError, match="not both"):
        release.analyze("y ~ x", weights="w", sampling=vd.Sampling())
    with pytest.raises(PlanError, match="replication"):
        vd.Sampling(replication="other")
    with pytest.raises(PlanError, match="at least two"):
        vd.Sampling(replicates=["r"])
    with pytest.raises(PlanError, match="a list of columns"):
        vd.Sampling(replicates="r")
    with pytest.raises(PlanError, match="rho"):
        vd.Sampling(rho=1.0)
    with pytest.raises(PlanError, match="hold no numbers"):
        vd.survey_mean(release, "h")
    with pytest.raises(DataError, match="numbers of at least 0"):
        vd.survey_mean(release, "y", sampling=vd.Sampling(weights="x"))


def test_a_saved_release_keeps_its_design(tmp_path):
    frame = survey_frame(11)
    release = released(frame, {"w": "weight", "h": "strata", "c": "cluster"})
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "home")
    loaded = vd.load(tmp_path / "out" / "release")
    assert vd.survey_mean(loaded, "y").error[0] == pytest.approx(
        vd.survey_mean(release, "y").error[0]
    )


def test_the_command_shows_means_totals_and_ratios(tmp_path):
    from typer.testing import CliRunner

    from veladura.cli.main import app

    release = released(survey_frame(12), {"w": "weight", "h": "strata", "c": "cluster"})
    folder = tmp_path / "out" / "release"
    release.save(folder, custodian=tmp_path / "home")
    table = tmp_path / "table.csv"
    asked = ["survey", str(folder), "--mean", "y", "--ratio", "y/x", "--out", str(table)]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0
    assert "strata h, clusters c" in result.output
    written = pd.read_csv(table).set_index("estimate of")
    mean = vd.survey_mean(release, "y")
    assert written.loc["mean of y", "estimate"] == pytest.approx(mean.value[0])
    assert written.loc["mean of y", "upper"] == pytest.approx(mean.upper[0])
    refused = CliRunner().invoke(app, ["survey", str(folder)])
    assert isinstance(refused.exception, PlanError)


def test_the_report_has_the_errors_of_the_design():
    """Means and shares of the recipient's page are those of `survey_mean`."""
    frame = survey_frame(13).assign(ill=lambda f: np.where(f["y"] > 4, "yes", "no"))
    release = released(frame, {"w": "weight", "h": "strata", "c": "cluster"})
    groups = {group.title: group for group in interval_facts(release, None)}
    (title,) = [title for title in groups if title.startswith("Means")]
    assert "strata h, clusters c" in title
    (shown,) = [one.released for one in groups[title].rows if one.name == "y"]
    _, lower, upper = (float(number) for number in re.findall(r"-?[\d.]+", shown))
    wide = 2 * 1.96 * vd.survey_mean(release, "y").error[0]
    assert upper - lower == pytest.approx(wide, rel=0.05)
    alone = vd.survey_mean(release, "y", sampling=vd.Sampling(weights="w"))  # a control
    assert 2 * 1.96 * alone.error[0] < 0.7 * wide


@pytest.mark.parametrize("role", ["household", "person"])
def test_members_and_rows_of_one_person_are_no_independent_draws(role):
    """Two rows a unit that say the same: the error is that of the units, not of the rows."""
    values = np.random.default_rng(3).normal(size=120)
    frame = pd.DataFrame({"unit": np.repeat(np.arange(120), 2), "y": np.repeat(values, 2)})
    release = vd.Swap(columns=["spare"]).protect(
        vd.open(frame.assign(spare=np.arange(240) % 7), {"unit": {"role": role}}), seed=1
    )
    units = float(values.std(ddof=1) / np.sqrt(120))
    assert vd.survey_mean(release, "y").error[0] == pytest.approx(units, rel=1e-9)
    assert release.analyze("y ~ 1").table()["error"].iloc[0] == pytest.approx(units, rel=0.01)
    alone = vd.survey_mean(release, "y", sampling=vd.Sampling()).error[0]
    assert alone < 0.75 * units  # rows for independent: the control
    page = interval_facts(release, None)[0]
    assert page.title == "Means, errors of the design (clusters unit)"
    shown = next(row for row in page.rows if row.name == "y").term.released
    assert (shown.upper - shown.lower) / 2 == pytest.approx(1.96 * units, rel=0.02)


def test_who_lives_in_no_household_is_a_cluster_alone():
    rng = np.random.default_rng(4)
    home = np.where(np.arange(300) < 150, np.arange(300) // 3, np.nan)
    frame = pd.DataFrame({"home": home, "y": rng.normal(size=300)})
    numbered = frame.assign(home=frame.home.fillna(pd.Series(np.arange(300) + 1000)))
    errors = [
        vd.survey_mean(released(one, {"home": "household"}), "y").error[0]
        for one in (frame, numbered)
    ]
    assert errors[0] == pytest.approx(errors[1])
