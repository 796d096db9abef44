"""Attacks on coarsening: get the exact number behind a band, or the place inside an area.

From the released files alone, each beside its base rate: what everybody guesses from the band or
the area itself.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd

ROWS = 3_000
CUTS = [30, 45, 60, 75]
BOXES = {"west": [0, 0, 5, 10], "east": [5, 0, 10, 10]}
SIZE = 5.0


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Return people sorted by age, then by place: the order of the source tells both."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "age": np.sort(np.round(rng.gamma(20, 2.4, ROWS), 3)),
            "east": (10 * rng.beta(2, 3, ROWS)).round(5),
            "north": (10 * rng.beta(3, 2, ROWS)).round(5),
            "sex": rng.choice(["f", "m"], ROWS),
        }
    )
    return frame.sort_values(["age", "east"], ignore_index=True)


def coarse(people: pd.DataFrame) -> vd.Steps:
    return vd.Steps(
        [
            vd.Recode(columns={"age": {"cuts": CUTS}}),
            vd.Areas(x="east", y="north", areas=BOXES),
        ]
    )


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    home = tmp_path_factory.mktemp("coarse")
    release = coarse(people).protect(people, seed=3)
    return release.save(home / "out" / "release", home / "safe" / "record", format="csv")


def rows_of(folder) -> pd.DataFrame:
    return pd.read_csv(folder / "data" / "dataset-1.csv")


def within(values: np.ndarray, groups: np.ndarray) -> float:
    """Return the rank correlation of values with their position in the file, inside groups."""
    place = np.arange(values.size)
    found = [stats.spearmanr(place[groups == g], values[groups == g])[0] for g in np.unique(groups)]
    return float(np.max(np.abs(found)))


def test_the_row_order_does_not_tell_who_is_older_within_a_band(people, folder):
    """The source is sorted by age. The attacker ranks people of a band by position.

    He is right where the r-th row of a band belongs to the r-th oldest: told by the custodian's
    link of rows. Base rate: a rank correlation of 0; the control is the order of the source.
    """
    release = rows_of(folder)
    bands = pd.cut(people["age"], [-np.inf, *CUTS, np.inf], right=False)
    assert release["age"].nunique() == bands.nunique()
    linked = linked_rows(people, folder)
    true = people["age"].to_numpy()[linked]
    groups = release["age"].astype(str).to_numpy()
    smallest = release["age"].value_counts().min()
    assert within(true, groups) < 5 / np.sqrt(smallest)  # five standard errors
    order = np.argsort(linked)
    assert within(true[order], groups[order]) > 0.99


def linked_rows(people, folder) -> np.ndarray:
    """Return the original row of each released one: from the custodian's record, to judge him."""
    record = pd.read_parquet(folder.parent.parent / "safe" / "record" / "rows.parquet")
    return vd.open(people).codes([]).rows[record["row"].to_numpy()]


def test_no_public_file_holds_an_exact_number_or_place(people, folder):
    """Every exact value is looked for in every public file. Control: the source itself has all."""
    texts = "\n".join(
        path.read_text(encoding="utf-8", errors="ignore")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in (".csv", ".json", ".html", ".md", ".txt")
    )
    source = people.to_csv(index=False)
    for name, digits in (("age", 3), ("east", 5), ("north", 5)):
        exact = [f"{value:.{digits}f}" for value in people[name]]
        exact = [text for text in exact if not text.endswith("0")]  # written in full
        assert len(exact) > 0.8 * ROWS
        assert sum(text in source for text in exact) == len(exact)
        # digits of pictures (SVG coordinates) and checksums hit some by chance
        chance = [f"{value:.{digits}f}" for value in people[name].sample(frac=1) + 7 / 10**digits]
        hits, base = (sum(text in texts for text in values) for values in (exact, chance))
        assert hits <= base + 5 * np.sqrt(base + 1)


def test_bands_tell_a_number_no_better_than_the_bands_themselves(people, folder):
    """Error of the best guess, given the file and the bands' own spread in a like population.

    The attacker has other people of the same population (base rate: their mean in the band). The
    control knows the mean of the band in the source, which the files must not tell.
    """
    release = rows_of(folder)["age"].astype(str).to_numpy()
    true = people["age"].to_numpy()[linked_rows(people, folder)]
    rng = np.random.default_rng(9)
    others = rng.gamma(20, 2.4, 100_000)
    names = dict(zip(sorted(set(release)), sorted(set(release)), strict=True))
    edges = [-np.inf, *CUTS, np.inf]
    labels = ["< 30", "[30, 45)", "[45, 60)", "[60, 75)", ">= 75"]
    assert set(names) <= set(labels)
    guess = {
        label: others[(others >= low) & (others < high)].mean()
        for label, low, high in zip(labels, edges[:-1], edges[1:], strict=True)
    }
    error = np.mean((true - np.array([guess[text] for text in release])) ** 2)
    spread = np.mean(
        [np.var(true[release == text]) * np.mean(release == text) * len(names) for text in names]
    )
    assert error > 0.98 * spread  # nobody does better than the spread inside the bands


def test_areas_tell_a_place_no_better_than_the_area_itself(people, folder):
    """Distance of a guess at the middle of the area, and of a guess by the position in the file.

    Base rate: places of another person of the same area. The control, the order of the source
    (sorted by age, not by place) with the true place of the row before, is no better either.
    """
    release = rows_of(folder)
    assert set(release["east"]) == {"east", "west"}
    assert "north" not in release
    true = people[["east", "north"]].to_numpy()[linked_rows(people, folder)]
    area = (release["east"] == "east").to_numpy()
    assert ((true[:, 0] >= SIZE) == area).all()
    errors, base = [], []
    rng = np.random.default_rng(1)
    for here in (area, ~area):
        places = true[here]
        ranked = places[np.argsort(places[:, 0])]  # the attacker takes the file for sorted
        errors.append(np.linalg.norm(places - ranked, axis=1))
        base.append(np.linalg.norm(places - places[rng.permutation(len(places))], axis=1))
    gained = np.concatenate(errors) - np.concatenate(base)
    assert gained.mean() > -5 * gained.std() / np.sqrt(ROWS)


def test_two_releases_with_other_cuts_tell_the_narrower_band(people):
    """What bands do not hide: cuts 30 and 31 together pin people of 30. Told in the docs.

    The attack joins two files of the same people by the other columns; where a join is unique it
    knows the intersection. Base rate: the width of the band in one file.
    """
    some = people.head(400).assign(key=np.arange(400) / 10)
    widths = []
    for cuts in ([30], [31]):
        data = vd.Recode(columns={"age": {"cuts": cuts}}).protect(some).datasets[0]
        widths.append(data.set_index("key")["age"].astype(str))
    both = pd.concat(widths, axis=1)
    pinned = both[(both.iloc[:, 0] == ">= 30") & (both.iloc[:, 1] == "< 31")].index
    ages = some.set_index("key")["age"]
    assert len(pinned) == ((ages >= 30) & (ages < 31)).sum() > 0
    assert ages[pinned].between(30, 31).all()
