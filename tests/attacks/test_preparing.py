"""Attacks on prepared tables, from the released files alone, each beside its base rate."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import veladura as vd

ROWS = 6_000


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(21)
    return pd.DataFrame(
        {
            "zip": rng.zipf(1.7, ROWS).clip(max=200),
            "age": rng.integers(18, 90, ROWS),
            "income": np.exp(rng.normal(10, 0.7, ROWS)).round(-3),
        }
    )


def saved(release, folder):
    return release.save(folder / "out" / "release", folder / "safe" / "record", format="csv")


def rows_of(folder) -> pd.DataFrame:
    return pd.read_csv(folder / "data" / "dataset-1.csv")


def test_a_register_finds_fewer_people_in_a_sample(people, tmp_path):
    """Someone with the register of the whole source claims every match that is alone in the file.

    In a full release every claim is right (base rate 1). In a sample a claim is right for the
    population uniques only, as often as the journalist's risk of the sample uniques says.
    """
    table = vd.open(people, {name: {"role": "quasi-identifier"} for name in ("zip", "age")})
    release = vd.Sample(fraction=0.2).protect(table, seed=8)
    released = rows_of(saved(release, tmp_path))
    alone = released.value_counts(["zip", "age"])
    alone = alone[alone == 1].index
    register = people.value_counts(["zip", "age"])
    right = (1 / register.loc[alone]).mean()  # a claim picks one of those who match the register
    assert 0 < right < 1
    certain = (register.loc[alone] == 1).mean()
    manifest = json.loads((tmp_path / "out" / "release" / "manifest.json").read_text())
    assert manifest["steps"][0]["settings"]["drawn"] == 0.2
    figures = vd.assess(table, release)
    assert int(figures["risk.uniqueness.population_uniques"]) == round(certain * len(alone))


def test_the_public_files_do_not_tell_how_many_a_filter_left_out(people, tmp_path):
    """Every number in the page and the manifest is tried as the number of rows of the source.

    The attack guesses the source's rows from the largest number of people that a page names, and
    must not come nearer than the released rows themselves (what everybody knows).
    """
    chain = vd.Steps([vd.Filter(where="age < 60"), vd.Noise(columns=["income"])])
    folder = saved(chain.protect(people, seed=2), tmp_path)
    released = len(rows_of(folder))
    texts = [(folder / name).read_text() for name in ("report.html", "manifest.json")]
    texts = [text.partition('id="term-')[0] for text in texts]  # the glossary has examples
    said = {
        int(number.replace(",", ""))
        for text in texts
        for number in re.findall(r"of ([\d,]+) (?:people|rows)", text)
    }
    assert released in said  # the pages do name numbers of people
    assert not {number for number in said if number > released}


def test_what_gaps_tell_is_what_the_manifest_says_and_no_more(people, tmp_path):
    """A gap tells that the condition held: certain, as documented. Above it, nothing is told.

    Guessing the income of a blanked person within 10 % from the released columns does no better
    than guessing the commonest blanked income, which the file does not hold.
    """
    recipe = vd.Suppress(cells={"income": "income > 50_000"})
    released = rows_of(saved(recipe.protect(people), tmp_path))
    blank = released["income"].isna()
    assert blank.sum() == (people["income"] > 50_000).sum()
    assert released["income"].max() <= 50_000
    truth = people.loc[people["income"] > 50_000, "income"]
    guess = released["income"].max()  # the best the file offers
    hit = (np.abs(truth - guess) < 0.1 * truth).mean()
    base = max((np.abs(truth - g) < 0.1 * truth).mean() for g in truth.unique())
    assert hit < base
