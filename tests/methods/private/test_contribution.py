"""A person with several rows: bounded, charged for all of them, or refused."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import BudgetError, PlanError
from veladura.methods.private.contribution import drawn_rows
from veladura.methods.private.exact import smallest_alpha
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
    assert settings["n"] == 60 * each == len(release.datasets[0])
    assert (settings["rows_per_person"], settings["neighbours"]) == (each, "replace-person")
    # the noise of a row stays what half of epsilon asks for
    assert Fraction(settings["alpha"]) == smallest_alpha(Fraction(1, 2), 60 * each)
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


@pytest.mark.parametrize("each", [1, 2, 3])
def test_group_privacy_by_enumeration(each: int) -> None:
    """Every release of 4 rows, from all pairs of tables of 5 rows that differ in one person."""
    size, epsilon = 4, Fraction(1, 2)
    alpha = float(smallest_alpha(epsilon, size))

    def probability(counts: tuple[int, ...], drawn: tuple[int, ...]) -> float:
        weights = [alpha + c for c in counts]
        logs = sum(math.lgamma(w + d) - math.lgamma(w) for w, d in zip(weights, drawn, strict=True))
        return logs + math.lgamma(sum(weights)) - math.lgamma(sum(weights) + size)

    tables = [c for c in product(range(6), repeat=3) if sum(c) == 5]
    releases = [d for d in product(range(size + 1), repeat=3) if sum(d) == size]
    worst = max(
        probability(one, drawn) - probability(other, drawn)
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
