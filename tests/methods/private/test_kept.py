"""One home for all ledgers: found again by what the source is, sealed, shared by runs at once."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction

import pandas as pd
import pytest

import veladura as vd
from veladura.errors import BudgetError, FolderError
from veladura.methods.private.events import Budget, Event
from veladura.methods.private.identity import Identity, identity_of
from veladura.methods.private.journal import HEAD, JOURNAL, Journal
from veladura.methods.private.kept import KeptLedger, LookAlikeWarning, budget_rows, event_lines

pytestmark = pytest.mark.quick

TENTH = Event("test", "x", epsilon=Fraction(1, 10))
FIFTH = Budget(Fraction(1, 5))


def named(*keys: str) -> Identity:
    return Identity(keys[0], keys)


def test_a_source_is_found_again_by_any_of_its_keys(tmp_path):
    KeptLedger(tmp_path, named("a", "b"), FIFTH).charge(TENTH)
    KeptLedger(tmp_path, named("b", "c"), FIFTH).charge(TENTH)
    with pytest.raises(BudgetError):
        KeptLedger(tmp_path, named("c"), FIFTH).charge(TENTH)
    KeptLedger(tmp_path, named("d"), FIFTH).charge(TENTH)
    assert budget_rows(tmp_path) == [
        ("a", "epsilon = 0.2", "0.2", "0", "2"),
        ("d", "epsilon = 0.2", "0.1", "0.1", "1"),
    ]


def test_two_sources_that_turn_out_to_be_one_add_up(tmp_path):
    KeptLedger(tmp_path, named("a"), FIFTH).charge(TENTH)
    KeptLedger(tmp_path, named("b"), FIFTH).charge(TENTH)
    with pytest.raises(BudgetError):
        KeptLedger(tmp_path, named("a", "b"), FIFTH).charge(TENTH)
    assert KeptLedger(tmp_path, named("b")).read()[1] == (TENTH, TENTH)
    assert len(event_lines(tmp_path)) == 2


def test_the_holder_can_decide_on_more_and_it_is_written_down(tmp_path):
    KeptLedger(tmp_path, named("a"), otherwise=Budget(Fraction(1, 10))).charge(TENTH)
    with pytest.raises(BudgetError):
        KeptLedger(tmp_path, named("a"), otherwise=Budget(Fraction(9))).charge(TENTH)
    KeptLedger(tmp_path, named("a"), Budget(Fraction(1))).charge(TENTH)
    assert [entry.kind for entry in Journal(tmp_path).read()] == [
        "open",
        "keys",
        "charge",
        "budget",
        "charge",
    ]
    assert KeptLedger(tmp_path, named("a")).read()[0].epsilon == 1


@pytest.mark.parametrize("name", ["people.csv", "renamed.csv", "PEOPLE.csv", "copy/people.csv"])
def test_a_file_keeps_its_budget_under_another_name(tmp_path, name):
    first, other = tmp_path / "people.csv", tmp_path / name
    other.parent.mkdir(exist_ok=True)
    frame = pd.DataFrame({"sex": ["f", "m"], "smokes": ["y", "n"]})
    frame.to_csv(first, index=False)
    identity = identity_of(vd.open(first))
    frame.to_csv(other, index=False)
    assert {*identity.keys} & {*identity_of(vd.open(other)).keys}


def test_a_file_keeps_its_budget_when_its_rows_change_and_by_data_id(tmp_path):
    file = tmp_path / "people.csv"
    pd.DataFrame({"sex": ["f", "m"]}).to_csv(file, index=False)
    before = identity_of(vd.open(file), "Register-2026")
    pd.DataFrame({"sex": ["f", "m", "m"]}).to_csv(file, index=False)
    assert {*before.keys} & {*identity_of(vd.open(file)).keys}
    moved = tmp_path / "elsewhere.csv"
    pd.DataFrame({"gender": ["f"]}).to_csv(moved, index=False)
    assert not {*before.keys} & {*identity_of(vd.open(moved)).keys}
    assert {*before.keys} & {*identity_of(vd.open(moved), " register-2026").keys}


def test_a_look_alike_is_pointed_out(tmp_path):
    KeptLedger(tmp_path, Identity("a", ("a",), "same columns")).charge(TENTH)
    with pytest.warns(LookAlikeWarning, match="data_id"):
        KeptLedger(tmp_path, Identity("b", ("b",), "same columns")).charge(TENTH)


PEOPLE = pd.DataFrame({"sex": ["f", "m"], "ill": ["no", "yes"], "age": [30, 40]})


@pytest.mark.parametrize(
    "extract",
    [
        PEOPLE[["ill", "sex"]],
        PEOPLE.rename(columns=str.upper),
        PEOPLE.astype({"age": float}).assign(more=1),
    ],
    ids=["fewer columns", "other case", "another kind and a column more"],
)
def test_an_extract_of_the_same_people_is_pointed_out(extract, tmp_path):
    """Was: a full budget again, and not a word."""
    for name, table in (("people", PEOPLE), ("extract", extract)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    home = tmp_path / "home"
    KeptLedger(home, identity_of(vd.open(tmp_path / "people.csv"))).charge(TENTH)
    with pytest.warns(LookAlikeWarning, match="columns of 'people'"):
        KeptLedger(home, identity_of(vd.open(tmp_path / "extract.csv"))).charge(TENTH)


def test_a_table_of_other_columns_is_not(tmp_path, recwarn):
    for name in ("people", "houses"):
        KeptLedger(tmp_path, Identity(name, (name,), name, (f"{name} 1", "id", name))).charge(TENTH)
    assert not recwarn.list


def spent(tmp_path):
    for _ in range(3):
        KeptLedger(tmp_path, named("a"), Budget(Fraction(1))).charge(TENTH)
    return tmp_path / JOURNAL


def cut_last(path):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-2]), encoding="utf-8")


def take_one_out(path):
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]), encoding="utf-8")


def change_one(path):
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"epsilon": "0.1"', '"epsilon": "0.0"', 1), encoding="utf-8")


def delete(path):
    path.unlink()


def empty(path):
    path.write_text("", encoding="utf-8")


def scribble(path):
    path.write_text("{}\n", encoding="utf-8")


@pytest.mark.parametrize("edit", [cut_last, take_one_out, change_one, delete, empty, scribble])
def test_edits_and_deletions_are_seen(tmp_path, edit):
    edit(spent(tmp_path))
    with pytest.raises(FolderError, match="was changed since it was written"):
        KeptLedger(tmp_path, named("a"), Budget(Fraction(1))).charge(TENTH)


def test_a_lost_head_is_seen_and_a_killed_run_does_no_harm(tmp_path):
    path = spent(tmp_path)
    head = (tmp_path / HEAD).read_text(encoding="utf-8")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"number": 6, "ti')  # killed while it wrote the line: nothing was drawn
    ledger = KeptLedger(tmp_path, named("a"), Budget(Fraction(1)))
    assert len(ledger.read()[1]) == 3
    ledger.charge(TENTH)
    (tmp_path / HEAD).write_text(head, encoding="utf-8")  # killed before it wrote the head
    assert len(ledger.read()[1]) == 4
    (tmp_path / HEAD).unlink()
    with pytest.raises(FolderError):
        ledger.read()


def test_the_draws_of_an_older_ledger_are_taken_over_once(tmp_path):
    older = tmp_path / "people.json"
    event = {"mechanism": "m", "about": "x", "epsilon": "1/10", "delta": "0", "rho": "0"}
    content = {"format": "veladura-ledger", "events": [{**event, "neighbours": "replace-one"}]}
    older.write_text(json.dumps(content), encoding="utf-8")
    ledger = KeptLedger(tmp_path / "home", named("a"), FIFTH, older=older)
    ledger.charge(TENTH)
    assert len(ledger.read()[1]) == 2
    with pytest.raises(BudgetError):
        ledger.charge(TENTH)
    older.write_text("{}", encoding="utf-8")
    with pytest.raises(FolderError):
        KeptLedger(tmp_path / "new", named("a"), FIFTH, older=older).charge(TENTH)


def test_files_of_the_home_are_private(tmp_path):
    home = tmp_path / "home"
    KeptLedger(home, named("a"), FIFTH).charge(TENTH)
    assert {path.stat().st_mode & 0o777 for path in home.iterdir()} == {0o600}
    assert home.stat().st_mode & 0o777 == 0o700


SPEND = """
import sys
from fractions import Fraction
from pathlib import Path
from veladura.methods.private.events import Budget, Event
from veladura.methods.private.identity import Identity
from veladura.methods.private.kept import KeptLedger
from veladura.errors import BudgetError
spent = 0
for _ in range(20):
    ledger = KeptLedger(Path(sys.argv[1]), Identity("a", ("a",)), Budget(Fraction(1)))
    try:
        ledger.charge(Event("test", "x", epsilon=Fraction(1, 10)))
        spent += 1
    except BudgetError:
        pass
print(spent)
"""


def test_runs_at_once_cannot_both_spend_the_last_of_it(tmp_path):
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", SPEND, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    assert sum(int(run.communicate(timeout=120)[0]) for run in runs) == 10
    assert len(KeptLedger(tmp_path, named("a")).read()[1]) == 10
