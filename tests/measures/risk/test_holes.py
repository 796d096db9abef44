"""The hole attack: its definition by hand, laws with and without holes, and no false alarms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.gates import HOLES
from veladura.measures.risk.holes import holes
from veladura.numeric.lattice import DENSITIES, PRIOR, hole_attack

LIMIT = HOLES["risk.holes.ratio"].max


def roundness(value):
    return 2 if value % 10 == 0 else 1 if value % 5 == 0 else 0


def ratio_by_hand(released, held):
    """The definition, value by value, for one column."""
    count, tiles = {}, {}
    for value in released:
        count[value] = count.get(value, 0) + 1
        tiles[value // 64] = tiles.get(value // 64, 0) + 1
    best = 1.0
    for least in DENSITIES:
        found, chance = 0, 0.0
        for tile in [t for t, rows in tiles.items() if rows >= 32]:
            for value in range(64 * tile, 64 * tile + 64):
                around = [
                    value + d
                    for d in range(-25, 26)
                    if d and roundness(value + d) == roundness(value)
                ]
                below = [count.get(v, 0) for v in around if v < value]
                above = [count.get(v, 0) for v in around if v > value]
                if value not in count and min(np.mean(below), np.mean(above)) >= least:
                    found += value in held
                    chance += np.mean([v in held for v in around])
        best = max(best, (found + PRIOR) / (chance + PRIOR))
    return best


@pytest.mark.parametrize("seed", range(4))
def test_the_ratio_is_the_definition_counted_by_hand(seed):
    rng = np.random.default_rng(seed)
    held = set(rng.choice(400, 90, replace=False).tolist())
    free = [v for v in range(400) if v not in held or rng.random() < 0.3]
    released = rng.choice(free, 900)
    attack = hole_attack(released[:, None], np.array(sorted(held))[:, None])
    assert max(attack.ratio, 1.0) == pytest.approx(ratio_by_hand(released.tolist(), held))


def incomes(rng, rows=3000):
    """Whole numbers; a third is rounded to tens."""
    income = np.rint(np.exp(rng.normal(6.0, 0.5, rows))).astype(int)
    return np.where(rng.random(rows) < 0.3, income // 10 * 10, income)


def single(values):
    number, count = np.unique(values, return_counts=True)
    return number[count == 1]


def jittered(values, rng):
    """A law without holes: every number is moved, wherever it lands."""
    step = np.rint(rng.normal(0, 40, values.size)).astype(int)
    return np.abs(np.where(values % 10, values + step, values + step // 10 * 10))


@pytest.mark.parametrize("rows", [500, 3000, 20000])
def test_a_guard_is_seen_and_a_law_without_holes_is_not(rows):
    rng = np.random.default_rng(1)
    original = incomes(rng, rows)
    safe = [jittered(original, rng) for _ in range(5)]
    guarded = [part[~np.isin(part, single(original))] for part in safe]
    people = pd.DataFrame({"income": original})
    fair, told = (
        holes(people, [pd.DataFrame({"income": part}) for part in parts])
        for parts in (safe, guarded)
    )
    assert float(fair.ratio) < 1.2
    assert float(told.ratio) > LIMIT
    assert float(told.precision) > 1.5 * float(told.base)
    named = holes(people, pd.DataFrame({"income": np.concatenate(guarded)})).attacks["income"]
    assert named == told.attacks["income"]  # datasets are pooled


def test_a_law_without_holes_gives_no_alarm():
    for seed in range(40):
        rng = np.random.default_rng(100 + seed)
        original = incomes(rng, 1000)
        safe = pd.DataFrame({"income": np.concatenate([jittered(original, rng) for _ in "abc"])})
        assert float(holes(pd.DataFrame({"income": original}), safe).ratio) < LIMIT


def places(rng, rows=1500, side=45):
    spot = np.where(rng.random((rows, 1)) < 0.5, 0.4 + 0.15 * rng.normal(size=(rows, 2)), 0)
    spot = np.where(spot == 0, rng.random((rows, 2)), spot)
    return np.clip((spot * side).astype(int), 0, side - 1) / 100


def test_places_are_attacked_in_the_plane():
    rng = np.random.default_rng(2)
    home = places(rng)
    drawn = np.concatenate([places(rng) for _ in range(5)])
    lived = {tuple(place) for place in home.tolist()}
    guarded = np.array([place for place in drawn.tolist() if tuple(place) not in lived])
    frames = [pd.DataFrame(part, columns=["x", "y"]) for part in (home, drawn, guarded)]
    fair = holes(frames[0], frames[1], places=("x", "y"))
    told = holes(frames[0], frames[2], places=("x", "y"))
    assert fair.where == told.where == "x and y"
    assert float(fair.ratio) < 1.2
    assert float(told.ratio) > LIMIT
    assert float(told.precision) > 1.5 * float(told.base)
    # each coordinate by itself shows nothing: all of its values are there
    assert holes(frames[0], frames[2]).named == 0


def test_of_several_columns_the_worst_one_counts():
    rng = np.random.default_rng(3)
    a, b = incomes(rng), incomes(rng)
    after = pd.DataFrame({"a": jittered(a, rng), "b": jittered(b, rng)})
    five = pd.concat([after.apply(lambda c: jittered(c.to_numpy(), rng)) for _ in range(5)])
    guarded = five[~five["b"].isin(single(b))]
    risk = holes(pd.DataFrame({"a": a, "b": b}), guarded)
    assert risk.where == "b"
    assert list(risk.attacks) == ["a", "b"]


def test_nothing_to_attack_gains_nothing():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(size=200), "sex": rng.choice(["f", "m"], 200)})
    for release in (
        vd.Noise(columns=["x"]).protect(frame, seed=1),  # more than nine decimals
        vd.Pram(columns=["sex"]).protect(frame, seed=1),
    ):
        risk = holes(frame, release)
        assert (float(risk.ratio), risk.named, float(risk.precision)) == (1.0, 0, 0.0)


def masks(frame):
    return {
        "noise": vd.Noise(columns=["income"]),
        "swap": vd.Swap(columns=["income"]),
        "top code": vd.TopCode(columns={"income": 900}),
        "donut": vd.Donut(x="x", y="y", region=[0, 0, 0.45, 0.45], inner=0.02, outer=0.06, m=5),
    }


@pytest.mark.parametrize("name", ["noise", "swap", "top code", "donut"])
def test_masks_pass_the_limit_of_a_drafted_plan(name):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(places(rng), columns=["x", "y"]).assign(income=incomes(rng, 1500))
    release = masks(frame)[name].protect(frame, seed=2)
    assert float(vd.risk.holes(frame, release).ratio) <= LIMIT
    assert vd.assess(frame, release)["risk.holes.ratio"].value <= LIMIT
    assert "risk.holes.ratio" in release.steps[0].recipe.firm_gate


def test_means_of_three_leave_holes_where_people_were():
    """Plain means: of three neighbours at most one value stays; the gaps are the others'."""
    frame = pd.DataFrame({"income": incomes(np.random.default_rng(5), 1500)})
    plain = vd.Microaggregation(columns=["income"], min_people=0).protect(frame, seed=2)
    assert float(holes(frame, plain).ratio) > LIMIT
    release = vd.Microaggregation(columns=["income"]).protect(frame, seed=2)  # of moved numbers
    assert float(holes(frame, release).ratio) < LIMIT
