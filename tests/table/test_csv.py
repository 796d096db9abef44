"""CSV files as people write them."""

from __future__ import annotations

import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.table.files.dialect import Dialect, sniff
from veladura.table.inspect import inspect_table

ROWS = [
    ["02138", "Müller", "1.5", "3"],
    ["00501", 'say "hi"', "", "4"],
    ["99501", "a,b;c|d\te", "-2.25", ""],
    ["10001", "two\nlines", "1e3", "7"],
]
LIKE_DATES = "looks like dates in several formats: use one, and declare it"
HEADER = ["zip", "word", "x", "n"]


def written(path, separator=",", encoding="utf-8", decimal=".", newline="\n", *, last=True):
    def cell(text, place):
        text = text.replace(".", decimal) if place == 2 else text
        return '"' + text.replace('"', '""') + '"' if place == 1 or separator in text else text

    lines = [
        separator.join(HEADER),
        *(separator.join(cell(text, i) for i, text in enumerate(row)) for row in ROWS),
    ]
    path.write_bytes((newline.join(lines) + (newline if last else "")).encode(encoding))
    return path


def values(table):
    return table.arrow.to_pydict()


EXPECTED = {
    "zip": ["02138", "00501", "99501", "10001"],
    "word": ["Müller", 'say "hi"', "a,b;c|d\te", "two\nlines"],
    "x": [1.5, None, -2.25, 1000.0],
    "n": [3, 4, None, 7],
}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16"])
def test_separators_and_encodings_are_found(tmp_path, separator, encoding):
    path = written(tmp_path / "a.csv", separator, encoding)
    assert sniff(path).separator == separator
    assert values(vd.open(path)) == EXPECTED


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_line_ends(tmp_path, newline, last, encoding):
    path = written(tmp_path / "a.csv", ";", encoding, newline=newline, last=last)
    assert values(vd.open(path)) == EXPECTED


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_a_decimal_comma_is_found(tmp_path, separator):
    path = written(tmp_path / "a.csv", separator, decimal=",")
    assert sniff(path).decimal == ","
    assert values(vd.open(path)) == EXPECTED


def test_numbers_with_a_comma_between_commas_are_text(tmp_path):
    (tmp_path / "a.csv").write_text('x,y\n"1,5",a\n"2,25",b\n')
    assert values(vd.open(tmp_path / "a.csv"))["x"] == ["1,5", "2,25"]


def test_thousands_are_not_read_as_decimals(tmp_path):
    (tmp_path / "a.csv").write_text("x;y\n1.500;1,5\n2.500;2,5\n")
    opened = vd.open(tmp_path / "a.csv", dialect=Dialect(separator=";", decimal=","))
    assert values(opened) == {"x": ["1.500", "2.500"], "y": [1.5, 2.5]}


def test_words_for_missing(tmp_path):
    (tmp_path / "a.csv").write_text('a,b,c\n1,NA,x\n,"NA",""\n-9,y,z\n5,w,v\n')
    assert values(vd.open(tmp_path / "a.csv")) == {
        "a": [1, None, -9, 5],
        "b": [None, None, "y", "w"],
        "c": ["x", None, "z", "v"],
    }
    opened = vd.open(tmp_path / "a.csv", {"a": {"kind": "integer", "missing": ["-9"]}})
    assert values(opened)["a"] == [1, None, None, 5]
    guessed = vd.open(tmp_path / "a.csv", {"a": {"missing": ["-9"]}})
    assert values(guessed)["a"] == [1, None, None, 5]
    nothing = vd.open(tmp_path / "a.csv", {"a": "category"}, dialect=Dialect(missing=()))
    assert values(nothing)["a"] == ["1", "", "-9", "5"]
    assert values(nothing)["c"] == ["x", "", "z", "v"]


def test_one_word_among_numbers_is_taken_as_missing_and_told(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,x\nunknown,x\n3,y\n4,y\n")
    opened = vd.open(tmp_path / "a.csv")
    assert values(opened)["a"] == [1, None, 3, 4]
    facts = inspect_table(opened)["a"]
    assert (facts.kind, facts.missing, facts.note) == (
        "integer",
        ("unknown",),
        "numbers, and one word that is taken to mean missing",
    )
    assert "unknown" not in repr(facts)


@pytest.mark.parametrize(
    ("text", "kind", "note"),
    [
        ("007 12", "category", "numbers with leading zeros: kept as text"),
        ("00.5 1.5 2", "category", "a mix of numbers and other text"),
        ("0 -0 10", "integer", ""),
        ("0.5 1e-3 .5 5.", "number", ""),
        ("12345678901234567890 1", "category", "numbers with too many digits: kept as text"),
        ("1 2 3 x y", "category", "a mix of numbers and other text"),
        ("1e999 2 3", "category", "a mix of numbers and other text"),
        ("2024-01-31 2024-02-29", "date", ""),
        ("31.01.2024 29.02.2024", "date", ""),
        ("31/01/2024 29/02/2024", "date", ""),
        ("01/02/2024 03/04/2024", "date", "the format could also be %m/%d/%Y: check it"),
        ("01/31/2024 02/29/2024", "date", ""),
        ("2024-01-31T10:00:00 2024-01-31T11:00:00", "date", ""),
        ("2024-01-31 31.01.2024", "category", LIKE_DATES),
        ("24-01-31 24-01-30", "category", LIKE_DATES),
        ("2024-02-30 2024-02-29", "category", LIKE_DATES),
        ("yes no", "category", ""),
        ("inf nan", "category", ""),
    ],
)
def test_kinds_are_guessed_from_every_value(tmp_path, text, kind, note):
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{word},z\n" for word in text.split()))
    facts = inspect_table(vd.open(tmp_path / "a.csv"))["a"]
    assert (facts.kind, facts.note) == (kind, note)


def test_whole_numbers_that_are_all_dates_are_dates(tmp_path):
    """20230231 is no day of any month: then they are numbers."""
    days = ["19800229", "19991231", "20010704", "19560115", "20240101"]
    path = tmp_path / "days.csv"
    rows = [f"{day},{day if i else '20230231'}" for i, day in enumerate(days)]
    path.write_text("\n".join(["born,code", *rows]), encoding="utf-8")
    table = vd.open(path)
    assert [field.kind for field in table.schema] == ["date", "integer"]
    assert str(table.arrow.column(0)[0].as_py())[:10] == "1980-02-29"


def test_a_late_word_is_not_overlooked(tmp_path):
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{i}\n" for i in range(30_000)) + "x1\ny2\n")
    assert vd.open(tmp_path / "a.csv", {"a": {}}).schema["a"].kind == "category"


def test_a_declared_date_finds_its_format(tmp_path):
    (tmp_path / "a.csv").write_text("a\n31.01.2024\n29.02.2024\n")
    assert str(vd.open(tmp_path / "a.csv", {"a": "date"}).arrow["a"][1]) == "2024-02-29"


def test_a_format_alone_makes_a_date(tmp_path):
    (tmp_path / "a.csv").write_text("a\n31012024\n01022024\n")
    assert (
        str(vd.open(tmp_path / "a.csv", {"a": {"format": "%d%m%Y"}}).arrow["a"][0]) == "2024-01-31"
    )


def test_line_ends_of_two_kinds(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b\r\n1,x\n2,y\r\n3,z\n")
    assert values(vd.open(tmp_path / "a.csv")) == {"a": [1, 2, 3], "b": ["x", "y", "z"]}


def test_times_are_kept(tmp_path):
    (tmp_path / "a.csv").write_text("a\n2024-01-31 10:11:12\n")
    assert str(vd.open(tmp_path / "a.csv").arrow["a"][0]) == "2024-01-31 10:11:12"


def test_dates_in_two_formats_are_counted(tmp_path, refused):
    (tmp_path / "a.csv").write_text("a,b\n2024-01-31,1\n31.01.2024,1\n30.01.1977,1\n")
    with refused(DataError, r"\{'a': 2\}.*'a': date %Y-%m-%d"):
        vd.open(tmp_path / "a.csv", {"a": {"kind": "date", "format": "%Y-%m-%d"}})


@pytest.mark.parametrize(
    "name",
    [
        'we\'ird "name".csv',
        "with space.csv",
        "star*[1]?.csv",
        "naïve ✓.CSV",
        "semi;colon.csv",
        "-- drop.csv",
    ],
)
def test_strange_file_names(tmp_path, name):
    written(tmp_path / name)
    (tmp_path / "star1.csv").write_text("other\n1\n")
    assert values(vd.open(tmp_path / name)) == EXPECTED


def test_strange_column_names(tmp_path):
    (tmp_path / "a.csv").write_text(
        '"a""b; drop table x",select,"",i,I,"line\nbreak"\n1,2,3,4,5,6\n'
    )
    opened = vd.open(tmp_path / "a.csv")
    assert opened.names == ['a"b; drop table x', "select", "column 3", "i", "I", "line\nbreak"]
    assert list(opened.arrow.to_pylist()[0].values()) == [1, 2, 3, 4, 5, 6]
    assert opened.counts(["i", "I", "column 3"]).size.tolist() == [1]
    assert opened.select(["I", "i"]).arrow.to_pydict() == {"I": [5], "i": [4]}


def test_a_mark_in_front_of_declared_utf8_is_not_part_of_a_name(tmp_path):
    path = written(tmp_path / "a.csv", encoding="utf-8-sig")
    assert vd.open(path, dialect=Dialect(encoding="utf-8")).names == HEADER


def test_one_column_alone(tmp_path):
    (tmp_path / "a.csv").write_text("a\nx\ny\n")
    assert values(vd.open(tmp_path / "a.csv")) == {"a": ["x", "y"]}


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"separator": ""}, "one character"),
        ({"encoding": "klingon"}, "not known"),
        ({"separator": ",", "decimal": ","}, "both"),
        ({"quote": "''"}, "one character"),
    ],
)
def test_a_dialect_is_checked(settings, match):
    with pytest.raises(PlanError, match=match):
        Dialect(**settings)
