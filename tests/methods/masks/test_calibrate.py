"""Calibrated weights have the declared totals, and are as near to the old ones as can be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import veladura as vd
from veladura.core.promise import Evidence
from veladura.errors import DataError, PlanError
from veladura.methods.masks.calibrate import missed_totals
from veladura.numeric.calibration import rake

TOTALS = {"sex": {"f": 60_000, "m": 50_000}, "region": {"a": 40_000, "b": 45_000, "c": 25_000}}


def people(rows=1_500):
    draw = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": draw.choice(list("fm"), rows), "age": draw.integers(18, 90, rows)})
    return frame.assign(region=draw.choice(list("abc"), rows), w=draw.uniform(40, 110, rows))


def ipf(frame, totals, rounds=300):
    """Raking as Deming and Stephan (1940) wrote it: one margin after the other."""
    w = frame["w"].to_numpy().copy()
    for _ in range(rounds):
        for name, wanted in totals.items():
            for category, total in wanted.items():
                inside = (frame[name] == category).to_numpy()
                w[inside] *= total / w[inside].sum()
    return w


def test_without_bounds_it_is_iterative_proportional_fitting():
    frame = people()
    sides = [(frame[n] == c).to_numpy(float) for n, wanted in TOTALS.items() for c in wanted]
    wanted = [float(t) for each in TOTALS.values() for t in each.values()]
    found = rake(frame["w"].to_numpy(), np.column_stack(sides), np.array(wanted))
    assert np.allclose(found, ipf(frame, TOTALS), rtol=1e-7)


def test_bounds_hold_and_totals_too():
    frame = people()
    recipe = vd.Calibrate(column="w", totals=TOTALS, lower=0.62, upper=1.26)
    keyed = vd.open(frame.assign(key=frame.index), {"key": {"role": "harmless"}})
    release = recipe.protect(keyed)
    after = release.datasets[0].set_index("key").sort_index()
    for name, wanted in TOTALS.items():
        for category, total in wanted.items():
            assert after.loc[after[name] == category, "w"].sum() == pytest.approx(total, rel=1e-8)
    factor = after["w"] / frame["w"]
    assert factor.between(0.62, 1.26).all()
    free = ipf(frame, TOTALS) / frame["w"]
    assert free.max() > 1.26 or free.min() < 0.62  # the control: without bounds they do not hold
    assert {proof.status for proof in release.prove()} == {"holds"}


def test_bounded_weights_are_the_nearest_by_their_distance():
    """Against a general optimiser: three cells, one total (Deville and Sarndal 1992, case 6)."""
    w, x, low, up = np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 5.0]), 0.5, 2.0
    rate = (up - low) / ((1 - low) * (up - 1))

    def distance(g):
        left, right = (g - low) / (1 - low), (up - g) / (up - 1)
        return w @ ((g - low) * np.log(left) + (up - g) * np.log(right)) / rate

    best = minimize(
        distance,
        np.ones(3),
        bounds=[(low + 1e-9, up - 1e-9)] * 3,
        constraints={"type": "eq", "fun": lambda g: (w * g) @ x - 260.0},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    found = rake(w, x[:, None], np.array([260.0]), lower=low, upper=up)
    assert np.allclose(found / w, best.x, atol=1e-4)


def test_a_sum_of_numbers_is_a_total_too():
    frame = people()
    wanted = float(frame["w"] @ frame["age"]) * 1.03
    people_there = float(frame["w"].sum())
    half = {"f": 0.5 * people_there, "m": 0.5 * people_there}
    release = vd.Calibrate(column="w", totals={"age": wanted, "sex": half}).protect(frame)
    after = release.datasets[0]
    assert after["w"] @ after["age"] == pytest.approx(wanted, rel=1e-8)


def test_suppressed_rows_and_synthetic_values_get_their_totals_back():
    frame = people().assign(w=np.arange(1_500) % 40 + 50)  # whole weights stay whole
    steps = vd.Steps(
        [
            vd.KAnonymity(quasi_identifiers=["age"], k=15, max_suppression=0.2, prefer="loss"),
            vd.Calibrate(column="w", totals=TOTALS),
        ]
    )
    release = steps.protect(frame)
    assert release.datasets[0].groupby("sex")["w"].sum()["f"] == pytest.approx(60_000, rel=1e-3)
    assert release.datasets[0]["w"].dtype == np.int64
    stated = release.promises[-1].settings["totals"]["sex"]
    assert stated == release.datasets[0].groupby("sex")["w"].sum().to_dict()
    synthetic = vd.Steps(
        [vd.Cart(columns=["sex", "region"], m=2), vd.Calibrate(column="w", totals=TOTALS)]
    ).protect(frame, seed=1)
    for data in synthetic.datasets:
        assert data.groupby("region")["w"].sum()["c"] == pytest.approx(25_000, rel=1e-3)
    assert {proof.status for proof in synthetic.prove()} == {"holds"}


def test_a_broken_total_is_counted(tmp_path):
    release = vd.Calibrate(column="w", totals=TOTALS).protect(people())
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "home")
    assert "broken" not in {line.status for line in vd.verify(tmp_path / "out" / "release")}
    settings = release.promises[0].settings
    assert missed_totals(Evidence(vd.open(people()), None, None), settings) == 5


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"column": "", "totals": TOTALS}, "name the column"),
        ({"column": "w", "totals": {}}, "each column its totals"),
        ({"column": "w", "totals": {"sex": {"f": "many"}}}, "must be numbers"),
        ({"column": "w", "totals": {"sex": {"f": 0.0, "m": 1.0}}}, "above 0"),
        ({"column": "w", "totals": TOTALS, "lower": 1.0}, "below 1"),
        ({"column": "w", "totals": {**TOTALS, "sex": {"f": 1.0, "m": 2.0}}}, "different numbers"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, match):
    with pytest.raises(PlanError, match=match):
        vd.Calibrate(**settings)


def test_totals_that_cannot_be_reached_are_refused():
    frame = people()
    with pytest.raises(DataError, match="no weights in 'w' reach"):
        vd.Calibrate(column="w", totals={"sex": {"f": 6e6, "m": 5e6}}).protect(frame)
    with pytest.raises(DataError, match="without a declared total"):
        vd.Calibrate(column="w", totals={"sex": {"f": 60_000}}).protect(frame)
    with pytest.raises(DataError, match="but no row"):
        vd.Calibrate(column="w", totals={"sex": {"f": 1.0, "m": 1.0, "x": 1.0}}).protect(frame)
    with pytest.raises(DataError, match="cannot hold sampling weights"):
        vd.Calibrate(column="w", totals=TOTALS).protect(frame.assign(w=-1.0))
    with pytest.raises(PlanError, match="not in the data"):
        vd.Calibrate.suggest(vd.open(frame).schema, {})


def test_synthetic_weights_are_calibrated_in_every_dataset(tmp_path):
    """After Cart of a survey each of the m datasets reaches the totals; the files prove it."""
    from veladura.example.survey import Design, draw_sample, make_country
    from veladura.release.verify import holds, verify

    country = make_country(areas=12, households=10)
    sample = draw_sample(country, 3, Design(areas=6, households=5)).drop(
        columns=["year", "person", "household"]
    )
    sizes = country["stratum"].value_counts()
    totals = {f"S{stratum + 1}": float(people) for stratum, people in sizes.items()}
    sexes = {name: float(people) for name, people in country["sex"].value_counts().items()}
    roles = {"stratum": "strata", "area": "cluster", "weight": "weight"}
    table = vd.open(sample, {name: {"role": role} for name, role in roles.items()})
    drawn = [name for name in sample if name not in ("stratum", "area", "weight")]
    cart = vd.Cart(columns=[*drawn, "weight"], order=[*drawn, "weight"], m=3)
    calibrated = vd.Calibrate(column="weight", totals={"stratum": totals, "sex": sexes})
    release = vd.Steps([cart, calibrated]).protect(table, seed=4)
    for data in release.datasets:
        assert data.groupby("stratum", observed=True)["weight"].sum().to_dict() == pytest.approx(
            totals, rel=1e-5
        )
        assert data.groupby("sex", observed=True)["weight"].sum().to_dict() == pytest.approx(
            sexes, rel=1e-5
        )
    release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe")
    assert holds(verify(tmp_path / "out" / "r"))
    people = vd.survey_total(vd.load(tmp_path / "out" / "r"), "rent").value[0]
    assert abs(people / country["rent"].sum() - 1) < 0.25
