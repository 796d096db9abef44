"""The demo: every method that it shows has a plan, and each release of it verifies."""

from __future__ import annotations

import shutil

import pytest

from veladura import example
from veladura.core import registry
from veladura.plan.demo import FILES, WHOLE, _plan, _suits, run_demo
from veladura.plan.reading import read_plan
from veladura.release.verify import holds, verify


@pytest.mark.parametrize("method", [None, *(name for name in registry.METHODS if _suits(name))])
def test_every_method_of_the_demo_has_a_plan(method, tmp_path):
    (tmp_path / "plans").mkdir()
    for name in FILES:
        shutil.copyfile(example.path(name), tmp_path / name)
    plan = read_plan(_plan(tmp_path, method))
    assert plan.confirmed is not None
    assert method is None or method in [step.method for step in plan.steps]


@pytest.mark.slow
def test_the_whole_demo_is_released_and_verifies(tmp_path):
    outcomes = run_demo(tmp_path / "demo")
    assert next(iter(outcomes)) == WHOLE
    assert len(outcomes) == 1 + sum(map(_suits, registry.METHODS))
    assert all(holds(verify(outcome.folder)) for outcome in outcomes.values())
