"""A household survey of a fictitious country: strata, clusters, weights, and three yearly waves.

`make_country` draws everybody, `draw_sample` interviews some of them, and `next_year` asks the same
households again. Incomes depend on the area and the household, and areas with high incomes are
sampled at a lower rate: whoever ignores the design is wrong about means and about their errors.
``veladura example survey`` writes the files.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.streams import Streams
from veladura.errors import FolderError

Texts = NDArray[Any]

STRATA = 8
AREAS = 300  # in the smallest stratum; the others have up to four times as many
HOUSEHOLDS = 40  # in the smallest area; the others have up to four times as many
FIRST_YEAR = 2023
SMALL = 2_000  # households; a smaller survey interviews fewer in each area
DROPPED = 0.06  # households that do not answer again, each year
MARRIED, GROWN, RETIRED, OLDEST = 18, 16, 66, 100
SCHOOL, STUDIES = 6, 22
EDUCATION = ("none", "primary", "secondary", "vocational", "degree")
WORK = ("none", "part time", "full time", "retired", "student")


@dataclass(frozen=True, kw_only=True)
class Design:
    """How many areas of each stratum, and households of each area, are interviewed."""

    areas: int = 125
    households: int = 20


def make_country(
    seed: int = 2024, *, areas: int = AREAS, households: int = HOUSEHOLDS
) -> pd.DataFrame:
    """Draw everybody in the country.

    Parameters
    ----------
    areas
        Areas of the smallest stratum; the largest has four times as many.
    households
        Households of the smallest areas.

    Returns
    -------
    One row a person, households together, the head first.
    """
    rng = Streams(seed)("example", "country")
    per_stratum = np.round(areas * np.linspace(1, 4, STRATA)).astype(np.int64)
    stratum = np.repeat(np.arange(STRATA), per_stratum)
    size = rng.integers(households, 4 * households + 1, stratum.size)
    wealth = 0.06 * stratum + 0.25 * (size / size.mean() - 1) + rng.normal(0, 0.25, stratum.size)
    area = np.repeat(np.arange(stratum.size), size)
    people = _people(rng, _members(rng, area.size))
    home = people.pop("home").to_numpy()
    luck = rng.normal(0, 0.3, area.size)[home]  # what members of a household share
    place = area[home]
    people.insert(0, "stratum", stratum[place])
    people.insert(1, "area", place)
    people.insert(2, "household", home)
    people["income"] = _incomes(rng, people, wealth[place] + luck)
    people["rent"] = _rents(rng, people["household"].to_numpy(), wealth[area])
    chance = 1 / (1 + np.exp(4.2 - 0.055 * people["age"] + 0.5 * wealth[place]))
    people["ill"] = np.where(rng.random(len(people)) < chance, "yes", "no")
    return people


def draw_sample(
    country: pd.DataFrame, seed: int = 2024, design: Design | None = None
) -> pd.DataFrame:
    """Interview some households: areas by chance in each stratum, households by chance in each.

    Returns
    -------
    Everybody in those households, with new numbers and the weight: how many people of the country
    each stands for, by the design.
    """
    design = design or Design()
    rng = Streams(seed)("example", "sample")
    areas = country[["stratum", "area", "household"]].drop_duplicates()
    by_area = areas.groupby("area").agg(stratum=("stratum", "first"), homes=("household", "size"))
    chosen = by_area.groupby("stratum").sample(n=design.areas, random_state=rng)
    homes = areas[areas["area"].isin(chosen.index)]
    homes = homes.groupby("area").sample(n=design.households, random_state=rng)
    sampled = country[country["household"].isin(homes["household"])]
    in_stratum = by_area["stratum"].value_counts()
    first = sampled["stratum"].map(in_stratum).to_numpy() / design.areas
    second = sampled["area"].map(by_area["homes"]).to_numpy() / design.households
    return _numbered(sampled, np.round(first * second, 3), rng)


def next_year(wave: pd.DataFrame, seed: int = 2024) -> pd.DataFrame:
    """Ask the households of a wave again, a year later: some do not answer, everybody is older.

    The weights of those who answer stand for those who do not, by stratum.
    """
    year = int(wave["year"].iloc[0]) + 1
    rng = Streams(seed)("example", "wave", year)
    homes = wave["household"].unique()
    answers = set(homes[rng.random(homes.size) >= DROPPED].tolist())
    again = wave[wave["household"].isin(answers)].copy()
    again["year"] = year
    again["age"] = np.minimum(again["age"] + 1, OLDEST)
    again["work"] = _work(rng, again["age"].to_numpy(), previous=again["work"].to_numpy())
    earns = again["income"].to_numpy() > 0
    changed = again["income"] * np.exp(rng.normal(0.02, 0.12, len(again)))
    starts = np.where(again["work"].isin(["part time", "full time", "retired"]), 14_000.0, 0.0)
    new = np.where(earns, changed, starts * np.exp(rng.normal(0, 0.3, len(again))))
    again["income"] = np.round(np.where(again["age"] < GROWN, 0, new), -1).astype(np.int64)
    before = wave.groupby("stratum")["weight"].sum()
    after = again.groupby("stratum")["weight"].sum()
    again["weight"] = np.round(again["weight"] * again["stratum"].map(before / after), 3)
    return again.reset_index(drop=True)


def make_panel(seed: int = 2024, waves: int = 3, design: Design | None = None) -> pd.DataFrame:
    """Draw a country, a sample of it, and its waves: one row a person and year."""
    design = design or Design()
    areas = max(round(2.4 * design.areas), 40)  # of the smallest stratum
    country = make_country(seed, areas=areas, households=2 * design.households)
    wave = draw_sample(country, seed, design)
    every = [wave]
    for _ in range(waves - 1):
        every.append(next_year(every[-1], seed))
    return pd.concat(every, ignore_index=True)


def write_survey(
    out: Path, households: int, waves: int, seed: int, *, force: bool = False
) -> dict[Path, int]:
    """Write one file a year and the panel of all years; return the files and their rows.

    In every area twenty households are interviewed, ten in a small survey.
    """
    each = 20 if households >= SMALL else 10
    design = Design(areas=max(households // (STRATA * each), 2), households=each)
    panel = make_panel(seed, waves, design)
    files = {
        out / f"survey-{year}.csv": wave.drop(columns="year")
        for year, wave in panel.groupby("year")
    }
    files[out / "panel.csv"] = panel
    if there := [path.name for path in files if path.exists() and not force]:
        msg = f"{out} holds {there[0]} already.\n\nHint: add --force, or another folder with --out."
        raise FolderError(msg)
    out.mkdir(parents=True, exist_ok=True)
    for path, frame in files.items():
        path.write_bytes(frame.to_csv(index=False, lineterminator="\n").encode())
    return {path: len(frame) for path, frame in files.items()}


def _members(rng: np.random.Generator, homes: int) -> tuple[Ints, Mask, Ints, Ints]:
    """Draw for each household the age of its head, whether there is a partner, and children."""
    age = np.round(np.interp(rng.random(homes), (0, 0.1, 0.4, 0.75, 1), (19, 27, 43, 64, 94)))
    together = np.interp(age, (19, 30, 45, 70, 94), (0.15, 0.6, 0.72, 0.6, 0.2))
    partner = rng.random(homes) < together
    mean = np.interp(age, (19, 26, 38, 50, 60), (0.15, 1.0, 2.35, 1.5, 0.1)) * (
        0.45 + 0.8 * partner
    )
    children = np.minimum(rng.poisson(mean), 6)
    own = rng.integers(0, 2, homes)
    return age.astype(np.int64), partner, children.astype(np.int64), own


def _people(rng: np.random.Generator, members: tuple[Ints, Mask, Ints, Ints]) -> pd.DataFrame:
    """Return the people of households: head, partner, children; sexes, ages, education, work."""
    head, partner, children, sex = members
    homes = np.arange(head.size)
    with_partner = homes[partner]
    parent = np.repeat(homes, children)
    gap = np.round(rng.normal(-1.5, 4, with_partner.size)) * np.where(sex[with_partner], 1, -1)
    young = np.where(partner, head - 20, head)  # a partner is not much younger than a young head
    partner_age = np.maximum(head[with_partner] + gap, young[with_partner] // 2 + 10)
    partner_age = np.clip(partner_age, MARRIED, OLDEST)
    most = np.maximum(np.minimum(head[parent] - MARRIED, 24), 0)
    if with_partner.size:
        ages = head.astype(np.float64)
        ages[with_partner] = np.minimum(head[with_partner], partner_age)
        most = np.maximum(np.minimum(ages[parent] - MARRIED, 24), 0)
    child_age = np.floor(rng.random(parent.size) * (most + 1))
    same = rng.random(with_partner.size) < 0.02  # noqa: PLR2004
    other = np.where(same, sex[with_partner], 1 - sex[with_partner])
    relation = np.repeat(["head", "partner", "child"], [homes.size, with_partner.size, parent.size])
    frame = pd.DataFrame(
        {
            "home": np.concatenate([homes, with_partner, parent]),
            "relation": relation,
            "age": np.concatenate([head, partner_age, child_age]).astype(np.int64),
            "sex": np.array(["female", "male"])[
                np.concatenate([sex, other, rng.integers(0, 2, parent.size)])
            ],
        }
    )
    frame = frame.sort_values("home", kind="stable").reset_index(drop=True)
    age = frame["age"].to_numpy()
    level = rng.normal(2.4, 0.9, head.size)[frame["home"].to_numpy()] + rng.normal(0, 0.7, age.size)
    level = np.clip(np.round(level - 0.01 * np.maximum(age - 40, 0)), 0, 4)
    level = np.where(age < STUDIES, np.minimum(level, 3), level)
    level = np.where(age < GROWN, 1, level)
    level = np.where(age < SCHOOL, 0, level)
    frame["education"] = np.array(EDUCATION)[level.astype(np.int64)]
    frame["work"] = _work(rng, age)
    return frame


def _work(rng: np.random.Generator, age: Ints, previous: Texts | None = None) -> Texts:
    """Draw who works, studies or is retired; a year later most do what they did."""
    u = rng.random(age.size)
    working = np.interp(age, (16, 20, 27, 55, 66), (0.1, 0.45, 0.82, 0.76, 0.25))
    study = np.interp(age, (16, 19, 27), (0.95, 0.6, 0.05)) * (age < 30)  # noqa: PLR2004
    work = np.select(
        [age < GROWN, age >= RETIRED, u < 0.25 * working, u < working, u < working + study],
        ["none", "retired", "part time", "full time", "student"],
        "none",
    )
    if previous is None:
        return work
    stays = (rng.random(age.size) < 0.9) & (age > GROWN) & (age < RETIRED)  # noqa: PLR2004
    return np.where(stays, previous, work)


def _incomes(rng: np.random.Generator, people: pd.DataFrame, shared: Floats) -> Ints:
    """Draw yearly incomes by age, education and work, with what area and household share."""
    age = people["age"].to_numpy()
    level = people["education"].map({name: i for i, name in enumerate(EDUCATION)}).to_numpy()
    paid = (
        people["work"]
        .map({"none": 0.12, "part time": 0.5, "full time": 1.0, "retired": 0.5, "student": 0.15})
        .to_numpy()
    )
    career = 0.012 * np.minimum(np.maximum(age - 25, 0), 25)
    log = np.log(24_000) + 0.13 * level + career + 0.5 * shared + rng.normal(0, 0.4, age.size)
    log = log - 0.12 * (people["sex"] == "female").to_numpy()
    income = np.round(paid * np.exp(log), -1)
    nothing = (age < GROWN) | ((paid < 0.2) & (rng.random(age.size) < 0.6))  # noqa: PLR2004
    return np.where(nothing, 0, income).astype(np.int64)


def _rents(rng: np.random.Generator, household: Ints, wealth: Floats) -> Ints:
    """Draw the rent of every household, the same for its members."""
    size = np.bincount(household)
    rent = 420 * (1 + 0.12 * size) * np.exp(0.6 * wealth + rng.normal(0, 0.25, size.size))
    made: Ints = np.round(rent, -1).astype(np.int64)[household]
    return made


def _numbered(sampled: pd.DataFrame, weight: Floats, rng: np.random.Generator) -> pd.DataFrame:
    """Return a sample with numbers that say nothing of the frame it was drawn from."""
    frame = sampled.reset_index(drop=True)
    for name, start in (("area", 1_001), ("household", 100_001)):
        codes, place = np.unique(frame[name], return_inverse=True)
        frame[name] = (start + rng.permutation(codes.size))[place]
    frame["stratum"] = np.array([f"S{i + 1}" for i in range(STRATA)])[frame["stratum"]]
    frame.insert(3, "person", 1_000_001 + rng.permutation(len(frame)))
    frame.insert(0, "year", FIRST_YEAR)
    frame.insert(5, "weight", weight)
    return frame
