"""Attack: the sampling weight of a person who was left out, by the totals of `Calibrate`.

A total that is known from elsewhere says nothing of the data. A total of the data itself does: the
intruder who has the weights of everybody else from an earlier file subtracts them.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import veladura as vd


def survey(seed, weight):
    """Return 400 people, and those who are left after one of `weight` was left out."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 400), "w": rng.gamma(4, 300, 400).round(1)}
    )
    people.loc[0, ["sex", "w"]] = ["f", weight]
    return people, people.drop(index=0).reset_index(drop=True)


def totals_of(people):
    return {"sex": people.groupby("sex")["w"].sum().to_dict()}


def guessed(release, others):
    """Return the total of women in the manifest minus the weights of all others."""
    (step,) = release.manifest["steps"]
    return step["settings"]["totals"]["sex"]["f"] - others.loc[others["sex"] == "f", "w"].sum()


def test_totals_of_the_data_tell_who_was_left_out():
    """The control: why the totals must come from elsewhere."""
    for seed in range(20):
        weight = float(np.random.default_rng([seed, 1]).gamma(4, 300))
        everybody, others = survey(seed, weight)
        release = vd.Calibrate(column="w", totals=totals_of(everybody)).protect(others)
        assert abs(guessed(release, others) - weight) < 1e-6 * weight


def test_totals_from_elsewhere_are_the_same_whoever_was_left_out():
    public = {"sex": {"f": 250_000.0, "m": 240_000.0}}
    for seed in range(20):
        shown = []
        for weight in (1.0, 98_765_432.0):
            _, others = survey(seed, weight)
            release = vd.Calibrate(column="w", totals=public).protect(others, seed=seed)
            shown.append((release.datasets[0]["w"].tolist(), guessed(release, others)))
        assert shown[0] == shown[1]


def test_nothing_proposes_totals_of_the_data(veladura, tmp_path):
    """`init` never writes a calibration: what it could write are totals of the data."""
    survey(1, 700.0)[0].to_csv(tmp_path / "people.csv", index=False)
    done = veladura("init", "people.csv", "--quiet", cwd=tmp_path)
    assert done.returncode == 0
    assert "calibrate" not in (tmp_path / "plan.toml").read_text(encoding="utf-8")
    done = veladura("init", "people.csv", "--method", "calibrate", "--force", cwd=tmp_path)
    assert done.returncode != 0
    assert "not in the data" in done.stderr
