"""Weights add up to the declared total, and few people have a weight of their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.promise import Evidence
from veladura.errors import DataError, PlanError
from veladura.methods.masks.recode_rules import significant
from veladura.methods.masks.reweight import other_total

pytestmark = pytest.mark.quick


def people(rows=2_000):
    draw = np.random.default_rng(7)
    weights = np.exp(draw.normal(5, 0.6, rows))
    return pd.DataFrame({"area": draw.integers(0, 4, rows).astype(str), "w": weights})


def test_total_is_kept_and_few_are_alone_by_their_weight():
    frame = people()
    released = vd.Reweight(column="w").protect(frame).datasets[0]
    written = [float(f"{weight:.2g}") for weight in frame["w"]]  # no digit more is told
    assert released["w"].sum() == pytest.approx(sum(written), rel=1e-9)
    assert released["w"].sum() == pytest.approx(frame["w"].sum(), rel=1e-3)
    assert (frame["w"].value_counts() == 1).sum() == 2_000
    assert (released["w"].value_counts() == 1).sum() < 20
    ratio = released["w"] / frame["w"]
    assert ratio.between(0.93, 1.07).all()  # two digits move a weight by at most a twentieth


def test_rows_left_out_give_their_weight_to_the_rest():
    frame = people()
    recipe = vd.Steps(
        [
            vd.KAnonymity(quasi_identifiers=["area"], k=450, max_suppression=0.3),
            vd.Reweight(column="w", total=float(frame["w"].sum())),
        ]
    )
    release = recipe.protect(frame)
    released = release.datasets[0]
    assert 0 < len(released) <= len(frame)
    assert released["w"].sum() == pytest.approx(frame["w"].sum(), rel=1e-9)
    assert all(proof.status == "holds" for proof in release.prove())


def test_missing_and_zero_weights_stay_and_whole_ones_stay_whole():
    frame = pd.DataFrame({"w": pd.array([10, 0, None, 33], dtype="Int64")})
    released = vd.Reweight(column="w", total=86).protect(frame).datasets[0]["w"]
    assert released.isna().tolist() == [False, False, True, False]
    assert released.dropna().tolist() == [20, 0, 66]
    frame = pd.DataFrame({"w": np.arange(1, 400)})
    released = vd.Reweight(column="w", total=12_345.4).protect(frame).datasets[0]["w"]
    assert released.dtype == frame["w"].dtype
    assert released.sum() == 12_345


def test_whole_weights_that_were_equal_stay_equal_and_nobody_is_set_apart():
    """Households of two share a weight: rounding to whole numbers must not tell them apart."""
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"w": np.repeat(np.rint(np.exp(draw.normal(6, 0.7, 150))), 2).astype(int)})
    release = vd.Reweight(column="w", total=200_000, digits=1).protect(frame)
    released = release.datasets[0]["w"]
    assert (released.value_counts() == 1).sum() == 0
    groups = significant(frame["w"].to_numpy(dtype=float), 1)
    assert released.groupby(groups).nunique().max() == 1
    smallest = pd.Series(groups).value_counts().min()
    assert abs(released.sum() - 200_000) < max(smallest, 2)
    assert all(proof.status == "holds" for proof in release.prove())


def test_the_ends_are_trimmed_before_weights_are_rounded():
    frame = pd.DataFrame({"w": [0.0, 3.0, 10.0, 12.0, 900.0]})
    recipe = vd.Reweight(column="w", total=100, digits=1, lower=10, upper=30)
    assert recipe.protect(frame).datasets[0]["w"].tolist() == pytest.approx(
        [0, 10 * 100 / 60, 10 * 100 / 60, 10 * 100 / 60, 30 * 100 / 60]
    )


def test_replicates_are_multiplied_as_their_weights_are(tmp_path):
    """An exact replicate is 16/15 of the old weight: it would give back what was rounded."""
    draw = np.random.default_rng(5)
    frame = pd.DataFrame({"w": draw.uniform(40, 110, 320), "c": np.arange(320) % 16, "one": 1.0})
    for place in range(16):
        frame[f"r{place}"] = frame["w"] * np.where(frame["c"] == place, 0, 16 / 15)
    roles = {"w": "weight", "c": "cluster"} | {f"r{i}": "replicate weight" for i in range(16)}
    table = vd.open(frame, {name: {"role": role} for name, role in roles.items()})
    release = vd.Reweight(column="w", total=50_000, digits=1).protect(table)
    after = release.datasets[0]
    for place in range(16):
        left_out = np.where(after["c"] == place, 0, 16 / 15)
        assert np.allclose(after[f"r{place}"], after["w"] * left_out)
    release.save(tmp_path / "out" / "r", custodian=tmp_path / "home")
    assert "broken" not in {line.status for line in vd.verify(tmp_path / "out" / "r")}
    total = vd.survey_total(vd.load(tmp_path / "out" / "r"), "one")
    sums = after["w"].groupby(after["c"]).sum()
    by_hand = np.sqrt(16 / 15 * ((sums - sums.mean()) ** 2).sum())
    assert (total.value[0], total.error[0]) == pytest.approx((50_000, by_hand))


def test_check_counts_another_total():
    release = vd.Reweight(column="w", total=50).protect(people(100))
    evidence = Evidence(release.tables[0].table)
    assert other_total(evidence, {"columns": ["w"], "total": 50.0}) == 0
    assert other_total(evidence, {"columns": ["w"], "total": 50.1}) == 1


def test_significant_digits_match_the_printed_form():
    numbers = np.random.default_rng(1).lognormal(0, 8, 500)
    assert np.allclose(
        significant(numbers, 3), [float(f"{number:.2e}") for number in numbers], rtol=1e-12
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"column": ""},
        {"column": "w", "total": 0},
        {"column": "w", "digits": 0},
        {"column": "w", "lower": 0},
        {"column": "w", "lower": 9, "upper": 3},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(PlanError):
        vd.Reweight(**settings)


def test_columns_that_hold_no_weights_are_refused():
    with pytest.raises(DataError, match="cannot hold sampling weights"):
        vd.Reweight(column="w").protect(pd.DataFrame({"w": [1.0, -2.0]}))
    with pytest.raises(PlanError):
        vd.Reweight(column="w").protect(pd.DataFrame({"w": ["a", "b"]}))
