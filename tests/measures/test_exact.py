"""What exact columns tell, recounted with pandas; in memory and lazily."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from veladura.errors import ColumnError
from veladura.measures.exact import exact_facts
from veladura.table.source import open as open_table
from veladura.table.telling import Telling

ROWS = 2000


def people(seed: int = 1) -> pd.DataFrame:
    """A register: towns lie in districts, one in fifty towns is written wrongly."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 60, ROWS)
    return pd.DataFrame(
        {
            "ref": [f"p{i:05d}" for i in rng.permutation(ROWS)],
            "district": np.array(list("abcdef"))[town // 10],
            "town": np.where(rng.random(ROWS) < 0.02, rng.integers(0, 60, ROWS), town),
            "income": np.round(rng.lognormal(10, 1, ROWS), 2),
            "sex": rng.choice(["f", "m"], ROWS),
            "rare": rng.choice(["no", "yes"], ROWS, p=[0.99, 0.01]),
            "same": "x",
            "lon": rng.integers(0, 40, ROWS) / 10,
            "lat": rng.integers(0, 40, ROWS) / 10,
        }
    )


ROLES = {
    "ref": {"role": "identifier"},
    "lon": {"role": "geographic"},
    "lat": {"role": "geographic"},
}


@pytest.fixture(params=["memory", "lazy"])
def opened(request, tmp_path):
    """Open a frame as it is, or as a file that stays in the database."""

    def open_it(frame, roles):
        if request.param == "memory":
            return open_table(frame, roles)
        frame.to_parquet(tmp_path / "people.parquet")
        return open_table(tmp_path / "people.parquet", roles)

    return open_it


def unique_by(frame: pd.DataFrame, columns: list[str]) -> int:
    sizes = frame.groupby(columns, dropna=False).size()
    return int((sizes == 1).sum())


def told_by(frame: pd.DataFrame, column: str, target: str) -> float:
    cells = frame.groupby([column, target], dropna=False).size()
    most = cells.groupby(level=0, dropna=False).max()
    return float(most[most > 1].sum() / cells.sum())


def test_unique_people_are_those_that_pandas_counts(opened):
    frame = people()
    frame.loc[5:9, "income"] = np.nan
    names = ["town", "income", "sex", "lon", "lat"]
    facts = exact_facts(opened(frame, ROLES), names, [])
    assert {name: facts[name].unique for name in names} == {
        name: unique_by(frame, [name]) for name in names
    }
    assert facts["lon and lat"].unique == unique_by(frame, ["lon", "lat"])
    assert facts["income"].nearly_unique
    assert not facts["sex"].nearly_unique
    assert not facts["lon"].nearly_unique
    assert facts["lon and lat"].nearly_unique


def test_a_code_gives_back_what_it_lies_in_and_nothing_else(opened):
    frame = people()
    protected = ["ref", "district", "same", "rare"]
    facts = exact_facts(opened(frame, ROLES), ["town", "sex", "income"], protected)
    assert facts["town"].gives_back == {
        "district": round(told_by(frame, "town", "district") * ROWS)
    }
    assert facts["town"].dangerous
    assert facts["sex"].gives_back == facts["income"].gives_back == {}
    assert not facts["sex"].dangerous


@pytest.mark.parametrize(("column", "target"), [("town", "district"), ("income", "sex")])
def test_the_share_told_is_that_of_pandas(opened, column, target):
    frame = people(2)
    frame.loc[::7, target] = None
    telling = Telling(opened(frame, ROLES))
    assert telling.told([column], target) == pytest.approx(told_by(frame, column, target))
    commonest = frame[target].value_counts(dropna=False).max() / ROWS
    assert telling.commonest(target) == pytest.approx(commonest)


def test_chance_gives_nothing_back(opened):
    """Small groups agree by chance: neither may look like a rule."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "pairs": rng.permutation(np.arange(ROWS) // 2),
            "triples": rng.permutation(np.arange(ROWS) // 3),
            "even": rng.choice(["f", "m"], ROWS),
            "most": rng.choice(["no", "yes"], ROWS, p=[0.95, 0.05]),
        }
    )
    facts = exact_facts(opened(frame, {}), ["pairs", "triples"], ["even", "most"])
    assert facts["pairs"].gives_back == facts["triples"].gives_back == {}


def test_people_are_counted_not_rows(opened):
    rng = np.random.default_rng(4)
    visits = pd.DataFrame({"patient": np.repeat(np.arange(200), 10)})
    visits["height"] = 150 + visits["patient"] % 150  # 50 heights of two patients, 100 of one
    visits["ward"] = rng.integers(0, 3, len(visits))
    visits["sex"] = np.where(visits["patient"] % 2, "f", "m")
    table = opened(visits, {"patient": {"role": "person"}})
    facts = exact_facts(table, ["height", "ward"], ["sex"])
    assert (facts["height"].unique, facts["height"].people) == (100, 200)
    assert facts["ward"].unique == 0
    persons = visits[["patient", "height", "sex"]].drop_duplicates()
    expected = told_by(persons, "height", "sex")
    assert Telling(table, "patient").told(["height"], "sex") == pytest.approx(expected)
    assert facts["height"].gives_back == {}  # half of the people are alone with their height


def test_a_repeated_code_gives_back_what_is_constant_within_it(opened):
    rng = np.random.default_rng(5)
    household = np.repeat(np.arange(500), 4)
    frame = pd.DataFrame({"code": household, "region": rng.integers(0, 9, 500)[household]})
    assert exact_facts(opened(frame, {}), ["code"], ["region"])["code"].gives_back == {
        "region": ROWS
    }


def test_a_column_that_is_not_there_is_refused(opened):
    with pytest.raises(ColumnError, match="names"):
        exact_facts(opened(people(), ROLES), ["towns"], [])


@pytest.mark.parametrize("column", ["town", "income", "sex"])
def test_no_column_tells_more_than_its_bound(opened, column):
    telling = Telling(opened(people(6), ROLES))
    for target in ("district", "rare", "sex", "town"):
        assert telling.told([column], target) <= telling.most_told([column], target)
