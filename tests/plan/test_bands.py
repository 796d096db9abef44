"""Cuts that a drafted plan proposes: round, with people in every band, and ready to run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.plan.bands import proposed_cuts
from veladura.plan.draft import draft
from veladura.plan.reading import parse_plan


@pytest.fixture
def people() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    born = pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 25_000, 600), unit="D")
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, 600),
            "birth_date": born,
            "sex": rng.choice(["f", "m"], 600),
            "zip": rng.choice(["10", "11", "12"], 600),
            "income": np.exp(rng.normal(9, 1, 600)).round(),
        }
    )


def uncommented(text: str) -> str:
    """Return the plan with its proposed bands: the # of these lines removed."""
    lines, inside = [], False
    for line in text.splitlines():
        if line == "#   [[step]]":
            inside = True
        if inside and not line.startswith("#"):
            inside = False
        lines.append(line.removeprefix("#").removeprefix(" ") if inside else line)
    return "\n".join(lines)


def test_the_fifths_of_even_ages_are_cut_at_round_numbers():
    table = vd.open(pd.DataFrame({"age": list(range(100)) * 3}))
    assert proposed_cuts(table.column("age")) == [20, 40, 60, 80]


@pytest.mark.parametrize("seed", range(8))
def test_every_band_holds_one_person_in_twenty(seed):
    """On skewed, heaped and gappy numbers; counted with pandas."""
    rng = np.random.default_rng(seed)
    numbers = np.round(np.exp(rng.normal(3, 1 + seed / 4, 500)), seed % 3)
    numbers[: 100 * (seed % 2)] = 0
    frame = pd.DataFrame({"n": numbers}).sample(frac=1, random_state=1)
    frame.loc[frame.index[:20], "n"] = np.nan
    cuts = proposed_cuts(vd.open(frame).column("n"))
    counts = pd.cut(frame["n"].dropna(), [-np.inf, *cuts, np.inf], right=False).value_counts()
    assert not cuts or counts.min() >= 0.05 * 480
    assert len(cuts) <= 4


def test_a_draft_proposes_bands_in_comments_and_runs_either_way(people, tmp_path, monkeypatch):
    people.to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)
    text = draft("people.csv", method="k-anonymity")
    assert "#   cuts = [" in text
    plain = parse_plan(text)
    cut = parse_plan(uncommented(text))
    assert [step.method for step in plain.steps] == ["k-anonymity"]
    assert [step.method for step in cut.steps] == ["recode", "k-anonymity"]
    rule = cut.steps[0].columns["age"]
    released = vd.Recode(columns={"age": rule}).protect(people[["age"]]).datasets[0]
    assert released["age"].nunique() == len(rule.cuts) + 1
    assert {"age", "birth_date"} & set(cut.steps[0].columns)


def test_few_values_are_not_cut(tmp_path, monkeypatch):
    pd.DataFrame({"age": [1, 2, 3] * 50, "sex": ["f", "m", "f"] * 50}).to_csv(
        tmp_path / "few.csv", index=False
    )
    monkeypatch.chdir(tmp_path)
    assert "cuts" not in draft("few.csv", method="k-anonymity").partition("[[step]]")[0]
