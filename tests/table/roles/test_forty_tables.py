"""Roles of forty generated tables: what identifies is found, whatever it is called."""

from __future__ import annotations

import warnings

import pytest
from tests.generators.odd import odd_tables
from tests.generators.tables import forty

import veladura as vd
from veladura.table.roles.guess import guess_roles
from veladura.table.source import IdentifierWarning

pytestmark = pytest.mark.xdist_group("forty-tables")  # one preparation for all of them
AS_KNOWN = ("quasi-identifier", "undecided", "other", "geographic")
NOT_RELEASED = ("identifier", "dropped")
# Seeds and sizes of two blocks. The second was looked at only when the guesses were done.
BLOCKS = {"first": (0, 300, 5000), "second": (1000, 320, 4000)}


@pytest.fixture(scope="module", params=BLOCKS)
def tables(request):
    first, smallest, largest = BLOCKS[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        return [
            (made, guess_roles(vd.open(made.frame)))
            for made in forty(first, smallest=smallest, largest=largest)
        ]


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Tables that were made to be misread, as they are read from files."""
    path = tmp_path_factory.mktemp("odd") / "table.csv"
    read = []
    for made in odd_tables():
        made.frame.to_csv(path, index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifierWarning)
            read.append((made, guess_roles(vd.open(path))))
    return read


def columns(tables, *roles):
    """The columns of some true roles, each with its guess."""
    for made, guesses in tables:
        for name, role in made.roles.items():
            if role in roles:
                yield f"{made.name}: {name}", role, guesses[name]


def test_there_are_forty_and_they_differ(tables):
    names = {tuple(made.frame.columns) for made, _ in tables}
    rows = [len(made.frame) for made, _ in tables]
    assert len(names) == 40
    assert min(rows) < 500
    assert max(rows) > 3000


def test_every_identifier_is_found(tables):
    missed = [
        name for name, _, guess in columns(tables, "identifier") if guess.role not in NOT_RELEASED
    ]
    assert missed == []


def test_every_number_of_a_person_or_household_is_found(tables):
    missed = [
        (name, role, guess.role)
        for name, role, guess in columns(tables, "person", "household")
        if guess.role != role
    ]
    assert missed == []


def test_nobody_else_is_taken_for_a_unit(tables):
    wrong = [
        name
        for made, guesses in tables
        for name, guess in guesses.items()
        if guess.role in ("person", "household") and made.roles[name] != guess.role
    ]
    assert wrong == []


def test_no_weight_is_a_quasi_identifier(tables):
    weights = list(columns(tables, "weight"))
    assert len(weights) > 20
    assert [name for name, _, guess in weights if guess.role == "quasi-identifier"] == []
    roles = ("weight", "replicate weight", "dropped")
    found = sum(guess.role in roles for _, _, guess in weights)
    assert found >= 0.85 * len(weights)


def test_a_table_has_one_weight(tables):
    for _, guesses in tables:
        assert sum(guess.role == "weight" for guess in guesses.values()) <= 1


def test_quasi_identifiers_are_known_or_undecided(tables):
    quasi = list(columns(tables, "quasi-identifier"))
    kept = sum(guess.role in AS_KNOWN for _, _, guess in quasi)
    assert kept >= 0.95 * len(quasi)
    assert sum(guess.role == "quasi-identifier" for _, _, guess in quasi) >= 0.8 * len(quasi)


def test_coordinates_are_found_in_pairs(tables):
    for name, _, guess in columns(tables, "geographic"):
        assert guess.role == "geographic", name
    for _, guesses in tables:
        for name, guess in guesses.items():
            if guess.role == "geographic":
                assert guesses[guess.partner].partner == name


def test_nominal_codes_are_categories(tables):
    kinds = [guesses[name].kind for made, guesses in tables for name in made.codes]
    assert len(kinds) > 50
    assert sum(kind in ("category", "ordered") for kind in kinds) >= 0.95 * len(kinds)


def test_people_unique_by_a_column_are_counted_again(tables):
    """Against pandas: people whose value no other person has."""
    for made, guesses in tables:
        person = next((name for name, guess in guesses.items() if guess.role == "person"), None)
        for name, guess in guesses.items():
            column = made.frame[name]
            if person is None:
                counts = column.value_counts()
                assert guess.unique == int((counts == 1).sum()), name
            elif name != person:
                pairs = made.frame[[name, person]].dropna().drop_duplicates()
                alone = pairs[~pairs[name].duplicated(keep=False)]
                assert guess.unique == alone[person].nunique(), name


def test_reasons_hold_no_value_of_the_data(tables):
    for made, guesses in tables:
        for name, guess in guesses.items():
            texts = made.frame[name].dropna()
            if texts.dtype.kind in "OU" and texts.astype(str).str.len().min() > 4:
                assert not any(str(text) in guess.why for text in texts.unique()[:200]), name


def test_odd_codings_are_not_misread(odd):
    """Identifiers, units and places of tables in six languages, or with names that say nothing."""
    released = [
        name for name, _, guess in columns(odd, "identifier") if guess.role not in NOT_RELEASED
    ]
    assert released == []
    units = [
        (name, role, guess.role)
        for name, role, guess in columns(odd, "person", "household")
        if guess.role != role
    ]
    assert units == []
    places = [name for name, _, guess in columns(odd, "geographic") if guess.role != "geographic"]
    assert places == []


def test_odd_weights_are_no_quasi_identifiers_and_nothing_else_is_a_weight(odd):
    """Weights of two values, of one, whole, with all decimals; codes of towns are none."""
    weights = list(columns(odd, "weight"))
    assert len(weights) > 30
    assert [name for name, _, guess in weights if guess.role == "quasi-identifier"] == []
    wrong = [
        (name, role)
        for name, role, guess in columns(odd, "quasi-identifier", "geographic", "sensitive")
        if guess.role == "weight"
    ]
    assert wrong == []


def test_odd_quasi_identifiers_are_known_or_undecided(odd):
    quasi = list(columns(odd, "quasi-identifier"))
    assert sum(guess.role in AS_KNOWN for _, _, guess in quasi) >= 0.95 * len(quasi)
