"""Whether numbers of one person come out by chance: neighbours are those that few people hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.moved_numbers import is_apart
from veladura.numeric.chance import own_numbers

pytestmark = pytest.mark.quick


def heights(seed: int, n: int = 20_000) -> pd.DataFrame:
    """Return whole centimetres, some of them favoured: in the tails one person, then thirty."""
    rng = np.random.default_rng(seed)
    men = rng.random(n) < 0.5
    height = np.round(rng.normal(163 + 13 * men, 6.5))
    favoured = rng.random(n) < 0.3
    height = np.where(favoured, 5 * np.round(height / 5), height)
    age = rng.integers(18, 91, n)
    return pd.DataFrame({"sex": np.where(men, "m", "f"), "age": age, "height": height.astype(int)})


def own(frame: pd.DataFrame, released: pd.DataFrame, shared: int):
    before, after = (vd.open(data).codes(["height"])["height"] for data in (frame, released))
    return own_numbers(before, [after], None, shared)


@pytest.mark.parametrize("people", [5, 50, 300])
def test_large_levels_keep_the_promise(people):
    """What thirty people hold, a few steps away, says nothing of a number that one person holds."""
    for seed in range(2):
        frame = heights(seed)
        recipe = vd.Cart(m=1, min_people=people, min_leaf=people)
        release = recipe.protect(frame, seed=seed)
        assert not [proof.claim for proof in release.proofs if proof.status == "broken"]


def test_a_population_drawn_again_is_by_chance_and_holes_and_spikes_are_seen():
    def drawn(seed: int, rows: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return pd.DataFrame({"height": rng.normal(1e4, 1e3, rows).round().astype(int)})

    frame, again = drawn(0, 5000), drawn(1, 50_000)
    counts = frame["height"].value_counts()
    single = counts.index[counts == 1].to_numpy()
    holes = again[~again["height"].isin(single)]
    spikes = pd.concat([again, pd.DataFrame({"height": np.repeat(single, 60)})])
    for shared in (5, 50):
        assert not is_apart(own(frame, again, shared))
        assert is_apart(own(frame, holes, shared))
        assert is_apart(own(frame, spikes, shared))
