"""A yearly panel of households: people leave, come back, join, and new households come."""

from __future__ import annotations

import numpy as np
import pandas as pd

WORK = np.array(["none", "part", "full"])
STAYS = np.array([[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.03, 0.07, 0.9]])
ROLES = {"who": {"role": "person"}, "home": {"role": "household"}}
LEAVES, GOES, COMES, JOINS, NEW = 0.08, 0.04, 0.5, 0.06, 0.12


def household_panel(homes: int, waves: int = 3, seed: int = 1) -> pd.DataFrame:
    """Return one row a person and year.

    Each year some households leave for good, some people of the others pause, some households get
    another member and new ones come. Work follows a Markov chain, and the log of pay an
    autoregression with what a household shares.
    """
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, homes)
    people = _people(rng, np.repeat(np.arange(homes), size), 0)
    regions = rng.choice(list("abc"), 10 * homes)
    shared = rng.normal(0, 0.4, 10 * homes)
    every, last, next_one = [], homes, len(people)
    for year in range(2020, 2020 + waves):
        if year > 2020:
            gone = np.flatnonzero(rng.random(last) < LEAVES)
            people = people[~people.home.isin(gone)]
            people = _older(rng, people)
            there = people.home.unique()
            join = there[rng.random(there.size) < JOINS]
            new = np.repeat(
                np.arange(last, last + round(NEW * homes)), rng.integers(1, 4, round(NEW * homes))
            )
            last += round(NEW * homes)
            late = _people(rng, np.concatenate([join, new]), next_one)
            next_one += len(late)
            people = pd.concat([people, late], ignore_index=True)
        asked = people[(rng.random(len(people)) > GOES) | (year == 2020)]
        pay = np.round(np.exp(7 + 0.5 * asked.x + shared[asked.home] + 0.4 * asked.state), 0)
        wave = asked.assign(year=year, pay=pay, work=WORK[asked.state], region=regions[asked.home])
        every.append(wave[["who", "home", "region", "sex", "born", "year", "work", "pay"]])
    return pd.concat(every).sample(frac=1, random_state=seed).reset_index(drop=True)


def _people(rng: np.random.Generator, home: np.ndarray, first: int) -> pd.DataFrame:
    number = home.size
    return pd.DataFrame(
        {
            "who": first + np.arange(number),
            "home": home,
            "sex": rng.choice(["f", "m"], number),
            "born": rng.integers(1940, 2002, number),
            "state": rng.integers(0, 3, number),
            "x": rng.normal(0, 1, number),
        }
    )


def _older(rng: np.random.Generator, people: pd.DataFrame) -> pd.DataFrame:
    """Return people a year later: most work as before, and pay hardly changes."""
    steps = rng.random(len(people))[:, None] > STAYS.cumsum(axis=1)[people.state]
    x = 0.95 * people.x + np.sqrt(1 - 0.95**2) * rng.normal(0, 1, len(people))
    return people.assign(state=steps.sum(axis=1), x=x)
