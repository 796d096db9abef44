"""Draw the bundled clinic register: invented people with the dependences of real ones.

One function per column; each takes the streams and the columns it depends on.
Nothing is learned from data, so nobody can be in it.
"""

import json
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from veladura.example import path
from veladura.streams import Streams

__all__ = ["make_clinic", "render"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Texts = NDArray[np.str_]
Dates = NDArray[np.datetime64]
Ring = tuple[tuple[float, float], ...]

PEOPLE = 5_000
REFERENCE = np.datetime64("2024-12-31")
SCATTERED = 0.15  # share living outside the towns
LON_SCALE = 0.74  # a degree of longitude in degrees of latitude, here
EARNING_AGE = 16
WOMEN = 0.53  # clinics see slightly more women

# Open rings, counterclockwise as RFC 7946 asks; closed when written.
REGION: Ring = (
    (-71.46, 42.24), (-71.38, 42.21), (-71.29, 42.23), (-71.21, 42.20), (-71.12, 42.22),
    (-71.04, 42.27), (-71.06, 42.34), (-71.00, 42.40), (-71.03, 42.48), (-71.10, 42.53),
    (-71.17, 42.51), (-71.24, 42.58), (-71.33, 42.60), (-71.40, 42.55), (-71.48, 42.52),
    (-71.45, 42.43), (-71.50, 42.35),
)  # fmt: skip
LAKE: Ring = (
    (-71.310, 42.370), (-71.280, 42.345), (-71.250, 42.360), (-71.220, 42.340),
    (-71.190, 42.365), (-71.200, 42.390), (-71.180, 42.420), (-71.210, 42.440),
    (-71.245, 42.420), (-71.270, 42.435), (-71.300, 42.415), (-71.290, 42.390),
)  # fmt: skip


class Town(NamedTuple):
    """A centre of settlement; its ZIP code covers the land nearest to it."""

    lon: float
    lat: float
    share: float
    spread: float
    wealth: float
    ethnic: tuple[float, ...]  # shares in the order of ETHNICITIES


class Illness(NamedTuple):
    """How often a diagnosis falls on whom, and the typical days of stay."""

    women: float
    men: float
    peak: float
    width: float
    floor: float  # frequency far from the peak age, relative to the peak
    first: int
    last: int
    stay: float


ETHNICITIES = np.array(["white", "hispanic", "black", "asian", "other"])
TOWNS = {
    "02138": Town(-71.15, 42.40, 0.18, 0.020, 1.20, (0.62, 0.08, 0.06, 0.21, 0.03)),
    "02139": Town(-71.11, 42.36, 0.16, 0.016, 0.75, (0.34, 0.36, 0.22, 0.05, 0.03)),
    "02140": Town(-71.33, 42.40, 0.12, 0.018, 1.60, (0.86, 0.04, 0.02, 0.06, 0.02)),
    "02141": Town(-71.24, 42.47, 0.11, 0.018, 1.00, (0.70, 0.12, 0.08, 0.07, 0.03)),
    "02142": Town(-71.24, 42.31, 0.11, 0.016, 0.80, (0.40, 0.17, 0.36, 0.04, 0.03)),
    "02143": Town(-71.08, 42.44, 0.08, 0.015, 0.90, (0.50, 0.14, 0.09, 0.24, 0.03)),
    "02144": Town(-71.12, 42.27, 0.07, 0.014, 0.85, (0.58, 0.27, 0.10, 0.03, 0.02)),
    "02145": Town(-71.40, 42.48, 0.05, 0.014, 1.10, (0.84, 0.07, 0.03, 0.04, 0.02)),
    "02148": Town(-71.43, 42.33, 0.05, 0.013, 0.95, (0.78, 0.12, 0.05, 0.03, 0.02)),
    "02149": Town(-71.33, 42.25, 0.03, 0.012, 0.90, (0.75, 0.10, 0.09, 0.04, 0.02)),
    "02151": Town(-71.32, 42.56, 0.02, 0.012, 1.05, (0.88, 0.05, 0.02, 0.03, 0.02)),
    "02155": Town(-71.10, 42.49, 0.02, 0.010, 1.30, (0.76, 0.06, 0.03, 0.13, 0.02)),
}
ILLNESSES = {
    "asthma": Illness(10, 9, 12, 18, 0.15, 1, 110, 2.0),
    "cancer": Illness(8, 9, 70, 16, 0.03, 0, 110, 7.0),
    "childbirth": Illness(22, 0, 30, 6, 0.00, 18, 48, 2.5),
    "depression": Illness(12, 7, 38, 16, 0.15, 11, 110, 10.0),
    "diabetes": Illness(9, 11, 64, 15, 0.06, 1, 110, 4.0),
    "fracture": Illness(14, 13, 84, 12, 0.35, 1, 110, 5.0),
    "haemophilia": Illness(0, 0.2, 20, 25, 0.10, 0, 110, 3.0),
    "heart failure": Illness(16, 20, 82, 11, 0.00, 35, 110, 8.0),
    "hypertension": Illness(13, 13, 62, 14, 0.02, 18, 110, 1.5),
    "pneumonia": Illness(9, 10, 86, 14, 0.20, 0, 110, 6.0),
    "tuberculosis": Illness(0.1, 0.2, 45, 30, 0.10, 5, 110, 18.0),
}
# First names of women, first names of men, last names.
NAMES = {
    "white": (
        """Agnes Anneke Bridget Clara Della Edith Fiona Greta Hazel Ingrid Julia Katarzyna Lidia
        Margaret Nora Olive Petra Rosa Sylvia Thelma Ursula Vera Winifred Zofia""",
        """Anton Bernard Callum Dominic Edgar Frank Gideon Henrik Ivan Jasper Kevin Leo Martin
        Neil Oscar Patrick Quentin Rupert Stefan Theo Uwe Viktor Walter Yann""",
        """Abbott Ames Brandt Buckley Carlin Crane Doyle Dufour Eastman Ferrante Finch Garrity Hale
        Holm Jansen Kowal Lindqvist Lowell Marsh Moretti Novak Orr Petrov Pruitt Quill Rourke
        Sadler Stark Thorne Urban Vance Weiss""",
    ),
    "hispanic": (
        "Alma Beatriz Carmen Dolores Elena Graciela Inés Lucía Marisol Noemí Pilar Soledad Ximena",
        "Álvaro Camilo Diego Emilio Felipe Gustavo Hugo Javier Mateo Néstor Rafael Tomás Vicente",
        """Acosta Benítez Cordero Duarte Escobar Fuentes Galindo Ibarra Luna Medrano Núñez Ochoa
        Peña Quiroga Rosario Salcedo Trujillo Vega""",
    ),
    "black": (
        "Amara Bernice Denise Ebony Fatou Imani Josephine Keisha Lorraine Monique Nia Simone",
        "Andre Clifton Darnell Isaiah Jerome Kofi Malik Marcus Olu Reginald Terrence Winston",
        """Adeyemi Banks Coleman Desta Ellison Freeman Gaines Hollis Joseph Kamara Mensah Okoro
        Pettway Rivers Sesay Toussaint""",
    ),
    "asian": (
        "Aiko Anjali Chau Hana Jin Lan Mei Nisha Priya Soo Thuy Yuki",
        "Arjun Bao Duc Haruto Jun Kiran Minh Nikhil Ravi Sho Tae Wei",
        "Bhatt Chen Dang Fujita Gupta Hoang Iyer Kwon Lin Mori Nakano Pillai Rao Seo Tran Zhou",
    ),
    "other": (
        "Aponi Dalia Leilani Noor Salma Tala Yara Zeynep",
        "Cem Elias Kai Karim Nashoba Omid Samir Tariq",
        "Amini Begay Darwish Haddad Kahale Nasser Redbird Sarkis Tuncer Yazzie",
    ),
}


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
    """Draw homes around the towns and, for some, anywhere; on land, inside the region."""
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
    """Draw from the mixture of the area."""
    mixtures = np.array([t.ethnic for t in TOWNS.values()])
    return ETHNICITIES[_pick(streams("example", "ethnicity"), mixtures[area])]


def draw_sex(streams: Streams) -> Texts:
    """Draw the sex, alike everywhere."""
    return np.where(streams("example", "sex").random(PEOPLE) < WOMEN, "female", "male")


def draw_birth(streams: Streams, ethnicity: Texts) -> Dates:
    """Draw dates of birth; the white population is the older one."""
    u = streams("example", "birth").random(PEOPLE) ** np.where(ethnicity == "white", 0.85, 1.15)
    years = np.interp(u, (0, 0.06, 0.15, 0.26, 0.52, 0.78, 0.93, 1), (0, 5, 16, 25, 45, 65, 80, 99))
    days = 1 + np.floor(365.25 * years).astype(int)
    return REFERENCE - days.astype("timedelta64[D]")


def age_in_years(birth: Dates) -> Ints:
    """Return completed years; on 31 December everybody has had the year's birthday."""
    years: Ints = (REFERENCE.astype("datetime64[Y]") - birth.astype("datetime64[Y]")).astype(int)
    return years


def draw_marital(streams: Streams, age: Ints, sex: Texts) -> Texts:
    """Draw ever married, then widowed, then divorced; women outlive their husbands."""
    ever, widowed, divorced = streams("example", "marital").random((3, PEOPLE))
    chance = np.interp(age, (30, 65, 95), (0, 0.14, 0.8)) * np.where(sex == "female", 1, 0.4)
    conditions = [
        ever >= np.interp(age, (18, 25, 35, 50, 100), (0, 0.2, 0.65, 0.85, 0.95)),
        widowed < chance,
        divorced < np.interp(age, (20, 50, 80), (0.02, 0.25, 0.2)),
    ]
    return np.select(conditions, ["single", "widowed", "divorced"], "married")


def draw_diagnosis(streams: Streams, age: Ints, sex: Texts) -> Texts:
    """Draw in proportion to how often each illness falls on that age and sex."""
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
    """Draw days of stay: skewed, longer for the old, never longer than life."""
    typical = np.array([ILLNESSES[d].stay for d in diagnosis])
    z = streams("example", "stay").standard_normal(PEOPLE)
    drawn = np.floor(typical * (0.6 + age_in_years(birth) / 80) * np.exp(0.8 * z)).astype(int)
    stay: Ints = np.minimum(drawn, (REFERENCE - birth).astype(int))
    return stay


def draw_name(streams: Streams, sex: Texts, ethnicity: Texts) -> list[str]:
    """Draw first and last names apart; namesakes happen, as they do."""
    first, last = streams("example", "name").random((2, PEOPLE))
    names = []
    for u, v, s, e in zip(first, last, sex, ethnicity, strict=True):
        women, men, families = (line.split() for line in NAMES[e])
        given = women if s == "female" else men
        names.append(f"{given[int(u * len(given))]} {families[int(v * len(families))]}")
    return names


def draw_social_number(streams: Streams) -> list[str]:
    """Draw distinct numbers nobody was ever given.

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
