"""SPSS, Stata, SAS and Excel files keep their value labels and leading zeros."""

# ruff: noqa: DTZ001  # sheets know no zones
from __future__ import annotations

import datetime as dt

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

import veladura as vd
from veladura.errors import DataError

from .conftest import CANARY

pytestmark = pytest.mark.quick

FRAME = pd.DataFrame(
    {
        "zip": ["02138", "00501", "99501"],
        "sex": [1.0, 2.0, np.nan],
        "income": [1.5, 2.5, np.nan],
        "n": [1, 2, 3],
    }
)
SEX = {"sex": {1: "male", 2: "female"}}


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.sav", lambda frame, path: pyreadstat.write_sav(frame, path, variable_value_labels=SEX)),
        (
            "a.zsav",
            lambda frame, path: pyreadstat.write_sav(
                frame, path, variable_value_labels=SEX, compress=True
            ),
        ),
        ("a.dta", lambda frame, path: pyreadstat.write_dta(frame, path, variable_value_labels=SEX)),
        ("a.por", pyreadstat.write_por),
        ("a.xpt", pyreadstat.write_xport),
    ],
)
def test_statistics_files(tmp_path, name, write):
    write(FRAME.rename(columns=str.upper) if name.endswith("por") else FRAME, str(tmp_path / name))
    opened = vd.open(tmp_path / name)
    by_name = {column.lower(): opened.arrow[column].to_pylist() for column in opened.names}
    assert by_name["zip"] == ["02138", "00501", "99501"]
    assert by_name["income"] == [1.5, 2.5, None]
    assert opened.frame is None
    if not name.endswith(("por", "xpt")):
        assert opened.schema["sex"].kind == "category"
        assert opened.schema["sex"].labels == {"1": "male", "2": "female"}
        assert by_name["sex"] == ["1", "2", None]


def test_declared_labels_and_orders_win(tmp_path):
    pyreadstat.write_sav(FRAME, str(tmp_path / "a.sav"), variable_value_labels=SEX)
    opened = vd.open(
        tmp_path / "a.sav",
        {"sex": {"role": "quasi-identifier", "order": ["2", "1"], "labels": {"1": "M"}}},
    )
    field = opened.schema["sex"]
    assert (field.kind, field.role, field.order, field.labels) == (
        "ordered",
        "quasi-identifier",
        ("2", "1"),
        {"1": "M"},
    )
    kept = vd.open(tmp_path / "a.sav", {"sex": {"role": "quasi-identifier"}}).schema["sex"]
    assert (kept.kind, kept.labels) == ("category", {"1": "male", "2": "female"})


def excel(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_excel(tmp_path):
    rows = [
        ["zip", "n", "x", "day", "at", "yes", "note"],
        ["02138", 1, 1.5, dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 10, 30), True, "u"],
        ["00501", 2, None, None, None, False, None],
    ]
    opened = vd.open(excel(tmp_path / "a.xlsx", rows), {"zip": {"role": "quasi-identifier"}})
    assert opened.names == ["zip", "n", "x", "day", "at", "yes", "note"]
    assert [field.kind for field in opened.schema] == [
        "category",
        "integer",
        "number",
        "date",
        "date",
        "category",
        "category",
    ]
    assert opened.arrow.to_pylist()[0] == {
        "zip": "02138",
        "n": 1,
        "x": 1.5,
        "day": dt.date(2024, 1, 31),
        "at": dt.datetime(2024, 1, 31, 10, 30),
        "yes": True,
        "note": "u",
    }
    assert opened.schema["day"].type == pa.date32()


def test_bad_excel(tmp_path, refused):
    with refused(DataError, "column 'a'"):
        vd.open(excel(tmp_path / "a.xlsx", [["a"], [1], [CANARY]]))
    with refused(DataError, "more than once"):
        vd.open(excel(tmp_path / "b.xlsx", [["a", "a"], [1, CANARY]]))
    with refused(DataError, "no rows"):
        vd.open(excel(tmp_path / "c.xlsx", [["a", "b"]]))
    for name in ("d.xlsx", "d.sav", "d.dta", "d.xpt", "d.sas7bdat", "d.por"):
        (tmp_path / name).write_bytes(CANARY.encode() * 50)
        with refused(DataError, "cannot be read|is not valid"):
            vd.open(tmp_path / name)
