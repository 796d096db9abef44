"""Tables with known roles: surveys, visits, registers with places, panels.

``forty()`` yields forty tables; another block of seeds gives forty others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from tests.generators import people
from tests.generators.naming import LANGUAGES, namer
from tests.generators.people import Places, Rng, coded, with_gaps


@dataclass(frozen=True)
class Generated:
    """A table, the true roles of its columns, and its nominal codes written as whole numbers."""

    name: str
    frame: pd.DataFrame
    roles: dict[str, str]
    codes: tuple[str, ...]


@dataclass
class Draft:
    """A table in the making."""

    rng: Rng
    language: str
    columns: dict[str, pd.Series] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    codes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.named = namer(self.rng, self.language)

    def add(self, thing: str, values, role: str, *, gaps: float = 0.0) -> None:
        """Add a column under a name of its own."""
        name = self.named(thing)
        self.columns[name] = with_gaps(self.rng, values, gaps)
        self.roles[name] = role

    def category(self, thing: str, codes, levels: int, role: str = "quasi-identifier") -> None:
        """Add a category in some coding."""
        values, numbers = coded(self.rng, np.asarray(codes), levels, thing)
        self.add(thing, values, role, gaps=self.rng.choice([0, 0, 0.03, 0.1]))
        if numbers and levels > 2:
            self.codes.append(list(self.columns)[-1])

    def maybe(self, chance: float = 0.5) -> bool:
        """Whether something is in this table."""
        return bool(self.rng.random() < chance)

    def done(self, name: str, order) -> Generated:
        """Return the table: columns in random order, rows in the given one."""
        if self.maybe(0.3):
            self.add("constant", np.full(len(order), "web"), "other")
        names = list(self.rng.permutation(list(self.columns)))
        frame = pd.DataFrame({name: self.columns[name].to_numpy()[order] for name in names})
        return Generated(name, frame, self.roles, tuple(self.codes))


def forty(first: int = 0, *, smallest: int = 300, largest: int = 5000) -> Iterator[Generated]:
    """Yield forty tables, ten of each sort, from the seeds that begin at ``first``."""
    for seed in range(first, first + 40):
        yield generate(seed, smallest=smallest, largest=largest)


def generate(seed: int, *, smallest: int = 300, largest: int = 5000) -> Generated:
    """Return the table of a seed."""
    rng = np.random.default_rng([seed, 15])
    rows = int(np.exp(rng.uniform(np.log(smallest), np.log(largest))))
    language = str(rng.choice(LANGUAGES))
    sort = (survey, visits, register, panel)[seed % 4]
    return sort(Draft(rng, language), rows, f"{sort.__name__}-{seed}-{language}")


def born(d: Draft, age: np.ndarray, each: np.ndarray) -> None:
    """Add the age, the year or the date of birth of people, at each of their rows."""
    style = d.rng.integers(4)
    if style == 0:
        d.add("age", age[each], "quasi-identifier", gaps=d.rng.choice([0, 0.02]))
    elif style == 3:  # a date in three parts
        day = pd.to_datetime(birthdays(d.rng, age))
        d.add("birth_year", day.year.to_numpy()[each], "quasi-identifier")
        d.add("birth_month", day.month.to_numpy()[each], "quasi-identifier")
        if d.maybe():
            d.add("birth_day", day.day.to_numpy()[each], "quasi-identifier")
    elif style == 1:
        d.add("birth_year", 2024 - age[each], "quasi-identifier")
    else:
        d.add("birth", birthdays(d.rng, age)[each], "quasi-identifier")


def birthdays(rng: Rng, age: np.ndarray) -> np.ndarray:
    """Dates of birth of people of some ages."""
    days = (2024 - age - 1970) * 365.2425 + rng.integers(0, 365, age.size)
    return days.astype(int).astype("datetime64[D]")


def demography(d: Draft, n: int, each: np.ndarray) -> None:
    """Add what is known of people, at each of their rows."""
    d.category("sex", (d.rng.random(n) < 0.5).astype(int)[each], 2)
    if d.maybe(0.7):
        education = np.minimum(d.rng.binomial(6, 0.45, n), 5)
        d.category("education", education[each], 6)
    if d.maybe():
        d.category("marital", d.rng.choice(4, n, p=[0.4, 0.35, 0.15, 0.1])[each], 4)
    if d.maybe(0.4):
        d.category("nationality", np.minimum(d.rng.geometric(0.5, n) - 1, 9)[each], 10)
    if d.maybe(0.4):
        share = d.rng.dirichlet(np.ones(people.ISCO.size))
        d.add(
            "occupation",
            people.ISCO[d.rng.choice(people.ISCO.size, n, p=share)][each],
            "quasi-identifier",
            gaps=0.0,
        )
        d.codes.append(list(d.columns)[-1])


def whereabouts(d: Draft, places: Places, town: np.ndarray) -> None:
    """Add region, municipality or zip code of the town of each row."""
    d.category("region", places.region_of[town], places.regions)
    if d.maybe(0.4):
        d.add("municipality", places.code[town], "quasi-identifier")
        d.codes.append(list(d.columns)[-1])
        if d.maybe(0.3):
            d.add("town", places.names[town], "quasi-identifier")
    elif d.maybe(0.2):  # streets of towns
        streets = places.zip[town] * 10 + d.rng.integers(0, 10, town.size)
        d.add("zip", streets, "quasi-identifier")
        d.codes.append(list(d.columns)[-1])
    elif d.maybe(0.5):
        d.add("zip", [f"{code:05}" for code in places.zip[town]], "quasi-identifier")


def survey(d: Draft, rows: int, name: str) -> Generated:
    """Households with people, weights, perhaps strata and clusters."""
    rng, places = d.rng, Places(d.rng)
    size = np.minimum(rng.choice(7, rows, p=[0.28, 0.33, 0.16, 0.14, 0.05, 0.03, 0.01]) + 1, 7)
    size = size[: max(int(np.searchsorted(np.cumsum(size), rows)), 60)]
    homes = size.size
    home, n = np.repeat(np.arange(homes), size), int(size.sum())
    line = np.arange(n) - np.repeat(np.cumsum(size) - size, size) + 1
    town = places.draw(rng, homes)
    d.add("household", people.numbers_of(rng, homes)[home], "household")
    if d.maybe(0.4):
        d.add("record", people.numbers_of(rng, n), "identifier")
    if d.maybe(0.4):
        d.add("line", line, "other")
    whereabouts(d, places, town[home])
    weights(d, places, town, home)
    adult = people.ages(rng, n, 18)
    child = people.ages(rng, n, 0, 25)
    born(d, np.where(line <= 2, adult, child), np.arange(n))
    demography(d, n, np.arange(n))
    if d.maybe():
        d.add("size", size[home], "other")
    if d.maybe():
        d.category("tenure", rng.choice(3, homes, p=[0.5, 0.4, 0.1])[home], 3, "other")
    money = people.incomes(rng, n)
    if d.maybe(0.4):  # no answer
        money = np.where(rng.random(n) < 0.1, rng.choice([-8, -9, 999_999]), money)
    d.add("income", money, "sensitive", gaps=rng.choice([0, 0.1]))
    if d.maybe(0.2):
        d.add("phone", people.phones(rng, homes)[home], "identifier")
    for i in range(int(rng.integers(0, 4))):
        d.add(
            f"opinion{i or ''}", rng.binomial(4, rng.uniform(0.3, 0.7), n) + 1, "other", gaps=0.05
        )
    if d.maybe(0.3):
        d.add("hours", np.where(rng.random(n) < 0.4, 40, rng.integers(0, 60, n)), "other", gaps=0.3)
    order = rng.permutation(n) if d.maybe() else np.arange(n)
    return d.done(name, order)


def weights(d: Draft, places: Places, town: np.ndarray, home: np.ndarray) -> None:
    """Add the weight of households, and perhaps the design that it comes from."""
    rng = d.rng
    base = np.exp(rng.normal(0, 0.4, places.regions))[places.region_of[town]]
    if d.maybe(0.7):  # adjusted for those who did not answer
        base = base * np.exp(rng.normal(0, 0.2, town.size))
    style = rng.integers(3)
    each = base[home]
    if style == 0:
        weight = np.round(each / each.mean(), 6)
    elif style == 1:
        weight = np.round(each * rng.uniform(50, 2000), 3)
    else:
        weight = np.maximum(np.round(each * rng.uniform(80, 2000)), 1).astype(int)
    d.add("weight", weight, "weight")
    if d.maybe(0.3):
        for i in range(1, 9):
            factor = np.where(rng.random(places.towns) < 0.5, 0.7, 1.3)[town][home]
            d.add(f"weight{i}", np.round(each * factor, 4), "weight")
    if d.maybe(0.3):
        cluster = rng.permutation(places.towns * 3)[town * 3 + rng.integers(0, 3, town.size)] + 1
        d.add("cluster", cluster[home], "cluster")
        d.add("stratum", (places.region_of[town] * 2 + places.urban[town])[home] + 11, "strata")


def visits(d: Draft, rows: int, name: str) -> Generated:
    """Visits of patients: one to many rows a patient."""
    rng, places = d.rng, Places(d.rng)
    often = rng.choice(["few", "ten", "many"])
    mean = {"few": 2.5, "ten": 10, "many": 6}[str(often)]
    count = np.full(rows, 10) if often == "ten" else np.minimum(rng.geometric(1 / mean, rows), 40)
    count = count[: max(int(np.searchsorted(np.cumsum(count), rows)), 40)]
    patients, n = count.size, int(count.sum())
    who = np.repeat(np.arange(patients), count)
    age = people.ages(rng, patients)
    d.add("person", people.numbers_of(rng, patients)[who], "person")
    if d.maybe():
        d.add("record", people.numbers_of(rng, n), "identifier")
    if d.maybe(0.3):
        social = people.social_numbers(rng, birthdays(rng, age))
        d.add("social", social[who], "identifier")
    if d.maybe(0.3):
        d.add("name", np.array(people.full_names(rng, patients))[who], "identifier")
    if d.maybe(0.2):
        d.add("phone", people.phones(rng, patients)[who], "identifier")
    if d.maybe(0.4):
        doctors = people.numbers_of(rng, max(patients // 15, 5))
        d.add("doctor", rng.choice(doctors, n), "other")
    born(d, age, who)
    demography(d, patients, who)
    whereabouts(d, places, places.draw(rng, patients)[who])
    day = rng.integers(0, 900, n) + np.datetime64("2022-01-03")
    d.add("visit", day, "other")
    icd = np.array(people.ICD)
    d.add(
        "diagnosis", icd[rng.choice(icd.size, n, p=rng.dirichlet(np.ones(icd.size)))], "sensitive"
    )
    if d.maybe(0.6):
        d.category("ward", rng.choice(8, n, p=rng.dirichlet(np.ones(8) * 2)), 8, "other")
    if d.maybe(0.7):
        d.add("cost", np.round(np.exp(rng.normal(5, 1.1, n)), 2), "sensitive", gaps=0.02)
    if d.maybe(0.6):
        d.add("lab", np.round(rng.normal(13.5, 1.6, n), 1), "other", gaps=0.2)
    if d.maybe(0.3):
        d.add("notes", people.notes(rng, n), "identifier", gaps=0.2)
    order = rng.permutation(n) if d.maybe() else np.argsort(day) if d.maybe() else np.arange(n)
    return d.done(name, order)


def homes_at(d: Draft, places: Places, town: np.ndarray) -> np.ndarray:
    """Coordinates of homes around their towns: degrees, metres, or whole metres."""
    rng, rows = d.rng, town.size
    at = places.centre[town] + rng.normal(0, 0.03, (rows, 2))
    if d.maybe(0.4):  # some live in the same house
        same = rng.random(rows) < 0.3
        at[same] = at[np.maximum(np.arange(rows) - 1, 0)][same]
    style = rng.integers(3)
    if style == 0:
        corner = np.array([rng.uniform(-10, 20), rng.uniform(38, 60)])
        return np.round(at + corner, int(rng.integers(4, 7)))
    corner = np.array([rng.uniform(2e5, 6e5), rng.uniform(4e6, 6e6)])
    metres = at * 70_000 + corner
    return np.round(metres, 1) if style == 1 else np.round(metres).astype(int)


def register(d: Draft, rows: int, name: str) -> Generated:
    """People of a register, one row each, with the place where they live."""
    rng, places = d.rng, Places(d.rng)
    each = np.arange(rows)
    town = places.draw(rng, rows)
    place = homes_at(d, places, town)
    d.add("record", people.numbers_of(rng, rows), "identifier")
    gaps = rng.random(rows) < rng.choice([0, 0.02])
    d.add("x", np.where(gaps, np.nan, place[:, 0]) if gaps.any() else place[:, 0], "geographic")
    d.add("y", np.where(gaps, np.nan, place[:, 1]) if gaps.any() else place[:, 1], "geographic")
    age = people.ages(rng, rows)
    if d.maybe():
        d.add("name", people.full_names(rng, rows), "identifier")
    elif d.maybe(0.3):
        d.add("surname", people.surnames(rng, rows), "identifier")
    if d.maybe(0.3):
        d.add("email", people.e_mails(rng, rows), "identifier")
    if d.maybe(0.3):
        d.add("social", people.social_numbers(rng, birthdays(rng, age)), "identifier")
    born(d, age, each)
    demography(d, rows, each)
    if d.maybe(0.7):
        whereabouts(d, places, town)
    d.add("income", people.incomes(rng, rows), "sensitive")
    if d.maybe():
        d.add("children", rng.poisson(1.1, rows), "other")
    if d.maybe():
        d.add("lab", np.round(rng.normal(13.5, 1.6, rows), 1), "other", gaps=0.1)
    if d.maybe(0.3):
        d.category("flag", (rng.random(rows) < 0.06).astype(int), 2, "other")
    return d.done(name, rng.permutation(rows) if d.maybe() else each)


def panel(d: Draft, rows: int, name: str) -> Generated:
    """People asked every year, some of them in the same household."""
    rng, places = d.rng, Places(d.rng)
    waves = int(rng.integers(3, 9))
    n = max(rows // waves, 50)
    home = np.sort(rng.integers(0, max(int(n / rng.uniform(1.6, 2.6)), 20), n))
    home = np.unique(home, return_inverse=True)[1]
    stays = waves - np.where(rng.random(n) < rng.choice([0, 0.4]), rng.integers(0, waves, n), 0)
    who = np.repeat(np.arange(n), stays)
    wave = np.arange(who.size) - np.repeat(np.cumsum(stays) - stays, stays)
    total = who.size
    d.add("person", people.numbers_of(rng, n)[who], "person")
    if d.maybe(0.6):
        d.add("household", people.numbers_of(rng, home.max() + 1)[home[who]], "household")
    d.add(*(("year", 2015 + wave) if d.maybe() else ("wave", wave + 1)), "other")
    age = people.ages(rng, n, 16, 90)
    if d.maybe():
        d.add("age", (age - 8)[who] + wave, "quasi-identifier")
    else:
        born(d, age, who)
    demography(d, n, who)
    town = places.draw(rng, int(home.max()) + 1)[home]
    d.category("region", places.region_of[town][who], places.regions)
    wage = np.exp(rng.normal(7.6, 0.5, n))[who] * np.exp(rng.normal(0.02, 0.1, total))
    d.add("income", np.round(wage, int(rng.choice([0, 2]))), "sensitive", gaps=0.05)
    if d.maybe(0.6):
        base = np.exp(rng.normal(0, 0.5, n))[who] * np.exp(rng.normal(0, 0.05, total))
        scale = 1 / base.mean() if d.maybe() else rng.uniform(100, 4000)
        d.add("weight", np.round(base * scale, 5), "weight")
    if d.maybe(0.7):
        d.add("health", np.clip(np.round(rng.normal(6.5, 1.9, total)), 0, 10).astype(int), "other")
    if d.maybe():
        d.add("hours", np.where(rng.random(total) < 0.5, 40, rng.integers(4, 60, total)), "other")
    if d.maybe(0.4):
        d.add("children", rng.poisson(0.8, n)[who], "other")
    style = rng.integers(3)
    order = np.arange(total) if style == 0 else np.lexsort((who, wave))
    return d.done(name, rng.permutation(total) if style == 1 else order)
