"""Attack: two releases of one panel, by someone who averages them, and who looks at newcomers.

A panel that is drawn anew every year gives an outsider another look at the same people: draws
average out. A release that extends the last one holds the same rows, and they tell what they told.
Newcomers can be told by their numbers, so they are looked at alone; and what one person does that
nobody else does must not be done by an artificial one.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.generators.panels import ROLES, household_panel
from tests.methods.households.test_extending import extended, until, wide

import veladura as vd


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    return household_panel(700, seed=3)


@pytest.fixture(scope="module")
def first(panel):
    return vd.HouseholdCart(m=1).protect(vd.open(until(panel, 2021), ROLES), seed=1)


def error(releases: list[pd.DataFrame], truth: pd.DataFrame) -> float:
    """Return how far off the pay of 2020 is, for one who knows that of 2021.

    The guess is that of the artificial person with the nearest pay in 2021, or the mean of the two
    nearest where two releases show two.
    """
    guesses = []
    for frame in releases:
        pay = np.log(wide(until(frame, 2021), "pay").dropna()).sort_values(2021)
        at = np.searchsorted(pay[2021], truth[2021]).clip(1, len(pay) - 1)
        left, right = pay.iloc[at - 1].reset_index(drop=True), pay.iloc[at].reset_index(drop=True)
        known = truth[2021].reset_index(drop=True)
        nearer = (known - left[2021]) < (right[2021] - known)
        guesses.append(np.where(nearer, left[2020], right[2020]))
    return float(np.sqrt(np.mean((np.mean(guesses, axis=0) - truth[2020].to_numpy()) ** 2)))


def test_two_releases_do_not_average_out(panel, first):
    """Anew, the second release takes a tenth off the error; extended, it takes nothing off."""
    recipe, truth = vd.HouseholdCart(m=1), np.log(wide(until(panel, 2021), "pay").dropna())
    once = error(first.datasets, truth)
    more = extended(recipe, panel, first).datasets
    anew = recipe.protect(vd.open(panel, ROLES), seed=9).datasets
    assert error([*first.datasets, *more], truth) == pytest.approx(once, rel=1e-12)
    assert error([*first.datasets, *anew], truth) < 0.92 * once  # .866 for draws of one law


def whole(frame: pd.DataFrame) -> set[tuple[object, ...]]:
    """Return rows by all that one may know of somebody, pay within five per cent."""
    pay = np.round(np.log(frame.pay) / np.log(1.1)).astype(int)
    decade = frame.born // 2
    return set(zip(frame.region, frame.sex, decade, frame.work, pay, strict=True))


@pytest.mark.slow
def test_newcomers_come_out_no_oftener_than_strangers(panel):
    """Those of the data against as many others, a binomial test at 1e-3; lost by a resample."""
    from scipy.stats import binomtest

    recipe = vd.HouseholdCart(m=10)
    known = until(panel, 2021)
    before = recipe.protect(vd.open(known, ROLES), seed=1)
    release = extended(recipe, panel, before)
    other = household_panel(700, seed=4)
    mine = whole(panel[~panel.home.isin(known.home)])
    theirs = whole(other[~other.home.isin(until(other, 2021).home)])
    own, strangers = 0, 0
    for new, old in zip(release.datasets, before.datasets, strict=True):
        found = whole(new[new.home > old.home.max()])
        own += len((mine - theirs) & found)
        strangers += len((theirs - mine) & found)
    share = len(mine - theirs) / (len(mine - theirs) + len(theirs - mine))

    def chance(own: int) -> float:
        return float(binomtest(own, own + strangers, share, alternative="greater").pvalue)

    assert strangers > 5
    assert chance(own) > 1e-3
    assert chance(round(10 * 0.63 * len(mine))) < 1e-9  # a resample


@pytest.mark.slow
def test_the_number_of_newcomers_does_not_tell_of_one():
    """Whether one more household came: guessed from the count, hardly oftener than by a coin.

    For 14 and 13 the best guess is right in 54 of 100; 4.9 standard errors of 50 guesses are
    allowed. A release that shows the count itself loses to it always.
    """
    panel = household_panel(120)
    known = until(panel, 2021)
    new = panel[~panel.home.isin(known.home)].home.unique()
    recipe = vd.HouseholdCart(m=25)
    before = recipe.protect(vd.open(known, ROLES), seed=1)
    right, middle = 0, new.size - 0.5
    for came in (new, new[:-1]):
        frame = panel[panel.home.isin(known.home) | panel.home.isin(came)]
        drawn = extended(recipe, frame, before).datasets
        pairs = zip(drawn, before.datasets, strict=True)
        counts = np.array([d.home.nunique() - old.home.nunique() for d, old in pairs])
        assert abs(counts.mean() - came.size) < 4.9 * np.sqrt(2 * came.size / 25)
        right += int(np.sum((counts > middle) == (came.size > middle)))
    assert right / 50 < 0.54 + 4.9 * np.sqrt(0.25 / 50)


def test_nobody_does_what_one_person_does(panel):
    """Four people come back after a year in which they were not asked: no artificial one does."""
    seen = wide(panel, "pay").notna()
    back = seen.index[seen[2020] & ~seen[2021] & seen[2022]]
    assert len(back) > 4
    for left, shows in ((4, False), (len(back), True)):
        frame = panel[~(panel.year.eq(2022) & panel.who.isin(back[left:]))]
        recipe = vd.HouseholdCart(m=1)
        before = recipe.protect(vd.open(until(frame, 2021), ROLES), seed=1)
        drawn = wide(extended(recipe, frame, before).datasets[0], "pay").notna()
        assert (drawn[2020] & ~drawn[2021] & drawn[2022]).any() == shows
