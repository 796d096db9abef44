"""Rare categories are merged into those that their people probably have, in proportion."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from veladura.numeric.trees.levels import SHRUNK, merge_rare
from veladura.table.codes import encode, label_texts
from veladura.table.schema import Field


def column(name, values):
    array = pa.array(values)
    return encode(array, Field(name, "category", array.type))


def merged(codes, *others):
    """Return the codes of everybody after rare ones are merged."""
    made = merge_rare(
        column("code", codes),
        None,
        5,
        [column(f"o{i}", o) for i, o in enumerate(others)],
        ordered=False,
    )
    texts = np.array(label_texts(made), dtype=object)
    return texts[made.values.astype(np.int64)]


def many_codes(rng, *, related):
    """1,500 people of 40 common and 300 rare codes; a group that follows the code, or does not."""
    common = [f"C{i:02}" for i in range(40) for _ in range(5 + 2 * i)]
    rare = [f"R{i:03}" for i in range(300) for _ in range(1 + i % 4)]
    codes = np.array(common + rare, dtype=object)
    group = np.array([int(code[1:]) % 4 for code in codes])
    if not related:
        group = rng.permutation(group)
    noise = rng.integers(0, 6, (3, codes.size)).astype(str)
    return codes, group.astype(str), noise


@pytest.mark.parametrize("related", [False, True])
def test_categories_grow_in_proportion(related):
    """By profiles alone a category of five people became one of fifty."""
    codes, group, noise = many_codes(np.random.default_rng(4), related=related)
    before, after = Counter(codes), Counter(merged(codes, group, *noise))
    assert set(after) == {code for code, people in before.items() if people >= 5}
    growth = np.array([after[code] / before[code] for code in after])
    overall = codes.size / sum(before[code] for code in after)
    assert growth.max() < 2.2 * overall


def test_people_are_merged_into_categories_of_their_own_sort():
    codes, group, noise = many_codes(np.random.default_rng(5), related=True)
    made = merged(codes, group, *noise)
    moved = np.array([code.startswith("R") for code in codes])
    same = np.array([int(code[1:]) % 4 == int(own) for code, own in zip(made, group, strict=True)])
    assert same[moved].mean() > 0.9  # of four sorts, by chance a quarter


def test_the_first_choice_is_that_of_naive_bayes():
    """Counted by hand: one rare level, two columns, three categories."""
    rng = np.random.default_rng(6)
    for _ in range(50):
        codes = rng.choice(["a", "b", "c"], 60, p=[0.5, 0.3, 0.2]).tolist() + ["z"] * 3
        others = [rng.choice(["x", "y", "w"], 63).tolist() for _ in range(2)]
        score = {}
        for category in "abc":
            held = codes.count(category)
            score[category] = math.log(held)
            for other in others:
                for value in other[60:]:
                    both = sum(
                        c == category and o == value for c, o in zip(codes, other, strict=True)
                    )
                    share = other.count(value) / 63
                    score[category] += math.log((both + SHRUNK * share) / (held + SHRUNK)) / 3
        assert merged(codes, *others)[-1] == max(score, key=score.get)


def test_a_category_for_others_takes_all():
    codes = ["a"] * 20 + ["other"] * 9 + ["y", "z", "z"]
    assert merged(codes, ["m"] * 32)[-3:].tolist() == ["other"] * 3
