"""Linked tables for tests: homes with people, and what happens to them."""

from __future__ import annotations

import numpy as np
import pandas as pd


def homes_and_people(number: int = 400, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return homes, and the people who live in each: an adult, perhaps a partner and children."""
    rng = np.random.default_rng(seed)
    homes = pd.DataFrame(
        {"home": 3000 + rng.permutation(number), "rooms": rng.integers(1, 7, number)}
    )
    head = rng.integers(25, 80, number)
    others = rng.integers(0, 2, number) + np.where(head < 60, rng.poisson(1.0, number), 0)
    at = np.repeat(np.arange(number), 1 + others)
    first = np.append(True, at[1:] != at[:-1])
    age = np.where(first, head[at], rng.integers(0, np.maximum(head[at] - 18, 2)))
    people = pd.DataFrame(
        {
            "who": 7000 + rng.permutation(at.size),
            "home": homes.home.to_numpy()[at],
            "age": age,
            "sex": rng.choice(["f", "m"], at.size),
            "income": np.where(age > 17, np.exp(rng.normal(7, 0.5, at.size)), 0).round(-1),
        }
    )
    return homes, people.sample(frac=1, random_state=seed).reset_index(drop=True)


def events_of(people: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """Return events of some of the people, each of a kind and a year."""
    rng = np.random.default_rng(seed)
    at = np.repeat(np.arange(len(people)), rng.poisson(0.8, len(people)))
    return pd.DataFrame(
        {
            "who": people.who.to_numpy()[at],
            "event": rng.choice(["move", "job", "illness"], at.size),
            "year": rng.integers(2015, 2021, at.size),
        }
    )


def drugs_of(visits: pd.DataFrame, seed: int = 1) -> pd.DataFrame:
    """Return what was prescribed at some of the visits."""
    rng = np.random.default_rng(seed)
    at = np.repeat(np.arange(len(visits)), rng.poisson(1.2, len(visits)))
    return pd.DataFrame(
        {
            "visit": visits.visit.to_numpy()[at],
            "drug": rng.choice(list("ABCDE"), at.size),
            "dose": 50 * rng.integers(1, 9, at.size),
        }
    )


def firms_and_employees(number: int = 150, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return firms, some without employees, and employees, who have no number of their own."""
    rng = np.random.default_rng(seed)
    firms = pd.DataFrame(
        {
            "firm": 900 + rng.permutation(number),
            "sector": rng.choice(["trade", "industry", "services"], number),
            "turnover": np.exp(rng.normal(6, 1, number)).round(),
        }
    )
    at = np.repeat(np.arange(number), rng.poisson(5, number))
    wage = np.exp(7 + 0.1 * np.log(firms.turnover.to_numpy()[at]) + rng.normal(0, 0.3, at.size))
    employees = pd.DataFrame(
        {
            "firm": firms.firm.to_numpy()[at],
            "age": rng.integers(18, 65, at.size),
            "sex": rng.choice(["f", "m"], at.size),
            "wage": wage.round(),
        }
    )
    return firms, employees
