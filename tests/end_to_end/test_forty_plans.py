"""The plan that `init` drafts runs on tables it was not made for, and protects all of each.

Every release is recounted with pandas from the written files alone. The true roles are those of the
generator, which the drafting never sees.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.generators.odd import odd_tables
from tests.generators.tables import Generated, forty

from veladura.plan.draft import draft, write_draft
from veladura.plan.reading import read_plan
from veladura.plan.run import run

TABLES = [*forty(), *odd_tables(number=20)]
MOST_ALONE = 0.01


def release_of(generated: Generated, folder: Path) -> tuple[pd.DataFrame, dict, Path]:
    """Draft a plan for a table, run it, and return the written rows, the manifest and the plan."""
    source = folder / "table.csv"
    generated.frame.to_csv(source, index=False)
    plan = folder / "plan.toml"
    write_draft(draft(str(source), home=folder, seed=1), plan, force=False)
    outcome = run(read_plan(plan))
    manifest = json.loads((outcome.folder / "manifest.json").read_text(encoding="utf-8"))
    return pd.read_parquet(outcome.folder / "data" / "dataset-1.parquet"), manifest, plan


def people_in(rows: pd.DataFrame, keys: list[str], person: str | None) -> pd.Series:
    """Return how many people share each combination of some columns."""
    groups = rows.groupby(keys, dropna=False, observed=True)
    return groups.size() if person is None else groups[person].nunique()


@pytest.mark.slow
@pytest.mark.parametrize("generated", TABLES, ids=[t.name for t in TABLES])
def test_a_drafted_plan_runs_and_protects_the_whole_table(generated, tmp_path):
    rows, manifest, path = release_of(generated, tmp_path)
    assert manifest["status"] == "draft"
    plan = read_plan(path)
    k = next((step.k for step in plan.steps if step.method == "k-anonymity"), 0)
    person = next((n for n, c in plan.columns.items() if c.role == "person"), None)
    person = person if person in rows else None
    register = next((i for i in plan.intruders if i.name == "register"), None)
    if register is not None:
        assert k >= 5
        assert people_in(rows, list(register.knows), person).min() >= k

    for name, role in generated.roles.items():
        if role == "identifier":
            assert name not in rows
        if role in ("person", "household") and name in rows:  # new numbers, in no order of the old
            assert sorted(rows[name].unique()) == list(range(1, rows[name].nunique() + 1))

    people = len(rows) if person is None else rows[person].nunique()
    for name in rows.columns.drop([person] if person else []):
        alone = (people_in(rows, [name], person) == 1).sum()
        assert alone <= max(MOST_ALONE * people, 1), f"{alone} people alone by {name}"
