"""A trial is a run without writing, and a private step is not tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studio.browser import write_people

from veladura.errors import PlanError
from veladura.plan.draft import draft, drafted
from veladura.plan.reading import plan_in
from veladura.plan.run import rehearsed, run
from veladura.table.schema import Declared


def drafted_plan(folder: Path, **options):
    write_people(folder)
    return plan_in(draft(str(folder / "people.csv"), home=folder, **options), folder)


def test_a_trial_gives_the_figures_of_the_run_and_writes_nothing(tmp_path):
    plan = drafted_plan(tmp_path, seed=3)
    before = {path for path in tmp_path.rglob("*") if "scratch" not in str(path)}
    tried = rehearsed(plan)
    after = {path for path in tmp_path.rglob("*") if "scratch" not in str(path)}
    new = {path for path in after - before if path.is_file()}
    assert not [path for path in new if "release" in path.parts or path.name == "record.json"]
    outcome = run(plan)
    assert tried.verdicts == outcome.verdicts
    assert tried.standing == outcome.standing
    assert tried.assessment.figures == outcome.assessment.figures
    assert tried.release.tables[0].table.arrow == outcome.release.tables[0].table.arrow


def test_a_private_step_is_not_tried(tmp_path):
    plan = drafted_plan(tmp_path, method="dirichlet-multinomial")
    with pytest.raises(PlanError, match="is not tried out"):
        rehearsed(plan)


def test_a_draft_keeps_what_the_holder_declared(tmp_path):
    write_people(tmp_path)
    said = {"income": Declared(role="dropped"), "area": Declared(role="sensitive", kind="category")}
    made = drafted(str(tmp_path / "people.csv"), home=tmp_path, declared=said)
    plan = plan_in(made.text, tmp_path)
    assert plan.columns["income"].role == "dropped"
    assert plan.columns["area"].role == "sensitive"
    assert "income" not in plan.recipe.changes(())
    assert made.guesses["area"].why == "the holder says so"
