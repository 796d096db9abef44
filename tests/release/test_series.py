"""Two releases that keep their promises and break them together are refused, with the number."""

from __future__ import annotations

import warnings
from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.cli.main import app
from veladura.errors import GateError, PlanError, VeladuraWarning
from veladura.plan.reading import read_plan
from veladura.plan.run import past, run
from veladura.plan.series import SeriesWarning
from veladura.release.entry import text_of
from veladura.release.intersected import added, added_to_all
from veladura.release.series import Entry, Series, refuse_broken

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
    assert sorted(path.suffix or path.name for path in folder.iterdir()) == [
        ".json",
        ".parquet",
        "key",
        "lock",
    ]
    (settings,) = folder.glob("*.json")
    about = settings.read_text(encoding="utf-8")
    assert not any(word in about for word in ("p00001", "20-", "yes", "[20"))
    # Three letters turn up by chance among random bytes: the hashes are read as what they are.
    (hashes,) = folder.glob("*.parquet")
    written = pq.read_table(hashes)
    assert written.schema.names == ["person", "group", "shown: ill"]
    assert all(pa.types.is_integer(field.type) for field in written.schema)
    assert not written.schema.metadata
    assert b"p00001" not in hashes.read_bytes()
    values = pd.read_csv(home / "year1.csv")[["age", "zip"]].to_numpy()
    assert not set(values.ravel()) & set(np.concatenate([c.to_numpy() for c in written.columns]))
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


def test_a_series_needs_people_and_what_is_known_of_them(home):
    path = plan(home, "one", "year1.csv", 0, 1)
    anonymous = path.read_text(encoding="utf-8").replace('role = "identifier"', 'role = "dropped"')
    path.write_text(anonymous, encoding="utf-8")
    with pytest.raises(PlanError, match="who is in two releases"):
        run(read_plan(path))
    release = vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": range(40)}))
    with pytest.raises(PlanError, match="who is in two releases"):
        Series("s").entry(release, vd.open(pd.DataFrame({"x": range(40)})), "n")
    named = pd.DataFrame({"id": [f"p{i}" for i in range(40)], "x": range(40)})
    table = vd.open(named, {"id": {"role": "identifier"}, "x": {"role": "sensitive"}})
    release = vd.Noise(columns=["x"]).protect(table)
    with pytest.raises(PlanError, match="what an intruder knows"):
        Series("s").entry(release, table, "n")
    with pytest.raises(PlanError, match="short name"):
        Series("../elsewhere")


SYNTHETIC = """
[source]
path = "{source}"
[columns]
id = {{role = "identifier"}}
age = {{role = "quasi-identifier"}}
zip = {{role = "quasi-identifier", kind = "category"}}
ill = {{role = "sensitive", kind = "category"}}
[[step]]
{step}
[release]
folder = "out/{name}"
[custodian]
folder = "safe/{name}"
series = "synthetic register"
[run]
{seed}
"""


def synthetic(home, name, source, step, seed="seed = 4"):
    path = home / f"{name}.toml"
    text = SYNTHETIC.format(name=name, source=source, step=step, seed=seed)
    path.write_text(text, encoding="utf-8")
    return path


def alone(frame):
    """Return the combinations of age and ZIP code that one row holds."""
    counts = frame.astype(str).groupby(["age", "zip"]).size()
    return set(counts[counts == 1].index)


def test_two_synthetic_releases_are_counted_together(home):
    """Replicated uniques of both, and combinations alone in both, counted with pandas."""
    cart = 'method = "cart"\nm = 1'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(read_plan(synthetic(home, "one", "year1.csv", cart)))
    with pytest.warns(VeladuraWarning, match="replicated uniques of both"):
        run(read_plan(synthetic(home, "two", "year2.csv", cart, "seed = 5")))
    (result,) = past(read_plan(synthetic(home, "three", "year2.csv", cart, "seed = 5")))[:1]
    years = [pd.read_csv(home / f"year{i}.csv", dtype=str) for i in (1, 2)]
    drawn = [
        alone(pd.read_parquet(home / "out" / name / "data" / "dataset-1.parquet"))
        for name in ("one", "two")
    ]
    own = [set(alone(year)) for year in years]
    found = [
        {
            person
            for person, age, zip_ in year[["id", "age", "zip"]].itertuples(index=False)
            if (age, zip_) in own[i] & drawn[i]
        }
        for i, year in enumerate(years)
    ]
    assert result.both == len(found[0] & found[1])
    assert result.replicated == len(found[1] & set(years[0]["id"]))
    assert (result.claims, result.right) == (
        len(drawn[0] & drawn[1]),
        len(drawn[0] & drawn[1] & own[1]),
    )
    assert result.shared == len(set(years[0]["id"]) & set(years[1]["id"]))
    assert "stand alone in both" in str(result)


def test_private_releases_of_a_series_add_up(home):
    step = (
        'method = "noisy-counts"\ncolumns = ["ill"]\nepsilon = 0.5\n'
        '[step.domain]\nill = ["no", "yes"]'
    )
    for name, year in (("p1", "year1.csv"), ("p2", "year2.csv")):  # each has a budget of its own
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run(read_plan(synthetic(home, name, year, step, "")))
    entries = Series("synthetic register").entries()
    assert [(entry.kind, entry.epsilon) for entry in entries] == [("private", 0.5)] * 2
    (result,) = Series("synthetic register").against(entries[-1])
    assert result.epsilon == pytest.approx(1.5)  # two before, and one more
    assert "epsilon = 1.5" in str(result)


def test_three_releases_that_pass_two_by_two_and_single_people_out_are_refused(home):
    """Three columns, of which each release keeps one: a corner of the cube holds one person."""
    cells = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    people = [cell for cell in cells for _ in range(1 if cell == (1, 1, 1) else 5)]
    person = np.arange(len(people))

    def kept(name, made, at):
        group = np.array([10 * at + cell[at] for cell in people])
        return Entry(name, made, 2, ("q",), {}, person, group)

    series = Series("cube")
    first, second, third = (kept(f"{year}", f"{year}", year - 2024) for year in range(2024, 2027))
    pairs = [(first, second), (first, third), (second, third)]
    assert [added(*pair).below for pair in pairs] == [0, 0, 0]
    assert added_to_all([first], second) is None
    joint = added_to_all([first, second], third)
    assert (joint.shared, joint.below, joint.alone, joint.releases) == (36, 1, 1, 2)
    series.write(first)
    series.write(second)
    with pytest.raises(
        GateError, match=r"all 2 earlier releases.* 1 of 36 people in three or more"
    ):
        refuse_broken(series, series.against(third))


def test_someone_who_was_left_out_once_is_judged_by_the_others():
    one = Entry("a", "1", 2, ("q",), {}, np.array([1, 2, 3, 4]), np.array([7, 7, 7, 7]))
    two = Entry("b", "2", 2, ("q",), {}, np.array([1, 2, 3]), np.array([8, 8, 8]))
    new = Entry("c", "3", 2, ("q",), {}, np.array([1, 2, 4, 3]), np.array([9, 9, 9, 9]))
    joint = added_to_all([one, two], new)  # 4 is in two of them only: a pair
    assert (joint.shared, joint.below) == (3, 0)


def test_each_class_of_a_person_with_several_rows_counts():
    """Rows in classes 7 and 8 of one year: whoever knows both finds the person by either."""
    old = Entry("a", "1", 2, ("q",), {}, np.array([1, 1, 2, 3, 4]), np.array([8, 7, 7, 8, 8]))
    new = Entry("b", "2", 2, ("q",), {}, np.array([1, 2, 3, 4]), np.array([5, 5, 6, 6]))
    assert added(old, new).below == 1  # person 1, by class 8; its last row alone would not tell


def test_who_left_alone_is_found_by_subtraction():
    old = Entry("a", "2025", 2, ("q",), {}, np.array([1, 2, 5, 3, 4]), np.array([7, 7, 7, 8, 8]))
    new = Entry("b", "2026", 2, ("q",), {}, np.array([1, 2, 3, 4]), np.array([7, 7, 8, 8]))
    result = added(old, new)
    assert (result.below, result.newcomers, result.leavers) == (0, 0, 1)
    assert "1 people who left stand out" in str(result)


def test_people_told_by_other_columns_are_refused_not_taken_for_strangers(home):
    run(read_plan(plan(home, "one", "year1.csv", 0, 1)))
    second = pd.read_csv(home / "year2.csv", dtype={"zip": str})
    second.assign(card=second["id"].str[1:]).to_csv(home / "year3.csv", index=False)
    path = plan(home, "two", "year3.csv", 2, 0)
    other = path.read_text(encoding="utf-8").replace(
        '[columns.id]\nrole = "identifier"',
        '[columns.id]\nrole = "dropped"\n\n[columns.card]\nrole = "identifier"',
    )
    path.write_text(other, encoding="utf-8")
    with pytest.raises(PlanError, match=r"told by \['card'\] here, and by \['id'\] in 'one'"):
        run(read_plan(path))
    assert not (home / "out" / "two").exists()


def test_starred_rows_are_in_no_class_that_could_be_broken(home):
    """The same release twice tells nothing, though fewer than five rows are starred in both."""
    year = pd.read_csv(home / "year1.csv", dtype={"zip": str})
    year.loc[:2, "zip"] = "99"
    year.to_csv(home / "year1.csv", index=False)
    paths = [plan(home, name, "year1.csv", 2, 0) for name in ("one", "two")]
    for path in paths:
        text = path.read_text(encoding="utf-8").replace("max_suppression = 0", "max_suppression=3")
        path.write_text(text.replace("k = 5", 'k = 5\nsuppressed = "star"'), encoding="utf-8")
        run(read_plan(path))
    file = pd.read_parquet(home / "out" / "two" / "data" / "dataset-1.parquet")
    assert (file[["age", "zip"]].astype(str) == "*").all(axis=1).sum() == 3
    older, newer = Series("clinic register").entries()
    assert added(older, newer).shared == 1_997
    # who was in a class then, and is starred now, is told by that
    numbers = np.arange(10)
    then = Entry("then", "1", 5, ("q",), {}, numbers, np.ones(10, dtype=int), outside=(7,))
    now = Entry("now", "2", 5, ("q",), {}, numbers, np.where(numbers < 2, 7, 1), outside=(7,))
    assert (added(then, now).below, added(now, then).below) == (2, 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (7, 7.0),
        (7, Decimal("7.00")),
        (1.5, Decimal("1.50")),
        (date(2024, 1, 31), datetime(2024, 1, 31)),  # noqa: DTZ001  # columns without a zone
    ],
)
def test_equal_values_of_different_types_are_the_same(one, other):
    assert text_of(one) == text_of(other) != text_of(None)


def test_values_that_differ_stay_apart():
    values = [None, "", 7, 7.5, "07", datetime(2024, 1, 31, 1), float("nan"), float("inf"), True]  # noqa: DTZ001
    assert len({text_of(value) for value in values}) == len(values)


def test_rows_of_nobody_in_common_are_told_with_a_hint():
    numbers = np.arange(9)
    old = Entry("old", "1", 3, ("q",), {}, numbers, numbers // 3)
    new = Entry("new", "2", 0, ("q",), {}, 100 + numbers, numbers, kind="rows")
    (result,) = Series("none of these").against(new, [old])
    assert "nobody is in both" in str(result)
    assert "007 and 7" in result.hint


def test_a_misspelled_series_is_told_which_there_are(home):
    """Another name begins anew, and nothing is compared: the holder hears of it."""
    from typer.testing import CliRunner

    run(read_plan(plan(home, "one", "year1.csv", 2, 0)))
    path = plan(home, "two", "year1.csv", 1, 1)
    own = path.read_text(encoding="utf-8").replace("clinic register", "clinic regster")
    path.write_text(own, encoding="utf-8")
    told = CliRunner().invoke(app, ["risk", str(path)])
    assert "Series with releases: 'clinic register'." in told.output
    with pytest.warns(VeladuraWarning, match="first release.*those of the series 'clinic register"):
        run(read_plan(path))
    path.write_text(own.replace("clinic regster", "births"), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", SeriesWarning)
        run(read_plan(path), force=True)
