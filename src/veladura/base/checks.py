"""Checks of settings that several methods share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from veladura.errors import ColumnError, PlanError

MOST = 100_000_000  # of a whole number, where a method has no reason for less
MOST_DATASETS = 1000
MOST_DISTINCT = 10_000  # values that a leaf may be asked to have


def check_columns(columns: object, what: str) -> None:
    """Refuse columns that are not a list of different names.

    Examples
    --------
    >>> check_columns(("income", "age"), "the number columns to mask")
    """
    if isinstance(columns, str):
        msg = (
            f"columns must be a list of names, got one text.\n\nHint: write columns=[{columns!r}]."
        )
        raise PlanError(msg)
    if not isinstance(columns, (tuple, Mapping)) or not all(
        isinstance(name, str) for name in columns
    ):
        msg = (
            f"columns must be a list of names, got {type(columns).__name__}.\n\nHint: write"
            ' columns=["income"], for instance.'
        )
        raise PlanError(msg)
    if not columns:
        msg = f"columns is empty.\n\nHint: name {what}."
        raise PlanError(msg)
    if len(set(columns)) < len(columns):
        twice = sorted({name for name in columns if list(columns).count(name) > 1})
        msg = f"columns has names more than once: {twice}.\n\nHint: name each column once."
        raise PlanError(msg)


def check_choice(setting: str, value: object, possible: tuple[str, ...]) -> None:
    """Refuse a value that is not in the list of possible ones."""
    if value not in possible:
        raise PlanError.unknown(setting, str(value), possible)


def check_named(setting: str, names: Sequence[str], possible: Sequence[str]) -> None:
    """Refuse names in a setting that are not among the columns it can name."""
    if absent := [name for name in names if name not in possible]:
        raise ColumnError.missing(setting, absent, list(possible))


def check_whole(setting: str, value: object, least: int, most: int = MOST, why: str = "") -> None:
    """Refuse a setting that is not a whole number of a range.

    Parameters
    ----------
    why
        Why it cannot be less, after a colon.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        got = value if not isinstance(value, int) or abs(value) < MOST else "a large number below 0"
        msg = f"{setting} ({got}) must be a whole number of at least {least}{why}."
        raise PlanError(msg)
    if value > most:
        msg = f"{setting} must be at most {most:,}; it is larger."
        raise PlanError(msg)


def check_fit_rows(value: int | None, least: int = 2, why: str = "") -> None:
    """Refuse a number of rows to hold that is too small to learn from."""
    if value is not None:
        check_whole("fit_rows", value, least, why=why)


def is_number(value: object) -> bool:
    """Whether a setting is a finite number; True and False are not numbers.

    Examples
    --------
    >>> is_number(2), is_number(True), is_number("2")
    (True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
