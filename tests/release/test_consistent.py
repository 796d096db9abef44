"""A consistent series: whoever has not changed keeps the released values, all others are drawn."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veladura as vd
from veladura.errors import PlanError, VeladuraWarning
from veladura.plan.reading import read_plan
from veladura.plan.run import run

PLAN = """
[source]
path = "{file}"

[columns.id]
role = "identifier"

[columns.age]
role = "quasi-identifier"

[columns.sex]
role = "quasi-identifier"

[columns.income]
role = "sensitive"

[[step]]
method = "{method}"
{settings}

[release]
folder = "out/{name}"
format = "csv"

[custodian]
folder = "safe/{name}"
{custodian}

[run]
seed = {seed}
"""
SERIES = 'series = "panel"\nconsistent = true'
CART = 'columns = ["income"]\nm = 2\nsmoothing = "local"'
CHANGED = 60


def years(home) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Write a register of two years: some incomes change, some people leave, others come."""
    rng = np.random.default_rng(1)
    first = pd.DataFrame({"id": [f"p{i:04d}" for i in range(600)]})
    first["age"] = rng.integers(20, 70, 600)
    first["sex"] = rng.choice(["f", "m"], 600)
    first["income"] = np.round(np.exp(rng.normal(10, 0.6, 600)), 0)
    second = first.iloc[100:].copy()
    second.iloc[:CHANGED, 3] += 5_000
    new = first.iloc[:50].assign(id=[f"n{i:04d}" for i in range(50)])
    second = pd.concat([second, new]).sample(frac=1, random_state=2)
    first.to_csv(home / "year1.csv", index=False)
    second.to_csv(home / "year2.csv", index=False)
    return first, second.reset_index(drop=True)


def plan(home, name, file, *, custodian=SERIES, method="cart", settings=CART):
    path, seed = home / f"{name}.toml", int.from_bytes(name.encode().ljust(14, b"."))
    text = PLAN.format(
        file=file, name=name, custodian=custodian, method=method, settings=settings, seed=seed
    )
    path.write_text(text, encoding="utf-8")
    return read_plan(path)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    return tmp_path


def warned(made):
    """Run a plan; return the outcome, and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", VeladuraWarning)
        outcome = run(made)
    return outcome, " ".join(str(one.message) for one in caught)


def incomes(outcome, source: pd.DataFrame, dataset: int) -> pd.Series:
    """Return the released incomes of one dataset by person."""
    rows = np.asarray(outcome.release.tables[dataset].rows)
    values = outcome.release.datasets[dataset].income.to_numpy()
    return pd.Series(values, index=source.id.to_numpy()[rows])


def test_the_unchanged_keep_their_values_and_nobody_else_does(home):
    first, second = years(home)
    before = run(plan(home, "one", "year1.csv"))
    after, said = warned(plan(home, "two", "year2.csv"))
    assert "440 of 550 rows have not changed" in said
    same = second.merge(first, on=list(first.columns)).id
    changed = second.id[second.id.str.startswith("p") & ~second.id.isin(same)]
    assert (len(same), len(changed)) == (440, CHANGED)
    for i in range(2):
        old, new = incomes(before, first, i), incomes(after, second, i)
        assert (old[same].to_numpy() == new[same].to_numpy()).all()
        assert (old[changed].to_numpy() == new[changed].to_numpy()).mean() < 0.2
    assert {proof.status for proof in after.release.proofs} == {"holds"}
    assert vd.load(after.folder).manifest["steps"][0]["settings"]["consistent"] is True


def test_a_new_wave_extends_the_panel_that_was_released(home):
    """The rows of earlier waves keep their values; those of the new one are drawn beside them."""
    first, _ = years(home)
    waves = [first.assign(age=first.age + year) for year in range(3)]
    rng = np.random.default_rng(5)
    for wave in waves[1:]:
        wave["income"] = np.round(wave.income * np.exp(rng.normal(0.02, 0.1, len(wave))), 0)
    panels = [pd.concat(waves[:number], ignore_index=True) for number in (2, 3)]
    found = []
    for number, panel in zip(("two", "three"), panels, strict=True):
        panel.to_csv(home / f"{number}.csv", index=False)
        path = home / f"{number}.toml"
        made = plan(home, number, f"{number}.csv")
        text = path.read_text(encoding="utf-8").replace('"identifier"', '"person"')
        path.write_text(text, encoding="utf-8")
        outcome, said = warned(read_plan(path))
        rows = np.asarray(outcome.release.tables[0].rows)
        values = outcome.release.datasets[0].income.to_numpy()
        found.append(pd.Series(values, index=rows).sort_index())
        assert made.custodian.consistent
    assert "1,200 of 1,800 rows have not changed" in said
    assert (found[1][:1200] == found[0]).all()
    new, own = found[1][1200:].to_numpy(), panels[1].income.to_numpy()[1200:]
    assert abs(np.log(new).mean() - np.log(own).mean()) < 0.1
    assert (new == own).mean() < 0.1


def test_without_it_the_same_people_are_drawn_again(home):
    first, second = years(home)
    alone = 'series = "panel"'
    before = run(plan(home, "one", "year1.csv", custodian=alone))
    after, said = warned(plan(home, "two", "year2.csv", custodian=alone))
    assert "have not changed" not in said
    same = second.merge(first, on=list(first.columns)).id
    old, new = incomes(before, first, 0), incomes(after, second, 0)
    assert (old[same].to_numpy() == new[same].to_numpy()).mean() < 0.2


def test_two_noisy_releases_do_not_average_out(home):
    """An intruder takes the mean of both years: no nearer to the truth than one of them."""
    first, second = years(home)
    noise = 'columns = ["income"]\nscale = 0.3'
    errors = {}
    for name, custodian in (("consistent", SERIES), ("free", 'series = "free"')):
        settings = {"custodian": custodian, "method": "noise", "settings": noise}
        one, _ = warned(plan(home, f"{name}1", "year1.csv", **settings))
        two, _ = warned(plan(home, f"{name}2", "year2.csv", **settings))
        same = second.merge(first, on=list(first.columns)).set_index("id").income
        old, new = incomes(one, first, 0)[same.index], incomes(two, second, 0)[same.index]
        off = ((old + new) / 2 - same).to_numpy() ** 2
        errors[name] = float(np.sqrt(off.mean() / ((old - same).to_numpy() ** 2).mean()))
    assert errors["consistent"] == 1.0
    assert errors["free"] < 0.85


def test_the_home_holds_no_original_value(home):
    first, _ = years(home)
    run(plan(home, "one", "year1.csv"))
    (path,) = (home / "home").rglob("*.values.parquet")
    kept = pd.read_parquet(path)
    assert list(kept.columns) == ["(key)", "(part)", "(dataset)", "income"]
    released = pd.concat(
        [pd.read_csv(file) for file in sorted((home / "out" / "one").rglob("dataset*.csv"))]
    )
    assert sorted(kept.income) == sorted(released.income)
    assert not np.isin(kept["(key)"], first.id).any()


@pytest.mark.parametrize(
    ("settings", "custodian", "words"),
    [
        ({"settings": "m = 2"}, SERIES, "every row is a new one"),
        ({}, "consistent = true", "none is named"),
    ],
)
def test_what_cannot_be_consistent_is_refused(home, settings, custodian, words):
    years(home)
    with pytest.raises(PlanError, match=words):
        run(plan(home, "one", "year1.csv", custodian=custodian, **settings))


def test_another_design_is_refused(home):
    years(home)
    run(plan(home, "one", "year1.csv"))
    other = 'columns = ["income", "age"]\nm = 2'
    with pytest.raises(PlanError, match="they cannot be consistent"):
        run(plan(home, "two", "year2.csv", settings=other))


def said_of(made) -> str:
    """Return what a run warns of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run(made)
    return " ".join(str(warning.message) for warning in said)


def test_an_earlier_release_that_kept_nothing_is_told_not_passed_over(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    years(tmp_path)
    plain = 'series = "panel"'
    said_of(plan(tmp_path, "one", "year1.csv", custodian=plain))
    told = said_of(plan(tmp_path, "two", "year2.csv"))
    assert re.search(r"'one' of [-0-9]+ kept no values.*everybody in this release is drawn", told)
    # the control: the last one kept its values
    assert "kept no values" not in said_of(plan(tmp_path, "three", "year2.csv"))
    said_of(plan(tmp_path, "four", "year2.csv", custodian=plain))
    told = said_of(plan(tmp_path, "five", "year2.csv"))
    assert re.search(r"'four' of [-0-9]+ kept no values.*values of the release before", told)


def test_people_who_are_a_year_older_keep_what_was_drawn(home):
    """Everybody's age changes every year, incomes do not: three noisy years are no nearer.

    Some are not in the second year, and the rows have another order every time. The control is a
    series that is not consistent: its mean of three is nearer.
    """
    first, _ = years(home)
    noise = 'columns = ["income"]\nscale = 0.3'
    errors = {}
    for name, custodian in (("kept", SERIES), ("free", 'series = "free"')):
        settings = {"custodian": custodian, "method": "noise", "settings": noise}
        found = []
        for year, part in enumerate((first, first.iloc[50:], first)):
            file = f"{name}{year}.csv"
            source = part.sample(frac=1, random_state=year).assign(age=part.age + year)
            source.to_csv(home / file, index=False)
            outcome, said = warned(plan(home, f"{name}{year}", file, **settings))
            found.append(incomes(outcome, source.reset_index(drop=True), 0))
            if name == "kept" and year:
                assert f"{len(part)} of {len(part)} rows have not changed" in said
                assert "two draws" not in said
        if name == "free":
            assert "600 people in both have two draws of income" in said
        truth = first.set_index("id").income
        mean = pd.concat(found, axis=1).mean(axis=1)[truth.index]
        once = found[0][truth.index]
        errors[name] = float(np.sqrt(((mean - truth) ** 2).mean() / ((once - truth) ** 2).mean()))
    assert errors["kept"] == pytest.approx(1.0, abs=1e-12)
    assert errors["free"] < 0.85


def test_rows_of_a_person_that_differ_in_what_stays_keep_their_own_values(home):
    """Two jobs of the same income: each keeps its value, in whatever order they come."""
    from veladura.release.kept_values import KEY, PART, places_of

    old = pa.table({KEY: [11, 12, 13], PART: [5, 5, 6]})
    assert places_of(old, np.array([12, 11]), np.array([5, 5])).tolist() == [1, 0]
    # one of them is as it was, the other has changed elsewhere: it gets the row that is left
    assert places_of(old, np.array([99, 12]), np.array([5, 5])).tolist() == [0, 1]
    # a third one of the same income is drawn
    assert sorted(places_of(old, np.array([98, 99, 97]), np.array([5, 5, 5])).tolist()) == [
        -1,
        0,
        1,
    ]
