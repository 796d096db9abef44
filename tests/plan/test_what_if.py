"""What a privacy budget buys: told from public quantities, and hopeless designs refused."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import PlanError, VeladuraWarning
from veladura.methods.private import queries
from veladura.methods.private.events import rho_for
from veladura.methods.private.expected import best_size, reference
from veladura.plan.reading import read_plan
from veladura.plan.run import run
from veladura.plan.what_if import Outlook, _same, what_if

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


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (vd.NoisyCounts, {"fraction": 0.1}),
        (vd.NoisyCounts, {"size": 50}),
        (vd.DirichletMultinomial, {"fraction": 0.1, "size": 100}),
    ],
)
def test_samples_and_few_rows_are_in_the_expected_error(method, settings) -> None:
    """Beside releases of the same invented table; without either it would be .012 of noise."""
    cells, n = 24, 2000
    columns = {"columns": ["a"], "domain": {"a": list(range(cells))}}
    recipe = method(**columns, epsilon=1, **settings)
    rng, errors = np.random.default_rng(6), []
    for _ in range(60):
        counts = rng.multinomial(n, reference(cells))
        table = pd.DataFrame({"a": np.repeat(np.arange(cells), counts)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VeladuraWarning)
            drawn = recipe.protect(table).datasets[0]["a"].astype(int)
        shares = np.bincount(drawn, minlength=cells) / drawn.size
        errors.append(np.abs(shares - counts / n).sum() / 2)
    gives, error = recipe.expected(n), float(np.std(errors) / np.sqrt(60))
    assert abs(gives.error - np.mean(errors)) < 5 * error + 0.1 * gives.error
    assert gives.error > 4 * vd.NoisyCounts(**columns, epsilon=1).expected(n).error


def test_one_dataset_is_named_where_several_are_hopeless(tmp_path: Path) -> None:
    plan = plan_file(tmp_path, epsilon=10, more="m = 20")
    assert "m = 1 dataset instead of 20" in " ".join(what_if(read_plan(plan)).better)


def test_a_sample_is_set_beside_designs_of_the_same_loss(tmp_path: Path) -> None:
    """A tenth of the people at epsilon 2 costs .49: other methods are looked at with that."""
    recipe = vd.DirichletMultinomial(
        columns=["a"], domain={"a": list(range(24))}, epsilon=2, fraction=0.1
    )
    marginals = _same(recipe, vd.Marginals)
    assert marginals.epsilon == pytest.approx(math.log1p(0.1 * math.expm1(2)))
    assert _same(recipe, vd.NoisyCounts).loss() == recipe.loss()


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


def test_statistics_by_group_are_looked_at_too(tmp_path: Path) -> None:
    """Noise of a number of rows: 2 q / (1 - q)^2 at q = exp(-epsilon / (2 queries))."""
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    recipe = vd.PrivateSummary(
        columns=["pay"],
        bounds={"pay": [0, 100]},
        by=["place"],
        domain={"place": list(range(5))},
        statistics=["mean"],
        epsilon=1,
    )
    frame = pd.DataFrame({"pay": [1.0, 2.0] * 50, "place": [0, 1] * 50})
    measured = recipe.protect(frame).steps[0].settings["noisy"]
    assert len(measured) == 4  # rows, count, sum, squares
    assert {query["scale"] for query in measured if query["kind"] == "rows"} == {8.0}
    q = math.exp(-1 / 8)
    variance = 2 * q / (1 - q) ** 2
    assert recipe.noise_of_rows().variance == pytest.approx(variance)
    p = reference(5)
    wide = 1.96 * np.sqrt(p * (1 - p) / 4000 + variance / 4000**2).mean()
    assert recipe.half_width(4000) == pytest.approx(wide)
    assert recipe.expected(4000).verdict == "useful"
    assert recipe.expected(20).verdict == "hopeless"


@pytest.mark.parametrize("statistics", [["count"], ["sum", "histogram"], ["sd", "quantiles"]])
def test_the_queries_are_as_many_as_share_the_budget(statistics: list[str]) -> None:
    column = (np.array([1.0, 2.0]), (0.0, 4.0), np.array([0.0, 2.0, 4.0]))
    listed = queries.queries({"a": column, "b": column}, np.array([0, 0]), 1, statistics)
    assert queries.number_of_queries(2, statistics) == len(listed)


TABLES = {
    "columns": ["a", "b", "c"],
    "domain": {"a": list(range(60)), "b": list(range(50)), "c": [0, 1]},
    "epsilon": 1,
}


def test_marginals_are_as_good_as_the_worst_table_of_the_workload() -> None:
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    small = vd.Marginals(**TABLES, workload=[["a", "c"], ["b", "c"]])
    large = vd.Marginals(**TABLES, workload=[["a", "c"], ["b", "a"]])
    assert small.tables() == {("a", "c"): 120, ("b", "c"): 100}
    assert (small.table_cells(), large.table_cells()) == (120, 3000)
    # the mean of |noise| is sigma sqrt(2 / pi), in 120 cells of which few are near zero
    sigma = (2 / float(2 * rho_for(*small.cost()) / 6)) ** 0.5
    moved = 120 * sigma * (2 / math.pi) ** 0.5 / 2 / 10**5
    assert small.expected(10**5).error == pytest.approx(moved, rel=0.1)
    assert large.expected(2000).verdict == "hopeless"
    assert small.expected(2000).verdict == "poor"


def test_private_cuts_have_their_share_of_the_budget_first() -> None:
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    given = {**TABLES, "columns": ["a", "b", "c", "pay"], "bounds": {"pay": [0, 100]}}
    plain, cut = vd.Marginals(**given), vd.Marginals(**given, private_cuts=["pay"])
    assert cut.outlook().sigma == pytest.approx(plain.outlook().sigma / 0.9**0.5)


def test_every_table_of_a_workload_is_told(tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    names = [f"c{i}" for i in range(7)]
    domain = "".join(f"c{i} = {list(range(2 + i))}\n" for i in range(7))
    (tmp_path / "plan.toml").write_text(f"""
[source]
path = "people.csv"

[[step]]
method = "marginals"
columns = {names}
epsilon = 1.0
[step.domain]
{domain}
[release]
folder = "out/release"

[custodian]
folder = "safe/record"
""")
    seen = what_if(read_plan(tmp_path / "plan.toml"), 2000)
    assert len(seen.tables) == 21
    assert (seen.tables[0].columns, seen.tables[0].cells) == (("c5", "c6"), 56)
    ratios = [table.expected.ratio for table in seen.tables]
    assert ratios == sorted(ratios, reverse=True)
    told = CliRunner().invoke(
        app, ["budget", "--what-if", str(tmp_path / "plan.toml"), "--rows", "2000"]
    )
    assert told.exit_code == 0
    assert "c5 x c6" in told.stdout
    assert "and 9 tables of less error" in told.stdout
    assert "100.0%" not in told.stdout  # at epsilon = 10 nobody is certain
    assert ">99.9%" in told.stdout


def test_more_rows_than_can_be_invented_are_refused(tmp_path: Path) -> None:
    plan = plan_file(tmp_path)
    with pytest.raises(PlanError, match=r"rows \(100,000,000,000\) must be at most 50,000,000"):
        what_if(read_plan(plan), 10**11)


def test_the_width_of_marginals_is_that_of_sampling_and_noise() -> None:
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    recipe = vd.Marginals(
        columns=["a", "b"], domain={"a": [0, 1], "b": [0, 1, 2]}, epsilon=1, rounds=0
    )
    sigma = (2 / float(2 * rho_for(*recipe.cost()) / 4)) ** 0.5
    p = reference(6)
    wide = 1.96 * np.sqrt(p * (1 - p) / 500 + (sigma / 500) ** 2).mean()
    assert recipe.half_width(500) == pytest.approx(wide, rel=1e-9)


REGRESSION = {
    "linear": {
        "outcome": "pay",
        "columns": ["age"],
        "bounds": {"pay": [0, 100], "age": [20, 60]},
    },
    "logistic": {
        "outcome": "ill",
        "columns": ["age"],
        "bounds": {"age": [20, 60]},
        "domain": {"ill": ["no", "yes"]},
    },
}


def invented_people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Ages evenly between the bounds; pay from 25 to 75 of 100, log odds from -1 to 1."""
    age = rng.uniform(20, 60, n)
    place = (age - 40) / 20
    ill = rng.random(n) < 1 / (1 + np.exp(-place))
    pay = 50 + 25 * place + rng.normal(0, 12.5, n)
    return pd.DataFrame({"age": age, "pay": pay, "ill": np.where(ill, "yes", "no")})


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_a_regression_is_looked_at_as_its_releases_turn_out(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside releases of such people: error of predictions, and width of intervals.

    Their Gaussian noise is NumPy's with a seed: that of the system would decide once in a while.
    """
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    rng, n = np.random.default_rng(8), 3000
    noise = np.random.default_rng(10)
    monkeypatch.setattr(
        queries, "gaussian", lambda sums, sd: np.rint(sums + noise.normal(0, sd, sums.size))
    )
    recipe = vd.PrivateRegression(**REGRESSION[family], family=family, epsilon=1, delta=1e-6)
    exact = vd.PrivateRegression(**REGRESSION[family], family=family, epsilon=10**6, delta=1e-6)
    ages, errors, halves = np.linspace(21, 59, 200), [], []
    for _ in range(16):
        people = invented_people(rng, n)
        noisy, true = (r.protect(people).datasets[0] for r in (recipe, exact))
        apart = noisy["value"].to_numpy() - true["value"].to_numpy()
        errors.append(np.abs(apart[0] + apart[1] * ages).mean())
        halves.append((noisy["upper"] - noisy["lower"])[1] / 2 * 40)  # of the whole range of ages
    unit = 100 if family == "linear" else 1
    spread = np.std(errors) / len(errors) ** 0.5 / unit
    # 20 invented releases have a spread of their own
    assert recipe.expected(n).error == pytest.approx(np.mean(errors) / unit, abs=6 * spread)
    assert recipe.half_width(n) == pytest.approx(np.mean(halves) / unit, rel=0.25)
    without_noise = 1.96 * (12.5 if family == "linear" else 2.0) * 40 / (n**0.5 * 40 / 12**0.5)
    assert recipe.half_width(n) > 1.2 * without_noise / unit  # the control: sampling error alone


def test_a_hopeless_regression_says_so_and_names_a_better_one(tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    recipe = vd.PrivateRegression(**REGRESSION["linear"], epsilon=0.1)
    few, many = recipe.expected(200), recipe.expected(200_000)
    assert (few.verdict, many.verdict) == ("hopeless", "useful")
    assert recipe.half_width(200) is None
    assert few.ignorance == pytest.approx(0.125, rel=0.05)  # mean |place| of .25 times the range
    invented_people(np.random.default_rng(9), 200).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text("""
[source]
path = "people.csv"

[columns]
age = {role = "sensitive", kind = "number"}
pay = {role = "sensitive", kind = "number"}
ill = {role = "sensitive", kind = "category"}

[[step]]
method = "private-regression"
outcome = "pay"
columns = ["age"]
bounds = {age = [20, 60], pay = [0, 100]}
epsilon = 0.1

[release]
folder = "out/release"

[custodian]
folder = "safe/record"
""")
    printed = CliRunner().invoke(app, ["budget", "--what-if", str(tmp_path / "plan.toml")])
    assert printed.exit_code == 0, printed.output
    text = " ".join(printed.output.split())
    assert "6 sums of products, 200 rows" in text
    assert "share of the outcome's range" in text
    assert "better: epsilon = " in text
    ledger = vd.Ledger(rho=1)
    with pytest.raises(PlanError, match="a regression that ignores the data has"):
        run(read_plan(tmp_path / "plan.toml"), ledger=ledger)
    assert not ledger.events
