"""The same seed gives the same bytes as version 0.1.0: hashes of releases made with its code.

The hashes were made by ``python tests/end_to_end/test_same_release.py`` on commit e5638e6, before
the code was laid out anew. A change of method that moves draws on purpose makes them anew, and says
so in the changelog. The law of the leaf (how numbers move from donors) was changed on purpose: the
hashes of cart, cart-full, critical-cart and steps are those of the new law; those of cart,
cart-full and steps also of linear scores in the trees, with columns of many levels drawn last, of
unbiased splits, of calibrated draws, of donors in another order within their leaves, and of tails
that are not pulled in where few numbers move, of tails among mass points that keep their spread, of
categories new to a node that go to both of its sides, and of kept rounding units (cart, cart-full).
Numbers that move have knots of 20 people (cart, cart-full, critical-cart and steps).
Donors are drawn in the order of rows, and calibrated by one variate a row (the same four).
Masks without the law of the leaf (``min_people=0``) give the old bytes. Those of geography are of
another default prior of contrasts; {"contrast_rate": 0.1} gives the old. All are of another order
of the rows in a file: sorted by what they hold before they are shuffled; the sorted lines of every
file stayed the same.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest

import veladura as vd
from veladura import example
from veladura.measures.assessment import Assessment
from veladura.release.package import save

HASHES = Path(__file__).with_name("same_release.json")
AGES = {"sex": ["female", "male"], "marital": ["divorced", "married", "single", "widowed"]}
RECIPES = {
    "k-anonymity": lambda: vd.KAnonymity(
        quasi_identifiers=["zip", "sex", "marital"],
        k=5,
        max_suppression=0.02,
        hierarchies={"zip": vd.Hierarchy.mask(5)},
    ),
    "k-anonymity-local": lambda: vd.KAnonymity(
        quasi_identifiers=["zip", "sex"], k=3, max_suppression=0.05, recoding="local"
    ),
    "cart": lambda: vd.Cart(columns=["income", "stay", "diagnosis"], m=2),
    "cart-full": lambda: vd.Cart(m=2),
    "critical-cart": lambda: vd.CriticalCart(critical={"income": "income > 60000"}, m=2),
    "geography": lambda: vd.Geography(
        x="lon",
        y="lat",
        attributes=["sex"],
        region=example.path("region.geojson"),
        exclude=example.path("lake.geojson"),
        grid=(6, 6),
        coordinates="degrees",
        m=2,
    ),
    "dirichlet-multinomial": lambda: vd.DirichletMultinomial(
        columns=["sex", "marital"], domain=AGES, epsilon=2.0
    ),
    "noise": lambda: vd.Noise(columns=["income", "stay"], min_people=0),
    "swap": lambda: vd.Swap(columns=["income"], min_people=0),
    "microaggregation": lambda: vd.Microaggregation(columns=["lon", "lat", "income"], min_people=0),
    "pram": lambda: vd.Pram(columns=["sex", "diagnosis"]),
    "steps": lambda: vd.Steps(
        [
            vd.TopCode(columns={"income": 80000}),
            vd.Cart(columns=["income"], m=2),
            vd.Noise(columns=["stay"], min_people=0),
        ]
    ),
}


def people() -> pd.DataFrame:
    """A part of the bundled register, without its identifiers."""
    frame = pd.read_csv(example.path("clinic.csv"), dtype={"zip": str}, parse_dates=["birth"]).head(
        1500
    )
    return frame.drop(columns=["name", "social_number"])


def hashes_of(name: str, folder: Path) -> list[str]:
    """The hash of every data file of a saved release, seed 5."""
    recipe = RECIPES[name]()
    extra = {"unsafe_repeatable": True} if name == "dirichlet-multinomial" else {}
    release = recipe.protect(people(), seed=5, **extra)
    saved = save(
        release,
        folder / "out" / name,
        folder / "safe" / name,
        format="csv",
        assessment=Assessment({}),
    )
    files = sorted((saved / "data").iterdir())
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECIPES)
def test_same_seed_same_bytes_as_version_0_1_0(name, tmp_path):
    assert hashes_of(name, tmp_path) == json.loads(HASHES.read_text())[name]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        made = {name: hashes_of(name, Path(home)) for name in RECIPES}
    HASHES.write_text(json.dumps(made, indent=2) + "\n")
