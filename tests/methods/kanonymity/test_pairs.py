"""A pair of coordinates is one quasi-identifier, released as the centre of a cell."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from tests.methods.kanonymity.recount import fewest_matches, unmeasured, written

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.plan.reading import parse_plan
from veladura.plan.run import run
from veladura.release.verify import holds, verify
from veladura.table.table import Table

CELL, SIZES, ORIGIN = 0.05, 4, (7.0, 50.0)
COLUMNS = ["lon", "sex", "lat"]
GRID = {"lon, lat": vd.Hierarchy.grid(CELL, SIZES, ORIGIN)}


def places(seed: int, rows: int = 200, missing: float = 0.0) -> pd.DataFrame:
    """People around two towns, a few far away; some coordinates missing."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 2, rows)
    frame = pd.DataFrame(
        {
            "lon": np.round(7.3 + 0.3 * town + rng.normal(0, 0.05, rows), 4),
            "lat": np.round(50.4 + rng.normal(0, 0.05, rows), 4),
            "sex": rng.choice(["f", "m"], rows),
            "income": rng.integers(1000, 9000, rows),
        }
    )
    for name in ("lon", "lat"):
        frame.loc[rng.random(rows) < missing, name] = np.nan
    return frame


def recipe(**settings):
    return vd.KAnonymity(
        **{
            "quasi_identifiers": COLUMNS,
            "pairs": [["lon", "lat"]],
            "k": 4,
            "max_suppression": 0.1,
            "hierarchies": GRID,
            "prefer": "min-suppression",
            **settings,
        }
    )


def cell_of(frame: pd.DataFrame, level: int) -> list:
    """The cell of each row by the definition; half a pair is in no cell."""
    cells = []
    for lon, lat in zip(frame.lon, frame.lat, strict=True):
        if level == SIZES + 1:
            cells.append("*")
        elif level == 0:
            cells.append((str(lon), str(lat)))
        elif math.isnan(lon) or math.isnan(lat):
            cells.append("missing")
        else:
            ends = zip((lon, lat), ORIGIN, strict=True)
            smallest = [math.floor((end - at) / CELL) for end, at in ends]
            cells.append(tuple(number // 2 ** (level - 1) for number in smallest))
    return cells


def suppressed_at(frame: pd.DataFrame, node: tuple[int, int], k: int) -> int:
    classes = pd.DataFrame(
        {"cell": cell_of(frame, node[0]), "sex": frame.sex if node[1] == 0 else "*"}
    )
    sizes = classes.groupby(["cell", "sex"]).size()
    return int(sizes[sizes < k].sum())


@pytest.mark.parametrize("seed", range(6))
def test_all_minimal_generalisations_are_those_of_every_node_tried(seed):
    frame = places(seed, missing=0.05 * (seed % 2))
    fitted = recipe().fit(frame)
    nodes = list(itertools.product(range(SIZES + 2), range(2)))
    lost = {node: suppressed_at(frame, node, 4) for node in nodes}
    good = [node for node in nodes if lost[node] <= 20]
    below = {
        node: [o for o in good if o != node and all(np.array(o) <= np.array(node))] for node in good
    }
    assert [tuple(n.levels.values()) for n in fitted.minimal] == [n for n in good if not below[n]]
    assert [n.suppressed for n in fitted.minimal] == [lost[n] for n in good if not below[n]]
    assert list(fitted.chosen.levels) == ["lon, lat", "sex"]


FORMS = [
    {},
    {"suppressed": "star"},
    {"suppressed": "cells"},
    {"recoding": "local"},
    {"missing": "wildcard"},
    {"missing": "both", "preserve_type": True},
    {"levels": {"lon, lat": SIZES + 1, "sex": 0}},
    {"levels": {"lon, lat": SIZES, "sex": 0}, "max_suppression": 0.3, "suppressed": "star"},
    {"models": [vd.LDiversity(column="job", l=2)]},
]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("kind", ["frame", "csv", "csv in memory"])
def test_the_written_files_hold_k_for_the_pair(form, kind, tmp_path, request):
    frame = places(11, missing=0.04).assign(job=["a", "b"] * 100)
    source = frame
    if kind == "csv":
        request.getfixturevalue("lazy_files")
    if kind != "frame":
        path = tmp_path / "people.csv"
        frame.sample(frac=1, random_state=1).to_csv(path, index=False)
        source = vd.open(path)
        assert source.in_memory == (kind == "csv in memory")
    release = recipe(**form).protect(source)
    rows = written(release, tmp_path)
    if form.get("suppressed") == "star":
        starred = rows.lon.isna() & rows.lat.isna() & (rows.sex == "*")
        rows = rows[~starred]
    if form.get("missing") == "wildcard":
        assert fewest_matches(rows, COLUMNS) >= 4
    else:
        assert rows.groupby(COLUMNS, dropna=False).size().min() >= 4
    assert rows.lon.isna().tolist() == rows.lat.isna().tolist()
    folder = tmp_path / "out" / "r"
    assert holds(verify(folder))
    manifest = json.loads((folder / "manifest.json").read_text())
    settings = manifest["steps"][0]["settings"]
    assert settings["pairs"] == [["lon", "lat"]]
    assert settings["hierarchies"]["lon, lat"] == {
        "cell": CELL,
        "levels": SIZES,
        "origin": [7.0, 50.0],
    }
    assert set(settings["precision"]) == {"lon, lat", "sex"}


@pytest.mark.usefixtures("lazy_files")
def test_a_file_and_a_frame_give_the_same_rows(tmp_path):
    frame = places(3, missing=0.03)
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    for form in ({}, {"suppressed": "star"}, {"recoding": "local"}):
        names = list(frame.columns)
        near = recipe(**form).protect(frame).datasets[0].sort_values(names)
        lazy = vd.open(path)
        assert not lazy.in_memory
        far = recipe(**form).protect(lazy).tables[0].table.arrow.to_pandas()
        far = far[names].sort_values(names)
        assert near.astype(object).where(near.notna(), None).to_numpy().tolist() == (
            far.astype(object).where(far.notna(), None).to_numpy().tolist()
        )


def test_each_row_gets_the_centre_of_its_own_cell():
    frame = places(5, missing=0.02)
    levels = {"lon, lat": 3, "sex": 0}
    release = recipe(levels=levels, max_suppression=0.9).protect(frame)
    after, before = release.datasets[0], frame.iloc[release.tables[0].rows]
    assert len(after)
    side, whole = CELL * 4, before.lon.notna().to_numpy() & before.lat.notna().to_numpy()
    for name, at in zip(("lon", "lat"), ORIGIN, strict=True):
        centre = at + (np.floor((before[name].to_numpy() - at) / CELL) // 4 + 0.5) * side
        np.testing.assert_allclose(after[name].to_numpy()[whole], centre[whole], atol=1e-9)
        assert after[name].isna().to_numpy()[~whole].all()
    assert after.lon.dtype == np.float64


def test_whole_coordinates_stay_whole_where_every_centre_is():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"e": rng.integers(0, 4000, 300), "n": rng.integers(0, 4000, 300)})
    for cell, kind in ((1000, "i"), (999, "f")):
        made = vd.KAnonymity(
            quasi_identifiers=["e", "n"],
            pairs=[["e", "n"]],
            k=3,
            hierarchies={"e, n": vd.Hierarchy.grid(cell, 3)},
            levels={"e, n": 1},
        ).protect(frame)
        after = made.datasets[0]
        assert after.e.dtype.kind == kind
        assert set(after.e % cell) == {cell / 2}


def test_cells_do_not_depend_on_who_is_in_the_data():
    frame = places(8)
    levels = {"lon, lat": 4, "sex": 1}
    settings = {"levels": levels, "max_suppression": 0.9, "k": 2}
    whole = recipe(**settings).protect(frame)
    half = recipe(**settings).protect(frame.iloc[:100])
    first = whole.datasets[0].set_index(whole.tables[0].rows)[["lon", "lat"]]
    second = half.datasets[0].set_index(half.tables[0].rows)[["lon", "lat"]]
    both = first.index.intersection(second.index)
    assert len(both) > 50
    assert first.loc[both].equals(second.loc[both])


def test_two_lists_of_quasi_identifiers_share_a_pair(tmp_path):
    frame = places(9).assign(job=["a", "b", "c", "d"] * 50)
    made = recipe(
        quasi_identifiers=[["lon", "lat", "sex"], ["job", "lat", "lon"]], max_suppression=0.3
    )
    rows = written(made.protect(frame), tmp_path)
    for names in made.sets:
        assert rows.groupby(list(names), dropna=False).size().min() >= 4


def test_a_pair_with_a_population(tmp_path):
    population = places(10, rows=600)
    path = tmp_path / "population.csv"
    population.to_csv(path, index=False)
    frame = population.iloc[:200]
    made = recipe(k=1, models=[vd.KMap(k=8, population=path)], max_suppression=0.2)
    release = made.protect(frame)
    saved = unmeasured(release, tmp_path)
    assert holds(verify(saved))
    rows = pd.read_parquet(saved / "data" / "dataset-1.parquet")
    level = release.manifest["steps"][0]["settings"]["levels"]
    assert 0 < level["lon, lat"] <= SIZES
    key = pd.DataFrame({"cell": cell_of(population, level["lon, lat"]), "sex": population.sex})
    if level["sex"]:
        key["sex"] = "*"
    many = key.groupby(["cell", "sex"]).size()
    kept = key.iloc[release.tables[0].rows]
    assert min(many[tuple(row)] for row in kept.to_numpy()) >= 8
    assert len(rows) == len(kept)


def test_every_measure_and_the_report_know_a_pair(tmp_path):
    frame = places(12, rows=400)
    path = tmp_path / "data" / "people.csv"
    path.parent.mkdir()
    frame.to_csv(path, index=False)
    text = f"""
[source]
path = "{path.as_posix()}"

[columns]
lon = {{}}
lat = {{}}
sex = {{}}
income = {{exact = "made up"}}

[[step]]
method = "k-anonymity"
quasi_identifiers = ["lon", "lat", "sex"]
pairs = [["lon", "lat"]]
k = 4
prefer = ["loss"]

[step.hierarchies."lon, lat"]
cell = 0.05
levels = 4
origin = [7, 50]

[release]
folder = "{(tmp_path / "out" / "r").as_posix()}"

[custodian]
folder = "{(tmp_path / "safe" / "c").as_posix()}"

[run]
seed = 1
"""
    outcome = run(parse_plan(text))
    rows = pd.read_parquet(outcome.folder / "data" / "dataset-1.parquet")
    assert rows.groupby(["lon", "lat", "sex"], dropna=False).size().min() >= 4
    assert holds(verify(outcome.folder))
    page = (outcome.folder / "report.html").read_text()
    assert "lon, lat" in page
    made = recipe(prefer="loss")
    release = made.protect(frame)
    kept = vd.utility.generalisation(frame, release)
    level = release.manifest["steps"][0]["settings"]["levels"]["lon, lat"]
    assert float(kept.columns["lon, lat"]) == pytest.approx(1 - level / (SIZES + 1))
    cells = pd.Series(cell_of(frame, level))
    exact = pd.Series(cell_of(frame, 0))
    lost = np.log2(cells.map(cells.value_counts()) / exact.map(exact.value_counts())).sum()
    most = np.log2(400 / exact.map(exact.value_counts())).sum()
    sexes = frame.sex.map(frame.sex.value_counts())
    most += np.log2(400 / sexes).sum()
    assert not release.manifest["steps"][0]["settings"]["levels"]["sex"]
    assert float(kept.entropy) == pytest.approx(1 - lost / most)
    assert vd.assess(frame, release)
    lost = vd.utility.recoded(frame, release)
    assert set(lost.columns) == {"lon", "lat"}
    assert 0 < float(lost.mean) < 1
    top = recipe(levels={"lon, lat": SIZES + 1, "sex": 0}).protect(frame)
    assert float(vd.utility.recoded(frame, top).worst) == 1


@pytest.mark.usefixtures("lazy_files")
def test_the_same_coordinates_from_a_file_are_never_fetched_as_rows(tmp_path, monkeypatch):
    path = tmp_path / "people.csv"
    places(2).to_csv(path, index=False)
    lazy = vd.open(path)
    monkeypatch.setattr(Table, "fetched", lambda _: pytest.fail("rows were read"))
    assert recipe().protect(lazy).tables[0].table.rows > 100


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"pairs": ["lon"]}, "list of pairs"),
        ({"pairs": [["lon", "lat", "sex"]]}, "list of pairs"),
        ({"pairs": [["lon", "lat"], ["lat", "sex"]]}, "names a column twice"),
        ({"quasi_identifiers": ["lon", "sex"]}, "both columns of the pair"),
        ({"quasi_identifiers": [["lon", "sex"], ["lon", "lat"]]}, "both columns of the pair"),
        ({"quasi_identifiers": ["sex"]}, "both columns of the pair"),
        ({"recoding": "mondrian"}, "mondrian"),
        ({"hierarchies": {"lon": vd.Hierarchy.star()}}, "name of a pair is 'lon, lat'"),
    ],
)
def test_wrong_pairs_are_refused_in_words(settings, words):
    with pytest.raises(PlanError, match=words):
        recipe(**settings)


def test_a_pair_of_words_is_refused():
    frame = places(1).assign(lat="north")
    with pytest.raises(DataError, match="coordinates must be numbers"):
        recipe().fit(frame)


def test_a_grid_for_one_column_is_refused():
    with pytest.raises(DataError, match="for a pair of coordinates"):
        recipe(
            quasi_identifiers=["lon"], pairs=(), hierarchies={"lon": vd.Hierarchy.grid(1.0)}
        ).fit(places(1))


def test_people_with_several_rows_count_once_in_a_cell(tmp_path):
    """Ten visits of one person at one place are no ten people."""
    homes = places(14, rows=150).assign(person=range(150))
    visits = homes.loc[np.repeat(homes.index, 1 + np.arange(150) % 10)].reset_index(drop=True)
    table = vd.open(visits, columns={"person": {"role": "person"}})
    release = recipe(max_suppression=0.4).protect(table)
    rows = written(release, tmp_path)
    assert "person" in rows.columns
    assert rows.groupby(COLUMNS, dropna=False).person.nunique().min() >= 4
