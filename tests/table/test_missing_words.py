"""Words for missing: a number that means no answer is missing in every source."""

from __future__ import annotations

import sqlite3
import tomllib

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veladura as vd
from veladura.plan.draft import draft
from veladura.table.roles.evidence import gather
from veladura.table.roles.guess import guess_roles
from veladura.table.roles.reserved import no_answer

FRAME = pd.DataFrame(
    {"age": [31, 99, 47, 52] * 40, "cost": [1.5, -9.0, 2.25, -9.0] * 40, "kind": list("abca") * 40}
)
WORDS = {"age": {"missing": ["99"]}, "cost": {"missing": [-9]}}


@pytest.fixture(params=["frame", "arrow", "csv", "parquet", "database"])
def source(request, tmp_path):
    """The same rows, stored in five ways."""
    if request.param == "frame":
        return FRAME
    if request.param == "arrow":
        return pa.Table.from_pandas(FRAME)
    if request.param == "csv":
        FRAME.to_csv(tmp_path / "a.csv", index=False)
        return tmp_path / "a.csv"
    if request.param == "parquet":
        FRAME.to_parquet(tmp_path / "a.parquet")
        return tmp_path / "a.parquet"
    with sqlite3.connect(tmp_path / "a.db") as connection:
        FRAME.to_sql("a", connection, index=False)
    return f"sqlite:///{tmp_path / 'a.db'}"


def test_a_number_that_means_missing_is_missing_however_it_is_stored(source):
    given = {"table": "a"} if isinstance(source, str) else {}
    opened = vd.open(source, WORDS, **given)
    assert opened.column("age").missing.sum() == 40
    assert opened.column("cost").missing.sum() == 80
    assert np.nanmax(opened.column("age").numbers()) == 52
    assert np.nanmin(opened.column("cost").numbers()) == 1.5
    assert [opened.schema[name].kind for name in ("age", "cost")] == ["integer", "number"]


def test_without_words_every_number_counts(source):
    given = {"table": "a"} if isinstance(source, str) else {}
    opened = vd.open(source, **given)
    assert np.nanmax(opened.column("age").numbers()) == 99
    assert not opened.column("cost").missing.any()


def column(values):
    return gather(vd.open(pd.DataFrame({"v": values, "w": np.arange(len(values)) % 7})), ["v"])[0]


@pytest.mark.parametrize(
    ("code", "share", "decimals", "meant"),
    [
        (-9, 0.05, 1, ("-9",)),
        (-9, 0.05, 0, ("-9",)),
        (9999, 0.03, 2, ("9999",)),
        (-8.5, 0.05, 1, ()),  # codes are whole
        (-9, 0.001, 1, ()),  # too few to be an answer that was refused
        (300, 0.05, 1, ()),  # far above, yet written with other digits
    ],
)
def test_codes_for_no_answer_are_found_among_numbers_with_decimals(code, share, decimals, meant):
    rng = np.random.default_rng(5)
    values = rng.gamma(9, 4, 2000).round(decimals)
    values[rng.permutation(2000)[: int(2000 * share)]] = code
    assert no_answer(column(values)) == meant


def test_measures_below_zero_hold_no_codes():
    assert no_answer(column(np.random.default_rng(6).normal(0, 12, 2000).round())) == ()
    assert no_answer(column(np.random.default_rng(6).normal(2, 3, 2000).round(1))) == ()


def test_ages_of_pupils_are_numbers_although_they_are_few():
    rng = np.random.default_rng(7)
    ages = rng.integers(10, 19, 900)
    ages[:20] = 99
    frame = pd.DataFrame({"Alter": ages, "mark": rng.normal(50, 9, 900).round(1)})
    guess = guess_roles(vd.open(frame))["Alter"]
    assert (guess.role, guess.kind, guess.no_answer) == ("quasi-identifier", "integer", ("99",))


def test_comments_that_few_people_write_are_free_text_although_most_say_the_same():
    rng = np.random.default_rng(8)
    texts = rng.choice(["", "nothing", "a good school"], 900).astype(object)
    for i in range(20):
        texts[i * 40] = f"I am number {i} of my class and nobody helps me"
    guess = guess_roles(vd.open(pd.DataFrame({"v1": texts, "v2": rng.normal(size=900)})))["v1"]
    assert (guess.role, guess.kind) == ("dropped", "text")


def test_long_names_of_rare_categories_are_no_free_text():
    rng = np.random.default_rng(9)
    names = [f"workers in trade number {'abcdefghijklmnopqrst'[i]} and repair" for i in range(20)]
    share = 1 / np.arange(1, 21)
    texts = rng.choice(names, 900, p=share / share.sum())
    guess = guess_roles(vd.open(pd.DataFrame({"v1": texts, "v2": rng.normal(size=900)})))["v1"]
    assert guess.kind == "category"


def test_a_draft_and_a_look_say_which_numbers_may_mean_no_answer(tmp_path):
    rng = np.random.default_rng(10)
    score = rng.normal(60, 12, 600).round(1)
    score[:30] = -9
    pd.DataFrame({"score": score, "group": rng.choice(list("abc"), 600)}).to_csv(
        tmp_path / "a.csv", index=False
    )
    assert "score: -9" in str(vd.look(tmp_path / "a.csv"))
    plan = draft(str(tmp_path / "a.csv"))
    assert '# missing = ["-9"]' in plan
    uncommented = tomllib.loads(plan.replace("# missing =", "missing ="))
    assert uncommented["columns"]["score"]["missing"] == ["-9"]
