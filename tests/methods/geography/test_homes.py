"""Several rows of one person: homes, and moves from one to the next."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.geography.homes import Homes
from veladura.methods.geography.moves import Moves
from veladura.numeric.mcmc.diagnostics import ChainWarning

pytestmark = pytest.mark.filterwarnings(f"ignore::{ChainWarning.__module__}.ChainWarning")
BOX = {"x": "x", "y": "y", "region": (0.0, 0.0, 10.0, 10.0)}
CHAIN = {"grid": (6, 6), "m": 2, "sweeps": 300, "burn": 100, "chains": 2, "most_sweeps": 300}
LEVEL = 1e-5


def panel(people=150, reach=0.8, seed=1):
    """Four years of people, shuffled; two in five move once, by an exponential distance."""
    rng = np.random.default_rng(seed)
    homes = rng.uniform(1, 9, (people, 2))
    frames = []
    moves = np.where(rng.random(people) < 0.4, rng.integers(1, 4, people), 9)
    angle, way = rng.uniform(0, 2 * np.pi, people), rng.exponential(reach, people)
    away = np.clip(homes + way[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), 0, 10)
    ill = np.where(homes[:, 0] < 5, "yes", "no")
    for year in range(4):
        place = np.where((moves <= year)[:, None], away, homes).round(3)
        frames.append(
            pd.DataFrame(
                {
                    "id": np.arange(people),
                    "year": 2020 + year,
                    "x": place[:, 0],
                    "y": place[:, 1],
                    "ill": ill,
                }
            )
        )
    return pd.concat(frames).sample(frac=1, random_state=seed).reset_index(drop=True)


def opened(frame):
    return vd.open(frame, {"id": {"role": "person"}, "ill": {"kind": "category"}})


def recipes():
    return (
        vd.Geography(**BOX, **CHAIN, attributes=["ill"], time="year"),
        vd.Donut(**BOX, inner=0.5, outer=1.0, m=2),
        vd.NaiveGeography(**BOX, grid=(6, 6), m=2),
    )


@pytest.mark.parametrize("recipe", recipes(), ids=lambda one: one.method)
def test_rows_of_a_home_keep_one_new_place_and_a_move_is_a_move(recipe):
    frame = panel()
    release = recipe.protect(opened(frame), seed=2)
    for data in release.datasets:
        both = frame.join(data[["x", "y"]], rsuffix="_new")
        after = both.groupby(["id", "x", "y"])[["x_new", "y_new"]].nunique()
        assert (after == 1).all(axis=None)
        moved = both.groupby("id").apply(lambda one: len(one[["x", "y"]].drop_duplicates()))
        told = both.groupby("id").apply(lambda one: len(one[["x_new", "y_new"]].drop_duplicates()))
        assert (moved == told).mean() > 0.99  # two homes may fall on one point by chance
        assert not (both[["x", "y"]].to_numpy() == data[["x", "y"]].to_numpy()).all(axis=1).any()


def test_without_the_role_every_row_moves_alone():
    frame = panel().drop(columns="id")
    data = vd.Donut(**BOX, inner=0.5, outer=1.0).protect(frame, seed=2).datasets[0]
    both = frame.join(data[["x", "y"]], rsuffix="_new")
    rows = both.groupby(["x", "y"]).x_new.agg(["size", "nunique"])
    assert (rows[rows["size"] > 1]["nunique"] > 1).all()


def test_homes_are_counted_once_in_each_combination():
    frame = panel()
    recipe = vd.Geography(**BOX, **CHAIN, attributes=["ill"], k=0)
    ground = recipe.fit(opened(frame), 1).ground
    homes = frame.drop_duplicates(["id", "x", "y"])
    column = np.minimum((homes.x / 10 * 6).astype(int), 5)
    row = np.minimum((homes.y / 10 * 6).astype(int), 5)
    expected = pd.crosstab(homes.ill, row * 6 + column).reindex(columns=range(36), fill_value=0)
    assert sorted(ground.counts.sum(axis=1)) == sorted(expected.sum(axis=1))
    assert sorted(ground.counts.sum(axis=0)) == sorted(expected.sum(axis=0))
    assert ground.homes.number == len(homes) < len(frame)


def test_the_order_of_homes_is_that_of_time_whatever_the_order_of_rows():
    rng = np.random.default_rng(5)
    people, year = np.repeat(np.arange(30), 5), np.tile(np.arange(5), 30)
    place = rng.integers(0, 3, 150).astype(float)
    order = rng.permutation(150)
    homes = Homes.of_people(people[order], place[order], place[order], year[order])
    for person in range(30):
        mine = np.flatnonzero(people == person)  # in the order of time
        expected = list(dict.fromkeys(place[mine].tolist()))
        here = np.flatnonzero(people[order[homes.first]] == person)
        assert place[order[homes.first[here]]].tolist() == expected
        assert homes.before[here].tolist() == [-1, *here[:-1].tolist()]
    assert (place[order[homes.first[homes.of_row]]] == place[order]).all()


@pytest.fixture(scope="module")
def moving():
    """Moves on a small map, with intensities that differ."""
    fitted = vd.Geography(**BOX, **(CHAIN | {"grid": (4, 4)}), attributes=["ill"]).fit(panel(), 1)
    return fitted.ground.grid, np.asarray(fitted.posterior.intensity[0])


def test_the_decay_has_the_posterior_of_the_definition(moving):
    grid, intensity = moving
    rng = np.random.default_rng(3)
    origin, target, group = rng.integers(0, 16, (3, 25)) % np.array([[16], [16], [2]])
    moves = Moves(grid, origin, target, group)
    log = []
    for reach in moves.reaches:
        total = 0.0
        for g, h, b in zip(origin, target, group, strict=True):
            pull = [
                intensity[b, c] * np.exp(-np.hypot(*(moves.middles[g] - moves.middles[c])) / reach)
                for c in range(16)
            ]
            total += np.log(pull[h] / sum(pull))
        log.append(total)
    weight = np.exp(np.array(log) - max(log))
    assert np.allclose(moves.weights(intensity), weight / weight.sum())


def test_next_cells_follow_the_gravity_law(moving):
    grid, intensity = moving
    none = np.zeros(0, dtype=np.int64)
    moves = Moves(grid, none, none, none)
    draws, reach = 20_000, 2.0
    origin, group = np.full(draws, 5), np.ones(draws, dtype=np.int64)
    cells = moves.draw(np.random.default_rng(1), intensity, reach, origin, group)
    apart = np.hypot(*(moves.middles - moves.middles[5]).T)
    law = intensity[1] * np.exp(-apart / reach)
    seen = np.bincount(cells, minlength=16)
    assert stats.chisquare(seen, draws * law / law.sum()).pvalue > LEVEL
    flat = intensity[1] / intensity[1].sum()  # control: distance does not matter
    assert stats.chisquare(seen, draws * flat).pvalue < LEVEL


def test_short_moves_stay_short():
    """The mean new move is that of the original, not that of two strangers' homes."""

    def ways(frame, data):
        rows = frame[["id", "year"]].join(data[["x", "y"]]).sort_values(["id", "year"])
        ends = rows.groupby("id")[["x", "y"]].agg(["first", "last"])
        way = np.hypot(
            ends["x", "first"] - ends["x", "last"], ends["y", "first"] - ends["y", "last"]
        )
        return way[way > 0]

    frame = panel(600, reach=0.8)
    release = vd.Geography(**BOX, **(CHAIN | {"grid": (10, 10)}), time="year").protect(
        opened(frame), seed=3
    )
    before = ways(frame, frame).mean()
    after = np.mean([ways(frame, data).mean() for data in release.datasets])
    apart = vd.Geography(**BOX, **(CHAIN | {"grid": (10, 10)})).protect(
        frame.drop(columns="id"), seed=3
    )
    strangers = ways(frame, apart.datasets[0]).mean()
    assert before < 1
    assert strangers > 3.5
    assert after < before + 1.0  # a cell is 1 wide: points within it are uniform


def test_risk_counts_homes_and_a_whole_run_proves_its_promises():
    frame = panel()
    release = vd.Geography(**BOX, **CHAIN, attributes=["ill"], time="year").protect(
        opened(frame), seed=2
    )
    risk = vd.risk.location(opened(frame), release)
    homes = len(frame.drop_duplicates(["id", "x", "y"]))
    assert sum(people for people, *_ in risk.combinations.values()) == homes
    assert release.manifest["steps"][0]["settings"]["homes"].startswith("one new place")
    assert float(vd.assess(opened(frame), release)["risk.location.matched_mean"]) > 0


def test_a_time_that_is_no_column_is_refused():
    with pytest.raises(PlanError, match="time"):
        vd.Geography(**BOX, time=3)
    with pytest.raises(PlanError):
        vd.Geography(**BOX, **CHAIN, time="when").protect(opened(panel()), seed=1)
