"""Guesses on single columns and pairs of them, against counts by hand."""

from __future__ import annotations

import io
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from tests.generators.households import households
from tests.generators.linked import homes_and_people
from tests.generators.panels import household_panel
from tests.generators.tables import generate
from tests.table.test_linked import people_and_visits

import veladura as vd
from veladura.cli.show import roles_table
from veladura.table.roles.arithmetic import is_nominal, is_unimodal
from veladura.table.roles.evidence import MOST_ROWS, gather
from veladura.table.roles.guess import guess_roles
from veladura.table.roles.names import hints_of
from veladura.table.roles.nesting import constancy, pairs, unique_people
from veladura.table.roles.reserved import without_reserved
from veladura.table.source import IdentifierWarning


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        yield


def guessed(values, name="v17"):
    """The guess on one column, beside one that tells nothing."""
    n = len(values)
    other = np.random.default_rng(3).normal(5, 1, n).round(1)
    return guess_roles(vd.open(pd.DataFrame({name: values, "w9": other})))[name]


RNG = np.random.default_rng(7)
N = 600
DAYS = np.datetime64("1950-01-01") + RNG.integers(0, 20_000, N)


@pytest.mark.parametrize(
    ("values", "role", "kind"),
    [
        (np.arange(1, N + 1), "identifier", "integer"),
        (RNG.permutation(N) + 5000, "identifier", "integer"),
        (10**8 + RNG.choice(9 * 10**8, N, replace=False), "identifier", "integer"),
        ([f"a{i}@example.org" for i in range(N)], "identifier", "category"),
        ([f"{i:032x}" for i in RNG.integers(1 << 60, 1 << 62, N)], "identifier", "category"),
        ([f"+41 44 {i:07}" for i in range(N)], "identifier", "category"),
        ([f"Bad {'abcdefghij'[i % 10]}au" for i in range(N)], "quasi-identifier", "category"),
        ([" ".join(RNG.choice(list("abcdefgh"), 9)) for _ in range(N)], "dropped", "text"),
        (DAYS, "quasi-identifier", "date"),
        (np.datetime64("2023-01-01") + RNG.integers(0, 300, N), "undecided", "date"),
        (RNG.integers(0, 95, N), "quasi-identifier", "integer"),
        (RNG.integers(1930, 2010, N), "quasi-identifier", "integer"),
        (RNG.choice([1111, 2310, 5223, 7231, 9629], N), "quasi-identifier", "category"),
        (RNG.binomial(4, 0.5, N) + 1, "undecided", "ordered"),
        (RNG.poisson(2, N), "undecided", "integer"),
        (np.exp(RNG.normal(8, 1.2, N)).round(2), "sensitive", "number"),
        (RNG.choice(["f", "m"], N), "quasi-identifier", "category"),
        (["x"] * N, "undecided", "category"),
        ([None] * N, "dropped", "category"),
    ],
)
def test_content_decides(values, role, kind):
    guess = guessed(values)
    assert (guess.role, guess.kind) == (role, kind)


@pytest.mark.parametrize("name", ["id", "weight", "household", "lon", "psu", "person_id"])
def test_a_name_alone_decides_nothing(name):
    """A category with the name of something else stays what it holds."""
    guess = guessed(RNG.choice(["red", "green", "blue"], N), name)
    assert guess.role in ("quasi-identifier", "undecided")


def test_an_ordered_code_has_its_order():
    guess = guessed(RNG.binomial(4, 0.5, N) + 1)
    assert guess.order == ("1", "2", "3", "4", "5")


def test_names_give_hints_in_several_languages():
    assert "birth" in hints_of("Geburtsdatum")
    assert "household" in hints_of("no_menage")
    assert "identifier" in hints_of("patientId")
    assert "x" in hints_of("LON")
    assert hints_of("valid") == hints_of("q17") == frozenset()


def test_constancy_is_one_within_and_nought_by_chance():
    unit = np.repeat(np.arange(200), 4)
    frame = pd.DataFrame(
        {
            "unit": unit,
            "same": RNG.integers(0, 9, 200)[unit],
            "chance": RNG.integers(0, 9, 800),
            "wave": np.tile([1, 2, 3, 4], 200),
        }
    )
    key, same, chance, wave = gather(vd.open(frame))
    assert constancy(key, same) == 1
    assert abs(constancy(key, chance)) < 0.1
    assert constancy(key, wave) < -0.3
    assert pairs(key.codes, chance.codes)[0].size == len(
        frame[["unit", "chance"]].drop_duplicates()
    )


def test_people_are_counted_once_whatever_their_rows():
    frame = pd.DataFrame({"who": [1, 1, 2, 2, 3], "town": ["a", "a", "b", "c", "c"]})
    who, town = gather(vd.open(frame))
    assert unique_people(town, who) == 2  # 1 by a, 2 by b; c is shared by 2 and 3
    assert unique_people(town, None) == 1
    assert unique_people(who, who) == 3


@pytest.mark.parametrize("waves", [(2023, 2024), (1, 2, 3)])
def test_waves_are_numbers_and_codes_are_not(waves):
    """A number that never repeats within a person has an order; answers on a scale are codes."""
    frame = household_panel(150, len(waves), 2)
    frame["wave"] = np.array(waves)[frame.year - 2020]
    frame["answer"] = np.random.default_rng(1).integers(1, len(waves) + 1, len(frame))
    guesses = guess_roles(vd.open(frame.drop(columns="year")))
    assert guesses["wave"].kind == "integer"
    assert guesses["answer"].kind in ("category", "ordered")


def test_codes_repeat_exactly_amounts_because_they_are_round():
    def counted(values):
        return np.unique(values, return_counts=True)

    assert is_nominal(*counted(RNG.choice([112, 239, 241, 533, 911, 913], 900)))
    assert not is_nominal(*counted(RNG.normal(170, 9, 900).astype(int)))
    assert not is_nominal(*counted(np.round(np.exp(RNG.normal(7, 1, 900)), -2).astype(int)))
    assert is_unimodal(np.array([5, 90, 200, 120, 7]))
    assert not is_unimodal(np.array([500, 90, 200, 120, 700]))
    levels, sizes = without_reserved(np.array([-9, -8, 1, 2, 3, 99]), np.array([1, 2, 3, 4, 5, 6]))
    assert (levels.tolist(), sizes.tolist()) == ([1, 2, 3], [3, 4, 5])


@pytest.mark.parametrize("seed", range(5))
def test_many_zeros_make_no_codes_of_amounts(seed):
    rng = np.random.default_rng(seed)
    amounts = np.exp(rng.normal(6, 0.8, 4000)).astype(int)
    amounts[rng.random(4000) < 0.4] = 0
    amounts[rng.random(4000) < 0.05] = -9
    assert not is_nominal(*np.unique(amounts, return_counts=True))
    codes = rng.choice(rng.choice(np.arange(1000, 9999), 150, replace=False), 4000)
    codes[rng.random(4000) < 0.4] = 0
    assert is_nominal(*np.unique(codes, return_counts=True))


def test_a_file_is_guessed_as_its_frame(tmp_path):
    for seed in range(4):
        frame = generate(seed, largest=800).frame
        frame.to_parquet(tmp_path / f"{seed}.parquet")
        lazy = guess_roles(vd.open(tmp_path / f"{seed}.parquet"))
        assert lazy == guess_roles(vd.open(frame))


def test_the_order_of_columns_and_their_names_change_no_unit():
    made = generate(3)
    plain = made.frame.rename(columns={name: f"c{i}" for i, name in enumerate(made.frame)})
    turned = plain[plain.columns[::-1]]
    roles = [guess.role for guess in guess_roles(vd.open(turned)).values()][::-1]
    for (name, true), role in zip(
        ((name, made.roles[name]) for name in made.frame), roles, strict=True
    ):
        if true in ("person", "household"):
            assert role == true, name


def test_a_large_table_is_judged_by_its_beginning(tmp_path):
    n = MOST_ROWS + 1000
    frame = pd.DataFrame({"a": np.arange(n), "b": RNG.choice(["x", "y"], n)})
    frame.to_parquet(tmp_path / "a.parquet")
    guesses = guess_roles(vd.open(tmp_path / "a.parquet"))
    assert guesses["a"].role == "identifier"
    assert guesses["a"].unique == MOST_ROWS
    assert guesses == guess_roles(vd.open(frame))


@pytest.mark.parametrize(("rows", "most"), [(5_000, 0.3), (100_000, 2.0)])
def test_guessing_is_fast(rows, most):
    for seed in range(4):
        table = vd.open(generate(seed, smallest=rows - 1, largest=rows).frame)
        start = time.process_time()
        guess_roles(table)
        assert time.process_time() - start < most


def test_the_table_of_roles_fits_80_columns_and_cuts_no_word():
    made = generate(1)
    guesses = guess_roles(vd.open(made.frame))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(roles_table(guesses, len(made.frame), {}))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    assert "\u2026" not in text
    letters = "".join(text.split())
    for name, guess in guesses.items():
        assert name in letters
        assert guess.role in text
        assert all(word in letters for word in guess.why.split())


def test_surnames_of_very_many_people_are_names_and_towns_are_places():
    """Thirty thousand people share few surnames; as many towns tell their region."""
    rng = np.random.default_rng(5)
    letters = np.array(list("aeioulnrst"))
    words = np.array(sorted({"".join(rng.choice(letters, 6)).title() for _ in range(700)}))
    which = rng.integers(0, words.size, 30_000)
    frame = pd.DataFrame(
        {
            "a": words[which],
            "b": words[::-1][rng.permutation(which)],
            "c": (which % 7).astype(str),
        }
    )
    guesses = guess_roles(vd.open(frame))
    assert guesses["b"].role == "identifier"
    assert guesses["a"].role != "identifier"


@pytest.mark.parametrize("rows", [1000, 4000, 20_000])
@pytest.mark.parametrize("digits", [4, 6])
def test_codes_that_are_spread_evenly_are_categories(rows, digits):
    """Codes of industries or places look like numbers of units, but rows share them."""
    rng = np.random.default_rng(rows + digits)
    low, high = 10 ** (digits - 1), 10**digits
    codes = rng.choice(np.arange(low, high), 263, replace=False)
    values = rng.choice(codes, rows, p=rng.dirichlet(np.full(263, 0.6)))
    assert guessed(values).kind == "category"


def test_measures_that_are_spread_evenly_are_numbers():
    for largest, rows in ((10_000, 8000), (3000, 5000), (1000, 20_000), (100_000, 2000)):
        assert guessed(RNG.integers(0, largest, rows)).kind == "integer"


def test_running_numbers_of_people_stay_those_of_people():
    number = np.repeat(RNG.choice(np.arange(1000, 9000), 700, replace=False), 3)
    born = np.repeat(RNG.integers(1930, 2005, 700), 3)
    frame = pd.DataFrame(
        {"q1": number, "born": born, "wave": np.tile([1, 2, 3], 700), "x": RNG.normal(size=2100)}
    )
    assert guess_roles(vd.open(frame))["q1"].role == "person"


def test_a_panel_of_units_without_age_or_sex_is_no_household():
    """Farms by year: four rows of one farm are one unit, though its cows look like ages."""
    rng = np.random.default_rng(5)
    farms, years = 300, np.arange(2019, 2023)
    farm, year = np.repeat(np.arange(farms), years.size), np.tile(years, farms)
    acres = rng.lognormal(3.5, 0.6, farms).round(1)
    frame = pd.DataFrame(
        {
            "holding": rng.permutation(9000)[:farms][farm],
            "year": year,
            "soil": rng.choice(["clay", "sand", "loam"], farms)[farm],
            "acres": acres[farm],
            "cows": rng.poisson(acres[farm] / 2),
            "income": rng.lognormal(10, 0.5, farm.size).round(),
        }
    )
    seen = frame[rng.random(len(frame)) < 0.95]
    assert guess_roles(vd.open(seen))["holding"].role == "person"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "names",
    [{}, {"home": "a", "who": "b", "age": "q1", "sex": "q2", "income": "q3", "psu": "q4"}],
    ids=["named", "unnamed"],
)
def test_codes_of_places_are_no_ages_where_members_have_ages(seed, names):
    """Members of a household share the place, 0 to 39, and differ in age: it is no person."""
    homes, people = homes_and_people(400, seed)
    joined = people.merge(homes, on="home")
    table = vd.open(joined.assign(psu=joined.home % 40).rename(columns=names))
    assert guess_roles(table)[names.get("home", "home")].role == "household"


@pytest.mark.parametrize("seed", range(3))
def test_the_age_of_a_patient_makes_a_person_beside_a_number_of_days(seed):
    """The other way round: the age is the same in all visits, and days of stay look like ages."""
    people, visits = people_and_visits(500, seed)
    rng = np.random.default_rng(seed)
    joined = visits.merge(people, left_on="patient", right_on="who").drop(columns=["who", "visit"])
    table = vd.open(joined.assign(stay=rng.integers(0, 60, len(joined))))
    assert guess_roles(table)["patient"].role == "person"


def test_a_few_shared_homes_of_many_people_hide_no_household():
    """Sizes that differ as those of towns do: the name says that they are homes."""
    rng = np.random.default_rng(4)
    home = np.repeat(np.arange(400), np.where(np.arange(400) < 8, 25, rng.integers(1, 5, 400)))
    frame = pd.DataFrame(
        {
            "household": home + 1,
            "region": rng.choice(list("nswe"), 400)[home],
            "rooms": rng.integers(1, 7, 400)[home],
            "sex": rng.choice(["m", "f"], home.size),
            "age": rng.integers(0, 90, home.size),
        }
    )
    assert guess_roles(vd.open(frame))["household"].role == "household"
    towns = frame.rename(columns={"household": "t1"})
    assert guess_roles(vd.open(towns))["t1"].role != "household"


@pytest.mark.parametrize("twice", [0, 3])
def test_numbers_of_members_are_not_released_and_relations_are(twice):
    """In a few households a number stands twice; head, partner and child have codes as well."""
    frame = households(1200)
    relation = frame.relation.map({"head": 1, "partner": 2, "child": 3, "other": 4})
    frame = frame.assign(relation=relation).sort_values(["home", "relation"])
    number = frame.groupby("home").cumcount().to_numpy() + 1
    number[np.flatnonzero(number == 2)[:twice]] = 1
    guesses = guess_roles(vd.open(frame.assign(no=number)))
    assert guesses["no"].role == "identifier"
    assert guesses["relation"].role != "identifier"
