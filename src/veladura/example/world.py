"""The invented place of the clinic register: its land, towns, illnesses and names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Ring = tuple[tuple[float, float], ...]

# Open rings, counterclockwise as RFC 7946 asks; closed when written.
REGION: Ring = (
    (-71.46, 42.24),
    (-71.38, 42.21),
    (-71.29, 42.23),
    (-71.21, 42.20),
    (-71.12, 42.22),
    (-71.04, 42.27),
    (-71.06, 42.34),
    (-71.00, 42.40),
    (-71.03, 42.48),
    (-71.10, 42.53),
    (-71.17, 42.51),
    (-71.24, 42.58),
    (-71.33, 42.60),
    (-71.40, 42.55),
    (-71.48, 42.52),
    (-71.45, 42.43),
    (-71.50, 42.35),
)
LAKE: Ring = (
    (-71.310, 42.370),
    (-71.280, 42.345),
    (-71.250, 42.360),
    (-71.220, 42.340),
    (-71.190, 42.365),
    (-71.200, 42.390),
    (-71.180, 42.420),
    (-71.210, 42.440),
    (-71.245, 42.420),
    (-71.270, 42.435),
    (-71.300, 42.415),
    (-71.290, 42.390),
)


class Town(NamedTuple):
    """A centre of settlement; its ZIP code covers the land nearest to it."""

    lon: float
    lat: float
    share: float
    spread: float
    wealth: float
    ethnic: tuple[float, ...]  # shares in the order of ETHNICITIES


class Illness(NamedTuple):
    """Frequency of a diagnosis by age and sex, and the typical days of stay."""

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
