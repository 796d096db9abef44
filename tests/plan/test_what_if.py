"""What a privacy budget buys: told from public quantities, and hopeless designs refused."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import PlanError
from veladura.methods.private.expected import best_size, reference
from veladura.plan.plan import read_plan
from veladura.plan.run import run
from veladura.plan.what_if import Outlook, what_if

CELLS = 182


def plan_file(
    folder: Path, method: str = "dirichlet-multinomial", epsilon: float = 1, more: str = ""
) -> Path:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"place": rng.choice(CELLS, 4000, p=reference(CELLS))})
    frame.to_csv(folder / "people.csv", index=False)
    (folder / "plan.toml").write_text(f"""
[source]
path = "people.csv"

[columns]
place = {{role = "sensitive", kind = "integer"}}

[[step]]
method = "{method}"
columns = ["place"]
epsilon = {epsilon}
domain = {{place = {list(range(CELLS))}}}
{more}
[release]
folder = "out/release"

[custodian]
folder = "safe/record"
""")
    return folder / "plan.toml"


def test_the_expected_error_of_an_urn_is_that_of_its_prior(tmp_path: Path) -> None:
    """E(released share) is a mixture of data and prior with weight K alpha / (n + K alpha)."""
    recipe = vd.DirichletMultinomial(columns=["a"], domain={"a": [0, 1]}, epsilon=1)
    alpha = 10**6 / math.expm1(1)
    weight = 2 * alpha / (10**6 + 2 * alpha)
    # with a million rows sampling hardly adds: the urn's own spread is that of its Dirichlet
    gives = recipe.expected(10**6)
    assert gives.ignorance == pytest.approx(1 / 6)
    assert gives.error == pytest.approx(weight / 6, rel=0.02)


def test_noise_on_counts_moves_what_its_mean_says() -> None:
    """The mean of |two-sided geometric| is 2 q / (1 - q^2) for q = exp(-1 / scale)."""
    recipe = vd.NoisyCounts(columns=["a"], domain={"a": list(range(50))}, epsilon=1)
    q = math.exp(-1 / 2)
    moved = 50 * 2 * q / (1 - q * q) / 2 / 10**6
    assert recipe.expected(10**6).error == pytest.approx(moved, rel=0.1)


def test_fewer_rows_help_an_urn_of_many_cells() -> None:
    recipe = vd.DirichletMultinomial(columns=["a"], domain={"a": list(range(20))}, epsilon=1)
    size = best_size(recipe, 5000, 20)
    assert size < 5000
    smaller = vd.DirichletMultinomial(
        columns=["a"], domain={"a": list(range(20))}, epsilon=1, size=size
    )
    assert smaller.expected(5000).error < recipe.expected(5000).error / 2


def test_a_hopeless_design_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    plan = read_plan(plan_file(tmp_path))
    ledger = vd.Ledger(epsilon=1)
    with pytest.raises(PlanError, match=r"(?s)expected to tell nothing.*noisy-counts.*accept") as e:
        run(plan, ledger=ledger)
    assert not ledger.events
    assert not (tmp_path / "out").exists()
    assert "182 cells" in str(e.value)


def test_a_holder_can_accept_it(tmp_path: Path) -> None:
    plan = read_plan(plan_file(tmp_path, more="[budget]\naccept_noise = true\n"))
    with pytest.warns(UserWarning, match="says little"):
        outcome = run(plan, ledger=vd.Ledger(epsilon=1))
    assert (outcome.folder / "manifest.json").exists()


def test_the_better_method_runs_and_is_better(tmp_path: Path) -> None:
    outcome = run(read_plan(plan_file(tmp_path, "noisy-counts")), ledger=vd.Ledger(epsilon=1))
    truth = pd.read_csv(tmp_path / "people.csv")["place"].value_counts(normalize=True)
    shares = outcome.release.datasets[0]["place"].value_counts(normalize=True)
    error = truth.reindex(range(CELLS), fill_value=0) - shares.reindex(range(CELLS), fill_value=0)
    assert error.abs().sum() / 2 < 0.1


def test_beliefs_are_bayes_theorem() -> None:
    row = Outlook(1.0, 2.0, None, None)  # type: ignore[arg-type]
    assert row.belief(0.5) == pytest.approx(math.e**2 / (1 + math.e**2))
    assert row.belief(0.01) == pytest.approx(0.01 * math.e**2 / (0.99 + 0.01 * math.e**2))


def test_the_outlook_counts_people_and_names_better_designs(tmp_path: Path) -> None:
    seen = what_if(read_plan(plan_file(tmp_path)), rows=4000)
    assert seen.own.expected.verdict == "hopeless"
    assert seen.better[0].startswith('method = "noisy-counts"')
    errors = [
        row.expected.error
        for row in what_if(read_plan(plan_file(tmp_path, "noisy-counts")), rows=4000).outlooks
    ]
    assert errors == sorted(errors, reverse=True)


def test_the_command_prints_it(tmp_path: Path) -> None:
    printed = CliRunner().invoke(app, ["budget", "--what-if", str(plan_file(tmp_path))])
    assert printed.exit_code == 0, printed.output
    assert "182 cells, 4,000 rows" in printed.output
    assert "better: " in printed.output
    for wrong in (["--rows", "0"], ["--rows", "-4"]):
        refused = CliRunner().invoke(
            app, ["budget", "--what-if", str(tmp_path / "plan.toml"), *wrong]
        )
        assert refused.exit_code != 0


def test_marginals_are_looked_at_by_their_tables_and_may_hide_the_number(tmp_path: Path) -> None:
    domain = {name: list(range(8)) for name in "abcdefghijklmn"}  # 8^14 cells are never laid out
    settings = {"columns": list(domain), "domain": domain, "epsilon": 1.0}
    small, large = (vd.Marginals(**settings).expected(n) for n in (500, 50_000))
    assert large.error < small.error / 10
    frame = pd.DataFrame({"a": [0, 1, 2, 3] * 50, "b": [0, 1] * 100})
    recipe = vd.Marginals(
        columns=["a", "b"],
        domain={"a": [0, 1, 2, 3], "b": [0, 1]},
        epsilon=2,
        neighbours="add-remove",
    )
    release = recipe.protect(frame)
    assert "adding or removing any one row" in release.claims[0]
    numbers = {recipe.fit(frame).sample().steps[0].settings["n"] for _ in range(6)}
    assert len(numbers) > 1
