"""SPSS, Stata, SAS and Excel files, with their value labels (extra ``files``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veladura.errors import DataError, PlanError
from veladura.table.database_errors import without_values


def read_foreign(path: Path) -> tuple[Any, dict[str, Mapping[str, str]]]:
    """Return the file as a pandas frame, and the value labels of its columns.

    A column with value labels becomes a category of codes, as text; the labels go into the
    codebook.
    """
    suffix = path.suffix.lower()
    try:
        with without_values(path.name):
            if suffix in (".xlsx", ".xlsm"):
                return _read_excel(path), {}
            return _read_statistics(path, suffix)
    except ModuleNotFoundError as error:
        msg = (
            f"reading {suffix} files needs the package {error.name}, which is not"
            " installed.\n\nHint: pip install 'veladura[files]'."
        )
        raise PlanError(msg) from None


def _read_excel(path: Path) -> Any:
    """Return the first sheet: names come from its first row, and text stays text."""
    import openpyxl
    import pandas as pd

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        rows = book.worksheets[0].iter_rows(values_only=True)
        names = ["" if name is None else str(name) for name in next(rows, ())]
        cells = [row[: len(names)] for row in rows if any(cell is not None for cell in row)]
    finally:
        book.close()
    if len(set(names)) < len(names):
        msg = f"{path.name}: column names occur more than once.\n\nHint: rename them in the sheet."
        raise DataError(msg)
    frame = pd.DataFrame(cells, columns=names, dtype=object)
    return frame.apply(_narrow) if len(frame) else frame


def _narrow(column: Any) -> Any:
    """Return a column of a sheet as dates where it has no times of day; Arrow types the others."""
    import datetime as dt

    values = column.dropna()
    if len(values) and all(isinstance(v, dt.datetime) and v.time() == dt.time() for v in values):
        return column.map(lambda v: v.date() if v is not None else None)
    return column


def _read_statistics(path: Path, suffix: str) -> tuple[Any, dict[str, Mapping[str, str]]]:
    import pyreadstat

    readers = {
        ".sav": pyreadstat.read_sav,
        ".zsav": pyreadstat.read_sav,
        ".por": pyreadstat.read_por,
        ".dta": pyreadstat.read_dta,
        ".sas7bdat": pyreadstat.read_sas7bdat,
        ".xpt": pyreadstat.read_xport,
    }
    frame, about = readers[suffix](str(path))
    labels: dict[str, Mapping[str, str]] = {}
    for name, words in about.variable_value_labels.items():
        frame[name] = frame[name].map(_code, na_action="ignore").astype("object")
        labels[name] = {_code(code): str(word) for code, word in words.items()}
    return frame, labels


def _code(code: object) -> str:
    """Return a code as text: 1 and not 1.0, although these files hold floats."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)
