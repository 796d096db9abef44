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


CROSSED = {
    "sex, region": {
        "f": {"a": 20_000, "b": 25_000, "c": 15_000},
        "m": {"a": 20_000, "b": 20_000, "c": 10_000},
    }
}


def test_totals_of_crossed_columns_are_post_strata(tmp_path):
    """With one cross only, every weight of a cell has the same factor: total over sum."""
    frame = people().assign(key=np.arange(1_500))
    keyed = vd.open(frame, {"key": {"role": "harmless"}})
    release = vd.Calibrate(column="w", totals=CROSSED).protect(keyed)
    after = release.datasets[0].set_index("key")["w"].sort_index()
    for sex, regions in CROSSED["sex, region"].items():
        for region, total in regions.items():
            inside = (frame["sex"] == sex) & (frame["region"] == region)
            expected = frame.loc[inside, "w"] * total / frame.loc[inside, "w"].sum()
            assert np.allclose(after[inside], expected)
    release.save(tmp_path / "out" / "r", custodian=tmp_path / "home")
    assert "broken" not in {line.status for line in vd.verify(tmp_path / "out" / "r")}
    settings = release.promises[0].settings
    assert settings["columns"] == ["w", "sex", "region"]
    assert missed_totals(Evidence(vd.open(people()), None, None), settings) == 6


def test_a_cross_and_another_margin_are_iterative_proportional_fitting():
    frame = people().assign(old=lambda f: np.where(f["age"] > 60, "yes", "no"))
    ages = {"yes": 40_000, "no": 70_000}
    release = vd.Calibrate(
        column="w", totals={**CROSSED, "old": ages}, lower=0.0, upper=1e6
    ).protect(vd.open(frame.assign(key=frame.index), {"key": {"role": "harmless"}}))
    after = release.datasets[0].set_index("key")["w"].sort_index()
    cell = frame.assign(cell=frame["sex"] + frame["region"])
    cells = {s + r: t for s, own in CROSSED["sex, region"].items() for r, t in own.items()}
    raked = ipf(cell, {"cell": cells, "old": ages})
    assert np.allclose(after, raked, rtol=1e-4)  # bounds of 0 and a million bind nobody


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([1_000_000, 1_000_001, 2_345_678], ["1000000", "1000001", "2345678"]),  # ZIP codes
        ([0.5, 1.5, 2.5], [".5", "1.50", "2.5"]),
        ([1, 2, 3], [1, 2, 3]),
    ],
)
def test_codes_are_compared_as_numbers(values, keys):
    frame = people()
    frame["code"] = np.array(values)[np.arange(1_500) % 3]
    totals = dict(zip(keys, [40_000, 45_000, 25_000], strict=True))
    after = vd.Calibrate(column="w", totals={"code": totals}).protect(frame).datasets[0]
    sums = after.groupby("code")["w"].sum()
    assert sums.to_list() == pytest.approx([40_000, 45_000, 25_000])


def test_true_and_false_are_categories():
    frame = people().assign(old=lambda f: f["age"] > 60)
    for yes, no in ((True, False), ("true", "false"), ("True", "False")):
        totals = {"old": {yes: 40_000, no: 70_000}}
        after = vd.Calibrate(column="w", totals=totals).protect(frame).datasets[0]
        assert after.loc[after["old"], "w"].sum() == pytest.approx(40_000)


def test_numbers_of_numpy_are_written_as_numbers(tmp_path):
    """Totals that somebody computed: the report and the manifest took them for arrays and text."""
    frame = people()
    totals = {"sex": {"f": np.float64(60_000), "m": np.int64(50_000)}}
    release = vd.Calibrate(column="w", totals=totals).protect(frame)
    release.save(tmp_path / "out" / "r", custodian=tmp_path / "home")
    (step,) = vd.load(tmp_path / "out" / "r").manifest["steps"]
    assert step["settings"]["totals"] == {"sex": {"f": 60_000, "m": 50_000}}


def test_whole_weights_that_are_too_small_to_be_rounded_are_refused():
    """Weights of 1 that should be 1.3 became 1: a total missed by a fourth, and promised so."""
    frame = people().assign(w=1)
    totals = {"sex": {"f": 1_100, "m": 850}}
    with pytest.raises(DataError, match='kind = "number"'):
        vd.Calibrate(column="w", totals=totals).protect(frame)
    free = vd.open(frame, {"w": {"kind": "number"}})  # as the message says
    after = vd.Calibrate(column="w", totals=totals).protect(free).datasets[0]
    assert after.groupby("sex")["w"].sum().to_dict() == pytest.approx(totals["sex"])


def replicated(frame):
    """Return 16 clusters of people with a jackknife, and its roles."""
    frame = frame.assign(c=np.arange(len(frame)) % 16, y=np.arange(len(frame)) % 7.0)
    for place in range(16):
        frame[f"r{place}"] = frame["w"] * np.where(frame["c"] == place, 0, 16 / 15)
    roles = {"w": "weight", "c": "cluster"} | {f"r{i}": "replicate weight" for i in range(16)}
    return frame, {name: {"role": role} for name, role in roles.items()}


def test_replicate_weights_are_calibrated_one_by_one(tmp_path):
    """A total that is calibrated has no error; others have that of calibrated replicates."""
    frame, roles = replicated(people())
    frame["one"] = 1.0
    recipe = vd.Calibrate(column="w", totals=TOTALS, lower=0.0, upper=1e6)
    release = recipe.protect(vd.open(frame, roles))
    (step,) = release.manifest["steps"]
    assert step["settings"]["replicates"] == [f"r{i}" for i in range(16)]
    release.save(tmp_path / "out" / "r", custodian=tmp_path / "home")
    loaded = vd.load(tmp_path / "out" / "r")
    known = vd.survey_total(loaded, "one", by="sex")
    assert known.value == pytest.approx([60_000, 50_000])
    assert known.error == pytest.approx([0, 0], abs=1e-3)
    whole = ipf(frame, TOTALS) @ frame["y"]
    sums = [ipf(frame.assign(w=frame[f"r{i}"]), TOTALS) @ frame["y"] for i in range(16)]
    by_hand = np.sqrt(15 / 16 * sum((own - whole) ** 2 for own in sums))
    total = vd.survey_total(loaded, "y")
    assert (total.value[0], total.error[0]) == pytest.approx((whole, by_hand), rel=1e-3)


def test_replicates_of_another_weight_stay():
    frame, roles = replicated(people())
    frame["w2"] = frame["w"] * 2
    table = vd.open(frame, {**roles, "w2": {"role": "weight"}})
    release = vd.Calibrate(column="w2", totals=TOTALS).protect(table)
    assert release.changed == ("w2",)
    named = vd.Calibrate(column="w2", totals=TOTALS, replicates=["r1"]).protect(table)
    assert set(named.changed) == {"w2", "r1"}


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
        ({"column": "w", "totals": {"sex x age": {"f": {"old": 1.0}}}}, "name is of 1"),
        ({"column": "w", "totals": {"sex, age": {"f": {"old": 1.0}, "m": 2.0}}}, "no number for"),
        ({"column": "w", "totals": {"sex, sex": {"f": {"f": 1.0}}}}, "of 2 columns"),
        ({"column": "w", "totals": {"sex": {}}}, "no number for"),
        ({"column": "w", "totals": {"sex": {1: 1.0, "1": 2.0}}}, "twice"),
        ({"column": "w", "totals": TOTALS, "replicates": "r1"}, "into brackets"),
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
    with pytest.raises(DataError, match=r"out of reach: sex \(f, m\)"):
        vd.Calibrate(column="w", totals={"sex": {"f": 6e6, "m": 5e6}}).protect(frame)
    with pytest.raises(DataError, match="but no row: x"):
        vd.Calibrate(column="w", totals={"sex": {"f": 1.0, "m": 1.0, "x": 1.0}}).protect(frame)
    with pytest.raises(DataError, match="cannot hold sampling weights"):
        vd.Calibrate(column="w", totals=TOTALS).protect(frame.assign(w=-1.0))
    with pytest.raises(PlanError, match="not in the data"):
        vd.Calibrate.suggest(vd.open(frame).schema, {})


@pytest.mark.filterwarnings("ignore:rows are drawn one by one", "ignore:.*row by row")
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
