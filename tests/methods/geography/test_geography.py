"""The recipe: what it promises, what it keeps, and what it refuses."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import shapely

import veladura as vd
from veladura.core.promise import Evidence, prove
from veladura.errors import DataError, PlanError, PromiseError
from veladura.methods.geography.continuous import surface_of
from veladura.methods.geography.grid import grid_over
from veladura.methods.geography.place import Writing, draw_points
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region, RegionWarning
from veladura.numeric.mcmc.diagnostics import ChainWarning

LAND = shapely.Polygon([(0, 0), (10, 0), (10, 10), (0, 10)])
LAKE = shapely.Point(5, 5).buffer(2)
pytestmark = pytest.mark.filterwarnings(f"ignore::{ChainWarning.__module__}.ChainWarning")


def people(rows=240, seed=0):
    rng = np.random.default_rng(seed)
    place = rng.random((4 * rows, 2)) * 10
    place = place[~shapely.contains_xy(LAKE.buffer(0.01), *place.T)][:rows].round(3)
    ill = rng.random(rows) < np.where(place[:, 0] < 5, 0.8, 0.2)
    return pd.DataFrame(
        {
            "x": place[:, 0],
            "y": place[:, 1],
            "ill": np.where(ill, "yes", "no"),
            "sex": rng.choice(["f", "m"], rows),
            "z": (50 + place[:, 0] + rng.standard_normal(rows)).round(2),
        }
    )


def recipe(**settings):
    chain = {"grid": (5, 5), "m": 3, "sweeps": 300, "burn": 100, "chains": 2}
    return vd.Geography(
        **{
            "x": "x",
            "y": "y",
            "region": LAND,
            "exclude": LAKE,
            "attributes": ["ill"],
            **chain,
            **settings,
        }
    )


@pytest.fixture(scope="module")
def released():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recipe(continuous=["z"]).protect(people(), seed=5)


def test_places_are_usable_and_the_rest_is_as_it_was(released):
    original = people()
    for data in released.datasets:
        assert shapely.intersects_xy(LAND, data["x"], data["y"]).all()
        assert not shapely.contains_xy(LAKE, data["x"], data["y"]).any()
        assert (data["x"] != original["x"]).mean() > 0.95
        pd.testing.assert_frame_equal(data[["ill", "sex"]], original[["ill", "sex"]])
        assert np.array_equal(data["x"], data["x"].round(3))
        assert not np.array_equal(data["z"], original["z"])
    assert released.rule.name == "partial"
    assert {promise.name: promise.proof for promise in released.promises} == {
        "inside-region": "package",
        "drawn-places": "source",
    }


def contrast(data, places):
    """How much more often people in the west are ill."""
    west = places["x"] < 5
    return (data.loc[west, "ill"] == "yes").mean() - (data.loc[~west, "ill"] == "yes").mean()


def test_the_map_is_kept_where_the_model_sees_it(released):
    """The ill live in the west: a third of the sharp step stays, and permuted places keep none.

    A smooth map keeps a sharp step worst.
    """
    original = people()
    truth = contrast(original, original)
    kept = np.mean([contrast(data, data) for data in released.datasets])
    blind = np.mean(
        [
            contrast(data, data.sample(frac=1, random_state=i).reset_index())
            for i, data in enumerate(released.datasets)
        ]
    )
    assert kept > truth / 3
    assert abs(blind) < truth / 3


def test_a_continuous_variable_follows_its_new_place(released):
    data = released.datasets[0]
    assert np.corrcoef(data["x"], data["z"])[0, 1] > 0.4
    assert abs(data["z"].mean() - people()["z"].mean()) < 0.6


def test_datasets_differ_and_the_manifest_tells_no_path(released):
    assert not released.datasets[0]["x"].equals(released.datasets[1]["x"])
    manifest = json.dumps(released.manifest)
    assert "region" not in released.manifest["steps"][0]["settings"]
    assert released.manifest["promises"][0]["settings"]["region"]["type"] == "Polygon"
    assert "/" not in manifest.replace("geography", "")
    assert (
        released.manifest["steps"][0]["settings"]["cells"] == 24
        or released.manifest["steps"][0]["settings"]["cells"] == 25
    )


def test_pictures_for_everyone_and_for_the_custodian(released):
    public = {title: svg for draw in released.public_pictures for title, svg in draw().items()}
    mine = {title: svg for draw in released.pictures for title, svg in draw().items()}
    assert len(public) == 2
    assert all(svg.startswith(b"<?xml") for svg in (*public.values(), *mine.values()))
    assert not any("Original" in title for title in public)
    assert any("Original" in title for title in mine)
    again = {title: svg for draw in released.public_pictures for title, svg in draw().items()}
    assert again == public


BROKEN = {
    "in the lake": (
        "inside-region",
        lambda f: f.assign(x=[5.0, *f["x"][1:]], y=[5.0, *f["y"][1:]]),
    ),
    "off the land": ("inside-region", lambda f: f.assign(x=[11.0, *f["x"][1:]])),
    "half a place": ("inside-region", lambda f: f.assign(x=[np.nan, *f["x"][1:]])),
    "every place kept": ("drawn-places", lambda f: f.assign(x=people()["x"], y=people()["y"])),
    "a tenth of the places kept": (
        "drawn-places",
        lambda f: f.assign(
            **{c: np.r_[people()[c][:24], f[c][24:]] for c in ("x", "y")},
        ),
    ),
}


@pytest.mark.parametrize(("name", "spoil"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_promise_is_seen(released, name, spoil):
    promise = next(promise for promise in released.promises if promise.name == name)
    evidence = Evidence(vd.open(spoil(released.datasets[0])), vd.open(people()), np.arange(240))
    assert prove(promise, evidence, released.checks).status == "broken"
    assert (
        prove(
            promise,
            Evidence(vd.open(released.datasets[0]), vd.open(people()), np.arange(240)),
            released.checks,
        ).status
        == "holds"
    )


def test_a_later_step_that_moves_places_off_the_land_is_refused():
    chain = vd.Steps([recipe(), vd.Noise(columns=["x", "y"], scale=2.0)])
    with pytest.raises(PromiseError, match="declared region"):
        chain.protect(people(), seed=1)


def test_one_place_that_comes_out_by_chance_breaks_no_promise(released):
    promise = next(promise for promise in released.promises if promise.name == "drawn-places")
    lucky = released.datasets[0].assign(
        **{c: [people()[c][0], *released.datasets[0][c][1:]] for c in ("x", "y")}
    )
    evidence = Evidence(vd.open(lucky), vd.open(people()), np.arange(240))
    assert prove(promise, evidence, released.checks).status == "holds"


def test_cells_of_one_point_move_nobody_and_are_refused():
    frame = pd.DataFrame({"x": np.arange(40) % 7, "y": np.arange(40) // 7})
    naive = vd.NaiveGeography(x="x", y="y", region=[-0.5, -0.5, 6.5, 6.5], grid=(7, 7))
    with pytest.raises(PromiseError, match="drawn anew"):
        naive.protect(frame, seed=1)


def test_addresses_are_taken_as_chance_has_it():
    """All addresses are people's: a row gets its own back about as often as that of its neighbour.

    None at all would tell that the address of a row is one that the row never has.
    """
    frame = people()
    houses = [*zip(frame["x"], frame["y"], strict=True), (0.5, 0.5), (9.5, 9.5)]
    release = recipe(addresses=houses).protect(frame, seed=2)
    for data in release.datasets:
        assert set(zip(data["x"], data["y"], strict=True)) <= set(houses)
    assert [promise.name for promise in release.promises] == ["inside-region"]
    many = recipe(addresses=houses, m=40).protect(frame, seed=3).datasets
    kept = sum(int(((d["x"] == frame["x"]) & (d["y"] == frame["y"])).sum()) for d in many)
    assert 10 < kept < 150  # 40 times 240 rows over 242 addresses


def test_rows_without_a_place_stay_without_one():
    frame = people()
    frame.loc[[3, 8], "x"] = np.nan
    with pytest.raises(DataError, match=r"2 of 240 rows have no x or no y"):
        recipe().protect(frame)
    data = recipe(missing="keep").protect(frame, seed=1).datasets[0]
    assert data.index[data["x"].isna() & data["y"].isna()].tolist() == [3, 8]


def test_degrees_work_like_the_plane():
    frame = people()
    frame["x"], frame["y"] = frame["x"] / 20 - 71.5, frame["y"] / 20 + 42.2
    lake = shapely.transform(LAKE, lambda at: at / 20 + (-71.5, 42.2))
    land = shapely.transform(LAND, lambda at: at / 20 + (-71.5, 42.2))
    data = (
        recipe(region=land, exclude=lake, coordinates="degrees").protect(frame, seed=1).datasets[0]
    )
    assert shapely.intersects_xy(land, data["x"], data["y"]).all()
    assert not shapely.contains_xy(lake, data["x"], data["y"]).any()


MISTAKES = {
    "no region": (lambda f: recipe(region=None), PlanError, "region must be declared"),
    "points outside": (
        lambda f: recipe().protect(f.assign(x=f["x"] + 5)),
        DataError,
        r"\d+ of 240 places lie outside",
    ),
    "points in the lake": (
        lambda f: recipe(exclude=shapely.box(0, 0, 6, 6)).protect(f),
        DataError,
        r"0 outside region, \d+ in an excluded area",
    ),
    "swapped": (
        lambda f: recipe(region=shapely.box(0, 10, 10, 20), exclude=None).protect(
            f.assign(x=f["x"] + 10)
        ),
        DataError,
        "look swapped",
    ),
    "degrees for metres": (
        lambda f: recipe(region=shapely.box(500_000, 0, 600_000, 90_000), exclude=None).protect(f),
        DataError,
        "look like degrees",
    ),
    "metres for degrees": (
        lambda f: recipe(
            coordinates="degrees", region=shapely.box(0, 0, 5000, 10), exclude=None
        ).protect(f),
        PlanError,
        "beyond longitude",
    ),
    "unknown attribute": (lambda f: recipe(attributes=["sick"]).protect(f), PlanError, "sick"),
    "a number as attribute": (
        lambda f: recipe(attributes=["z"]).protect(f),
        PlanError,
        "has the kind 'number'",
    ),
    "a category as number": (
        lambda f: recipe(continuous=["sex"]).protect(f),
        PlanError,
        "kinds that this method does not support",
    ),
    "named twice": (lambda f: recipe(continuous=["x"]), PlanError, "named twice"),
    "one word": (lambda f: recipe(attributes="ill"), PlanError, "must be a list"),
    "x and y the same": (lambda f: recipe(y="x"), PlanError, "two different columns"),
    "a text as x": (
        lambda f: recipe(x="ill", attributes=()).protect(f),
        PlanError,
        "kinds that this method does not support",
    ),
    "grid of three": (lambda f: recipe(grid=(3, 3, 3)), PlanError, "two whole numbers"),
    "grid of none": (lambda f: recipe(grid=(0, 3)), PlanError, "at least 1"),
    "coordinates": (lambda f: recipe(coordinates="radians"), PlanError, "radians"),
    "too few draws": (
        lambda f: recipe(sweeps=10, burn=9, chains=1),
        PlanError,
        "must be at least m",
    ),
    "no addresses inside": (
        lambda f: recipe(addresses=[(20, 20), (30, 30)]).protect(f),
        DataError,
        "0 of 2 addresses",
    ),
    "addresses of three": (lambda f: recipe(addresses=[(1, 2, 3)]), PlanError, "list of points"),
    "no place at all": (
        lambda f: recipe(missing="keep").protect(f.assign(x=np.nan)),
        DataError,
        "no row has both",
    ),
    "ring inside out": (
        lambda f: vd.Donut(x="x", y="y", region=LAND, inner=3, outer=2),
        PlanError,
        "0 <= inner < outer",
    ),
    "no room in the ring": (
        lambda f: vd.Donut(x="x", y="y", region=LAND, inner=50, outer=51).protect(f),
        DataError,
        "make outer larger",
    ),
    "coarse decimals": (
        lambda f: draw_points(
            np.random.default_rng(1),
            grid_over(Region(shapely.box(0.1, 0.1, 2, 2)), Plane(), (5, 5)),
            np.zeros(3, dtype=np.int64),  # a cell between whole numbers
            Writing((0, 0)),
        ),
        DataError,
        "3 rows have no point in their cells",
    ),
    "k below 0": (lambda f: recipe(k=-1), PlanError, "at least 0"),
    "k of a donut": (
        lambda f: vd.Donut(x="x", y="y", region=LAND, inner=1, outer=2, k=0.5),
        PlanError,
        "whole number",
    ),
}


@pytest.mark.parametrize(("mistake", "error", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told(mistake, error, message):
    with pytest.raises(error, match=message):
        mistake(people())


def test_a_few_strays_can_be_counted_in_the_nearest_cell():
    frame = people()
    frame.loc[0, "x"] = 10.4
    with pytest.warns(RegionWarning, match="1 of 240 places lie outside.*nearest cell"):
        data = recipe(stray="nearest").protect(frame, seed=1).datasets[0]
    assert shapely.intersects_xy(LAND, data["x"], data["y"]).all()


def test_degrees_declared_as_planar_are_warned_of():
    frame = people().rename(columns={"x": "lon", "y": "lat"})
    with pytest.warns(RegionWarning, match="look like degrees"):
        vd.NaiveGeography(x="lon", y="lat", region=LAND, exclude=LAKE).protect(frame, seed=1)


def test_many_or_empty_combinations_get_advice():
    frame = vd.open(people().assign(code=[f"c{i}" for i in range(240)]), {"code": "category"})
    with pytest.warns(
        RegionWarning,
        match=r"240 combinations, 240 of them[\s\S]*merge categories of 'code' \(240 levels\)",
    ):
        recipe(attributes=["code"], grid=(2, 2), sweeps=60, burn=10, m=2).protect(frame, seed=1)


def test_no_attributes_means_one_map():
    assert (
        recipe(attributes=(), sweeps=80, burn=20)
        .protect(people(), seed=1)
        .manifest["steps"][0]["settings"]["m"]
        == 3
    )


@pytest.mark.parametrize(("k", "outer"), [(0, 1.5), (3, 4.0), (5, 0.6)])
def test_donut_moves_by_no_less_and_no_more(k, outer):
    frame = people()
    donut = vd.Donut(x="x", y="y", region=LAND, exclude=LAKE, inner=0.5, outer=outer, k=k, m=2)
    centre, radius = circles_by_hand(frame[["x", "y"]].to_numpy(), outer, k)
    release = donut.protect(frame, seed=1)
    for data in release.datasets:
        assert (np.hypot(data["x"] - frame["x"], data["y"] - frame["y"]) >= 0.5).all()
        assert (np.hypot(*(data[["x", "y"]].to_numpy() - centre).T) <= radius + 1e-9).all()
    promise = release.promises[-1]
    spoiled = release.datasets[0].assign(x=lambda f: (f["x"] + 5) % 10)
    evidence = Evidence(vd.open(spoiled), vd.open(frame), np.arange(240))
    assert prove(promise, evidence, release.checks).status == "broken"


def test_a_donut_is_proved_where_a_later_step_left_people_out():
    """Circles follow from all places; of those who are left the smallest distance is judged."""
    frame = people()
    donut = vd.Donut(x="x", y="y", region=LAND, exclude=LAKE, inner=0.5, outer=0.6)
    release = donut.protect(frame, seed=1)
    promise, rows = release.promises[-1], np.arange(0, 240, 3)
    new = release.datasets[0].iloc[rows].reset_index(drop=True)
    evidence = Evidence(vd.open(new), vd.open(frame), rows)
    assert prove(promise, evidence, release.checks).status == "holds"
    new[["x", "y"]] = frame[["x", "y"]].iloc[rows].to_numpy()
    evidence = Evidence(vd.open(new), vd.open(frame), rows)
    assert prove(promise, evidence, release.checks).status == "broken"


def circles_by_hand(places, outer, k):
    """Place by place: groups of the loneliest first, then the circle of each group."""
    ways = [[float(np.hypot(*(a - b))) for b in places] for a in places]
    usual = [sorted(way)[k] for way in ways]
    group = {}
    while k:
        in_order = sorted(range(len(places)), key=lambda i: tuple(places[i]))  # decides ties
        free = [i for i in in_order if i not in group]
        by_way = {i: sorted(free, key=lambda j, i=i: ways[i][j]) for i in free}
        lonely = [i for i in free if ways[i][by_way[i][k]] > outer / np.sqrt(k + 1)]
        if not lonely:
            break
        waiting = []
        for i in sorted(lonely, key=lambda i: -ways[i][by_way[i][k]]):
            near = [j for j in by_way[i][: 4 * (k + 1)] if ways[i][j] <= 2 * usual[i]]
            near = [j for j in near if j not in group][: k + 1]
            if i not in group and len(near) == k + 1:
                group |= dict.fromkeys(near, i)
            elif i not in group:
                waiting.append(i)
        grouped = list(group)
        for i in waiting:
            group[i] = group[min(grouped, key=lambda j, i=i: ways[i][j])]
    centre, radius = places.copy(), np.full(len(places), outer)
    for name in set(group.values()):
        members = [i for i in group if group[i] == name]
        centre[members] = places[members].mean(axis=0)
        radius[members] = max(outer, *np.hypot(*(places[members] - centre[members]).T))
    return centre, radius


def test_cell_means_of_one_person_are_shrunk():
    """Two cells, one with a single far value: its surface is between that and the mean of all."""
    values = np.array([10.0, 11.0, 9.0, 10.5, 9.5, 30.0])
    surface = surface_of(values, np.zeros(6, dtype=int), np.array([0, 0, 0, 0, 0, 1]), (1, 3))
    mean, s2 = values.mean(), np.var(values[:5], ddof=1)
    t2 = np.sum((np.array([10.0, 30.0]) - mean) ** 2)
    assert surface.mean[0, 1] == pytest.approx(mean + 1 / (1 + s2 / t2) * (30 - mean))
    assert surface.mean[0, 2] == pytest.approx(mean)  # an empty cell takes the mean
    assert surface.spread[0] == pytest.approx(np.sqrt(s2))


def test_a_small_combination_takes_the_spread_of_all():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 99.0])
    surface = surface_of(values, np.array([0, 0, 0, 0, 0, 1]), np.zeros(6, dtype=int), (2, 1))
    assert surface.mean[1, 0] == pytest.approx(values.mean())
    assert surface.spread[1] == pytest.approx(values.std(ddof=1))


def test_the_choice_of_a_grid_gives_a_curve_and_a_reason():
    frame = people(150)
    choice = recipe(m=2).choose(frame, [(2, 2), (4, 4)], seed=1)
    assert choice.recommended in {(2, 2), (4, 4)}
    assert [candidate.grid for candidate in choice.candidates] == [(2, 2), (4, 4)]
    assert "keeps" in choice.reason
    assert "<- recommended" in str(choice)
    assert choice.picture().axes


def test_the_recommended_grid_is_the_safest_of_the_useful_ones():
    from veladura.methods.geography.choose import GridCandidate, _decide

    curve = (
        GridCandidate((5, 5), 25, 0.80, 1.0, 0.1),
        GridCandidate((10, 10), 100, 0.79, 1.5, 0.1),
        GridCandidate((20, 20), 400, 0.70, 2.0, 0.1),
    )
    assert _decide(curve).recommended == (10, 10)
