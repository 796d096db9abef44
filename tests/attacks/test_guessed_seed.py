"""Attack: the order of the source, by trying the seeds that people type.

The rows of a file are in random order, and people have random new numbers. Whoever repeats the
seed takes both permutations back. What lies beneath must not be an order of the source: with one,
and an alphabetical register, he would know whose row is whose.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base.streams import Streams
from veladura.table.units import rekeyed

SEEDS = 40
SEED = 27


def saved(recipe, frame, seed, home, columns=None):
    """Return the released rows of a source, as a file holds them."""
    release = recipe.protect(vd.open(frame, columns or {}), seed=seed)
    folder = release.save(home / "out" / "r", custodian=home / "safe" / "r")
    return pd.read_parquet(folder / "data" / "dataset-1.parquet")


def alphabetical(size=500):
    """Return a source sorted by a name that is not released: its order tells who a row is."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {"born": np.sort(rng.integers(1930, 2005, size)), "sex": rng.choice(["f", "m"], size)}
    )


def taken_back(rows, stream):
    """Return rows in the order that they had before the permutation of a stream."""
    before = np.empty_like(rows)
    before[stream.permutation(rows.size)] = rows
    return before


def most_alike(values, path):
    """Return how alike neighbours are under the seed that makes them most alike."""
    orders = [taken_back(values, Streams.of(seed)(*path)) for seed in range(SEEDS)]
    return max(float(np.corrcoef(order[1:], order[:-1])[0, 1]) for order in orders)


def ranks_told(rows, frame):
    """Return the correlation of a person's place in the source with the place by the seed.

    The intruder takes the permutation of the true seed back, and knows how many there are.
    """
    guess = Streams.of(SEED)("package", "shuffle", 0).permutation(len(rows))
    truth = pd.Series(guess, index=rows["code"])
    place = pd.Series(np.arange(len(frame)), index=frame["code"])
    both = pd.concat([truth, place], axis=1).dropna()
    return float(np.corrcoef(both.to_numpy().T)[0, 1])


def test_the_seed_gives_back_no_order_of_rows(tmp_path):
    """Codes that say nothing of the place in the source: their order does not either."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"born": np.arange(600) // 8 + 1930, "code": rng.permutation(600)})
    recipe = vd.Recode(columns={"born": {"round": 10}})
    rows = saved(recipe, frame.iloc[:, ::-1], SEED, tmp_path)
    assert abs(ranks_told(rows, frame)) < 4.4 / np.sqrt(600)  # at a level of 1e-5


def test_noise_is_not_in_the_order_of_the_true_values(tmp_path):
    """Rows sorted by what is released tell nothing of the order of what was not."""
    frame = alphabetical()
    rows = saved(vd.Noise(columns=["born"], scale=0.5), frame, SEED, tmp_path / "typed")
    beneath = np.sort(rows["born"].to_numpy())
    assert most_alike(rows["born"].to_numpy(), ("package", "shuffle", 0)) == pytest.approx(
        float(np.corrcoef(beneath[1:], beneath[:-1])[0, 1])
    )  # what is found is the order of the released values, which everybody can make
    drawn = saved(vd.Noise(columns=["born"], scale=0.5), frame, None, tmp_path / "drawn")
    assert most_alike(drawn["born"].to_numpy(), ("package", "shuffle", 0)) < 0.3


def people(size=300):
    """Return three visits of each person; persons are numbered in the order of the alphabet."""
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "who": np.repeat(np.arange(size), 3),
            "visit": np.tile([1, 2, 3], size),
            "code": np.repeat(rng.permutation(size), 3),
        }
    )


def old_numbers_told(rows):
    """Return the correlation of old numbers with what the permutation of the seed gives back."""
    number = rows["who"].to_numpy()
    order = Streams.of(SEED)("units", 0, "who").permutation(np.unique(number).size) + 1
    beneath = np.empty(order.size + 1)
    beneath[order] = np.arange(order.size)
    code = people().drop_duplicates("who").set_index("code")["who"]
    return float(np.corrcoef(beneath[number], code.loc[rows["code"]].to_numpy())[0, 1])


def test_the_seed_gives_back_no_number_of_a_person(tmp_path):
    columns = {"who": {"role": "person"}}
    rows = saved(vd.Noise(columns=["visit"], scale=0.1), people(), SEED, tmp_path, columns)
    assert abs(old_numbers_told(rows)) < 4.4 / np.sqrt(300)


def test_the_attack_on_numbers_wins_where_they_are_permuted_as_they_are(tmp_path, monkeypatch):
    """The control: units in the order of their old numbers, as it was."""
    monkeypatch.setattr(
        "veladura.table.units.unit_hashes", lambda _, unit: np.arange(unit.max() + 1)
    )
    monkeypatch.setattr("veladura.table.units._contents", lambda table: np.zeros(table.rows))
    columns = {"who": {"role": "person"}}
    rows = saved(vd.Noise(columns=["visit"], scale=0.1), people(), SEED, tmp_path, columns)
    assert old_numbers_told(rows) > 0.999


def test_the_attack_on_rows_wins_where_they_are_shuffled_as_they_are(tmp_path, monkeypatch):
    """The control: rows in the order of the source, then shuffled."""
    monkeypatch.setattr(
        "veladura.release.package.content_order", lambda table: np.arange(table.rows)
    )
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"code": rng.permutation(600), "born": np.arange(600) // 8 + 1930})
    rows = saved(vd.Recode(columns={"born": {"round": 10}}), frame, SEED, tmp_path)
    assert ranks_told(rows, frame) > 0.999


def test_people_with_the_same_rows_and_households_tie_whatever_their_old_numbers(tmp_path):
    """Two numberings of the same people give the same numbers to the same rows."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "who": np.repeat(np.arange(40), 2),
            "home": np.repeat(np.arange(20), 4),
            "age": rng.integers(0, 6, 80),
        }
    )
    new = rng.permutation(40)
    other = frame.assign(who=new[frame["who"]], home=rng.permutation(20)[frame["home"]])
    roles = {"who": {"role": "person"}, "home": {"role": "household"}}

    def numbered(rows):
        table = rekeyed(vd.open(rows, roles), "who", np.random.default_rng(1))
        columns = table.arrow.select(["who", "age"]).to_pandas()
        return sorted(map(tuple, columns.sort_values(["who", "age"]).to_numpy().tolist()))

    assert numbered(frame) == numbered(other)
