"""Comparison: the frontier by brute force, the same figures in any order, measured once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.comparison import worker
from veladura.comparison.candidate import Candidate, evaluate
from veladura.comparison.labels import Box, placed
from veladura.comparison.making import compare_plans
from veladura.comparison.result import Comparison
from veladura.errors import PlanError
from veladura.measures.measure import Figure

RISK, UTILITY = "risk.uniqueness.average_prosecutor", "utility.columns.mean"


def people(rows=120):
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, rows),
            "sex": rng.choice(["f", "m"], rows),
            "income": rng.normal(100, 20, rows).round(1),
        }
    )


@pytest.fixture
def at_once(monkeypatch):
    """Candidates are measured in this process: how they are run is tested once, below."""
    monkeypatch.setattr(worker, "run", evaluate)


def candidate(name, risk, utility, better="low"):
    figures = {
        RISK: Figure(RISK, "", "low", Estimate.exact(risk)),
        UTILITY: Figure(UTILITY, "", better, Estimate.exact(utility)),
    }
    return Candidate(name, "noise", figures=figures)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12),
    st.sampled_from(["low", "high"]),
)
def test_the_frontier_is_what_no_other_candidate_beats(points, better):
    found = Comparison(
        tuple(candidate(str(i), *point, better) for i, point in enumerate(points)), RISK, UTILITY
    )
    sign = 1 if better == "low" else -1
    beaten = {
        str(i)
        for i, (r, u) in enumerate(points)
        if any(
            r >= R and sign * U <= sign * u and (r > R or sign * U < sign * u) for R, U in points
        )
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


def test_a_figure_that_sees_detail_needs_no_such_rule():
    detail = "utility.detail.two"
    precision = Figure("utility.generalisation.precision", "", "high", Estimate.exact(0.7))
    coarse, fine = (
        replace(c, figures={**c.figures, detail: Figure(detail, "", "low", Estimate.exact(u))})
        for c, u in ((candidate("coarse", 0, 9), 0.1), (candidate("fine", 1, 9), 0.2))
    )
    coarse = replace(coarse, figures={**coarse.figures, precision.name: precision})
    found = Comparison((coarse, fine), RISK, detail)
    assert found.dominated == {"fine": "coarse"}
    assert not any("own level of detail" in note for note in found.notes)
    assert any("own level of detail" in note for note in replace(found, utility=UTILITY).notes)


def test_a_narrower_candidate_and_one_that_is_easier_to_pick_from_beat_no_other():
    other = "risk.replicated.uniques"
    few, many = (
        replace(candidate(name, 0.1, u), columns=n)
        for name, u, n in (("few", 0, 3), ("many", 1, 9))
    )
    assert Comparison((few, many), RISK, UTILITY).dominated == {}
    three, ten, nobody = (
        replace(c, figures={**c.figures, other: Figure(other, "", "low", Estimate.exact(0))})
        for c in (
            candidate("k = 3", 0.3, 1),
            candidate("k = 10", 0.1, 2),
            candidate("private", 0.0, 3),
        )
    )
    nobody = replace(
        nobody, figures={name: figure for name, figure in nobody.figures.items() if name != RISK}
    )  # its rows are nobody's
    found = Comparison((three, ten, nobody, candidate("x", 0.3, 9)), other, UTILITY)
    assert found.dominated == {}
    assert [c.name for c in found.edge] == ["k = 3"]  # by the axes alone


def test_the_default_utility_sees_what_was_coarsened(at_once):
    table = people(400)
    rules = {"age": vd.Hierarchy.intervals([10])}
    recipes = {
        f"k = {k}": vd.KAnonymity(
            quasi_identifiers=["age", "sex"], k=k, max_suppression=0.05, hierarchies=rules
        )
        for k in (2, 200)
    }
    found = vd.compare(table, recipes, seed=1, workers=1)
    assert found.utility == "utility.detail.two"
    fine, coarse = (c.estimate(found.utility).value for c in found.candidates)
    assert fine < coarse


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.floats(20, 400), st.floats(20, 280)), min_size=1, max_size=9, unique=True
    ),
    st.lists(st.text("abc k=", min_size=1, max_size=14), min_size=9, max_size=9),
)
def test_no_name_on_the_map_covers_another_and_none_depends_on_the_order(points, names):
    frame = Box(0, 0, 420, 300)
    names = names[: len(points)]
    labels = placed(points, names, [], frame)
    assert [label.name for label in labels] == names
    for one, other in combinations(labels, 2):
        assert one.box.shared(other.box) == 0
    turned = placed(points[::-1], names[::-1], [], frame)[::-1]
    if len(set(zip(points, names, strict=True))) == len(points):
        assert turned == labels


def test_names_far_from_their_point_are_led_to_it():
    points = [(200.0, 150.0)] * 6
    labels = placed(points, [f"candidate {i}" for i in range(6)], [], Box(0, 0, 420, 300))
    assert not labels[0].led
    assert any(label.led for label in labels)
    assert Box(0, 0, 2, 2).shared(Box(1, 1, 5, 5)) == 1
    assert Box(0, 0, 2, 2).outside(Box(1, 0, 5, 5)) == 2


def test_one_process_or_two_give_the_same_figures():
    recipes = [vd.Noise(columns=["income"], scale=scale) for scale in (0.1, 1.0)]
    one, two = (vd.compare(people(), recipes, seed=3, workers=workers) for workers in (1, 2))
    assert [c.name for c in one.candidates] == ["noise 1", "noise 2"]
    assert [c.figures for c in one.candidates] == [c.figures for c in two.candidates]
    assert "noise 1" in str(one)


def test_the_figures_are_those_of_an_assessment(at_once):
    table, recipe = people(), vd.Noise(columns=["income"])
    found = vd.compare(table, {"mine": recipe}, seed=3).candidates[0]
    alone = vd.assess(table, recipe.protect(table, seed=3))
    assert {name: figure.estimate for name, figure in found.figures.items()} == {
        f.name: f.estimate for f in alone
    }


def test_the_same_recipe_on_the_same_table_is_measured_once(at_once, tmp_path, monkeypatch):
    table, recipes = people(), {"mine": vd.Noise(columns=["income"])}
    first = vd.compare(table, recipes, seed=3, custodian=tmp_path)

    def never(job):
        raise AssertionError(job)

    monkeypatch.setattr(worker, "run", never)
    again = vd.compare(table, {"other name": recipes["mine"]}, seed=3, custodian=tmp_path)
    assert again.candidates[0].figures == first.candidates[0].figures
    for changed in (
        {"table": table.assign(age=table.age + 1)},
        {"seed": 4},
        {"recipes": {"mine": vd.Noise(columns=["income"], scale=0.2)}},
    ):
        given = {"table": table, "recipes": recipes, "seed": 3} | changed
        with pytest.raises(AssertionError):
            vd.compare(given["table"], given["recipes"], seed=given["seed"], custodian=tmp_path)


def test_a_recipe_that_cannot_run_is_told_without_stopping_the_others(at_once):
    found = vd.compare(
        people(), {"good": vd.Noise(columns=["income"]), "bad": vd.Noise(columns=["sex"])}, seed=1
    )
    assert found.candidates[1].problem
    assert found.verdict(found.candidates[1]).startswith("no release:")
    assert [c.name for c in found.frontier] == ["good"]


def test_names_are_shown_as_text():
    found = Comparison(
        (candidate("<script>alert(1)</script>", 1, 1), candidate("b", 2, 0)), RISK, UTILITY
    )
    assert "<script>" not in found.to_html()
    assert "&lt;script&gt;" in found.to_html()
    assert "<script>" not in found._repr_html_()


def test_an_unknown_axis_is_refused():
    with pytest.raises(PlanError, match="risk figure"):
        vd.compare(people(), [vd.Noise(columns=["income"])], risk="risk.nothing")


def plans(folder, *scales, source="people.csv"):
    people().to_csv(folder / source, index=False)
    for scale in scales:
        text = (
            f'[source]\npath = "{source}"\n[[step]]\nmethod = "noise"\ncolumns = ["income"]\nscale'
            f' = {scale}\n[custodian]\nfolder = "safe"\n[run]\nseed = 1\n'
        )
        (folder / f"noise-{scale}.toml").write_text(text, encoding="utf-8")
    return [folder / f"noise-{scale}.toml" for scale in scales]


def test_plans_are_compared_from_the_command_line(veladura, tmp_path, at_once):
    done = veladura(
        "compare",
        *plans(tmp_path, 0.1, 0.5),
        "--out",
        "map.html",
        "--utility",
        UTILITY,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "noise-0.1" in done.stdout
    assert "Risk-utility map" in (tmp_path / "map.html").read_text(encoding="utf-8")
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


def test_an_untouched_table_is_never_without_risk(at_once):
    table = people(300)
    recipes = {
        "untouched": vd.TopCode(columns={"income": 1e12}),
        "coarse": vd.KAnonymity(quasi_identifiers=["age", "sex"], k=5, max_suppression=0.1),
    }
    found = vd.compare(table, recipes, seed=1, workers=1)
    assert found.risk == "risk.intruders.strongest"
    alone = int((table.groupby(list(table.columns), dropna=False).size() == 1).sum())
    risks = {c.name: c.estimate(found.risk) for c in found.candidates}
    assert risks["untouched"].value == alone / len(table) > 0


def test_an_intruder_of_a_plan_can_be_an_axis():
    from veladura.comparison.result import check_axes

    check_axes("risk.intruders.clerk", None)
    with pytest.raises(PlanError, match="utility figure"):
        check_axes(None, "risk.intruders.clerk")
