"""Tables with known roles, made to be misread: six languages, odd codings, no help from names.

They were written against the guesses, and every sort of column that was misread is in them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from tests.generators import odd_columns as odd
from tests.generators.tables import Draft, Generated

# One name a language in this order: Finnish, Turkish, Russian, Chinese, Czech, a data dictionary.
_NAMES = """
person henkilö kisi_no номер_лица 人员 rodne_cislo RespKey
household kotitalous hane_no домохозяйство 户号 domacnost HHSerial
record tietue kayit запись 记录 zaznam CaseRef
name nimi ad_soyad фио 姓名 jmeno Contact
surname sukunimi soyad фамилия 姓 prijmeni LName
email sähköposti eposta почта 邮箱 eml EMailAddr
phone puhelin gsm телефон 电话 tlf MobileNo
sex sukupuoli cinsiyet пол 性别 pohlavi GndrCd
age ikä yas возраст 年龄 vek AgeYrs
birth syntymäaika dogum_tarihi дата_рождения 生日 narozeni DOB
region maakunta bolge регион 省 kraj GOR
municipality kunta ilce район 市 obec LAD
zip postinumero posta_kodu индекс 邮编 psc PCode
education koulutus egitim образование 学历 vzdelani HiQual
marital siviilisääty medeni_durum семья 婚姻 stav MStat
occupation ammatti meslek профессия 职业 povolani SOC
income tulot gelir доход 收入 prijem GrsPay
weight painokerroin agirlik вес 权重 vaha PWTA17
stratum ositus tabaka страта 层 strata_kod StratCd
cluster otantayksikkö kume кластер 群 okrsek PSUid
x itä boylam долгота 经度 souradnice_1 E_BNG
y pohjoinen enlem широта 纬度 souradnice_2 N_BNG
opinion mielipide gorus мнение 意见 nazor SatLife
date päivämäärä tarih дата 日期 datum IntDate
diagnosis diagnoosi tani диагноз 诊断 diagnoza ICD10
wave aalto dalga волна 轮 vlna Wav
flag aktiivinen aktif активен 有效 aktivni Actv
line jäsen sira член 序 poradi PNo
rare mittaus olcum замер 测量 mereni SysBP
constant lähde kaynak источник 来源 zdroj Src
"""
_WORDS = {line.split()[0]: line.split()[1:] for line in _NAMES.strip().splitlines()}
_LANGUAGES = 6
_MEANINGLESS = 2  # of so many tables, one has names without a meaning


class Odd(Draft):
    """A table in the making, with names of its own language."""

    def __post_init__(self) -> None:
        number = int(self.rng.integers(_LANGUAGES))
        meaningless = not self.rng.integers(_MEANINGLESS)
        self.language = "none" if meaningless else f"language {number}"

        def named(thing: str) -> str:
            stem = thing.rstrip("0123456789")
            plain = f"F{len(self.columns) + 1:02}"
            return plain if meaningless else f"{_WORDS[stem][number]}{thing[len(stem) :]}"

        self.named = named


class Land:
    """Regions with towns whose codes begin with that of the region."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.regions = int(rng.integers(3, 19))
        self.region = np.repeat(np.arange(self.regions), rng.integers(2, 30, self.regions))
        self.towns = self.region.size
        self.share = rng.dirichlet(np.full(self.towns, 0.6))
        self.code = (self.region + 1) * 100 + np.arange(self.towns)
        self.zip = (self.region + 1) * 1000 + np.arange(self.towns)
        middle = rng.uniform(0, 300_000, (self.regions, 2))
        self.centre = middle[self.region] + rng.normal(0, 20_000, (self.towns, 2))


def odd_tables(first: int = 0, number: int = 50) -> Iterator[Generated]:
    """Yield tables from the seeds that begin at ``first``: ten of each five sorts in fifty."""
    for seed in range(first, first + number):
        rng = np.random.default_rng([seed, 771])
        rows = int(np.exp(rng.uniform(np.log(300), np.log(4000))))
        sort = (survey, visits, customers, panel, codes)[seed % 5]
        draft = Odd(rng, "none")
        yield sort(draft, rows, f"odd-{sort.__name__}-{seed}")


def _people(d: Odd, n: int, each: np.ndarray, low: int = 0) -> None:
    """Add what registers know of people, at each of their rows."""
    rng = d.rng
    age = np.clip(np.round(rng.gamma(3.2, 14, n)), low, 100).astype(int)
    style = rng.integers(4)
    if style == 0:
        d.add("age", age[each], "quasi-identifier", gaps=rng.choice([0, 0.03]))
    elif style == 1:
        d.add("birth", 2024 - age[each], "quasi-identifier")
    elif style == 2:
        days = np.datetime64("2024-03-01") - (age * 365.25).astype(int) - rng.integers(0, 365, n)
        d.add("birth", odd.written_dates(rng, days)[each], "quasi-identifier")
    else:
        bands = np.array([f"{ten * 10}-{ten * 10 + 9}" for ten in range(11)])
        d.add("age", bands[age // 10][each], "quasi-identifier")
    yes = d.maybe(0.2)
    sex = rng.integers(0, 2, n)
    d.add("sex", (sex == 1 if yes else odd.labels(rng, 2)[sex])[each], "quasi-identifier")
    for thing, levels, chance in (("education", 7, 0.7), ("marital", 5, 0.6)):
        if d.maybe(chance):
            share = rng.dirichlet(np.full(levels, 3))
            held = odd.labels(rng, levels)[rng.choice(levels, n, p=share)]
            d.add(thing, held[each], "quasi-identifier", gaps=rng.choice([0, 0.05]))
    if d.maybe():
        jobs = np.sort(rng.choice(np.arange(1111, 9630), 120, replace=False))
        held = jobs[rng.choice(jobs.size, n, p=rng.dirichlet(np.full(jobs.size, 0.7)))]
        d.add("occupation", held[each], "quasi-identifier", gaps=rng.choice([0, 0.2]))


def _lives(d: Odd, land: Land, town: np.ndarray) -> None:
    d.add("region", odd.labels(d.rng, land.regions)[land.region][town], "quasi-identifier")
    if d.maybe():
        d.add("municipality", land.code[town], "quasi-identifier")
    if d.maybe():
        padded = np.array([f"{code:05}" for code in land.zip])
        d.add("zip", (padded if d.maybe() else land.zip)[town], "quasi-identifier")


def _places(d: Odd, land: Land, town: np.ndarray, each: np.ndarray) -> None:
    at = land.centre[town] + d.rng.normal(0, 4000, (town.size, 2)) + [380_000, 6_670_000]
    at = np.round(at).astype(int) if d.maybe() else np.round(at, 2)
    d.add("x", at[each, 0], "geographic")
    d.add("y", at[each, 1], "geographic")


def _rest(d: Odd, n: int) -> None:
    """Add answers, and columns that tell little."""
    rng = d.rng
    if d.maybe(0.4):
        d.add("rare", rng.integers(0, 40, n), "other", gaps=0.97)
    if d.maybe():
        d.add("flag", rng.random(n) < rng.uniform(0.02, 0.5), "other")
    for i in range(int(rng.integers(0, 6))):
        d.add(f"opinion{i + 1}", odd.answers(rng, n), "other", gaps=rng.choice([0, 0.1]))


def survey(d: Odd, rows: int, name: str) -> Generated:
    """Households with weights of every sort, perhaps replicate weights and the survey design."""
    rng, land = d.rng, Land(d.rng)
    size = rng.choice([1, 2, 3, 4, 5, 6], rows, p=[0.3, 0.32, 0.15, 0.14, 0.06, 0.03])
    size = size[: max(int(np.searchsorted(size.cumsum(), rows)), 80)]
    homes, home = size.size, np.repeat(np.arange(size.size), size)
    n, line = home.size, np.arange(home.size) - np.repeat(size.cumsum() - size, size) + 1
    d.add("household", odd.unit_numbers(rng, homes)[home], "household")
    if d.maybe():
        d.add("record", odd.unit_numbers(rng, n), "identifier")
    if d.maybe(0.6):
        d.add("line", line, "other")
    town = rng.choice(land.towns, homes, p=land.share)
    _lives(d, land, town[home])
    base = np.exp(rng.normal(0, 0.5, land.regions))[land.region][town][home]
    weight = odd.weights(rng, base * np.exp(rng.normal(0, rng.choice([0, 0.3]), homes))[home])
    d.add("weight", weight, "weight")
    for i in range(12 if d.maybe(0.3) else 0):
        halves = np.where(rng.random(land.towns) < 0.5, 0.5, 1.5)[town][home]
        d.add(f"weight{i + 1}", weight * halves, "weight")
    if d.maybe():
        place = np.unique(town * 4 + rng.integers(0, 4, homes), return_inverse=True)[1] + 1
        d.add("cluster", place[home], "cluster")
        d.add("stratum", (land.region[town] * 2 + town % 2)[home] + 1, "strata")
    _people(d, n, np.arange(n))
    d.add("income", np.exp(rng.normal(7.7, 0.7, n)) // 100 * 100, "sensitive", gaps=0.1)
    if d.maybe(0.3):
        _places(d, land, town, home)
    _rest(d, n)
    return d.done(name, rng.permutation(n) if d.maybe() else np.arange(n))


def visits(d: Odd, rows: int, name: str) -> Generated:
    """Visits of patients: ten each, a few each, or very many of a few."""
    rng, land = d.rng, Land(d.rng)
    often = (np.full(rows, 10), rng.poisson(3, rows) + 1, np.minimum(rng.zipf(1.9, rows), 60))
    count = often[rng.integers(3)]
    count = count[: max(int(np.searchsorted(count.cumsum(), rows)), 50)]
    patients, who = count.size, np.repeat(np.arange(count.size), count)
    d.add("person", odd.unit_numbers(rng, patients)[who], "person")
    full, first, last = odd.names(rng, patients)
    if d.maybe(0.4):
        d.add("name", full[who], "identifier")
    elif d.maybe(0.4):
        d.add("surname", last[who], "identifier")
    if d.maybe(0.3):
        d.add("email", odd.e_mails(rng, first, last)[who], "identifier")
    if d.maybe(0.4):
        d.add("record", odd.unit_numbers(rng, who.size), "identifier")
    _people(d, patients, who)
    _lives(d, land, rng.choice(land.towns, patients, p=land.share)[who])
    day = np.datetime64("2021-01-01") + rng.integers(0, 1100, who.size)
    d.add("date", odd.written_dates(rng, day), "other")
    icd = np.array([f"{c}{i:02}" for c in "ACEFGIJKMN" for i in rng.choice(99, 9, replace=False)])
    share = rng.dirichlet(np.full(icd.size, 0.5))
    d.add("diagnosis", icd[rng.choice(icd.size, who.size, p=share)], "sensitive")
    d.add("income", np.round(np.exp(rng.normal(5, 1, who.size)), 2), "sensitive")
    _rest(d, who.size)
    return d.done(name, np.argsort(day, kind="stable") if d.maybe() else np.arange(who.size))


def customers(d: Odd, rows: int, name: str) -> Generated:
    """Customers, one row each, with everything that addresses them."""
    rng, land, each = d.rng, Land(d.rng), np.arange(rows)
    d.add("record", odd.unit_numbers(rng, rows), "identifier")
    full, first, last = odd.names(rng, rows)
    if d.maybe():
        d.add("name", full, "identifier")
    elif d.maybe():
        d.add("surname", last, "identifier")
    if d.maybe(0.6):
        d.add("email", odd.e_mails(rng, first, last), "identifier", gaps=0.05)
    if d.maybe(0.6):
        d.add("phone", odd.phones(rng, rows), "identifier", gaps=0.1)
    _people(d, rows, each, 16)
    town = rng.choice(land.towns, rows, p=land.share)
    _lives(d, land, town)
    if d.maybe(0.6):
        _places(d, land, town, each)
    joined = np.datetime64("2015-06-01") + rng.integers(0, 3000, rows)
    d.add("date", odd.written_dates(rng, joined), "other")
    spent = np.round(np.exp(rng.normal(4, 1.3, rows)), 2) * (rng.random(rows) < 0.8)
    d.add("income", spent, "sensitive")
    _rest(d, rows)
    return d.done(name, each)


def panel(d: Odd, rows: int, name: str) -> Generated:
    """People asked several times, with weights of their own in each wave."""
    rng, land, waves = d.rng, Land(d.rng), int(d.rng.integers(2, 7))
    n = max(rows // waves, 60)
    home = np.unique(np.sort(rng.integers(0, int(n / 1.9), n)), return_inverse=True)[1]
    wave, who = np.repeat(np.arange(waves), n), np.tile(np.arange(n), waves)
    kept = rng.random(who.size) < 0.85
    who, wave = who[kept], wave[kept]
    d.add("person", odd.unit_numbers(rng, n)[who], "person")
    if d.maybe():
        d.add("household", odd.unit_numbers(rng, int(home.max()) + 1)[home[who]], "household")
    d.add("wave", wave + int(rng.choice([1, 2016])), "other")
    _people(d, n, who, 16)
    _lives(d, land, rng.choice(land.towns, int(home.max()) + 1, p=land.share)[home][who])
    base = np.exp(rng.normal(0, 0.4, n))[who] * np.exp(rng.normal(0, 0.1, who.size))
    d.add("weight", base / base.mean() * rng.choice([1, 800]), "weight")
    wage = np.exp(rng.normal(7.5, 0.6, n))[who] * np.exp(rng.normal(0, 0.1, who.size))
    d.add("income", np.round(wage), "sensitive", gaps=0.05)
    _rest(d, who.size)
    return d.done(name, np.arange(who.size) if d.maybe() else np.lexsort((wave, who)))


def codes(d: Odd, rows: int, name: str) -> Generated:
    """A survey that holds whole numbers only."""
    rng, land = d.rng, Land(d.rng)
    record = np.arange(rows) + 1 if d.maybe() else rng.permutation(rows) + 100_001
    d.add("record", record, "identifier")
    town = rng.choice(land.towns, rows, p=land.share)
    d.add("region", land.region[town] + 1, "quasi-identifier")
    d.add("sex", rng.integers(1, 3, rows), "quasi-identifier")
    ages = np.clip(np.round(rng.gamma(3.2, 14, rows)), 18, 99).astype(int)
    d.add("age", ages, "quasi-identifier")
    for thing, levels in (("education", 7), ("marital", 5)):
        share = rng.dirichlet(np.full(levels, 3))
        d.add(thing, rng.choice(levels, rows, p=share) + 1, "quasi-identifier")
    for i in range(int(rng.integers(5, 25))):
        d.add(f"opinion{i + 1}", odd.answers(rng, rows), "other")
    d.add("income", (np.exp(rng.normal(7.7, 0.6, rows)) // 50 * 50).astype(int), "sensitive")
    if d.maybe():
        d.add("weight", np.round(np.exp(rng.normal(6, 0.5, rows))).astype(int), "weight")
    return d.done(name, np.arange(rows))
