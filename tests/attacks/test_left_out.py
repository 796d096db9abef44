"""Attack: who was left out of a k-anonymous release, by what its page says of the original.

A page that shows the same figure with and without one person shows that person. The intruder has
the folder alone: he subtracts the released rows from the bars of the original.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import veladura as vd

ILLNESSES = ["none", "flu", "asthma", "hiv"]


def people(seed, outliers):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(20, 24, 900),
            "sex": rng.choice(["f", "m"], 900),
            "ill": rng.choice(ILLNESSES, 900, p=[0.5, 0.3, 0.1, 0.1]),
        }
    )
    table.loc[: outliers - 1, "age"] = np.arange(80, 80 + outliers)
    return table


def published(seed, home, outliers=1):
    """Return the illnesses of those who were left out, the released rows, and the page."""
    table = people(seed, outliers)
    recipe = vd.KAnonymity(quasi_identifiers=["age", "sex"], k=5, max_suppression=0.05)
    release = recipe.protect(table, seed=seed)
    assert len(release.datasets[0]) == len(table) - outliers
    saved = release.save(home / f"out{seed}" / "r", custodian=home / f"safe{seed}" / "r")
    page = (saved / "report.html").read_text(encoding="utf-8")
    return list(table["ill"][:outliers]), release.datasets[0], page


def guess(rows, page):
    """Return the illness whose share in the original is larger than one person less would give."""
    best, gain = None, -np.inf
    for illness in ILLNESSES:
        found = re.search(rf"{illness}: [0-9.]+ %, original ([0-9.]+) %", page)
        if found is None:
            continue
        extra = float(found[1]) / 100 * (len(rows) + 1) - (rows["ill"] == illness).sum()
        if extra > gain:
            best, gain = illness, extra
    return best


def test_the_page_does_not_tell_who_was_left_out(tmp_path):
    """The most frequent illness is right for half of them by chance."""
    outcomes = [published(seed, tmp_path) for seed in range(6)]
    assert [guess(rows, page) for _, rows, page in outcomes] == [None] * 6
    for _, _, page in outcomes:
        assert "Fewer than ten people of the original are not in the release" in page
        assert "utility." not in page  # a distance is a figure of the one person too


def test_the_guess_is_right_where_the_bars_are_shown():
    """The attack itself: with the shares of the original it is nearly always right."""
    right = 0
    for seed in range(20):
        table = people(seed, 1)
        shares = table["ill"].value_counts(normalize=True)
        bars = "".join(f"{i}: 1 %, original {100 * shares[i]:.3g} %" for i in ILLNESSES)
        right += guess(table[1:], bars) == table["ill"][0]
    assert right == 20


def test_many_who_were_left_out_are_a_group(tmp_path):
    """Ten or more: figures are shown, but no bars of the original for columns that are exact."""
    _, rows, page = published(0, tmp_path, outliers=12)
    assert "utility.columns" in page
    assert guess(rows, page) is None


def test_without_anybody_left_out_the_bars_are_shown(tmp_path):
    table = people(1, 1)[1:]
    release = vd.Pram(columns=["ill"], retain=0.8).protect(table, seed=1)
    saved = release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "r")
    assert "original" in (saved / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("outliers", [1, 12])
def test_the_custodian_sees_all_of_it(tmp_path, outliers):
    published(3, tmp_path, outliers)
    page = (tmp_path / "safe3" / "r" / "report-custodian.html").read_text(encoding="utf-8")
    assert "utility.columns" in page
