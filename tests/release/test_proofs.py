"""A promise is proved once a run, however many pages and files show the proof."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

import veladura as vd
from veladura.core import release as core
from veladura.plan.reading import read_plan
from veladura.plan.run import run

PLAN = """
[source]
path = "people.csv"
[columns.age]
role = "quasi-identifier"
kind = "integer"
[[step]]
{step}
[release]
folder = "out/release"
[custodian]
folder = "safe/record"
[gate]
"risk.classes.smallest" = {{min = 1}}
"""
STEPS = {
    "k-anonymity": 'method = "k-anonymity"\nquasi_identifiers = ["age"]\nk = 3',
    "cart": 'method = "cart"\ncolumns = ["income"]\nm = 2\nlimits = {income = {min = 0, max = 89}}',
    "noise": 'method = "noise"\ncolumns = ["income"]',
}


@pytest.fixture
def proved(monkeypatch):
    """How often each promise was proved."""
    calls = Counter()
    original = core.prove

    def counted(promise, evidence, checks):
        counting = {
            name: replace(check, count=lambda *given, c=check: counting_call(promise, c, *given))
            for name, check in checks.items()
        }
        return original(promise, evidence, counting)

    def counting_call(promise, check, *given):
        calls[promise.name] += 1
        return check.count(*given)

    monkeypatch.setattr(core, "prove", counted)
    return calls


@pytest.mark.parametrize("method", STEPS)
def test_a_run_proves_each_promise_once_a_dataset(method, tmp_path, proved):
    people = pd.DataFrame({"age": [20 + i % 10 for i in range(90)], "income": range(90)})
    people.to_parquet(tmp_path / "people.parquet")
    text = PLAN.format(step=STEPS[method]).replace("people.csv", "people.parquet")
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = read_plan(tmp_path / "plan.toml")
    table = vd.open(people, plan.columns)
    proved.clear()
    release = plan.recipe.protect(table, seed=1)
    vd.assess(table, release)
    release.save(tmp_path / "out" / "memory", custodian=tmp_path / "safe" / "memory")
    expected = {
        promise.name: sum(promise.concerns(i) for i in range(len(release.tables)))
        for promise in release.promises
    }
    assert expected
    assert proved == expected
    assert (tmp_path / "out" / "memory" / "report.html").exists()


@pytest.mark.parametrize("method", ["cart", "noise"])
def test_a_plan_proves_each_promise_once_a_dataset(method, tmp_path, proved):
    people = pd.DataFrame({"age": [20 + i % 10 for i in range(90)], "income": range(90)})
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN.format(step=STEPS[method]), encoding="utf-8")
    release = run(read_plan(tmp_path / "plan.toml")).release
    assert release.promises
    assert set(proved.values()) == {len(release.tables)}
