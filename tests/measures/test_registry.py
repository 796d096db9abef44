"""File = figure = function = test; and a measure is loaded when its figures are needed."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.measures import registry
from veladura.measures.registry import MEASURES

TESTS = Path(__file__).parent


@pytest.mark.parametrize("name", MEASURES)
def test_file_figure_function_and_test_have_one_name(name):
    family, word = name.split(".")
    module = import_module(MEASURES[name])
    assert module.__name__ == f"veladura.measures.{name}"
    assert module.MEASURE.name == name
    function = getattr(module, word)
    assert inspect.isfunction(function)
    assert getattr(getattr(vd, family), word) is function
    assert (TESTS / family / f"test_{word}.py").is_file()


def test_every_figure_has_a_full_name_and_a_meaning():
    names = registry.figure_names()
    assert len(names) == len(set(names))
    for wanted in (
        "risk.uniqueness.average_prosecutor",
        "risk.unchanged.cells",
        "utility.columns.worst",
        "utility.correlations.mean",
    ):
        assert wanted in names
        assert registry.is_figure(wanted)
        assert registry.meaning_of(wanted).endswith(".")
    for measure in registry.measures():
        assert all(meaning.text.endswith(".") for meaning in measure.figures.values())


@pytest.mark.parametrize("name", ["risk.uniqueness", "risk.uniqueness.no_such", "cost.x.y", "x"])
def test_other_names_are_no_figures(name):
    assert not registry.is_figure(name)


def test_an_unknown_measure_is_told_with_the_nearest_one():
    with pytest.raises(PlanError, match=r"did you mean 'risk\.suda2'"):
        registry.measure_named("risk.suda")


def loaded_by(code):
    show = (
        "; import sys; print(sorted(name.removeprefix('veladura.measures.') for name in sys.modules"
        " if name.startswith(('veladura.measures.risk.', 'veladura.measures.utility.'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code + show], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_an_empty_gate_loads_no_measure_and_a_limit_loads_one():
    gate = "from veladura.release.gate import check_gate; "
    assert loaded_by(gate + "check_gate({})") == "[]"
    one = loaded_by(gate + "check_gate(['risk.uniqueness.average_prosecutor'])")
    assert one == "['risk.uniqueness']"
