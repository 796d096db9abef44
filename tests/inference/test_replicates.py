"""Replicate weights: how they were made is recognised, declared, told, and never guessed wrong."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import hadamard
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import PlanError, VeladuraWarning
from veladura.report.gather import gather
from veladura.report.intervals import interval_facts, written
from veladura.table.replication import recognised

CLUSTERS = 12


def survey(seed: int = 1, strata: int = 3) -> pd.DataFrame:
    """Return people in twelve clusters of some strata, with weights of their own."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(CLUSTERS), 6)
    y = 50 + 5 * rng.normal(size=CLUSTERS)[cluster] + rng.normal(size=cluster.size)
    h = cluster * strata // CLUSTERS
    w = np.round(rng.uniform(20, 60, cluster.size), 1)
    return pd.DataFrame({"y": y, "c": cluster, "h": h, "w": w})


def with_factors(frame: pd.DataFrame, factors: np.ndarray, decimals: int = 4):
    """Return a survey with replicate weights, one a row of factors of its clusters."""
    names = [f"r{i + 1:02}" for i in range(len(factors))]
    extra = {
        name: np.round(frame["w"] * row[frame["c"]], decimals)
        for name, row in zip(names, factors, strict=True)
    }
    return frame.assign(**extra), names


def jk1() -> np.ndarray:
    return (1 - np.eye(CLUSTERS)) * CLUSTERS / (CLUSTERS - 1)


def jkn(strata: int = 3) -> np.ndarray:
    h = np.arange(CLUSTERS) * strata // CLUSTERS
    n = np.bincount(h)[h]
    raised = np.where(h[:, None] == h[None, :], (n / (n - 1))[:, None], 1.0)
    return np.where(np.eye(CLUSTERS) == 1, 0.0, raised)


def jk2() -> np.ndarray:
    factors = np.ones((6, CLUSTERS))
    factors[np.arange(6), 2 * np.arange(6)] = 0
    factors[np.arange(6), 2 * np.arange(6) + 1] = 2
    return factors


def brr(rho: float = 0.0) -> np.ndarray:
    signs = hadamard(8)[:, 1:7]
    factors = np.repeat(signs, 2, axis=1) * np.tile([1, -1], 6)
    return np.where(factors > 0, 2 - rho, rho)


def released(frame: pd.DataFrame, names, more=None, **declared: str):
    spare = frame.assign(spare=np.arange(len(frame)) % 7)
    roles = {"w": {"role": "weight"}, **(more or {})}
    roles |= {name: {"role": "replicate weight", **declared} for name in names}
    return vd.Recode(columns={"spare": {"round": 5}}).protect(vd.open(spare, roles))


def linearised(frame: pd.DataFrame, names, strata: str | None, what=vd.survey_total) -> float:
    design = vd.Sampling(weights="w", strata=strata, cluster="c")
    return float(what(released(frame, names), "y", sampling=design).error[0])


MADE = {
    "jackknife": (jk1(), None, 1),
    "jkn": (jkn(), "h", 3),
    "jk2": (jk2(), "h", 6),
    "brr": (brr(), "h", 6),
    "fay": (brr(0.3), "h", 6),
}


@pytest.mark.parametrize("how", MADE)
def test_the_error_of_a_total_is_the_linearised_one_without_a_word(how):
    """Wolter (2007): of a total all of them are the variance between clusters within strata."""
    factors, strata, number = MADE[how]
    frame, names = with_factors(survey(strata=number), factors)
    release = released(frame, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error", VeladuraWarning)
        total = vd.survey_total(release, "y")
    expected = linearised(frame, names, strata)
    # JK1 takes deviations from the full estimate; rounded weights move the fourth digit
    assert total.error[0] == pytest.approx(expected, rel=1e-3)
    assert set(release.manifest["replication"]) == set(names)
    assert release.manifest["replication"]["r01"].startswith(how)
    clusters = {"jackknife": CLUSTERS - 1, "jkn": CLUSTERS - 3, "jk2": 6}
    assert total.df[0] == pytest.approx(clusters.get(how, 7))


@pytest.mark.parametrize("how", ["jkn", "jk2"])
def test_strata_with_one_cluster_keep_their_weights_and_hide_no_jackknife(how):
    """They are in no replicate: their clusters were taken for certain."""
    factors, _, number = MADE[how]
    frame, names = with_factors(survey(strata=number), factors)
    alone = frame[frame.c < 2].assign(c=CLUSTERS, h=number)
    for name in names:
        alone[name] = alone["w"]
    both = pd.concat([frame, alone], ignore_index=True)
    seen = recognised(both["w"].to_numpy(), both[names].to_numpy())
    assert {made.how for made in seen} == {how}
    assert seen == recognised(frame["w"].to_numpy(), frame[names].to_numpy())


def test_a_jackknife_within_strata_that_needs_its_factors_asks_for_them():
    frame, names = with_factors(survey(), bootstrap())
    release = released(frame, names)
    design = vd.Sampling(weights="w", replicates=names, replication="jkn")
    with pytest.warns(VeladuraWarning, match="scales=") as told:
        vd.survey_total(release, "y", sampling=design)
    assert not any("it is not known how" in str(one.message) for one in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error", VeladuraWarning)
        vd.survey_total(release, "y", sampling=replace(design, scales=[0.75] * len(names)))


@pytest.mark.parametrize("how", MADE)
def test_another_method_gives_another_error_and_a_caution(how):
    factors, _, number = MADE[how]
    frame, names = with_factors(survey(strata=number), factors)
    release = released(frame, names)
    right = vd.survey_total(release, "y").error[0]
    wrong = "bootstrap" if how in ("brr", "jk2") else "brr"
    design = vd.Sampling(weights="w", replicates=names, replication=wrong)
    with pytest.warns(VeladuraWarning, match="look like"):
        told = vd.survey_total(release, "y", sampling=design).error[0]
    assert abs(told / right - 1) > 0.05


def test_fays_coefficient_comes_from_the_weights():
    weights = survey()["w"].to_numpy()
    frame, names = with_factors(survey(strata=6), brr(0.3))
    seen = recognised(weights, frame[names].to_numpy())
    assert {str(made) for made in seen} == {"fay 0.3"}


def bootstrap(seed: int = 5, number: int = 60) -> np.ndarray:
    """Return factors of Rao and Wu: clusters drawn with replacement, one fewer than there are."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(CLUSTERS - 1, np.full(CLUSTERS, 1 / CLUSTERS), size=number)
    return drawn * CLUSTERS / (CLUSTERS - 1)


def test_what_the_weights_do_not_show_is_not_used_without_a_word():
    frame, names = with_factors(survey(), bootstrap())
    release = released(frame, names, {"c": {"role": "cluster"}})
    assert "replication" not in release.manifest
    with pytest.warns(VeladuraWarning, match="not known how the replicate weights were made"):
        silent = vd.survey_total(release, "y").error[0]
    assert silent == pytest.approx(linearised(frame, names, None))
    with pytest.warns(VeladuraWarning, match="not known how the replicate weights were made"):
        model = release.analyze("y ~ 1")
    assert not model.sampling.replicates
    told = released(frame, names, replication="bootstrap")
    totals = np.array([frame["y"] @ frame[name] for name in names])
    expected = np.sqrt(((totals - frame["y"] @ frame["w"]) ** 2).sum() / 59)
    assert vd.survey_total(told, "y").error[0] == pytest.approx(expected)
    assert set(told.manifest["replication"].values()) == {"bootstrap"}
    page = " ".join(gather(release).summary)
    assert "does not say how the replicate weights were made" in page
    assert "does not say how the replicate weights" not in " ".join(gather(told).summary)


def test_a_saved_release_says_how_where_changed_weights_do_not_show_it(tmp_path):
    frame, names = with_factors(survey(), jk1())
    roles = {"w": {"role": "weight"}} | {name: {"role": "replicate weight"} for name in names}
    release = vd.Noise(columns=["w"], scale=0.2).protect(vd.open(frame, roles), seed=3)
    data = release.datasets[0]
    assert recognised(data["w"].to_numpy(), data[names].to_numpy()) == ()
    folder = release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    told = json.loads((folder / "manifest.json").read_text())["replication"]
    assert told == dict.fromkeys(names, "jackknife")
    means = [(data["y"] @ data[n]) / data[n].sum() for n in names]
    off = np.array(means) - (data["y"] @ data["w"]) / data["w"].sum()
    expected = np.sqrt((CLUSTERS - 1) / CLUSTERS * (off**2).sum())
    loaded = vd.load(folder)
    assert vd.survey_mean(loaded, "y").error[0] == pytest.approx(expected)
    assert {line.status for line in vd.verify(folder)} <= {"holds", "attested"}
    about = json.loads((folder / "manifest.json").read_text())
    about["replication"] = dict.fromkeys(names, "sorcery")  # a later version, or a stranger
    (folder / "manifest.json").write_text(json.dumps(about))
    with pytest.warns(VeladuraWarning, match="not known how"):
        vd.survey_mean(vd.load(folder), "y")


def test_the_means_of_the_report_have_the_errors_of_replicates():
    frame, names = with_factors(survey(), jk1())
    release = released(frame.drop(columns=["c", "h"]), names)
    (means,) = [g for g in interval_facts(release, None) if g.title.startswith("Means")]
    row = next(row for row in means.rows if row.name == "y")
    mean = vd.survey_mean(release, "y")
    half = 1.959963984540054 * mean.error[0]
    expected = vd.Estimate(mean.value[0], mean.value[0] - half, mean.value[0] + half)
    assert row.released == written(expected, "number")
    assert "12 replicate weights: jackknife" in means.title
    rows = vd.survey_mean(release, "y", sampling=vd.Sampling(weights="w"))  # the control
    assert rows.error[0] < 0.7 * mean.error[0]


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def figure(output: str, start: str) -> float:
    line = next(line for line in output.splitlines() if line.startswith(start))
    return float(line.removeprefix(start).split()[1].replace(",", ""))


def test_the_commands_use_what_is_told(tmp_path):
    frame, names = with_factors(survey(), bootstrap())
    release = released(frame, names, replication="bootstrap")
    folder = str(release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record"))
    declared = run("survey", folder, "--mean", "y")
    assert "60 replicate weights: bootstrap" in declared
    ratio = np.sqrt(59 / 60 * 59)  # (R - 1) / R against 1 / (R - 1)
    told = run("survey", folder, "--mean", "y", "--replication", "jackknife")
    assert figure(told, "mean of y") == pytest.approx(ratio * figure(declared, "mean of y"), 1e-3)
    model = run("analyze", folder, "y ~ 1")
    assert figure(model, "Intercept") == pytest.approx(figure(declared, "mean of y"), 1e-2)
    other = run("analyze", folder, "y ~ 1", "--replication", "jackknife")
    assert figure(other, "Intercept") == pytest.approx(ratio * figure(model, "Intercept"), 1e-2)
    fay = run("survey", folder, "--mean", "y", "--replication", "fay", "--rho", "0.5")
    assert figure(fay, "mean of y") == pytest.approx(
        np.sqrt(4 * 59 / 60) * figure(declared, "mean of y"), 1e-3
    )
    plain = released(frame, []).save(tmp_path / "b" / "release", custodian=tmp_path / "s" / "b")
    refused = CliRunner().invoke(app, ["survey", str(plain), "--mean", "y", "--replication", "brr"])
    assert refused.exit_code
    assert "declares none" in " ".join(str(refused.exception or refused.output).split())


def test_what_is_declared_is_checked():
    frame, names = with_factors(survey(), jk1())
    with pytest.raises(PlanError, match="replication"):
        released(frame, names, replication="magic")
    with pytest.raises(PlanError, match="at least 0 and below 1"):
        released(frame, names, replication="fay 2")
    with pytest.raises(PlanError, match="for role 'replicate weight'"):
        vd.open(frame, {"w": {"role": "weight", "replication": "brr"}})
    mixed = {names[0]: {"role": "replicate weight", "replication": "brr"}}
    with pytest.raises(PlanError, match="several ways"):
        vd.survey_mean(released(frame, names[1:], mixed, replication="jkn 0.5"), "y")
    with pytest.raises(PlanError, match="one each is needed"):
        vd.Sampling(replicates=names, replication="jkn", scales=[0.5])
