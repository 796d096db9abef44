"""A plan that extends its last release: what the folders prove, and what is refused."""

from __future__ import annotations

import json
import shutil
import warnings

import pandas as pd
import pytest
from tests.generators.panels import household_panel

import veladura as vd
from veladura.errors import PlanError, PromiseError, VeladuraWarning
from veladura.plan.reading import read_plan
from veladura.plan.run import past, rehearse, run
from veladura.release.compared import LATER, ROWS, SAME
from veladura.release.folder import write_hashes

PLAN = """
[source]
path = "{name}.csv"
[columns]
who = {{role = "person"}}
home = {{role = "household"}}
region = {{role = "quasi-identifier"}}
sex = {{role = "quasi-identifier"}}
born = {{role = "{born}"}}
year = {{role = "quasi-identifier"}}
work = {{role = "quasi-identifier"}}
pay = {{role = "sensitive"}}
{more}
[[step]]
method = "{method}"
m = {m}
{settings}
[release]
folder = "out/{name}"
format = "{format}"
[custodian]
folder = "safe/{name}"
series = "panel"
consistent = true
[run]
seed = {seed}
"""
USUAL = {
    "method": "households",
    "m": 2,
    "settings": "",
    "format": "csv",
    "born": "quasi-identifier",
    "more": "",
}
pytestmark = pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    panel = household_panel(150)
    day = pd.Timestamp("1970-01-01") + pd.to_timedelta(panel.year * 365, unit="D")
    return panel.assign(asked=day.dt.date)


@pytest.fixture(scope="module")
def released(frame, tmp_path_factory):
    """Release two waves, then three; return the home of both."""
    home = tmp_path_factory.mktemp("panel")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VELADURA_CUSTODIAN", str(home / "home"))
        run(plan(home, frame, 2021))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", VeladuraWarning)
            run(plan(home, frame, 2022, format="parquet"))
    assert any("this release extends the one in" in str(one.message) for one in caught)
    return home


@pytest.fixture
def home(released, tmp_path, monkeypatch):
    """Return a copy of the releases, where the register finds them."""
    place = tmp_path / "copy"
    shutil.copytree(released, place)
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(place / "home"))
    for path in (place / "home").rglob("*.json"):
        path.write_text(path.read_text().replace(str(released), str(place)))
    return place


def plan(home, frame, last, **other):
    name = f"until{last}"
    drop = [] if "more" in other else ["asked"]
    frame[frame.year <= last].drop(columns=drop, errors="ignore").to_csv(
        home / f"{name}.csv", index=False
    )
    path = home / f"{name}.toml"
    path.write_text(PLAN.format(**{**USUAL, **other}, name=name, seed=last), encoding="utf-8")
    return read_plan(path)


def statuses(lines):
    return {line.claim: line.status for line in lines}


def test_both_folders_prove_it(home):
    old, new = home / "out/until2021", home / "out/until2022"
    lines = statuses(vd.verify(new, earlier=old))
    assert "broken" not in lines.values()
    assert [lines[claim] for claim in (SAME, ROWS, LATER)] == ["holds"] * 3
    (promise,) = [p for p in vd.load(new).promises if p.name == "extends"]
    assert promise.settings["until"] == 2021
    assert len(promise.settings["rows"]) == 2
    before, after = vd.load(old).datasets, vd.load(new).datasets
    for one, two in zip(before, after, strict=True):
        both = [d.sort_values(["who", "year"]).reset_index(drop=True) for d in (one, two)]
        assert both[1][both[1].year < 2022].reset_index(drop=True).equals(both[0])
    assert vd.load(new).rule == vd.load(old).rule


def test_the_source_proves_the_rest(home, frame):
    lines = statuses(
        vd.verify(
            home / "out/until2022",
            read_plan(home / "until2022.toml").open(),
            home / "safe/until2022/record.json",
            earlier=home / "out/until2021",
        )
    )
    assert set(lines.values()) <= {"holds", "attested"}
    assert sum("was moved at random" in claim for claim in lines) == 2
    assert all(s == "holds" for c, s in lines.items() if "was moved" in c or "more rows" in c)


def test_the_home_holds_no_original_value(home, frame):
    texts = [path.read_text() for path in (home / "home/series/panel").glob("*.json")]
    assert len(texts) == 2
    assert not list((home / "home").rglob("*.values.parquet"))
    for text in texts:
        assert set(json.loads(text)) >= {"folder", "digest"}


def changed(home, how):
    """Change the last released dataset as a forger would, checksums and codebook included."""
    folder = home / "out/until2022"
    release = vd.load(folder)
    path = folder / "data/dataset-2.parquet"
    table = release.tables[1].table.units.arrow.to_pandas()
    schema = release.tables[1].table.units.arrow.schema
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.Table.from_pandas(how(table), schema=schema, preserve_index=False), path)
    write_hashes(folder)
    return vd.verify(folder, earlier=home / "out/until2021")


def test_a_changed_row_of_an_earlier_wave_is_found(home):
    def how(table):
        row = table.index[table.year == 2020][0]
        table.loc[row, "pay"] += 1
        return table

    lines = changed(home, how)
    assert statuses(lines)[ROWS] == "broken"
    (own,) = [line for line in lines if line.claim.startswith("The rows with year up to 2021")]
    assert own.status == "broken"


def test_a_person_who_moves_is_found(home):
    def how(table):
        early, late = table[table.year < 2022], table.year == 2022
        stayed = early.who[early.who.isin(table.who[late]) & (early.home < early.home.max())]
        table.loc[late & (table.who == stayed.max()), "home"] = early.home.max()
        return table

    moved = statuses(changed(home, how))
    assert moved[LATER] == "broken"
    assert moved[ROWS] == "holds"


def test_another_earlier_release_is_found(home):
    path = home / "out/until2021/data/dataset-1.csv"
    path.write_text(path.read_text().replace(',"f",', ',"m",', 1))
    lines = statuses(vd.verify(home / "out/until2022", earlier=home / "out/until2021"))
    assert lines[SAME] == "broken"
    assert lines[ROWS] == "broken"
    own = statuses(vd.verify(home / "out/until2021", earlier=home / "out/until2022"))
    assert own[SAME] == "broken"
    missing = statuses(vd.verify(home / "out/until2022", earlier=home / "out/nothing"))
    assert missing[SAME] == "broken"


def test_a_release_made_again_does_not_extend_itself(home, frame):
    before = vd.load(home / "out/until2022").promises[-1].settings
    run(plan(home, frame, 2022), force=True)
    assert vd.load(home / "out/until2022").promises[-1].settings == before


def test_the_last_release_must_be_there_unchanged(home, frame):
    shutil.rmtree(home / "out/until2022")
    with pytest.raises(PlanError, match="the folder of the last release is gone"):
        run(plan(home, frame, 2023))
    shutil.move(home / "out/until2021", home / "out/until2022")
    with pytest.raises(PlanError, match="is no longer the release that the series remembers"):
        run(plan(home, frame, 2023))


def test_a_file_that_changed_is_not_extended(home, frame):
    path = home / "out/until2022/data/dataset-1.parquet"
    path.write_bytes(path.read_bytes()[:-8] + b"12345678")
    with pytest.raises(PromiseError, match="does not verify"):
        run(plan(home, frame, 2023))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"m": 3}, "settings differ from those of the earlier release: m"),
        ({"settings": "min_leaf = 9"}, "settings differ .*: min_leaf"),
        ({"settings": 'keep = ["region"]'}, "settings differ .*: keep"),
        ({"born": "harmless"}, r"columns, kinds or roles differ: \['born'\]"),
        ({"more": 'asked = {role = "harmless"}'}, r"columns, kinds or roles differ: \['asked'\]"),
        ({"method": "cart"}, "every row is a new one"),
        ({}, "no wave after those of the earlier release"),
    ],
)
def test_another_design_is_refused(home, frame, other, words):
    made = plan(home, frame, 2023, **other)
    with pytest.raises(PlanError, match=words):
        (run if made.recipe.method == "cart" else rehearse)(made)


def test_another_method_is_refused(home, frame):
    first = vd.Cart(m=2).protect(frame.drop(columns=["who", "home", "asked"]), seed=1)
    folder = first.save(home / "out/cart", custodian=home / "safe/cart")
    with pytest.raises(PlanError, match="was made by 'cart' and this one by 'households'"):
        vd.extend(vd.HouseholdCart(m=2), frame, folder)
    with pytest.raises(PlanError, match="the method 'cart' cannot extend"):
        vd.extend(vd.Cart(m=2), frame, folder)


def test_what_it_adds_is_told_without_a_release(home, frame):
    told = past(plan(home, household_panel(150, 4), 2023))
    assert [result.name for result in told] == ["until2021", "until2022"]
    assert not (home / "out/until2023").exists()


def test_waves_may_be_dates(frame, tmp_path):
    """The last released day is told as a date, and found again in a file of text."""
    table = frame.drop(columns=["home", "region", "year"])
    roles = {"who": {"role": "person"}, "asked": {"kind": "date", "format": "%Y-%m-%d"}}
    table.to_csv(tmp_path / "all.csv", index=False)
    days = sorted(table.asked.unique())
    table[table.asked < days[-1]].to_csv(tmp_path / "some.csv", index=False)
    recipe = vd.HouseholdCart(m=1)
    first = recipe.protect(vd.open(tmp_path / "some.csv", roles), seed=1)
    old = first.save(tmp_path / "out/one", custodian=tmp_path / "safe/one", format="csv")
    new = vd.extend(recipe, vd.open(tmp_path / "all.csv", roles), old, seed=2)
    assert new.promises[-1].settings["until"] == days[-2].isoformat()
    folder = new.save(tmp_path / "out/two", custodian=tmp_path / "safe/two", format="csv")
    assert "broken" not in statuses(vd.verify(folder, earlier=old)).values()
