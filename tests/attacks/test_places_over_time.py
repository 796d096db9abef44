"""Attacks on several rows of one person: means of places, and whole itineraries."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.numeric.mcmc.diagnostics import ChainWarning

pytestmark = pytest.mark.filterwarnings(f"ignore::{ChainWarning.__module__}.ChainWarning")
BOX = {"x": "x", "y": "y", "region": (0.0, 0.0, 10.0, 10.0)}
LEVEL = 1e-5
INNER = 0.4
VISITS = 20


def visits(people=120, homes=1, seed=1):
    """People with visits at one home, or half of them at a second one."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(0.5, 9.5, (people, homes, 2)).round(3)
    person = np.repeat(np.arange(people), VISITS)
    which = np.tile(np.arange(VISITS) * homes // VISITS, people)
    frame = pd.DataFrame(place[person, which], columns=["x", "y"])
    return frame.assign(id=person, visit=np.tile(np.arange(VISITS), people)), place


def released(recipe, frame, *, together):
    """Return the release without its row order: people are known by their new numbers only."""
    roles = {"id": {"role": "person"}} if together else {"id": {"role": "other"}}
    return recipe.protect(vd.open(frame, roles), seed=3).datasets[0].assign(true=frame["id"])


def test_the_mean_of_many_visits_is_not_the_home():
    """Donut: the mean over 20 rows of a person; alone, each row would give the home away."""
    frame, place = visits()
    recipe = vd.Donut(**BOX, inner=INNER, outer=1.0, k=0)
    errors = {}
    for together in (True, False):
        data = released(recipe, frame, together=together)
        mean = data.groupby("true")[["x", "y"]].mean().to_numpy()
        errors[together] = np.hypot(*(mean - place[:, 0]).T)
    assert errors[True].min() >= INNER - 2e-3
    assert np.median(errors[False]) < INNER / 2  # the control: rows that move alone


def hits(data, place):
    """Who is found: the released person whose itinerary is nearest to the known one."""
    steps = data.sort_values("visit").groupby("true")[["x", "y"]]
    told = np.stack([steps.nth(0).to_numpy(), steps.nth(VISITS - 1).to_numpy()], axis=1)
    order = data.sort_values("visit").groupby("true").nth(0)["true"].to_numpy()
    apart = np.hypot(*np.moveaxis(place[:, None] - told[None], -1, 0)).sum(axis=2)
    return int((order[apart.argmin(axis=1)] == np.arange(len(place))).sum())


def test_an_itinerary_finds_nobody():
    """An intruder who knows both homes of everybody: no more hits than by guessing."""
    frame, place = visits(homes=2)
    chain = {"m": 2, "sweeps": 300, "burn": 100, "chains": 2, "most_sweeps": 300}
    model = vd.Geography(**BOX, **chain, grid=(6, 6), time="visit")
    found = hits(released(model, frame, together=True), place)
    assert stats.binom.sf(found - 1, len(place), 1 / len(place)) > LEVEL
    naive = hits(released(vd.NaiveGeography(**BOX, grid=(6, 6)), frame, together=True), place)
    assert stats.binom.sf(naive - 1, len(place), 1 / len(place)) < LEVEL  # the control is broken
