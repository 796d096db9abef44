"""Attack: what does a private release tell beside its mechanism? Take the mechanism away and look.

Noise and private choices are replaced by answers that do not look at the data. Then two tables that
have nothing in common but their declared columns (no value, no order, no gap, where the number of
rows is not public not even that) must leave the same release folder, byte for byte: manifest,
codebook, report, data files, their sizes and checksums. Whatever differs came around the mechanism,
and was not paid for. Messages on the way out must be the same, too. The broken
control states the exact number of rows, as version 0.1.0 did for people.
"""

from __future__ import annotations

import secrets
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from veladura.methods.private import dirichlet, marginals_draw, noisy, queries
from veladura.methods.private.contribution import Contribution
from veladura.plan.reading import read_plan
from veladura.plan.run import run

pytest.importorskip("opendp")

DOMAIN = 'domain = {sex = ["f", "m"], ward = ["a", "b", "c", "d"]}\n'
STEPS = {
    "dirichlet-multinomial": 'columns = ["sex", "ward"]\nsize = 40\n' + DOMAIN,
    "noisy-counts": 'columns = ["sex", "ward"]\nmissing = ["ward"]\n' + DOMAIN,
    "marginals": 'columns = ["sex", "ward", "income"]\nprivate_cuts = ["income"]\n'
    'bounds = {income = [0, 1000]}\nmissing = ["income", "ward"]\n' + DOMAIN,
    "private-summary": 'columns = ["income"]\nby = ["sex"]\nbounds = {income = [0, 1000]}\n'
    'statistics = ["count", "sum", "mean", "sd", "quantiles", "histogram"]\n'
    'domain = {sex = ["f", "m"]}\n',
    "private-regression": 'outcome = "income"\ncolumns = ["sex", "ward"]\n'
    "bounds = {income = [0, 1000]}\n" + DOMAIN,
}
ROWS = {"add-remove": (220, 351), "replace-one": (300, 300), "people": (300, 900)}


def plenty(rows: int, *, gaps: bool) -> pd.DataFrame:
    """Many different people."""
    rng = np.random.default_rng(1)
    ward = rng.choice(["a", "b", "c", "d"], rows).astype(object)
    income = rng.integers(0, 900, rows).astype(object)
    if gaps:
        ward[::7] = income[::5] = None
    return pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "ward": ward, "income": income})


def alike(rows: int) -> pd.DataFrame:
    """One person again and again, beyond the bounds; the last one is another."""
    frame = pd.DataFrame({"sex": ["m"] * rows, "ward": "d", "income": 123_456})
    frame.loc[rows - 1] = ["f", "a", -5]
    return frame


def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every mechanism answer without a look at the data, and all else be drawn alike."""
    monkeypatch.setattr(secrets, "randbits", lambda _: 20261118)
    monkeypatch.setattr(marginals_draw, "gaussian", lambda counts, _: np.full(counts.size, 40.0))
    monkeypatch.setattr(marginals_draw, "noisy_maximum", lambda scores, *_: len(scores) // 3)
    monkeypatch.setattr(queries, "gaussian", lambda counts, _: np.full(counts.size, 40.0))
    same = lambda counts: [40 + place for place in range(len(counts))]  # noqa: E731
    for module in (noisy, queries):
        monkeypatch.setattr(module, "geometric", lambda *_: (same, Fraction(0)))
    monkeypatch.setattr(
        dirichlet.urn, "draw", lambda _, alpha, counts, size: _even(len(counts), size)
    )
    monkeypatch.setattr(
        Contribution, "noisy_total", lambda self, n, *_: 77 if self.total_sensitivity else n
    )


def _even(cells: int, size: int) -> np.ndarray:
    return np.bincount(np.arange(size) % cells, minlength=cells)


def released(home: Path, table: pd.DataFrame, method: str, neighbours: str) -> dict[str, object]:
    """Return the files of a release by name, and the messages on the way."""
    home.mkdir()
    people = neighbours == "people"  # 300 of them, with one row or three: only they are public
    if people:
        table = table.assign(person=np.arange(len(table)) % 300)
    whose = 'person = {role = "person", kind = "integer"}\n' if people else ""
    step = "rows_per_person = 2" if people else f'neighbours = "{neighbours}"'
    table.to_csv(home / "people.csv", index=False)
    (home / "plan.toml").write_text(
        f'[source]\npath = "people.csv"\nname = "people"\n[columns]\n'
        'sex = {role = "quasi-identifier", kind = "category"}\n'
        'ward = {role = "quasi-identifier", kind = "category"}\n'
        f'income = {{role = "sensitive", kind = "integer"}}\n{whose}'
        '[release]\nfolder = "release/people"\n[custodian]\nfolder = "safe/people"\n'
        "[budget]\naccept_noise = true\n"
        f'[[step]]\nmethod = "{method}"\nepsilon = 1.0\n{step}\n{STEPS[method]}',
        encoding="utf-8",
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        run(read_plan(home / "plan.toml"))
    folder = home / "release" / "people"
    files = {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}
    return {**files, "messages": sorted({str(warning.message) for warning in said})}


@pytest.mark.parametrize("neighbours", ROWS)
@pytest.mark.parametrize("method", STEPS)
def test_beside_its_mechanism_a_release_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, neighbours: str
) -> None:
    blind(monkeypatch)
    few, many = ROWS[neighbours]
    first = plenty(few, gaps=method != "dirichlet-multinomial")
    monkeypatch.setenv("VELADURA_LEDGER", str(tmp_path / "one ledger"))
    one = released(tmp_path / "one", first, method, neighbours)
    monkeypatch.setenv("VELADURA_LEDGER", str(tmp_path / "other ledger"))
    other = released(tmp_path / "other", alike(many), method, neighbours)
    assert {name for name in one if one[name] != other.get(name)} == set()
    assert one.keys() == other.keys()


def test_the_control_that_states_the_rows_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blind(monkeypatch)
    monkeypatch.setattr(Contribution, "noisy_total", lambda _self, n, *_: n)
    told = []
    for name, table in (("one", plenty(220, gaps=False)), ("other", alike(221))):
        monkeypatch.setenv("VELADURA_LEDGER", str(tmp_path / f"{name} ledger"))
        told.append(released(tmp_path / name, table, "dirichlet-multinomial", "add-remove"))
    assert told[0]["manifest.json"] != told[1]["manifest.json"]
