"""The reader of settings: every type both ways, and errors that name the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veladura.base.settings import from_plain, from_table, to_plain
from veladura.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Inner:
    upper: float | None = None
    label: str = "x"


@dataclass(frozen=True, kw_only=True)
class Outer:
    columns: tuple[str, ...]
    mode: Literal["a", "b"] = "a"
    share: float = 0.5
    flag: bool = False
    count: int | None = None
    inner: Mapping[str, float | Inner] = field(default_factory=dict)
    pair: tuple[int, int] = (1, 2)
    anything: Any = None

    def __post_init__(self) -> None:
        if not self.columns:
            msg = "columns is empty."
            raise PlanError(msg)


outers = st.builds(
    Outer,
    columns=st.lists(st.text(max_size=4), min_size=1, max_size=3).map(tuple),
    mode=st.sampled_from(["a", "b"]),
    share=st.floats(allow_nan=False, allow_infinity=False),
    flag=st.booleans(),
    count=st.none() | st.integers(),
    inner=st.dictionaries(
        st.text(max_size=3),
        st.floats(0, 1)
        | st.builds(Inner, upper=st.none() | st.floats(0, 1), label=st.text(max_size=3)),
        max_size=2,
    ),
    pair=st.tuples(st.integers(), st.integers()),
)


@given(outers)
def test_written_and_read_back_is_the_same(outer):
    assert from_table(Outer, to_plain(outer), "here") == outer


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "here: columns must be given"),
        ({"columns": []}, "here: columns is empty"),
        ({"columns": "age"}, r"here\.columns: expected a list, got text"),
        ({"columns": [1]}, r"here\.columns\[0\]: expected text, got a whole number"),
        ({"columns": ["a"], "modus": "a"}, "here: key 'modus' is not known"),
        ({"columns": ["a"], "mode": "c"}, r"here\.mode: value 'c' is not known"),
        ({"columns": ["a"], "share": "half"}, r"here\.share: expected a number, got text"),
        ({"columns": ["a"], "flag": 1}, r"here\.flag: expected true or false, got a whole number"),
        (
            {"columns": ["a"], "count": True},
            r"here\.count: expected a whole number, got true or false",
        ),
        (
            {"columns": ["a"], "inner": {"x": {"uper": 1}}},
            r"here\.inner\.x: key 'uper' is not known",
        ),
        (
            {"columns": ["a"], "inner": {"x": "high"}},
            r"here\.inner\.x: expected a number or a table, got text",
        ),
        ({"columns": ["a"], "inner": 3}, r"here\.inner: expected a table, got a whole number"),
        ({"columns": ["a"], "pair": [1]}, r"here\.pair: expected 2 entries, got 1"),
        (3, "here: expected a table, got a whole number"),
    ],
)
def test_an_error_names_the_key_what_was_got_and_what_is_possible(table, message):
    with pytest.raises(PlanError, match=message):
        from_table(Outer, table, "here")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"sex": "f"}, r"domain\.sex: expected a list, got text"),
        ({"sex": ["f", 3]}, r"domain\.sex\[1\]: expected text, got a whole number"),
        (3, "domain: expected a table or text, got a whole number"),
    ],
)
def test_what_is_wrong_within_one_of_several_kinds_is_named(value, message):
    with pytest.raises(PlanError, match=message):
        from_plain(Mapping[str, Sequence[str]] | str | None, value, "domain")


def test_a_toml_date_is_text_and_a_whole_number_is_a_number():
    assert from_plain(str, date(2020, 1, 2), "x") == "2020-01-02"
    assert from_plain(float, 3, "x") == 3.0


@dataclass(frozen=True)
class Far:
    """One of two tables that a setting may hold."""

    metres: float = 1.0


@dataclass(frozen=True)
class FarBehind:
    """The other one."""

    metres: float
    hours: float = 0.0


@pytest.mark.parametrize(
    ("value", "made"),
    [
        ({"model": "far", "metres": 2.0}, Far(2.0)),
        ({"model": "far-behind", "metres": 2.0}, FarBehind(2.0)),
        ({"model": "FarBehind", "metres": 2.0}, FarBehind(2.0)),
        ({"model": "far_behind", "metres": 2.0, "hours": 1.0}, FarBehind(2.0, 1.0)),
        ({"metres": 2.0, "hours": 1.0}, FarBehind(2.0, 1.0)),  # by its keys
    ],
)
def test_a_table_says_by_name_or_keys_what_it_is(value, made):
    assert from_plain(Far | FarBehind, value, "models[0]") == made


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"model": "near"}, "models.*model: value 'near' is not known"),
        ({"model": "far-behind"}, "metres must be given"),
        ({"miles": 2.0}, r"do not say which(.|\n)*far-behind \(metres, hours\)"),
        ({"hours": 1.0}, "metres must be given"),
        (3, "expected a table, got a whole number"),
    ],
)
def test_a_table_that_is_none_of_them_is_told_what_there_is(value, message):
    with pytest.raises(PlanError, match=message):
        from_plain(Far | FarBehind, value, "models[0]")
