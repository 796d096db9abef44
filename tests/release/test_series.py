"""Two releases that keep their promises and break them together are refused, with the number."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.cli.main import app
from veladura.errors import GateError, PlanError
from veladura.plan.plan import read_plan
from veladura.plan.run import past, run
from veladura.release.series import Entry, Series, added

PLAN = """
[source]
path = "{file}"

[columns.id]
role = "identifier"

[columns.age]
role = "quasi-identifier"

[columns.zip]
role = "quasi-identifier"
kind = "category"

[columns.ill]
role = "sensitive"

[[step]]
method = "k-anonymity"
k = 5
quasi_identifiers = ["age", "zip"]
max_suppression = 0
levels = {{ age = {age}, zip = {zip} }}
[step.hierarchies.age]
widths = [10, 50]
[step.hierarchies.zip]
masked = 1

[release]
folder = "out/{name}"

[custodian]
folder = "safe/{name}"
series = "clinic register"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"id": [f"p{i:05d}" for i in range(2_000)]})
    frame["age"] = rng.integers(20, 70, 2_000)
    frame["zip"] = rng.choice([f"{a}{b}" for a in "12" for b in "0123456789"], 2_000)
    frame["ill"] = rng.choice(["yes", "no"], 2_000)
    frame.to_csv(tmp_path / "year1.csv", index=False)
    frame.sample(frac=1, random_state=2).assign(ill="no").to_csv(
        tmp_path / "year2.csv", index=False
    )
    return tmp_path


def plan(home, name, file, age, zip_):
    path = home / f"{name}.toml"
    path.write_text(PLAN.format(file=file, age=age, zip=zip_, name=name), encoding="utf-8")
    return path


def together(first: pd.DataFrame, second: pd.DataFrame) -> tuple[int, int]:
    """Count by hand: people whose two released combinations fewer than five, or one, share."""
    pairs = [
        (*a, *b)
        for a, b in zip(
            first[["age", "zip"]].itertuples(index=False),
            second[["age", "zip"]].itertuples(index=False),
            strict=True,
        )
    ]
    counts = Counter(pairs)
    return sum(counts[p] < 5 for p in pairs), sum(counts[p] == 1 for p in pairs)


def generalised(home, path):
    """The released values of every person, in the order of their identifiers."""
    read = read_plan(path)
    table = read.open()
    release = read.recipe.protect(table)
    rows = np.asarray(release.tables[0].rows)
    ids = table.fetched().arrow.column("id").to_pylist()
    data = release.datasets[0].assign(id=[ids[row] for row in rows])
    return data.sort_values("id").reset_index(drop=True)


def test_two_five_anonymous_years_that_single_people_out_are_refused(home):
    wide_zip = plan(home, "one", "year1.csv", 0, 1)  # years of age, one digit of the ZIP
    fine_zip = plan(home, "two", "year2.csv", 2, 0)  # fifty years, the whole ZIP
    run(read_plan(wide_zip))
    below, alone = together(generalised(home, wide_zip), generalised(home, fine_zip))
    assert alone > 0
    with pytest.raises(GateError, match=f"{below:,} of 2,000 people .* {alone:,} of them alone"):
        run(read_plan(fine_zip))
    assert not (home / "out" / "two").exists()
    (result,) = past(read_plan(fine_zip))
    assert (result.below, result.alone, result.shared) == (below, alone, 2_000)


def test_the_consistent_release_passes_and_is_remembered(home):
    run(read_plan(plan(home, "one", "year1.csv", 0, 1)))
    again = read_plan(plan(home, "again", "year2.csv", 0, 1))
    assert [result.below for result in past(again)] == [0]
    run(again)
    assert (home / "out" / "again" / "manifest.json").exists()
    assert [entry.name for entry in Series("clinic register").entries()] == ["one", "again"]


def test_the_register_holds_no_values(home):
    run(read_plan(plan(home, "one", "year1.csv", 0, 1)))
    folder = home / "home" / "series" / "clinic register"
    files = [path.read_bytes() for path in folder.iterdir()]
    assert len(files) == 3  # the key, the settings, the hashes
    for word in (b"p00001", b"20-", b"yes", b"[20"):
        assert not any(word in text for text in files)
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir())
    assert b"series" not in (home / "out" / "one" / "manifest.json").read_bytes()


def test_the_command_tells_the_same_and_writes_nothing(home):
    from typer.testing import CliRunner

    run(read_plan(plan(home, "one", "year1.csv", 0, 1)))
    path = plan(home, "two", "year2.csv", 2, 0)
    result = CliRunner().invoke(app, ["risk", str(path), "--against", "clinic register"])
    assert result.exit_code == 4
    assert "of 2,000 people in both" in result.output
    assert not (home / "out" / "two").exists()
    fine = plan(home, "again", "year2.csv", 0, 1)
    assert CliRunner().invoke(app, ["risk", str(fine)]).exit_code == 0


def test_who_joined_alone_is_found_by_subtraction():
    old = Entry("a", "2025", 2, ("q",), {}, np.array([1, 2, 3, 4]), np.array([7, 7, 8, 8]))
    new = Entry("b", "2026", 2, ("q",), {}, np.array([1, 2, 5, 3, 4]), np.array([7, 7, 7, 8, 8]))
    result = added(old, new)
    assert (result.shared, result.below, result.newcomers) == (4, 0, 1)


def test_a_series_needs_people_and_classes(home):
    path = plan(home, "one", "year1.csv", 0, 1)
    anonymous = path.read_text(encoding="utf-8").replace('role = "identifier"', 'role = "dropped"')
    path.write_text(anonymous, encoding="utf-8")
    with pytest.raises(PlanError, match="who is in two releases"):
        run(read_plan(path))
    release = vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": range(40)}))
    with pytest.raises(PlanError, match="promises no"):
        Series("s").entry(release, vd.open(pd.DataFrame({"x": range(40)})), "n")
    with pytest.raises(PlanError, match="short name"):
        Series("../elsewhere")
