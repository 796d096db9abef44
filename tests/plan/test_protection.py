"""The protection that `init` drafts: what it does to a whole table, recounted with pandas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from veladura import example
from veladura.plan.confirm import accept_all, confirm
from veladura.plan.draft import drafted, write_draft
from veladura.plan.run import run
from veladura.release.verify import holds, verify
from veladura.report.opening import risk_sentence

ROOT = Path(__file__).parents[2]
MOST_ALONE = 0.01
KEYS = ["birth", "zip", "sex", "ethnicity", "marital", "lon", "lat"]


def released(source: Path, folder: Path, **options) -> tuple[pd.DataFrame, dict, Path]:
    """Draft, confirm and run as a newcomer does; return rows, manifest and folder."""
    plan = folder / "plan.toml"
    write_draft(drafted(str(source), home=folder, seed=1, **options).text, plan, force=True)
    outcome = run(confirm(plan, accept_all()), force=True)
    assert holds(verify(outcome.folder))
    manifest = json.loads((outcome.folder / "manifest.json").read_text(encoding="utf-8"))
    return pd.read_parquet(outcome.folder / "data" / "dataset-1.parquet"), manifest, outcome.folder


@pytest.fixture(scope="module")
def register(tmp_path_factory):
    """The quick start of the README."""
    return released(example.path("clinic.csv"), tmp_path_factory.mktemp("register"))


def test_no_column_of_the_register_identifies_more_than_one_in_a_hundred(register):
    rows, _, _ = register
    columns = [[name] for name in rows] + [["lon", "lat"]]
    for names in columns:
        alone = int((rows.groupby(names, dropna=False, observed=True).size() == 1).sum())
        assert alone <= MOST_ALONE * len(rows), names


def test_the_register_shares_its_keys_with_five_people_and_keeps_every_column(register):
    rows, manifest, _ = register
    classes = rows.groupby(KEYS, dropna=False, observed=True)
    assert classes.size().min() >= 5
    assert classes["diagnosis"].nunique().min() >= 2
    assert all(len(rows[name].unique()) > 1 for name in rows)
    assert len(rows) > 5000 - 5  # coarser values for rare people, instead of leaving them out
    risks = {risk["intruder"]: risk for risk in manifest["risk"]}
    assert risks["register"]["after"] == 0


def test_the_page_says_what_someone_finds_who_knows_every_exact_column(register):
    _, manifest, folder = register
    page = (folder / "report.html").read_text(encoding="utf-8")
    strongest = next(
        r for r in manifest["risk"] if r["intruder"] not in ("register", "acquaintance")
    )
    assert f"someone who knows every unperturbed column {strongest['after']:,}" in " ".join(
        page.split()
    )


def test_the_readme_opens_with_the_verdict_of_this_release(register):
    _, manifest, _ = register
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    verdict = risk_sentence(manifest["risk"])
    assert verdict in readme
    assert readme.index(verdict) < readme.index("the register finds largest change")


def survey(rows: int = 1500, seed: int = 3) -> pd.DataFrame:
    """People with a weight, an age, its groups, a code of many values and an income."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": age,
            "agegroup": pd.cut(age, [0, 30, 45, 60, 100], labels=["young", "mid", "old", "aged"]),
            "region": rng.choice(list("ABCDEFGH"), rows),
            "industry": [f"branch {i:03}" for i in rng.integers(0, 260, rows)],
            "income": np.round(np.exp(rng.normal(10, 1, rows)), 2),
            "survey_weight": np.round(rng.gamma(6, 40, rows), 1),
        }
    )


@pytest.fixture(scope="module")
def weighted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    frame = survey()
    frame.to_csv(folder / "people.csv", index=False)
    roles = drafted(str(folder / "people.csv"), home=folder)
    return frame, roles, released(folder / "people.csv", folder)[0]


def test_weights_add_up_to_their_total(weighted):
    frame, roles, rows = weighted
    assert roles.guesses["survey_weight"].role == "weight"
    # Not nearer: the exact total would tell one weight to whoever knows the others, so it is that
    # of the rounded weights. Rounding a weight to two digits moves it by a twentieth at most.
    total, exact = rows["survey_weight"].sum(), frame["survey_weight"].sum()
    assert total == pytest.approx(exact, rel=0.01)
    assert total != pytest.approx(exact, rel=1e-6)


def test_groups_of_a_number_that_is_released_in_bands_are_left_out(weighted):
    _, roles, rows = weighted
    assert "agegroup" not in rows
    assert "it follows from age" in roles.treatment["agegroup"]
    assert rows["age"].nunique() > 2


def test_a_code_of_many_values_that_nobody_decided_is_left_out(weighted):
    _, roles, rows = weighted
    assert roles.guesses["industry"].role == "undecided"
    assert "industry" not in rows


def test_an_income_to_the_cent_is_rounded_and_its_tail_coded(weighted):
    frame, _, rows = weighted
    assert frame["income"].nunique() > 0.95 * len(frame)
    assert (rows["income"].value_counts() == 1).sum() <= MOST_ALONE * len(rows)
    assert rows["income"].max() < frame["income"].max()


def test_three_audiences_differ(tmp_path):
    """Open data is the strictest; researchers get exact numbers; one partner also a smaller k."""
    frame = survey()
    frame.to_csv(tmp_path / "people.csv", index=False)
    rows, ks = {}, {}
    for audience in ("open-data", "researchers", "one-partner"):
        rows[audience], manifest, _ = released(tmp_path / "people.csv", tmp_path, audience=audience)
        ks[audience] = next(s["settings"]["k"] for s in manifest["steps"] if "k" in s["settings"])
    assert ks == {"open-data": 5, "researchers": 5, "one-partner": 3}
    detail = {name: table["income"].nunique() for name, table in rows.items()}
    assert detail["open-data"] < detail["researchers"] / 5
    assert set(rows["researchers"]["income"]) <= set(frame["income"])
    assert set(rows["one-partner"]["income"]) <= set(frame["income"])


def test_amounts_of_few_people_are_averaged_where_rounding_would_leave_nothing(tmp_path):
    """Gifts of 400 people, most of none: a base at which few are alone makes all of them 0."""
    rng = np.random.default_rng(8)
    gift = np.where(rng.random(400) < 0.4, 0, np.round(np.exp(rng.normal(6, 2.5, 400))))
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "gift": gift.astype(int)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    rows, manifest, _ = released(tmp_path / "people.csv", tmp_path)
    assert "microaggregation" in [step["method"] for step in manifest["steps"]]
    assert rows["gift"].value_counts().min() >= 5
    middles = [np.quantile(table["gift"], [0.5, 0.75]) for table in (frame, rows)]
    assert middles[1] == pytest.approx(middles[0], rel=0.15)
    assert rows["gift"].max() < frame["gift"].max()
