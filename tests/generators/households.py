"""Made-up households: a head, perhaps a partner, children, others; incomes that go together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

ROLES: Mapping[str, Mapping[str, str]] = {"home": {"role": "household"}}
RELATIVES = {"head": 'relation == "head"', "partner": 'relation == "partner"'}
EXACTLY_ONE = ["head"]
RULES = [
    'relation == "child" implies age - head.age <= -16',
    'relation == "partner" implies -25 <= age - head.age',
    'relation == "partner" implies age - head.age <= 25',
]


def households(number: int, seed: int = 1) -> pd.DataFrame:
    """Return people in households, in random order, under random numbers of households.

    Partners are of similar age and education, children at least 16 years younger than the head,
    and the incomes of a household share an effect.
    """
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east", "west"], number, p=[0.4, 0.3, 0.2, 0.1])
    head = np.clip(rng.normal(50, 16, number).round(), 18, 95).astype(int)
    couple = rng.random(number) < np.where(head < 75, 0.62, 0.35)
    fertile = (head < 65) & (head > 24)
    children = np.where(fertile, rng.poisson(np.where(couple, 1.3, 0.5)), 0).clip(0, 6)
    other = rng.random(number) < 0.05
    effect = rng.normal(0, 0.5, number) + np.where(region == "north", 0.2, 0)
    owner = rng.random(number) < 1 / (1 + np.exp(-(head - 45) / 12))
    parts = [_people(rng, np.arange(number), "head", head, effect)]
    gap = np.clip(rng.normal(-1.5, 4.5, number).round(), -20, 20).astype(int)
    at = np.flatnonzero(couple)
    age = np.maximum(head[at] + gap[at], 18)
    parts.append(_people(rng, at, "partner", age, effect))
    at = np.repeat(np.arange(number), children)
    young = np.clip(head[at] - 17 - rng.gamma(3, 4, at.size).round(), 0, 40).astype(int)
    parts.append(_people(rng, at, "child", young, effect))
    at = np.flatnonzero(other)
    parts.append(_people(rng, at, "other", rng.integers(18, 90, at.size), effect))
    people = pd.concat(parts)
    home = people.pop("home").to_numpy()
    size = np.bincount(home, minlength=number)
    people = people.assign(
        home=rng.permutation(10 * number)[:number][home],
        region=region[home],
        tenure=np.where(owner, "owner", "tenant")[home],
        rooms=np.clip(size + 1 + rng.poisson(1, number), 1, 9)[home],
        members=size[home],
    )
    columns = ["home", "region", "tenure", "rooms", "members", *list(people.columns[:-5])]
    return people[columns].sample(frac=1, random_state=seed).reset_index(drop=True)


def _people(rng: Any, home: Any, relation: str, age: Any, effect: Any) -> pd.DataFrame:
    size = home.size
    adult = age >= 18
    education = np.clip((rng.normal(0, 1, size) + effect[home] * 1.5 + 2).round(), 0, 4)
    log_income = 9.5 + 0.25 * education + effect[home] + rng.normal(0, 0.4, size)
    income = np.where(adult, np.exp(log_income).round(-1), 0.0)
    return pd.DataFrame(
        {
            "home": home,
            "relation": relation,
            "sex": rng.choice(["f", "m"], size),
            "age": age.astype(int),
            "education": np.where(adult, education, 0).astype(int),
            "income": income,
        }
    )
