"""Designs as they come: gaps, lonely clusters, giant weights, replicates of other weights."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import DataError

ROLES = {"w": "weight", "h": "strata", "c": "cluster"}


def survey(seed: int = 1) -> pd.DataFrame:
    """Return 8 strata of 4 clusters of 6 people, and a second weight."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(32), 6)
    effect = rng.normal(0, 2, 32)[cluster]
    return pd.DataFrame(
        {
            "y": effect + 3 * (cluster // 4) + rng.normal(size=cluster.size),
            "x": rng.normal(size=cluster.size) + effect,
            "h": (cluster // 4).astype(str),
            "c": cluster,
            "w": rng.uniform(5, 15, cluster.size),
            "w2": rng.uniform(5, 15, cluster.size),
            "sex": rng.choice(["f", "m"], cluster.size),
        }
    )


def released(frame: pd.DataFrame, roles=None):
    """Return a release that keeps every value of the given columns."""
    spare = frame.assign(spare=np.arange(len(frame)) % 7)
    declared = {name: {"role": role} for name, role in (roles or ROLES).items()}
    return vd.Recode(columns={"spare": {"round": 5}}).protect(vd.open(spare, declared))


def by_hand(frame: pd.DataFrame, weight: str) -> tuple[float, float]:
    """Return mean and error, clusters with replacement in strata (Wolter 2007, eq. 6.7.5)."""
    w, y = frame[weight], frame["y"]
    mean = float((w * y).sum() / w.sum())
    score = (w * (y - mean) / w.sum()).groupby([frame["h"], frame["c"]]).sum()
    variance = 0.0
    for _, sums in score.groupby(level=0):
        variance += len(sums) / (len(sums) - 1) * float(((sums - sums.mean()) ** 2).sum())
    return mean, float(np.sqrt(variance))


def told(ask) -> tuple[object, str]:
    """Return an answer and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = ask()
    return answer, " ".join(str(one.message) for one in caught)


def test_another_weight_keeps_strata_and_clusters(tmp_path):
    """The household's weight in place of the person's: the sample is the same one."""
    frame = survey()
    release = released(frame, {**ROLES, "w2": "weight"})
    mean, error = by_hand(frame, "w2")
    model = release.analyze("y ~ 1", weights="w2").coefficients
    assert (model.value[0], model.error[0]) == pytest.approx((mean, error))
    folder = tmp_path / "out" / "r"
    release.save(folder, custodian=tmp_path / "home")
    table = tmp_path / "t.csv"
    asked = ["survey", str(folder), "--mean", "y", "--weights", "w2", "--out", str(table)]
    result = CliRunner().invoke(app, asked)
    assert "weights w2, strata h, clusters c" in result.output
    shown = pd.read_csv(table).loc[0]
    assert (shown["estimate"], shown["error"]) == pytest.approx((mean, error))
    alone = CliRunner().invoke(app, [*asked, "--no-design"])
    assert "Design: weights w2." in alone.output
    rows = pd.read_csv(table).loc[0, "error"]
    w, off = frame["w2"], frame["y"] - mean
    n = len(frame)
    assert rows == pytest.approx(np.sqrt(n / (n - 1) * ((w * off) ** 2).sum()) / w.sum())
    assert rows < 0.9 * error or rows > 1.1 * error  # the design does make a difference


def test_named_weights_drop_the_replicates_of_the_declared_ones():
    frame = survey()
    for place in range(32):
        frame[f"r{place}"] = frame["w"] * np.where(frame["c"] == place, 0, 32 / 31)
    roles = {**ROLES, "w2": "weight"} | {f"r{i}": "replicate weight" for i in range(32)}
    release = released(frame, roles)
    assert "replicate" in release.analyze("y ~ 1").heading()
    model = release.analyze("y ~ 1", weights="w2")
    assert "replicate" not in model.heading()
    assert model.coefficients.error[0] == pytest.approx(by_hand(frame, "w2")[1])


@pytest.mark.parametrize(
    ("value", "words"),
    [(np.nan, "7 missing"), (-1.0, "7 below 0"), (np.inf, "7 infinite"), (0.0, "")],
)
def test_weights_that_are_none_are_refused_with_their_number(value, words):
    frame = survey()
    frame.loc[3:9, "w"] = value
    for roles in (ROLES, {"w": "weight"}):
        release = released(frame, roles)
        for ask in (lambda: vd.survey_mean(release, "y"), lambda: release.analyze("y ~ x")):  # noqa: B023
            if not words:
                ask()  # who has no weight stands for nobody
                continue
            with pytest.raises(DataError, match=f"{words} of 192 rows") as refused:
                ask()
            assert "--no-design" in str(refused.value)


def test_a_group_without_weight_has_no_model():
    frame = survey()
    frame.loc[frame["sex"] == "f", "w"] = 0.0
    frame.loc[frame["sex"] == "m", "y"] = np.nan
    with pytest.raises(DataError, match="stand for nobody"):
        released(frame).analyze("y ~ x")


def test_one_cluster_has_no_error_instead_of_none():
    """An error of 0 says that the population is known."""
    frame = survey().assign(c=7, h="a")
    release = released(frame)
    for ask in (lambda: vd.survey_total(release, "y"), lambda: release.analyze("y ~ x")):
        with pytest.raises(DataError, match="one shows no variance"):
            ask()
    alone = vd.survey_mean(release, "y", sampling=vd.Sampling(weights="w"))
    assert alone.error[0] > 0


def test_lonely_clusters_are_told_unless_all_were_taken():
    frame = survey()
    frame.loc[frame["h"] == "2", "c"] = 99
    frame["f"] = np.where(frame["h"] == "2", 1.0, 0.1)
    release = released(frame)
    _, words = told(lambda: vd.survey_mean(release, "y"))
    assert "1 of 8 strata have one cluster" in words
    _, words = told(lambda: release.analyze("y ~ x"))
    assert "1 of 8 strata have one cluster" in words
    certain = vd.Sampling(weights="w", strata="h", cluster="c", fraction="f")
    mean, words = told(lambda: vd.survey_mean(release, "y", sampling=certain))
    assert not words
    w, y = frame["w"], frame["y"]
    at = (w * y).sum() / w.sum()
    variance = 0.0
    for stratum, rows in frame.groupby("h"):
        if stratum != "2":  # whose clusters are all there: it adds nothing
            sums = (w * (y - at) / w.sum())[rows.index].groupby(rows["c"]).sum()
            variance += 0.9 * 4 / 3 * ((sums - sums.mean()) ** 2).sum()
    assert mean.error[0] == pytest.approx(np.sqrt(variance))


def test_gaps_in_strata_and_clusters_are_told():
    frame = survey()
    frame.loc[:11, "h"] = None
    frame["c"] = frame["c"].astype(float).where(frame.index < 180)
    _, words = told(lambda: vd.survey_mean(released(frame), "y"))
    assert "12 rows have no stratum in 'h'" in words
    assert "12 rows have no cluster in 'c'" in words


def test_one_giant_weight_is_told():
    frame = survey()
    assert not told(lambda: vd.survey_mean(released(frame), "y"))[1]
    frame.loc[3, "w"] = 1e9
    for ask in (
        lambda: vd.survey_mean(released(frame), "y"),
        lambda: released(frame).analyze("y ~ x"),
    ):
        assert "tell as much as 1 of equal weight" in told(ask)[1]


def test_replicates_of_other_weights_are_not_used():
    """Weights that were scaled: every replicate is off, which is no variance."""
    frame = survey()
    for place in range(32):
        frame[f"r{place}"] = frame["w"] * np.where(frame["c"] == place, 0, 32 / 31)
    names = [f"r{i}" for i in range(32)]
    scaled = frame.assign(w=1.4 * frame["w"])
    release = released(scaled, ROLES | dict.fromkeys(names, "replicate weight"))
    design = vd.Sampling(weights="w", replicates=names, replication="jackknife")
    for sampling in (None, design):
        total, words = told(lambda own=sampling: vd.survey_total(release, "y", sampling=own))
        assert "0.714 times the weights 'w'" in words
        sums = (scaled["w"] * scaled["y"]).sum()
        assert total.value[0] == pytest.approx(sums)
        assert total.error[0] < 0.2 * sums  # as replicates it would be more than a fourth
    nothing = vd.Sampling(replicates=names, replication="jackknife")
    mean, words = told(lambda: vd.survey_mean(release, "y", sampling=nothing))
    assert "no weights that they were made from" in words
    assert mean.value[0] == pytest.approx(frame["y"].mean())


def test_a_fraction_on_the_command_line_is_the_finite_population_correction(tmp_path):
    frame = survey().assign(f=0.36, percent=36.0)
    folder = tmp_path / "out" / "r"
    released(frame).save(folder, custodian=tmp_path / "home")
    table = tmp_path / "t.csv"
    asked = ["survey", str(folder), "--mean", "y", "--out", str(table)]
    errors = []
    for more in ([], ["--fraction", "f"]):
        assert CliRunner().invoke(app, [*asked, *more]).exit_code == 0
        errors.append(pd.read_csv(table).loc[0, "error"])
    assert errors[1] == pytest.approx(0.8 * errors[0])
    refused = CliRunner().invoke(app, [*asked, "--fraction", "percent"])
    assert isinstance(refused.exception, DataError)
    assert "at most 1" in str(refused.exception)


def test_nothing_of_this_says_a_value():
    frame = survey()
    frame.loc[3, "w"] = -987654.321
    frame.loc[5, "h"] = "SECRET"
    with pytest.raises(DataError) as refused:
        vd.survey_mean(released(frame), "y")
    frame.loc[3, "w"] = 987654321.0
    _, words = told(lambda: vd.survey_mean(released(frame), "y"))
    assert "98765" not in str(refused.value) + words
    assert "SECRET" not in str(refused.value) + words
