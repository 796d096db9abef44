"""SPSS, Stata, SAS and Excel files, with their value labels (extra ``files``)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from veladura.errors import PlanError
from veladura.table.faults import told_without_values


def read_foreign(path: Path) -> tuple[Any, dict[str, Mapping[str, str]]]:
    """Return the file as a pandas frame, and the value labels of its columns.

    A column with value labels becomes a category of codes; the labels go into the codebook.
    """
    suffix = path.suffix.lower()
    try:
        with told_without_values(path.name):
            if suffix in (".xlsx", ".xlsm"):
                return _read_excel(path), {}
            return _read_statistics(path, suffix)
    except ModuleNotFoundError as error:
        msg = f"reading {suffix} files needs {error.name}.\n\nHint: pip install 'veladura[files]'."
        raise PlanError(msg) from None


def _read_excel(path: Path) -> Any:
    import openpyxl  # noqa: F401  # a missing driver is told before pandas words it its own way
    import pandas as pd

    return pd.read_excel(path, dtype_backend="pyarrow", engine="openpyxl")


def _read_statistics(path: Path, suffix: str) -> tuple[Any, dict[str, Mapping[str, str]]]:
    import pyreadstat

    readers = {
        ".sav": pyreadstat.read_sav, ".zsav": pyreadstat.read_sav, ".por": pyreadstat.read_por,
        ".dta": pyreadstat.read_dta, ".sas7bdat": pyreadstat.read_sas7bdat, ".xpt": pyreadstat.read_xport,
    }  # fmt: skip
    frame, about = readers[suffix](str(path))
    labels = {}
    for name, words in about.variable_value_labels.items():
        whole = frame[name].dropna()
        if whole.dtype.kind == "f" and (whole == whole.round()).all():
            frame[name] = frame[name].astype("Int64")  # codes are whole numbers, though the file has floats
            words = {int(code): word for code, word in words.items()}  # noqa: PLW2901
        labels[name] = {str(code): str(word) for code, word in words.items()}
    return frame, labels
