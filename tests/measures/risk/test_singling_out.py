"""Singling out on a release of other people: nothing beyond chance, over many releases."""

from __future__ import annotations

import numpy as np
import pandas as pd

import veladura as vd

SPLITS = 20


def people(rng: np.random.Generator, rows: int = 600) -> pd.DataFrame:
    """Return made-up people: some columns of categories, an age, and an income nearly unique."""
    age = rng.integers(18, 90, rows)
    return pd.DataFrame(
        {
            "age": age,
            "education": rng.choice(list("abcdef"), rows, p=[0.3, 0.25, 0.2, 0.15, 0.07, 0.03]),
            "income": np.round(np.exp(9 + 0.01 * age + rng.normal(0, 0.5, rows)), -1),
            "region": rng.choice(list("nswe"), rows),
        }
    )


def attacked(seed: int, copied: int = 0) -> vd.risk.Attack:
    """Attack a release of strangers, some of its rows copied from the original."""
    rng = np.random.default_rng(seed)
    original, control, others = (people(rng) for _ in range(3))
    release = pd.concat([original.iloc[:copied], others.iloc[copied:]], ignore_index=True)
    return vd.risk.singling_out(original, release, control, attempts=150, seed=seed)


def test_strangers_are_singled_out_no_oftener_than_the_control_group():
    """One split may be .05 by chance; the mean of twenty is nought within 4 standard errors.

    The intervals say so: of twenty at 95 %, four or more that lie above nought have a probability
    of 1e-3 where one in forty does.
    """
    attacks = [attacked(seed) for seed in range(SPLITS)]
    excess = np.array([float(one.success) - float(one.control) for one in attacks])
    assert abs(excess.mean()) < 4 * excess.std(ddof=1) / np.sqrt(SPLITS)
    assert sum(one.risk.lower > 0 for one in attacks) < 4


def test_copies_are_seen():
    """The control: half of the rows copied."""
    attack = attacked(3, copied=300)
    assert attack.risk.lower > 0.2
    assert attack.caught
