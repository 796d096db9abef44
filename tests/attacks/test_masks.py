"""Attacks on masked numbers: holes, spikes, the nearest number, and lone outliers.

The attacks are those of `test_numbers`, on Noise, Swap and Microaggregation. Without the law of the
leaf (``min_people=0``), one column, 3,000 people, share of the named numbers (base rate in
brackets) on dense, medium and sparse grids:

================  ================================  ================================
                  holes                             spikes
================  ================================  ================================
Swap              .00 (.29) .00 (.33) .00 (.37)     1.00 (.87) 1.00 (.65) 1.00 (.33)
Microaggregation  .59 (.23) .42 (.18) .40 (.38)     .87 (.83) .69 (.59) .50 (.42)
Noise, 1 %        .48 (.29) .30 (.33) .36 (.36)     .95 (.95) .78 (.77) .38 (.37)
================  ================================  ================================

The largest of 2,000 incomes, 98,765,432.10, was told within 10 % in 20 of 20 releases of each: Swap
releases it, noise of the column's size is 0.2 % of it, and three times the mean of its group is all
but it. And all noise told it too: its size is that of the outlier over the root of the rows.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.attacks.test_numbers import (
    GAIN,
    GRIDS,
    around,
    holes,
    incomes,
    lattice,
    lone_outlier,
    nearer,
    odds,
    spikes,
    told,
)

import veladura as vd
from veladura.numeric.trees import tail

MASKS = {
    "noise": lambda **more: vd.Noise(columns=["income"], **more),
    "little noise": lambda **more: vd.Noise(columns=["income"], scale=0.01, **more),
    "swap": lambda **more: vd.Swap(columns=["income"], **more),
    "groups of 3": lambda **more: vd.Microaggregation(columns=["income"], k=3, **more),
}


def named(recipe: vd.Recipe, grid: str, attack) -> tuple[float, float, int]:
    """Precision of an attack over three tables, its base rate, and how many were named."""
    parts = []
    for seed in range(3):
        frame = incomes(GRIDS[grid], seed)
        released = recipe.protect(frame, seed=seed).datasets[0]["income"].to_numpy()
        held, count = lattice(frame, np.rint(released).astype(int))
        target = (held == 1) if attack is holes else (held > 0)
        parts.append(odds(attack(count), target.astype(float)))
    precision, base, number = np.array(parts).T
    total = number.sum()
    return (precision * number).sum() / total, (base * number).sum() / total, int(total)


@pytest.mark.parametrize("attack", [holes, spikes])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("mask", MASKS)
def test_neither_holes_nor_spikes_tell_the_numbers_of_people(mask, grid, attack):
    """Precision at most 1.2 times the base rate, or within four standard errors of it."""
    precision, base, number = named(MASKS[mask](), grid, attack)
    slack = 4 * np.sqrt(base * (1 - base) / number)
    assert precision <= max(GAIN * base, base + slack)


def by_holders(mask: str, tables: int) -> float:
    """How often numbers of four people are released, over those of one or none.

    Both relative to the numbers around, on a dense grid.
    """
    sums = np.zeros((2, 2))
    for seed in range(tables):
        frame = incomes(GRIDS["dense"], seed)
        released = MASKS[mask]().protect(frame, seed=seed).datasets[0]["income"].to_numpy()
        held, count = lattice(frame, np.rint(released).astype(int))
        for i, here in enumerate((held <= 1, held == 4)):
            sums[i] += count[here].sum(), around(count)[here].sum()
    few, many = sums[:, 0] / sums[:, 1]
    return many / few


@pytest.mark.parametrize("mask", ["noise", "swap"])
def test_on_a_dense_grid_numbers_of_one_person_come_out_as_often_as_those_around(mask):
    """Over 40 tables, where a tenth can be seen: 1.00 (0.03)."""
    assert 0.85 < by_holders(mask, tables=40) < 1.15


def test_a_quantile_function_as_fine_as_the_grid_follows_who_holds_which_number(monkeypatch):
    """The control: knots of five people everywhere, as they were, show it by two fifths."""

    def fine(size: int, rows: int) -> np.ndarray:
        return np.linspace(0, size, max(size // (5 * rows), 1) + 1).astype(int)

    monkeypatch.setattr(tail, "_edges", fine)
    assert by_holders("swap", tables=40) > 1.2


@pytest.mark.parametrize(
    ("mask", "grid", "attack"),
    [("swap", "sparse", spikes), ("swap", "medium", spikes), ("groups of 3", "medium", holes)],
)
def test_without_the_law_the_attacks_succeed(mask, grid, attack):
    precision, base, number = named(MASKS[mask](min_people=0), grid, attack)
    assert precision > max(GAIN * base, base + 4 * np.sqrt(base * (1 - base) / number))


@pytest.mark.parametrize("mask", MASKS)
def test_the_nearest_released_number_is_not_nearer_to_a_person_than_to_a_place_beside(mask):
    """Half of the people by chance, plus four standard errors; the control is plain swapping."""
    shares, people = [], 0
    for seed in range(3):
        frame = incomes(100_000, seed)
        data = MASKS[mask]().protect(frame, seed=seed).datasets[0]
        share, size = nearer(frame, data["income"].to_numpy())
        shares.append(share)
        people += size
    assert np.mean(shares) < 0.5 + 4 * np.sqrt(0.25 / people) + 0.02
    swapped = vd.Swap(columns=["income"], min_people=0).protect(frame, seed=1).datasets[0]
    assert nearer(frame, swapped["income"].to_numpy())[0] > 0.9


@pytest.mark.parametrize("mask", MASKS)
def test_a_lone_outlier_is_not_told_within_ten_per_cent(mask):
    for seed in range(20):
        frame, value = lone_outlier(seed)
        assert told(frame, MASKS[mask]().protect(frame, seed=seed).datasets, value) > 0.1
    plain = MASKS[mask](min_people=0).protect(frame, seed=seed)
    assert told(frame, plain.datasets, value) < 0.1


def guessed(released: np.ndarray, scale: float, usual: float) -> float:
    """The outlier from the size of the noise: its deviation is scale x outlier / root of n."""
    spread = (np.quantile(released, 0.75) - np.quantile(released, 0.25)) / 1.349
    return float(np.sqrt(max(spread**2 - usual**2, 0.0)) / scale * np.sqrt(released.size))


def test_the_size_of_the_noise_does_not_tell_a_lone_outlier():
    """The intruder subtracts the usual spread of the bulk, and divides by the public scale."""
    near = {0: 0, 5: 0}
    for people in near:
        for seed in range(20):
            frame, value = lone_outlier(seed)
            free = {"income": (-np.inf, np.inf)}
            recipe = vd.Noise(columns=["income"], limits=free, min_people=people)
            released = recipe.protect(frame, seed=seed).datasets[0]["income"].to_numpy()
            near[people] += abs(guessed(released, 0.1, 1500) / value - 1) < 0.1
    assert near[0] >= 15
    assert near[5] == 0
