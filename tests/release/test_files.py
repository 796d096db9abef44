"""Data files: Parquet is exact, and CSV after load has removed the apostrophes."""

from __future__ import annotations

import csv
import datetime as dt

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veladura.errors import PlanError
from veladura.release.files import check_format, disarm_text, read_data, type_from_text, write_data

LIVE = ["=cmd|' /C calc'!A0", "+1+cmd", "-2+3+cmd", "@SUM(A1)", "\tx", "\rx", "'quoted", "=1", "'"]
DEAD = [
    "-8",
    "+3.5",
    "plain",
    "",
    "a=b",
    "1-2",
    "<script>alert(1)</script>",
    'say "no"',
    "line\nbreak",
]

text = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6
)
cells = st.none() | text | st.sampled_from(LIVE + DEAD)


@pytest.fixture(params=["parquet", "csv"])
def format_(request):
    return request.param


@settings(max_examples=60, deadline=None)
@given(column=st.lists(cells, min_size=1, max_size=8), name=text)
def test_text_comes_back_exactly(column, name, tmp_path_factory):
    table = pa.table([pa.array(column, pa.string())], names=[name])
    for format_ in ("parquet", "csv"):
        path = tmp_path_factory.mktemp("files") / f"data.{format_}"
        write_data(table, path, format_)
        assert read_data(path, [name], [pa.string()]).equals(table)


def test_other_types_come_back_exactly(format_, tmp_path):
    columns = {
        "int": pa.array([1, None, -(2**63), 2**63 - 1]),
        "float": pa.array([0.1, None, 1e-300, -1.7976931348623157e308]),
        "bool": pa.array([True, None, False, True]),
        "date": pa.array([dt.date(1900, 1, 1), None, dt.date(9999, 12, 31), dt.date(2024, 2, 29)]),
        "time": pa.array([dt.datetime(2024, 1, 1, 1, 2, 3, 456789), None] * 2, pa.timestamp("us")),  # noqa: DTZ001
        "zone": pa.array(
            [dt.datetime(2024, 7, 1, 1, 2, 3, tzinfo=dt.UTC), None] * 2,
            pa.timestamp("us", tz="Europe/Rome"),
        ),
    }
    table = pa.table(columns)
    write_data(table, tmp_path / f"data.{format_}", format_)
    types = [type_from_text(str(field.type)) for field in table.schema]
    assert types == [field.type for field in table.schema]
    assert read_data(tmp_path / f"data.{format_}", table.column_names, types).equals(table)


@pytest.mark.parametrize("cell", LIVE)
def test_no_cell_and_no_name_of_a_csv_is_live(cell, tmp_path):
    write_data(pa.table({cell: [cell]}), tmp_path / "data.csv", "csv")
    with (tmp_path / "data.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert all(text.startswith("'") for row in rows for text in row)


@pytest.mark.parametrize("cell", DEAD)
def test_harmless_text_and_numbers_stay_as_they_are(cell):
    assert disarm_text(cell) == cell


def test_numbers_are_never_disarmed(tmp_path):
    write_data(pa.table({"x": [-8, 3]}), tmp_path / "data.csv", "csv")
    assert (tmp_path / "data.csv").read_text(encoding="utf-8").splitlines() == ['"x"', "-8", "3"]


def test_parquet_carries_no_metadata_of_the_original(tmp_path):
    table = pa.table({"x": [1]}).replace_schema_metadata({"pandas": "canary", "origin": "canary"})
    write_data(table, tmp_path / "data.parquet", "parquet")
    assert b"canary" not in (tmp_path / "data.parquet").read_bytes()
    assert pq.read_schema(tmp_path / "data.parquet").metadata is None


def test_an_unknown_format_is_refused():
    with pytest.raises(PlanError, match="format 'xlsx' is not known"):
        check_format("xlsx")
