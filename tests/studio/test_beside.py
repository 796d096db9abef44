"""Two cards beside each other: every picture against numbers counted by other means."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.studio.browser import write_people

from veladura.plan.draft import draft
from veladura.plan.edit import set_column, set_table
from veladura.plan.reading import plan_in
from veladura.plan.run import rehearsed
from veladura.report.marks import WIDTH
from veladura.studio import beside, rooms
from veladura.studio.cards import DRAWN, card_of, write_card
from veladura.studio.drafting import unknown
from veladura.studio.session import Session

ROWS = 200
FORMULAS = ["income ~ age + C(sex)", "age ~ C(area)"]


def plan_text(home: Path, columns: list[str]) -> str:
    """A plan that adds noise to some columns, and says why the others may be known."""
    table = str(home / "people.csv")
    text = draft(table, method="noise", home=home, seed=3, settings={"columns": columns})
    for name in ("sex", "age", "area", "ill", "x", "y"):
        text = set_column(text, name, {"exact": "known"})
    return set_table(text, ["utility"], {"models": FORMULAS})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a table, and two cards: the second has no area."""
    home = tmp_path_factory.mktemp("beside")
    write_people(home, ROWS)
    first = plan_text(home, ["income", "age"])
    second = unknown(plan_text(home, ["income"]), "area")
    second = set_column(second, "area", {"role": "dropped", "exact": None})
    cards = [card_of(rehearsed(plan_in(text, home)), text, 1.0) for text in (first, second)]
    return home, cards


@pytest.fixture
def session(made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    home, cards = made
    shutil.copyfile(home / "people.csv", "people.csv")
    Path("plan.toml").write_text(cards[0].card["text"], encoding="utf-8")
    opened = Session(Path("plan.toml"))
    opened.open()
    assert opened.problem == ""
    for card in cards:
        write_card(opened.cards.folder, card)
    yield opened
    opened.close()


def test_marginals_have_the_shares_of_pandas(made):
    home, cards = made
    table = pd.read_csv(home / "people.csv")
    shown = {m.name: m for m in beside.marginals([card.drawn for card in cards])}
    assert set(shown) == set(table.columns)
    for side in shown["sex"].sides:
        shares = {bar.label: (bar.released, bar.original) for bar in side.bars}
        for label, share in table["sex"].value_counts(normalize=True).items():
            assert shares[label] == pytest.approx((share, share))
    assert shown["sex"].same
    assert not shown["age"].same  # noise in the first card, exact in the second
    assert shown["area"].sides[1] is None


def test_categories_of_both_cards_stand_in_one_order(made):
    _, cards = made
    other = {**cards[1].drawn}
    other["columns"] = [
        {**column, "bars": column["bars"][::-1]} if column["name"] == "ill" else column
        for column in other["columns"]
    ]
    marginal = next(m for m in beside.marginals([cards[0].drawn, other]) if m.name == "ill")
    labels = [[bar.label for bar in side.bars] for side in marginal.sides]
    assert labels[0] == labels[1]


def test_the_holders_formulas_have_the_coefficients_of_least_squares(made):
    home, cards = made
    table = pd.read_csv(home / "people.csv").dropna(subset="income")
    design = np.column_stack([np.ones(len(table)), table["age"], table["sex"] == "m"]).astype(float)
    slope = np.linalg.lstsq(design, table["income"].to_numpy(), rcond=None)[0]
    own, areas = beside.formulas([card.drawn for card in cards])
    assert own.title == FORMULAS[0]
    assert [name for name, _, _ in own.rows] == ["age", "C(sex)[T.m]"]
    for (_, _, sides), truth in zip(own.rows, slope[1:], strict=True):
        for side in sides:
            assert side.term.original.value == pytest.approx(truth)
            # both cards are drawn on one axis: the band of the original is the same
            assert side.mark.band == sides[0].mark.band
            assert sum(side.mark.band) == pytest.approx(WIDTH)
    assert f"Your formula {FORMULAS[0]}" in cards[0].page  # the custodian's report has it too
    assert areas.why[0] == ""
    assert areas.why[1]  # the second card has no area, and says so
    assert not areas.both


def test_intervals_stand_beside_the_interval_of_the_original(made):
    home, cards = made
    table = pd.read_csv(home / "people.csv")
    means = next(g for g in beside.estimates([c.drawn for c in cards]) if g.title == "Means")
    exact = {name: sides for name, _, sides in means.rows}["x"]  # no card changes it
    for side in exact:
        assert side.term.released.value == pytest.approx(table["x"].mean())
        assert side.overlap == "100 %"


def test_pairs_are_those_of_the_assessment_the_worst_first(made):
    _, cards = made
    listed = beside.pairs([card.drawn for card in cards])
    worst = [max(score for score in scores if score is not None) for _, scores in listed]
    assert worst == sorted(worst, reverse=True)
    for number, card in enumerate(cards):
        scores = dict(card.drawn["pairs"])
        assert all(sides[number] == scores.get(name) for name, sides in listed)
        assert len(scores) == (21, 15)[number]  # pairs of seven columns, and of six


def test_the_page_shows_both_cards_picture_by_picture(session, made):
    html = rooms.show(session, "run", {"a": "001", "b": "002"})
    for part in ("marginals", "pairs", "formulas", "intervals", "pictures"):
        assert f'id="{part}"' in html
    assert "Card 002: " in html  # why its formula could not be fitted
    addresses = re.findall(r'<img class="picture" src="/view/([^"]+)"', html)
    assert len(addresses) >= 2
    assert all(session.views.find(ticket).make().startswith(b"<") for ticket in addresses)


def test_cards_that_keep_every_pair_are_shown(session):
    """A release that is an exact copy has a score of 0 everywhere."""
    for name in ("001", "002"):
        path = session.cards.folder / name / DRAWN
        drawn = json.loads(path.read_text(encoding="utf-8"))
        drawn["pairs"] = [[pair, 0.0] for pair, _ in drawn["pairs"]]
        path.write_text(json.dumps(drawn), encoding="utf-8")
    html = rooms.show(session, "run", {"a": "001", "b": "002"})
    assert html.count("0 times") >= 12


def test_a_card_of_an_older_studio_says_so(session):
    (session.cards.folder / "001" / DRAWN).unlink()
    html = rooms.show(session, "run", {"a": "001", "b": "002"})
    assert "made by an older version" in html
    assert "The whole report of card 001" in html
    rooms.do(session, "run/remove", {"card": "001"})
    assert [card["name"] for card in session.cards.all()] == ["002"]
