"""veladura confirm: one decision at a time, written into the plan with its comments."""

from __future__ import annotations

import io
import stat

import numpy as np
import pandas as pd
import pytest

from veladura.errors import PlanError
from veladura.plan.confirm import ACCEPTED, Answers, accept_all, confirm
from veladura.plan.confirmed import shape_of
from veladura.plan.reading import read_plan
from veladura.plan.run import run
from veladura.table.source import open as open_table

ROWS = 300
PLAN = """# A plan.
# Still open:
unconfirmed = [
    "roles and kinds of the columns were guessed",
]

[source]
path = "people.csv"

# 72 distinct values, 0 missing
[columns.age]
role = "quasi-identifier"
kind = "integer"

[columns.sex]
role = "quasi-identifier"
kind = "category"

# 2 distinct values, 0 missing
[columns.answer]
role = "other"
kind = "category"

# 300 distinct values, 0 missing
[columns.income]
role = "sensitive"
kind = "number"

# The step.
[[step]]
method = "k-anonymity"
# as many as this share their values
k = 4

[release]
folder = "release/people"
[custodian]
folder = "custodian/people"
"""


@pytest.fixture
def drafted(tmp_path):
    """A table, and a plan as init drafts one."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, ROWS),
            "sex": rng.choice(["f", "m"], ROWS),
            "answer": rng.choice(["no", "yes"], ROWS),
            "income": np.round(rng.lognormal(10, 1, ROWS), 2),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN, encoding="utf-8")
    return path


def comments(path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith("#") and "veladura confirm" not in line]


def test_accepting_all_confirms_the_plan_and_keeps_its_comments(drafted):
    before, steps = comments(drafted), read_plan(drafted).steps
    plan = confirm(drafted, accept_all())
    assert plan.unconfirmed == ()
    assert plan.steps == steps
    assert plan.columns["income"].exact == ACCEPTED
    assert plan.columns["age"].exact == ""
    assert comments(drafted) == before
    assert stat.S_IMODE(drafted.stat().st_mode) == 0o600
    assert run(plan).standing.status == "confirmed"


def test_confirming_again_changes_nothing(drafted):
    confirm(drafted, accept_all())
    text = drafted.read_text(encoding="utf-8")
    confirm(drafted, accept_all())
    assert drafted.read_text(encoding="utf-8") == text


def test_every_column_is_asked_with_its_facts(drafted):
    asked = {}
    answers = Answers(
        lambda question: asked.setdefault(question.name, question).role,
        lambda fact: f"about {fact.name}: {fact.unique}",
        lambda _: True,
    )
    plan = confirm(drafted, answers)
    frame = pd.read_csv(drafted.parent / "people.csv")
    alone = {name: int((frame[name].value_counts() == 1).sum()) for name in frame}
    assert {name: question.unique for name, question in asked.items()} == alone
    assert asked["age"].people == ROWS
    assert "distinct values" in asked["age"].why
    assert plan.columns["income"].exact == f"about income: {alone['income']}"


def test_a_role_can_be_changed_and_a_column_dropped(drafted):
    answers = Answers(
        lambda question: "dropped" if question.name == "answer" else question.role,
        lambda _: "",
        lambda _: True,
    )
    plan = confirm(drafted, answers)
    assert plan.columns["answer"].role == plan.columns["income"].role == "dropped"
    assert set(run(plan).release.tables[0].table.names) <= {"age", "sex"}


def test_a_role_that_contradicts_the_step_is_refused_and_nothing_is_written(drafted):
    text = PLAN.replace("k = 4", 'k = 4\nquasi_identifiers = ["age", "sex"]')
    drafted.write_text(text, encoding="utf-8")
    answers = Answers(
        lambda question: "sensitive" if question.name == "age" else question.role,
        lambda _: "why",
        lambda _: True,
    )
    with pytest.raises(PlanError, match="says something else: age"):
        confirm(drafted, answers)
    assert drafted.read_text(encoding="utf-8") == text


def test_a_point_that_is_not_right_keeps_the_plan_a_draft(drafted):
    text = drafted.read_text(encoding="utf-8")
    drafted.write_text(text.replace("unconfirmed = [", 'unconfirmed = ["k is enough",', 1), "utf-8")
    plan = confirm(drafted, Answers(lambda q: q.role, lambda _: "why", lambda _: False))
    assert plan.unconfirmed == ("k is enough",)
    assert plan.confirmed is None
    assert run(plan).standing.status == "draft"


def test_a_source_whose_kinds_or_levels_changed_is_refused(drafted):
    confirm(drafted, accept_all())
    text = drafted.read_text(encoding="utf-8")
    other = text.replace('kind = "integer"', 'kind = "number"', 1)
    drafted.write_text(other, encoding="utf-8")
    with pytest.raises(PlanError, match=r"another kind: \['age'\]"):
        run(read_plan(drafted))
    frame = pd.read_csv(drafted.parent / "people.csv").drop(columns="answer")
    frame.to_csv(drafted.parent / "people.csv", index=False)
    drafted.write_text(text.replace("[columns.answer]", "[columns.ages]"), encoding="utf-8")
    with pytest.raises(PlanError, match="ages"):
        run(read_plan(drafted))


def test_the_shape_is_that_of_names_kinds_and_levels_not_of_rows():
    one = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    other = pd.DataFrame({"b": ["y"] * 4, "a": [7, 8, 9, 1]})
    assert shape_of(open_table(one)) == shape_of(open_table(other))
    levels = [
        shape_of(open_table(one, {"b": {"kind": "ordered", "order": order}}))
        for order in (["x", "y"], ["y", "x"])
    ]
    assert len({shape_of(open_table(one)), *levels}) == 3


def test_answers_in_the_terminal(veladura, drafted, monkeypatch):
    folder = drafted.parent

    def answering(typed: str):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        return veladura("confirm", "plan.toml", cwd=folder)

    first = veladura("run", "plan.toml", cwd=folder)
    assert first.returncode == 2
    assert "income: " in first.stderr
    cut = answering("\n\n")
    assert cut.returncode == 2
    assert "--accept-all" in cut.stderr
    done = answering("\nqausi\nall\n\nasked once\ndrop\n")
    assert done.returncode == 0
    assert "Not a role" in done.stdout
    assert "A reason is needed" in done.stdout
    columns = read_plan(drafted).columns
    assert (columns["answer"].exact, columns["income"].role) == ("asked once", "dropped")
    assert veladura("run", "plan.toml", "--quiet", cwd=folder).returncode == 0
    assert veladura("verify", "release/people", cwd=folder).returncode == 0


def test_scripts_accept_all(veladura, drafted):
    folder = drafted.parent
    assert veladura("confirm", "plan.toml", "--accept-all", cwd=folder).returncode == 0
    assert veladura("run", "plan.toml", "--quiet", cwd=folder).returncode == 0


def test_a_draft_has_an_exit_code_of_its_own_unless_a_promise_is_broken(veladura, drafted):
    confirm(drafted, accept_all())
    text = drafted.read_text(encoding="utf-8").replace("unconfirmed = []", 'unconfirmed = ["k"]')
    drafted.write_text(text, encoding="utf-8")
    folder = drafted.parent
    assert "DRAFT" in veladura("run", "plan.toml", cwd=folder).stdout
    done = veladura("verify", "release/people", cwd=folder)
    assert (done.returncode, "DRAFT" in done.stdout) == (6, True)
    (folder / "release" / "people" / "report.html").write_text("changed", encoding="utf-8")
    assert veladura("verify", "release/people", cwd=folder).returncode == 4


INTRUDERS = """
[[intruder]]
name = "register"
knows = ["age", "sex"]

[[intruder]]
name = "colleague"
knows = ["answer", "income"]
[intruder.within]
income = "10 %"

[release]"""


def test_intruders_follow_the_answers(drafted):
    """A column that is left out is known to nobody; a new key is known to the register."""
    text = drafted.read_text(encoding="utf-8").replace("[release]", INTRUDERS.strip(), 1)
    drafted.write_text(text, encoding="utf-8")
    roles = {"answer": "quasi-identifier", "income": "dropped"}
    asked = Answers(lambda q: roles.get(q.name, q.role), lambda _: "a reason", lambda _: True)
    plan = confirm(drafted, asked)
    knows = {who.name: who.knows for who in plan.intruders}
    assert knows == {"register": ("age", "sex", "answer"), "colleague": ("answer",)}
    assert all(not who.within for who in plan.intruders)
    assert run(plan).standing.status == "confirmed"


def test_a_column_that_a_step_treats_cannot_be_dropped_by_an_answer(drafted):
    step = '[[step]]\nmethod = "recode"\n[step.columns.income]\nround = 100\n\n[release]'
    text = drafted.read_text(encoding="utf-8").replace("[release]", step, 1)
    drafted.write_text(text, encoding="utf-8")
    asked = Answers(
        lambda q: "dropped" if q.name == "income" else q.role, lambda _: "a reason", lambda _: True
    )
    with pytest.raises(PlanError, match=r"treat columns that it leaves out: \['income'\]"):
        confirm(drafted, asked)
    assert drafted.read_text(encoding="utf-8") == text
