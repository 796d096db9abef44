"""The compiled walk: as brute force has it for any width of a key, and watched as it runs."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.methods.kanonymity.search import BAR_STEPS, descend, walk_lattice, watching


def lattice_of(seed: int, columns: int, *, wide: bool):
    """Return the lattice of random rows; ``wide``: 5,000 values a column, keys of several words."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {f"q{c}": rng.integers(0, 6, 60) * (1 if c % 2 else 3) for c in range(columns)}
    )
    if wide:
        frame = pd.concat(
            [frame, pd.DataFrame({name: np.arange(5_000) + 100 for name in frame})],
            ignore_index=True,
        )
    hierarchies = {name: vd.Hierarchy.intervals((4, 12)) for name in frame}
    recipe = vd.KAnonymity(
        quasi_identifiers=list(frame), k=2, max_suppression=len(frame) - 1, hierarchies=hierarchies
    )
    return frame, recipe.fit(vd.open(frame, dict.fromkeys(frame, "integer"))).lattice


def minimal(frame: pd.DataFrame, k: int, allowed: int) -> list[tuple[int, ...]]:
    """Return the antichain by grouping the rows anew at every node."""
    levels = (lambda x: x, lambda x: x // 4, lambda x: x // 12, lambda x: x * 0)
    good = {}
    for vector in product(range(4), repeat=frame.shape[1]):
        at = pd.DataFrame(
            {name: levels[level](frame[name]) for name, level in zip(frame, vector, strict=True)}
        )
        sizes = at.groupby(list(at)).size()
        good[vector] = int(sizes[sizes < k].sum()) <= allowed
    steps = np.eye(frame.shape[1], dtype=int)
    return sorted(
        v
        for v, ok in good.items()
        if ok and not any(good.get(tuple(np.array(v) - step), False) for step in steps)
    )


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    columns=st.integers(1, 4),
    k=st.integers(2, 9),
    allowed=st.integers(0, 50),
)
def test_sorted_groups_find_what_grouping_anew_finds(seed, columns, k, allowed):
    frame, lattice = lattice_of(seed, columns, wide=False)
    assert walk_lattice(lattice, k, allowed) == (minimal(frame, k, allowed), True)


@pytest.mark.parametrize(("k", "allowed"), [(2, 0), (4, 100), (9, 4_900)])
def test_keys_of_several_words_are_walked_alike(k, allowed):
    frame, lattice = lattice_of(5, 6, wide=True)
    assert lattice.keys.shape[1] == 2
    found, complete = walk_lattice(lattice, k, allowed)
    assert complete
    for vector in found:
        assert suppressed(frame, vector, k) <= allowed
        for step in np.eye(6, dtype=int):
            lower = np.array(vector) - step
            assert lower.min() < 0 or suppressed(frame, lower, k) > allowed
    assert set(descend(lattice, k, allowed)) <= set(found)


def suppressed(frame: pd.DataFrame, vector, k: int) -> int:
    levels = (lambda x: x, lambda x: x // 4, lambda x: x // 12, lambda x: x * 0)
    sizes = (
        pd.DataFrame(
            {name: levels[level](frame[name]) for name, level in zip(frame, vector, strict=True)}
        )
        .groupby(list(frame))
        .size()
    )
    return int(sizes[sizes < k].sum())


def test_the_bar_moves_with_the_nodes_that_are_decided_and_ends_full():
    tags, steps = np.zeros(10, dtype=np.int8), []
    with watching(lambda: steps.append(1))(tags):
        tags[:4] = 1
        deadline = time.monotonic() + 20
        while len(steps) < 40 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(steps) == 40
    assert len(steps) == BAR_STEPS


def test_a_search_that_fails_leaves_the_bar_where_it_is():
    steps = []
    with (
        pytest.raises(ZeroDivisionError),
        watching(lambda: steps.append(1))(np.zeros(3, dtype=np.int8)),
    ):
        raise ZeroDivisionError
    assert not steps


def test_a_fit_shows_its_progress():
    from contextlib import contextmanager

    seen = {}

    @contextmanager
    def bar(label, total):
        seen[label] = [total, 0]

        def advance():
            seen[label][1] += 1

        yield advance

    frame = pd.DataFrame({"zip": ["a", "b"] * 20, "age": range(40)})
    vd.KAnonymity(quasi_identifiers=["zip", "age"], k=3).fit(
        vd.open(frame, {"age": "integer"}), progress=bar
    )
    (label,) = (label for label in seen if "generalisations" in label)
    assert seen[label] == [BAR_STEPS, BAR_STEPS]
