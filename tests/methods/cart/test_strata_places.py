"""Strata of synthetic rows: where a combination stands among those of the original."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.methods.cart.strata import _places_among


@pytest.mark.parametrize("seed", range(40))
def test_places_are_those_of_a_plain_search(seed):
    """Up to four columns, codes below 0 for missing ones, combinations that do not occur."""
    rng = np.random.default_rng(seed)
    columns = int(rng.integers(1, 5))
    combinations = np.unique(rng.integers(-1, 4, (int(rng.integers(1, 40)), columns)), axis=0)
    key = rng.integers(-1, 5, (60, columns))
    listed = {tuple(row): place for place, row in enumerate(combinations.tolist())}
    wanted = [listed.get(tuple(row), 0) for row in key.tolist()]
    assert _places_among(combinations, key).tolist() == wanted
