"""Many recipes on one table: the frontier by brute force, the same figures however they are run, kept once measured."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veladura as vd
from veladura.comparison import worker
from veladura.comparison.candidate import Candidate
from veladura.comparison.making import compare_plans
from veladura.comparison.result import Comparison
from veladura.errors import PlanError
from veladura.inference.estimate import Estimate
from veladura.measure import Figure

RISK, UTILITY = "risk.uniqueness.average_prosecutor", "utility.columns.mean"


def people(rows=120):
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {"age": rng.integers(20, 70, rows), "sex": rng.choice(["f", "m"], rows), "income": rng.normal(100, 20, rows).round(1)}
    )


def candidate(name, risk, utility, better="low"):
    figures = {
        RISK: Figure(RISK, "", "low", Estimate.exact(risk)),
        UTILITY: Figure(UTILITY, "", better, Estimate.exact(utility)),
    }
    return Candidate(name, "noise", figures=figures)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12), st.sampled_from(["low", "high"]))
def test_the_frontier_is_what_no_other_candidate_beats(points, better):
    found = Comparison(tuple(candidate(str(i), *point, better) for i, point in enumerate(points)), RISK, UTILITY)
    sign = 1 if better == "low" else -1
    beaten = {
        str(i)
        for i, (r, u) in enumerate(points)
        if any(r >= R and sign * U <= sign * u and (r > R or sign * U < sign * u) for R, U in points)
    }
    assert {c.name for c in found.frontier} == {str(i) for i in range(len(points))} - beaten
    assert set(found.dominated) == beaten
    assert all(found.dominated[name] not in beaten for name in beaten)


def test_a_coarser_candidate_beats_no_finer_one():
    coarse = candidate("coarse", 0, 0)
    precision = Figure("utility.generalisation.precision", "", "high", Estimate.exact(0.7))
    coarse = replace(coarse, figures={**coarse.figures, precision.name: precision})
    found = Comparison((coarse, candidate("fine", 1, 1), candidate("worse", 2, 2)), RISK, UTILITY)
    assert [c.name for c in found.frontier] == ["coarse", "fine"]
    assert found.dominated == {"worse": "fine"}


def test_one_process_or_two_give_the_same_figures():
    recipes = [vd.Noise(columns=["income"], scale=scale) for scale in (0.1, 1.0)]
    one, two = (vd.compare(people(), recipes, seed=3, workers=workers) for workers in (1, 2))
    assert [c.name for c in one.candidates] == ["noise 1", "noise 2"]
    assert [c.figures for c in one.candidates] == [c.figures for c in two.candidates]
    assert "noise 1" in str(one)


def test_the_figures_are_those_of_an_assessment():
    table, recipe = people(), vd.Noise(columns=["income"])
    found = vd.compare(table, {"mine": recipe}, seed=3).candidates[0]
    alone = vd.assess(table, recipe.protect(table, seed=3))
    assert {name: figure.estimate for name, figure in found.figures.items()} == {f.name: f.estimate for f in alone}


def test_the_same_recipe_on_the_same_table_is_measured_once(tmp_path, monkeypatch):
    table, recipes = people(), {"mine": vd.Noise(columns=["income"])}
    first = vd.compare(table, recipes, seed=3, custodian=tmp_path)

    def never(job):
        raise AssertionError(job)

    monkeypatch.setattr(worker, "run", never)
    again = vd.compare(table, {"other name": recipes["mine"]}, seed=3, custodian=tmp_path)
    assert again.candidates[0].figures == first.candidates[0].figures
    for changed in (
        {"table": table.assign(age=table.age + 1)}, {"seed": 4}, {"recipes": {"mine": vd.Noise(columns=["income"], scale=0.2)}},
    ):  # fmt: skip
        given = {"table": table, "recipes": recipes, "seed": 3} | changed
        with pytest.raises(AssertionError):
            vd.compare(given["table"], given["recipes"], seed=given["seed"], custodian=tmp_path)


def test_a_recipe_that_cannot_run_is_told_without_stopping_the_others():
    found = vd.compare(people(), {"good": vd.Noise(columns=["income"]), "bad": vd.Noise(columns=["sex"])}, seed=1)
    assert found.candidates[1].problem
    assert found.verdict(found.candidates[1]).startswith("no release:")
    assert [c.name for c in found.frontier] == ["good"]


def test_names_are_shown_as_text():
    found = Comparison((candidate("<script>alert(1)</script>", 1, 1), candidate("b", 2, 0)), RISK, UTILITY)
    assert "<script>" not in found.to_html()
    assert "&lt;script&gt;" in found.to_html()
    assert "<script>" not in found._repr_html_()


def test_an_unknown_axis_is_refused():
    with pytest.raises(PlanError, match="risk figure"):
        vd.compare(people(), [vd.Noise(columns=["income"])], risk="risk.nothing")


def plans(folder, *scales, source="people.csv"):
    people().to_csv(folder / source, index=False)
    for scale in scales:
        text = f'[source]\npath = "{source}"\n[[step]]\nmethod = "noise"\ncolumns = ["income"]\nscale = {scale}\n[custodian]\nfolder = "safe"\n[run]\nseed = 1\n'
        (folder / f"noise-{scale}.toml").write_text(text, encoding="utf-8")
    return [folder / f"noise-{scale}.toml" for scale in scales]


def test_plans_are_compared_from_the_command_line(tmp_path):
    files = [str(path) for path in plans(tmp_path, 0.1, 0.5)]
    command = [sys.executable, "-m", "veladura.cli", "compare", *files, "--out", str(tmp_path / "map.html"), "--utility", UTILITY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "noise-0.1" in done.stdout
    assert "Risk and utility" in (tmp_path / "map.html").read_text(encoding="utf-8")
    assert len(list((tmp_path / "safe" / "comparisons").iterdir())) == 2
    assert not (tmp_path / "release").exists()


def test_plans_of_two_sources_are_refused(tmp_path):
    (tmp_path / "other").mkdir()
    with pytest.raises(PlanError, match="2 different sources"):
        compare_plans([*plans(tmp_path, 0.1), *plans(tmp_path / "other", 0.1)])


def test_one_plan_is_no_comparison(tmp_path):
    with pytest.raises(PlanError, match="at least two"):
        compare_plans(plans(tmp_path, 0.1))


def test_a_script_without_a_main_guard_may_compare(tmp_path):
    """Processes that run the caller's script again would start themselves for ever."""
    script = tmp_path / "script.py"
    script.write_text(
        "import pandas as pd, veladura as vd\n"
        "table = pd.DataFrame({'a': range(50), 'b': range(50)})\n"
        "print(len(vd.compare(table, [vd.Noise(columns=['b'])], seed=1).candidates))\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
