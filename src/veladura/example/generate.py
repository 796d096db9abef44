"""Draw the bundled clinic register: invented people with the dependences of real ones.

One function per column; each takes the streams and the columns it depends on.
Nothing is learned from data, so nobody can be in it.
"""

import json

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from veladura.base.streams import Streams
from veladura.example import path
from veladura.example.world import ETHNICITIES, ILLNESSES, LAKE, NAMES, REGION, TOWNS, Ring

__all__ = ["make_clinic", "render"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Texts = NDArray[np.str_]
Dates = NDArray[np.datetime64]

PEOPLE = 5_000
REFERENCE = np.datetime64("2024-12-31")
SCATTERED = 0.15  # share living outside the towns
LON_SCALE = 0.74  # a degree of longitude in degrees of latitude, here
EARNING_AGE = 16
WOMEN = 0.53  # clinics see slightly more women


def make_clinic(seed: int = 1998) -> pd.DataFrame:
    """Draw the register.

    Parameters
    ----------
    seed
        Entropy of the named streams; the default gives the bundled file.

    Returns
    -------
    One row per person, in no order.
    """
    streams = Streams(seed)
    lon, lat = draw_homes(streams)
    area = nearest_town(lon, lat)
    ethnicity = draw_ethnicity(streams, area)
    sex = draw_sex(streams)
    birth = draw_birth(streams, ethnicity)
    age = age_in_years(birth)
    diagnosis = draw_diagnosis(streams, age, sex)
    return pd.DataFrame(
        {
            "name": draw_name(streams, sex, ethnicity),
            "social_number": draw_social_number(streams),
            "birth": birth.astype(str),
            "zip": np.array(list(TOWNS))[area],
            "sex": sex,
            "ethnicity": ethnicity,
            "marital": draw_marital(streams, age, sex),
            "lon": lon,
            "lat": lat,
            "diagnosis": diagnosis,
            "income": draw_income(streams, age, sex, area),
            "stay": draw_stay(streams, diagnosis, birth),
        }
    )


def draw_homes(streams: Streams) -> tuple[Floats, Floats]:
    """Draw homes, most around the towns, some anywhere; all on land inside the region."""
    rng = streams("example", "home")
    towns = list(TOWNS.values())
    town = _pick(rng, np.tile([t.share for t in towns], (PEOPLE, 1)))
    scattered = rng.random(PEOPLE) < SCATTERED
    centre = np.array([(t.lon, t.lat) for t in towns])[town]
    spread = np.array([(t.spread / LON_SCALE, t.spread) for t in towns])[town]
    low, high = np.min(REGION, axis=0), np.max(REGION, axis=0)
    home = np.empty((PEOPLE, 2))
    astray = np.ones(PEOPLE, dtype=bool)
    while astray.any():
        near = centre + spread * rng.standard_normal((PEOPLE, 2))
        anywhere = low + (high - low) * rng.random((PEOPLE, 2))
        # Rounded before the check: rounding after it could put a home into the lake.
        draw = np.round(np.where(scattered[:, None], anywhere, near), 6)
        home[astray] = draw[astray]
        astray = ~_inside(home, REGION) | _inside(home, LAKE)
    return home[:, 0], home[:, 1]


def nearest_town(lon: Floats, lat: Floats) -> Ints:
    """Return the position in ``TOWNS`` of the town nearest to each home."""
    towns = TOWNS.values()
    east = [LON_SCALE * (lon - t.lon) for t in towns]
    north = [lat - t.lat for t in towns]
    nearest: Ints = np.argmin(np.square(east) + np.square(north), axis=0)
    return nearest


def draw_ethnicity(streams: Streams, area: Ints) -> Texts:
    """Draw the ethnicity by the shares in the area."""
    mixtures = np.array([t.ethnic for t in TOWNS.values()])
    return ETHNICITIES[_pick(streams("example", "ethnicity"), mixtures[area])]


def draw_sex(streams: Streams) -> Texts:
    """Draw the sex, with the same shares everywhere."""
    return np.where(streams("example", "sex").random(PEOPLE) < WOMEN, "female", "male")


def draw_birth(streams: Streams, ethnicity: Texts) -> Dates:
    """Draw dates of birth; white people are older on average."""
    u = streams("example", "birth").random(PEOPLE) ** np.where(ethnicity == "white", 0.85, 1.15)
    years = np.interp(u, (0, 0.06, 0.15, 0.26, 0.52, 0.78, 0.93, 1), (0, 5, 16, 25, 45, 65, 80, 99))
    days = 1 + np.floor(365.25 * years).astype(int)
    return REFERENCE - days.astype("timedelta64[D]")


def age_in_years(birth: Dates) -> Ints:
    """Return completed years; on 31 December everybody has had the year's birthday."""
    years: Ints = (REFERENCE.astype("datetime64[Y]") - birth.astype("datetime64[Y]")).astype(int)
    return years


def draw_marital(streams: Streams, age: Ints, sex: Texts) -> Texts:
    """Draw who has married, then who is widowed or divorced; women are widowed more often."""
    ever, widowed, divorced = streams("example", "marital").random((3, PEOPLE))
    chance = np.interp(age, (30, 65, 95), (0, 0.14, 0.8)) * np.where(sex == "female", 1, 0.4)
    conditions = [
        ever >= np.interp(age, (18, 25, 35, 50, 100), (0, 0.2, 0.65, 0.85, 0.95)),
        widowed < chance,
        divorced < np.interp(age, (20, 50, 80), (0.02, 0.25, 0.2)),
    ]
    return np.select(conditions, ["single", "widowed", "divorced"], "married")


def draw_diagnosis(streams: Streams, age: Ints, sex: Texts) -> Texts:
    """Draw diagnoses by their frequency at that age and sex."""
    weights = []
    for ill in ILLNESSES.values():
        bump = np.exp(-0.5 * ((age - ill.peak) / ill.width) ** 2)
        possible = (age >= ill.first) & (age <= ill.last)
        often = np.where(sex == "female", ill.women, ill.men)
        weights.append(possible * often * (ill.floor + (1 - ill.floor) * bump))
    codes = _pick(streams("example", "diagnosis"), np.column_stack(weights))
    return np.array(list(ILLNESSES))[codes]


def draw_income(streams: Streams, age: Ints, sex: Texts, area: Ints) -> pd.Series:
    """Draw yearly incomes: lognormal up to the 90th percentile, Pareto (alpha 2) above it."""
    rng = streams("example", "income")
    career = np.interp(age, (16, 22, 35, 50, 62, 68, 95), (0.12, 0.5, 1, 1.25, 1.15, 0.6, 0.45))
    wealth = np.array([t.wealth for t in TOWNS.values()])[area]
    z, top = rng.standard_normal(PEOPLE), 1.2816
    # 1 / sqrt(uniform on (0, 1]) is Pareto with alpha 2.
    luck = np.exp(0.45 * np.minimum(z, top)) / np.where(z > top, np.sqrt(1 - rng.random(PEOPLE)), 1)
    income = 46_000 * career * wealth * np.where(sex == "female", 0.84, 1.0) * luck
    income = np.where(age < EARNING_AGE, 0, np.round(income))
    # The old refuse more often; that a child earns nothing is always known.
    refusal = np.where(age < EARNING_AGE, 0, 0.01 + 0.0007 * age)
    refused = streams("example", "income", "missing").random(PEOPLE) < refusal
    return pd.Series(income).astype("Int64").mask(refused)


def draw_stay(streams: Streams, diagnosis: Texts, birth: Dates) -> Ints:
    """Draw days of stay: skewed, longer for older people, never longer than their life."""
    typical = np.array([ILLNESSES[d].stay for d in diagnosis])
    z = streams("example", "stay").standard_normal(PEOPLE)
    drawn = np.floor(typical * (0.6 + age_in_years(birth) / 80) * np.exp(0.8 * z)).astype(int)
    stay: Ints = np.minimum(drawn, (REFERENCE - birth).astype(int))
    return stay


def draw_name(streams: Streams, sex: Texts, ethnicity: Texts) -> list[str]:
    """Draw first and last names independently; some people share a name."""
    first, last = streams("example", "name").random((2, PEOPLE))
    names = []
    for u, v, s, e in zip(first, last, sex, ethnicity, strict=True):
        women, men, families = (line.split() for line in NAMES[e])
        given = women if s == "female" else men
        names.append(f"{given[int(u * len(given))]} {families[int(v * len(families))]}")
    return names


def draw_social_number(streams: Streams) -> list[str]:
    """Draw distinct social security numbers that nobody was ever given.

    900-999 is never issued as a social number, but middle groups from 50 on are taxpayer
    numbers; 01-49 are neither.
    """
    rng = streams("example", "social_number")
    ticket = rng.choice(100 * 49 * 9_999, PEOPLE, replace=False)
    rest, serial = np.divmod(ticket, 9_999)
    office, group = np.divmod(rest, 49)
    parts = zip(900 + office, 1 + group, 1 + serial, strict=True)
    return [f"{o}-{g:02d}-{s:04d}" for o, g, s in parts]


def render(seed: int = 1998) -> dict[str, bytes]:
    """Return the content of the three bundled files by name."""
    table = make_clinic(seed).to_csv(index=False, lineterminator="\n", float_format="%.6f")
    return {
        "clinic.csv": table.encode(),
        "region.geojson": _geojson("region", REGION),
        "lake.geojson": _geojson("lake", LAKE),
    }


def _geojson(name: str, ring: Ring) -> bytes:
    """Return one polygon as a feature collection, its ring closed."""
    shape = {"type": "Polygon", "coordinates": [[*ring, ring[0]]]}
    feature = {"type": "Feature", "properties": {"name": name}, "geometry": shape}
    return (json.dumps({"type": "FeatureCollection", "features": [feature]}) + "\n").encode()


def _pick(rng: np.random.Generator, weights: ArrayLike) -> Ints:
    """Draw one column per row with probability proportional to its weight."""
    ladder = np.cumsum(weights, axis=1)
    rung = rng.random(len(ladder)) * ladder[:, -1]
    codes: Ints = np.argmax(rung[:, None] < ladder, axis=1)
    return codes


def _inside(points: Floats, ring: Ring) -> NDArray[np.bool_]:
    """Return which points lie in the ring: a ray to the east crosses it an odd number of times."""
    x, y = points.T
    odd = np.zeros(len(points), dtype=bool)
    for (x0, y0), (x1, y1) in zip(ring, (*ring[1:], ring[0]), strict=True):
        if y0 != y1:
            crossing = x0 + (y - y0) * (x1 - x0) / (y1 - y0)
            odd ^= ((y0 > y) != (y1 > y)) & (x < crossing)
    return odd


if __name__ == "__main__":
    for file, content in render().items():
        path(file).write_bytes(content)
