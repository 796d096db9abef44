"""What is fuzzed: for each kind of document where it starts from, how it is mutated and opened."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from tests.fuzz.mutate import CANARY, mutated_bytes, mutated_lines, mutated_tree

import veladura as vd
from veladura.cli.analyze import show_model
from veladura.methods.geography.region import region_of
from veladura.plan.reading import read_plan
from veladura.plan.run import account, check
from veladura.release.certificate import certificate
from veladura.release.verify import release_folders, verify

COLUMNS: dict[str, dict[str, Any]] = {
    "name": {"role": "identifier"},
    "age": {"role": "quasi-identifier", "kind": "integer", "exact": "invented"},
    "sex": {"kind": "category", "exact": "invented"},
    "area": {"kind": "category", "exact": "invented", "labels": {"a": "north", "b": "south"}},
    "income": {"role": "sensitive", "kind": "number", "exact": "invented", "missing": ["-8"]},
    "born": {"kind": "date", "format": "%Y-%m-%d", "exact": "invented"},
    "x": {"role": "geographic", "kind": "number", "exact": "invented"},
    "y": {"role": "geographic", "kind": "number", "exact": "invented"},
}
STEPS: tuple[dict[str, Any], ...] = (
    {"method": "noise", "columns": ["income"], "scale": 0.1, "correlated": True},
    {"method": "microaggregation", "columns": ["income", "age"], "k": 3},
    {"method": "top-code", "columns": ["income"], "quantile": 0.95},
    {"method": "recode", "columns": {"age": {"round": 10}}},
    {"method": "swap", "columns": ["income"], "window": 0.1},
    {"method": "pram", "columns": ["sex"], "retain": 0.8},
    {"method": "cart", "columns": ["income"], "m": 2, "min_leaf": 5},
    {"method": "critical-cart", "critical": {"income": "income >= 100"}, "m": 2},
    {
        "method": "k-anonymity",
        "quasi_identifiers": ["age", "sex"],
        "k": 3,
        "max_suppression": 0.1,
        "hierarchies": {"age": {"widths": [5.0, 10.0], "origin": 0.0}, "sex": {"flat": True}},
    },
    {
        "method": "geography",
        "x": "x",
        "y": "y",
        "region": [0.0, 0.0, 1.0, 1.0],
        "grid": [3, 3],
        "m": 2,
        "sweeps": 20,
        "burn": 5,
        "chains": 1,
    },
    {
        "method": "donut",
        "x": "x",
        "y": "y",
        "region": [0.0, 0.0, 1.0, 1.0],
        "inner": 0.01,
        "outer": 0.05,
    },
    {
        "method": "dirichlet-multinomial",
        "columns": ["sex"],
        "epsilon": 1.0,
        "domain": {"sex": ["f", "m"]},
        "missing": ["sex"],
    },
    {
        "method": "marginals",
        "columns": ["sex", "area"],
        "epsilon": 1.0,
        "domain": {"sex": ["f", "m"], "area": ["a", "b", "c"]},
    },
)
PRIVATE = ("dirichlet-multinomial", "marginals")
REGION = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": CANARY},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[0.0, 0.0], [4.0, 0.0], [4.0, 4.0], [0.0, 4.0], [0.0, 0.0]]],
            },
        },
        {
            "type": "Feature",
            "properties": {},
            "geometry": {
                "type": "MultiPolygon",
                "coordinates": [[[[5.0, 5.0], [6.0, 5.0], [6.0, 6.0], [5.0, 5.0]]]],
            },
        },
    ],
}
HIERARCHY = "".join(f"{CANARY}{i};group {i // 3};half {i // 6};*\n" for i in range(12)).encode()


@dataclass(frozen=True)
class Target:
    """A kind of document.

    Attributes
    ----------
    make
        Write a mutated document into the folder of a case, and return what opens it.
    share
        How often it is drawn.
    """

    name: str
    make: Callable[[Path, random.Random, Path], Callable[[], object]]
    share: int


def people(rows: int = 60) -> bytes:
    """Return a table as CSV; people's names and one area are planted values."""
    rng = np.random.default_rng(1)
    lines = [",".join(COLUMNS)]
    for i in range(rows):
        area = CANARY if i == 7 else "abc"[i % 3]
        born = f"19{rng.integers(40, 99)}-0{rng.integers(1, 9)}-1{rng.integers(0, 9)}"
        where = f"{rng.random():.3f},{rng.random():.3f}"
        money = rng.integers(20, 900)
        lines.append(
            f"{CANARY}{i},{rng.integers(18, 90)},{'fm'[i % 2]},{area},{money},{born},{where}"
        )
    return ("\n".join(lines) + "\n").encode()


def prepare(stock: Path) -> None:
    """Write what cases start from: a table, and the release of one method of each kind."""
    (stock / "people.csv").write_bytes(people())
    rng = np.random.default_rng(1)
    frame = vd.open(stock / "people.csv", {"name": {"role": "identifier"}})
    recipes: dict[str, Any] = {
        "noise": vd.Noise(columns=["income"]),
        "k": vd.KAnonymity(
            quasi_identifiers=["sex"], k=2, hierarchies={"sex": vd.Hierarchy.star()}
        ),
        "cart": vd.Cart(columns=["income"], m=2),
        "private": vd.DirichletMultinomial(
            columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=1.0
        ),
        "places": vd.Donut(x="x", y="y", region=[0, 0, 1, 1], inner=0.01, outer=0.05),
    }
    for name, recipe in recipes.items():
        seed = None if recipe.private else int(rng.integers(1000))
        recipe.protect(frame, seed=seed, ledger=vd.Ledger() if recipe.private else None).save(
            stock / "releases" / name, custodian=stock / "safe" / name
        )


def plans(folder: Path, rng: random.Random, stock: Path) -> Callable[[], object]:
    """Mutate a plan of one or two steps; everything before the draw is done."""
    shutil.copyfile(stock / "people.csv", folder / "people.csv")
    tree = {
        "source": {"path": "people.csv", "name": "people", "data_id": "one"},
        "columns": COLUMNS,
        "step": rng.sample(STEPS, rng.choice([1, 1, 2])),
        "intruder": [{"name": "neighbour", "knows": ["age", "sex"]}],
        "gate": {"risk.uniqueness.average_prosecutor": {"max": 0.9}},
        "release": {"folder": "out/people", "format": "csv", "purpose": "research"},
        "custodian": {"folder": "safe/people"},
        "budget": {"epsilon": 2.0, "delta": 0.0},
        "run": {"seed": 3, "threads": 1},
    }
    if any(step["method"] in PRIVATE for step in tree["step"]):  # they have neither
        tree = {key: value for key, value in tree.items() if key not in ("gate", "run")}
    try:
        text = tomli_w.dumps(mutated_tree(tree, rng)).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, RecursionError):
        text = tomli_w.dumps(tree).encode()
    if rng.random() < 0.3:
        text = mutated_bytes(text, rng)
    text = text.replace(CANARY.encode(), b"the holder's own words")  # the data's may not come out
    (folder / "plan.toml").write_bytes(text)

    def opened() -> None:
        plan = read_plan(folder / "plan.toml")
        check(plan)
        table = plan.open()
        account(plan, table)
        if rng.random() < 0.2 and plan.steps[0].method in ("noise", "recode", "pram", "swap"):
            plan.recipe.protect(table, seed=1)

    return opened


def tables(folder: Path, rng: random.Random, stock: Path) -> Callable[[], object]:
    """Mutate a CSV file, and draft a plan of it now and then."""
    content = (stock / "people.csv").read_bytes()
    mutation = rng.choice([mutated_lines, mutated_lines, mutated_bytes])
    path = folder / rng.choice(["people.csv", "people.tsv", "a[1]*.csv", "ä b'c.csv"])
    changed = mutation(content, rng)
    while CANARY.encode() in re.split(rb"[\r\n]", changed.replace(b"\0", b""), maxsplit=1)[0]:
        changed = mutation(content, rng)  # a value in the first line is the name of a column
    path.write_bytes(changed)
    declared = rng.choice([None, {"area": "category", "age": "integer"}, {"born": "date"}])

    def opened() -> None:
        table = vd.open(path, declared)
        _ = table.rows
        if rng.random() < 0.05:
            vd.Noise(columns=["income"]).protect(table, seed=1)

    return opened


def hierarchies(folder: Path, rng: random.Random, _stock: Path) -> Callable[[], object]:
    """Mutate a hierarchy file, and put values through it."""
    path = folder / "area.csv"
    mutation = rng.choice([mutated_lines, mutated_lines, mutated_bytes])
    path.write_bytes(mutation(HIERARCHY, rng))
    values = np.array([f"{CANARY}{i % 12}" for i in range(48)])

    def opened() -> None:
        hierarchy = vd.Hierarchy.from_csv(path)
        import pyarrow as pa

        vd.KAnonymity(
            quasi_identifiers=["area"], k=3, max_suppression=0.5, hierarchies={"area": hierarchy}
        ).protect(pa.table({"area": values}))

    return opened


def regions(folder: Path, rng: random.Random, _stock: Path) -> Callable[[], object]:
    """Mutate a GeoJSON file."""
    path = folder / rng.choice(["region.geojson", "region.json"])
    try:
        text = json.dumps(mutated_tree(REGION, rng)).encode()
    except (ValueError, RecursionError):
        text = json.dumps(REGION).encode()
    path.write_bytes(mutated_bytes(text, rng) if rng.random() < 0.4 else text)
    return lambda: region_of(path, rng.choice([None, [0.5, 0.5, 1.0, 1.0]]))


def manifests(folder: Path, rng: random.Random, stock: Path) -> Callable[[], object]:
    """Mutate the manifest, the codebook or another file of a release, and open it in every way."""
    source = stock / "releases" / rng.choice(["noise", "k", "cart", "private", "places"])
    release = folder / "release"
    shutil.copytree(source, release)
    name = rng.choice(["manifest.json", "manifest.json", "codebook.json", "SHA256SUMS", "data"])
    if name.endswith(".json"):
        tree = json.loads((release / name).read_text(encoding="utf-8"))
        text = json.dumps(mutated_tree(tree, rng)).encode()
        (release / name).write_bytes(mutated_bytes(text, rng) if rng.random() < 0.15 else text)
    else:
        path = release / name if name == "SHA256SUMS" else release / "data" / "dataset-1.parquet"
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    way = rng.randrange(4)

    def opened() -> None:
        if way == 0:
            vd.load(release)
        elif way == 1:
            for path in release_folders(release):
                verify(path)
        elif way == 2:
            certificate(release)
        else:
            show_model(
                release,
                "income ~ age",
                "gaussian",
                0.95,
                None,
                design=True,
                replication=None,
                rho=None,
                robust=False,
                ratios=False,
                tests=[],
                as_json=True,
                picture=None,
                out=None,
                large=False,
            )

    return opened


TARGETS = (
    Target("plans", plans, 30),
    Target("tables", tables, 25),
    Target("hierarchies", hierarchies, 15),
    Target("regions", regions, 15),
    Target("manifests", manifests, 15),
)
