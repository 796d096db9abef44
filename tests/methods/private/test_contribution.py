"""A person with several rows: bounded, charged for all of them, or refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import BudgetError, DataError, PlanError
from veladura.methods.private.contribution import Contribution, drawn_rows
from veladura.methods.private.exact import amplified, smallest_alpha
from veladura.release.verify import holds, verify

ROLES = {"patient": {"role": "person"}}
DOMAIN = {"ward": ["a", "b", "c"]}


def visits(people: int = 60, rows: int = 10) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "patient": np.repeat([f"social-{i}" for i in range(people)], rows),
            "ward": rng.choice(DOMAIN["ward"], people * rows),
        }
    )


def recipe(**settings: Any) -> vd.DirichletMultinomial:
    return vd.DirichletMultinomial(columns=["ward"], domain=DOMAIN, **({"epsilon": 0.5} | settings))


def test_ten_rows_of_a_person_are_refused_without_a_limit() -> None:
    with pytest.raises(PlanError, match=r"(?s)60 people have 600 rows.*rows_per_person"):
        recipe().protect(vd.open(visits(), ROLES))


def test_a_limit_without_a_person_column_is_refused() -> None:
    with pytest.raises(PlanError, match="no column has the role"):
        recipe(rows_per_person=3).protect(visits().drop(columns="patient"))


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True])
def test_a_limit_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(PlanError, match="rows_per_person"):
        recipe(rows_per_person=wrong)


@pytest.mark.parametrize("each", [1, 4, 10])
def test_the_ledger_is_charged_for_every_row_of_a_person(tmp_path: Path, each: int) -> None:
    ledger = vd.Ledger(epsilon=5)
    release = recipe(rows_per_person=each).protect(vd.open(visits(), ROLES), ledger=ledger)
    assert [event.epsilon for event in ledger.events] == [Fraction(each, 2)]
    settings = release.steps[0].settings
    assert settings["n"] == len(release.datasets[0]) == settings["size"]
    assert (settings["rows_per_person"], settings["neighbours"]) == (each, "replace-person")
    # the noise of a row stays what half of epsilon asks for, less what the number of rows costs
    left = Fraction(1, 2) * (Fraction(19, 20) if each > 1 else 1)
    assert Fraction(settings["alpha"]) == smallest_alpha(left, settings["n"])
    if each == 1:
        assert settings["n"] == 60  # the number of people is public
        assert "n_scale" not in settings
    else:  # the number of rows depends on one person
        assert Fraction(settings["n_scale"]) == Fraction(each - 1) / (Fraction(each, 2) / 20)
    claim = release.claims[0]
    assert f"the rows of any one person (at most {each}, drawn at random" in claim
    assert list(release.datasets[0]) == ["ward"]
    assert "the link between the rows of a person is not kept" in release.units["patient"]
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe")
    assert holds(verify(folder))


def test_a_budget_for_one_row_is_not_enough_for_ten() -> None:
    ledger = vd.Ledger(epsilon=1)
    with pytest.raises(BudgetError, match="exceeds the privacy loss budget"):
        recipe(rows_per_person=10).protect(vd.open(visits(), ROLES), ledger=ledger)


def test_a_person_with_one_row_needs_no_limit() -> None:
    release = recipe().protect(vd.open(visits(rows=1), ROLES))
    assert release.steps[0].settings["n"] == 60


def test_the_number_of_rows_differs_from_release_to_release() -> None:
    """A person with one visit more must not show in the number of counted rows."""
    opened = vd.open(visits(), ROLES)
    for made in (recipe(rows_per_person=4), recipe(neighbours="add-remove", rows_per_person=1)):
        numbers = {made.fit(opened).sample().steps[0].settings["n"] for _ in range(6)}
        assert len(numbers) > 1


def test_rows_left_out_are_in_the_record_only(tmp_path: Path) -> None:
    release = recipe(rows_per_person=4, size=100).protect(vd.open(visits(), ROLES))
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe")
    record = json.loads((tmp_path / "b" / "safe" / "record.json").read_text())
    assert record["proofs"][0] == {"rows_left_out": 600 - 4 * 60}
    assert not [file for file in folder.rglob("*.json") if "rows_left_out" in file.read_text()]


def test_a_person_column_with_gaps_is_refused() -> None:
    frame = visits()
    frame.loc[3, "patient"] = None
    with pytest.raises(DataError, match="person column 'patient' is missing in 1 rows"):
        recipe(rows_per_person=2).protect(vd.open(frame, ROLES))


@pytest.mark.parametrize("wrong", ["remove", "", 3])
def test_other_neighbours_are_refused(wrong: Any) -> None:
    with pytest.raises(PlanError, match="neighbours"):
        recipe(neighbours=wrong)


@pytest.mark.parametrize("wrong", [0, -0.5, 1.5, math.nan, True, "half"])
def test_a_fraction_is_a_share(wrong: Any) -> None:
    with pytest.raises(PlanError, match="fraction"):
        recipe(fraction=wrong)


def test_a_sample_is_never_larger_than_its_share() -> None:
    """One of 60 people where a thousandth is charged: the loss would be 17 times as large."""
    ledger = vd.Ledger()
    with pytest.raises(PlanError, match="of 60 people is nobody"):
        recipe(rows_per_person=1, fraction=0.001).protect(vd.open(visits(), ROLES), ledger=ledger)
    assert not ledger.events
    for people in range(1, 200):
        for share in (Fraction(1, 3), Fraction(1, 50), Fraction(99, 100)):
            made = Contribution("replace-one", None, share)
            if people * share >= 1:
                assert made.sampled_people(people) <= people * share


def test_the_control_that_keeps_one_person_at_least_exceeds_its_charge() -> None:
    """By enumeration: one of two people drawn, a tenth charged."""
    epsilon, share = Fraction(1), Fraction(1, 10)
    charged = float(Contribution("replace-one", None, share).loss(epsilon))
    alpha = float(smallest_alpha(epsilon, 1))

    def chance(rows: tuple[int, ...]) -> float:
        """Of a release of one row in the first cell, by the urn of one person of two."""
        return sum((alpha + (row == 0)) / (2 * alpha + 1) for row in rows) / len(rows)

    assert math.log(chance((0, 0)) / chance((0, 1))) > charged


def test_added_or_removed_people_are_named_in_words(tmp_path: Path) -> None:
    ledger = vd.Ledger(epsilon=5)
    made = recipe(neighbours="add-remove", rows_per_person=3, fraction=0.5)
    release = made.protect(vd.open(visits(), ROLES), ledger=ledger)
    assert ledger.events[0].neighbours == "add-remove-person"
    # 1.5 for the three rows of a person, half of the people looked at
    assert float(ledger.events[0].epsilon) == pytest.approx(math.log1p(0.5 * math.expm1(1.5)))
    assert "adding or removing the rows of any one person (at most 3" in release.claims[0]
    assert "of a secret random sample" in release.claims[0]
    folder = release.save(tmp_path / "a" / "out", tmp_path / "b" / "safe")
    assert holds(verify(folder))


def _logs(alpha: float, counts: tuple[int, ...], drawn: tuple[int, ...]) -> float:
    """The log chance of an outcome of the urn, less what does not depend on the counts."""
    weights = [alpha + c for c in counts]
    logs = sum(math.lgamma(w + d) - math.lgamma(w) for w, d in zip(weights, drawn, strict=True))
    return logs + math.lgamma(sum(weights)) - math.lgamma(sum(weights) + sum(drawn))


def test_one_more_or_less_costs_no_more_than_one_replaced() -> None:
    """By enumeration: all tables of up to 5 rows, one row added, every release of 4 rows."""
    size, epsilon = 4, Fraction(1, 2)
    alpha = float(smallest_alpha(epsilon, size))
    releases = [d for d in product(range(size + 1), repeat=3) if sum(d) == size]
    worst = max(
        abs(_logs(alpha, counts, drawn) - _logs(alpha, (counts[0] + 1, *counts[1:]), drawn))
        for counts in product(range(4), repeat=3)
        for drawn in releases
    )
    assert worst <= float(epsilon) + 1e-12


def test_a_secret_sample_costs_less_by_enumeration() -> None:
    """Half of 6 rows drawn without replacement, then the urn: the ratio stays below the charge."""
    size, epsilon, share = 3, Fraction(1), Fraction(1, 2)
    alpha = float(smallest_alpha(epsilon, size))

    def chance(rows: tuple[int, ...], drawn: tuple[int, ...]) -> float:
        samples = list(combinations(rows, 3))
        return sum(
            math.exp(_logs(alpha, (sample.count(0), sample.count(1)), drawn)) for sample in samples
        ) / len(samples)

    releases = [(d, size - d) for d in range(size + 1)]
    tables = [(0,) * zeros + (1,) * (6 - zeros) for zeros in range(7)]
    worst = max(
        math.log(chance(one, drawn) / chance(other, drawn))
        for one, other in [*pairwise(tables), *pairwise(tables[::-1])]
        for drawn in releases
    )
    charged = float(amplified(epsilon, share))
    assert worst <= charged
    assert worst > 0.9 * charged  # the charge is not far above what is lost
    assert worst > float(epsilon) / 3  # a broken control: epsilon times the share of a third


@pytest.mark.parametrize("each", [1, 2, 3])
def test_group_privacy_by_enumeration(each: int) -> None:
    """Every release of 4 rows, from all pairs of tables of 5 rows that differ in one person."""
    size, epsilon = 4, Fraction(1, 2)
    alpha = float(smallest_alpha(epsilon, size))

    tables = [c for c in product(range(6), repeat=3) if sum(c) == 5]
    releases = [d for d in product(range(size + 1), repeat=3) if sum(d) == size]
    worst = max(
        _logs(alpha, one, drawn) - _logs(alpha, other, drawn)
        for one in tables
        for other in tables
        if sum(abs(a - b) for a, b in zip(one, other, strict=True)) <= 2 * each
        for drawn in releases
    )
    assert worst <= each * float(epsilon) + 1e-12
    if each > 1:  # a broken control: the charge of one row would be a lie
        assert worst > float(epsilon)


def test_rows_of_a_person_are_drawn_evenly() -> None:
    persons = np.repeat([0, 1, 2], [5, 1, 3])
    rng, kept = np.random.default_rng(0), np.zeros(9)
    for _ in range(4000):
        rows = drawn_rows(persons, 2, rng)
        assert np.bincount(persons[rows]).tolist() == [2, 1, 2]
        kept[rows] += 1
    expected = np.array([0.4] * 5 + [1.0] + [2 / 3] * 3)
    assert np.abs(kept / 4000 - expected).max() < 4 * 0.5 / 4000**0.5


def test_marginals_square_the_rows_of_a_person() -> None:
    settings: dict[str, Any] = {"columns": ["ward"], "domain": DOMAIN, "epsilon": 1.0}
    one, ten = vd.Marginals(**settings), vd.Marginals(**settings, rows_per_person=10)
    assert ten.event().rho == 100 * one.event().rho
    assert one.loss() == one.cost()
    assert float(ten.loss()[0]) > 10
