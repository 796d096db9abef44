"""A failure of a source is told without values; a mistake of the program is told as one."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import DataError, InternalError
from veladura.report import codebook
from veladura.table import profiles
from veladura.table.database_errors import without_values


def own_mistake():
    """Fail inside the package: a question about nothing is no question."""
    return profiles.sorted_profile(None, "x")


def test_a_mistake_in_our_code_is_not_told_as_one_of_the_table():
    with (
        pytest.raises(InternalError, match=r"mistake of the program") as caught,
        without_values("people.csv"),
    ):
        own_mistake()
    assert "table/profiles.py" in str(caught.value)
    assert caught.value.exit_code == 1


def test_sql_that_we_wrote_wrongly_is_our_mistake():
    with pytest.raises(InternalError, match="not of your table"), without_values("people.csv"):
        duckdb.sql("SELECT FROM nothing WHERE")


@pytest.mark.parametrize(
    "failure",
    [
        duckdb.ConversionException("'secret' cannot be cast"),
        pa.ArrowInvalid("secret"),
        OSError("secret"),
        UnicodeDecodeError("utf-8", b"secret", 0, 1, "secret"),
        KeyError("secret"),  # raised by a reader of files, outside our code
    ],
)
def test_a_failure_of_the_source_is_told_without_values(failure):
    with pytest.raises(DataError) as caught, without_values("people.csv"):
        raise failure
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_our_mistake_shows_no_value_either_and_debugging_shows_it(monkeypatch):
    def wrong():
        duckdb.sql("SELECT 'secret' FROM FROM")

    with pytest.raises(InternalError) as caught, without_values("people.csv"):
        wrong()
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
    monkeypatch.setenv("VELADURA_DEBUG", "1")
    with pytest.raises(duckdb.ParserException), without_values("people.csv"):
        wrong()


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
def test_a_column_of_one_value_has_a_page_when_it_is_lazy(tmp_path, kind):
    pq.write_table(pa.table({"x": pa.array([7] * 12, kind)}), tmp_path / "t.parquet")
    table = vd.open(tmp_path / "t.parquet", {"x": {}})
    assert not table.in_memory
    (about,) = codebook.describe(table, table, [])
    near = codebook.describe(vd.open(pq.read_table(tmp_path / "t.parquet"), {"x": {}}), None, [])[0]
    assert [bar.released for bar in about.bars] == [bar.released for bar in near.bars]
    assert about.summary == near.summary
