"""Synthesis by household: whole households, like those of a resample, under rules that hold."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.generators.households import EXACTLY_ONE, RELATIVES, ROLES, RULES, households

import veladura as vd
from veladura.core.promise import Evidence, Promise, prove
from veladura.errors import ColumnError, DataError, PlanError
from veladura.methods.households.promises import CHECKS, implied_by

HOMES = 2500
RULED = {"relatives": RELATIVES, "exactly_one": EXACTLY_ONE, "rules": RULES}


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return households(HOMES)


@pytest.fixture(scope="module")
def release(people):
    return vd.HouseholdCart(m=2, **RULED).protect(vd.open(people, ROLES), seed=5)


def couples(frame: pd.DataFrame) -> pd.DataFrame:
    """Return heads and partners side by side."""
    head, partner = (
        frame[frame.relation == relation].set_index("home") for relation in ("head", "partner")
    )
    return head.join(partner, lsuffix="_h", rsuffix="_p", how="inner")


def figures(frame: pd.DataFrame) -> dict[str, float]:
    """Return what households are made of, by pandas alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        both = couples(frame)
    gap = both.age_p - both.age_h
    homes = frame.home.unique()
    children = frame[frame.relation == "child"].groupby("home").size().reindex(homes).fillna(0)
    income = np.log(both[["income_h", "income_p"]] + 1)
    return {
        "gap": gap.mean(),
        "spread of the gap": gap.std(),
        "children": children.mean(),
        "size": len(frame) / homes.size,
        "couples": len(both) / homes.size,
        "income": np.arctanh(income.corr().iloc[0, 1]),
        "education": np.arctanh(both[["education_h", "education_p"]].corr().iloc[0, 1]),
    }


def resampled_errors(frame: pd.DataFrame, times: int = 60) -> dict[str, float]:
    """Return the standard deviation of each figure over resamples of whole households."""
    rng = np.random.default_rng(0)
    rows = frame.sort_values("home").reset_index(drop=True)
    size = rows.groupby("home").size().to_numpy()
    start = np.cumsum(size) - size
    found = []
    for _ in range(times):
        chosen = rng.integers(size.size, size=size.size)
        home = np.repeat(np.arange(size.size), size[chosen])
        first = np.repeat(np.cumsum(size[chosen]) - size[chosen], size[chosen])
        place = start[chosen][home] + np.arange(home.size) - first
        found.append(figures(rows.iloc[place].assign(home=home)))
    return pd.DataFrame(found).std().to_dict()


def apart(frame: pd.DataFrame, original: pd.DataFrame, errors: dict[str, float]) -> float:
    """Return the largest distance of a figure from the original, in errors of a resample.

    A Bayesian draw has the error of a resample twice: once as a sample and once as a draw.
    """
    own, other = figures(frame), figures(original)
    return max(abs(own[name] - other[name]) / (errors[name] * np.sqrt(2)) for name in own)


def test_households_are_like_those_of_a_resample(people, release):
    """False alarm about 1e-5 for seven figures of two datasets: 4.9 standard errors."""
    errors = resampled_errors(people)
    assert max(apart(frame, people, errors) for frame in release.datasets) < 4.9
    # broken controls: members drawn alone, and members of other households
    alone = release.datasets[0].copy()
    rng = np.random.default_rng(1)
    for relation in ("partner", "child"):
        rows = alone.index[alone.relation == relation]
        alone.loc[rows, ["age", "income", "education"]] = alone.loc[
            rng.permutation(rows), ["age", "income", "education"]
        ].to_numpy()
    assert apart(alone, people, errors) > 10
    plain = vd.Cart(m=1).protect(people.drop(columns="home"), seed=5).datasets[0]
    assert apart(plain.assign(home=np.arange(len(plain)) // 3), people, errors) > 10


def test_rare_kinds_of_members_leave_the_others_as_they_are(people):
    """Kinds that few households have share a model; partners and children keep theirs."""
    rng = np.random.default_rng(3)
    kinds = rng.choice(["aunt", "boarder", "cousin", "guest", "zouave"], len(people))
    mixed = people.assign(relation=people.relation.where(people.relation != "other", kinds))
    assert mixed.relation.value_counts().nsmallest(5).between(5, 49).all()
    drawn = vd.HouseholdCart(m=1).protect(vd.open(mixed, ROLES), seed=5).datasets[0]
    assert apart(drawn, mixed, resampled_errors(mixed)) < 4.9
    ages = (drawn.groupby("relation").age.mean() - mixed.groupby("relation").age.mean()).abs()
    assert ages[["head", "partner", "child"]].max() < 2


def test_every_household_is_whole(release):
    for frame in release.datasets:
        homes = frame.groupby("home")
        for name in ("region", "tenure", "rooms", "members"):
            assert homes[name].nunique().max() == 1
        assert (homes.members.first() == homes.size()).all()
        assert sorted(frame.home.unique()) == list(range(1, HOMES + 1))


def test_no_rule_is_broken_in_any_household(people, release):
    """Counted by pandas; the same model without rules breaks some."""

    def broken(frame: pd.DataFrame) -> int:
        head = frame[frame.relation == "head"].drop_duplicates("home").set_index("home").age
        gap = frame.age - frame.home.map(head)
        child, partner = frame.relation == "child", frame.relation == "partner"
        heads = (frame.relation == "head").groupby(frame.home).sum()
        partners = partner.groupby(frame.home).sum()
        wrong = (child & (gap > -16)).sum() + (partner & (gap.abs() > 25)).sum()
        return int(wrong + (heads != 1).sum() + (partners > 1).sum())

    assert [broken(frame) for frame in release.datasets] == [0, 0]
    free = vd.HouseholdCart(m=1).protect(vd.open(people, ROLES), seed=5)
    assert broken(free.datasets[0]) > 0
    assert {proof.status for proof in release.proofs} == {"holds"}


def test_neither_order_nor_numbers_of_the_source_nor_threads_move_a_draw(people):
    small = people[people.home.isin(people.home.unique()[:400])].reset_index(drop=True)
    recipe = vd.HouseholdCart(m=2)

    def drawn(frame: pd.DataFrame, threads: int) -> list[pd.DataFrame]:
        table = vd.open(frame.reset_index(drop=True), ROLES)
        return recipe.protect(table, seed=9, threads=threads).datasets

    plain = drawn(small, 1)
    rng = np.random.default_rng(2)
    moved = small.sample(frac=1, random_state=3)
    moved = moved.assign(home=rng.permutation(10**6)[moved.home.rank(method="dense").astype(int)])
    for one, other in zip(plain, drawn(moved, 2), strict=True):
        pd.testing.assert_frame_equal(one, other)


def test_a_size_that_few_households_have_does_not_come_out():
    frame = households(600, seed=4)
    large = pd.DataFrame({**frame.iloc[0].to_dict(), "home": -1, "members": 15}, index=range(15))
    large["relation"] = ["head", *["child"] * 14]
    release = vd.HouseholdCart(m=3).protect(vd.open(pd.concat([frame, large]), ROLES), seed=1)
    sizes = frame.groupby("home").size().value_counts()
    most = max(size for size in sizes.index if sizes[sizes.index >= size].sum() >= 4)
    for drawn in release.datasets:
        assert drawn.groupby("home").size().max() <= most


def test_places_of_three_households_each_are_grouped_and_refuse_no_release(people):
    """Every place is rare in households, and not all are in people: six live in the largest."""
    homes = {home: place for place, home in enumerate(people.home.unique())}
    places = people.home.map(homes) // 3
    assert people.groupby(places).size().max() > 5
    release = vd.HouseholdCart(m=1).protect(
        vd.open(people.assign(place=[f"p{place}" for place in places]), ROLES), seed=1
    )
    drawn = release.datasets[0]
    assert drawn.groupby("place").home.nunique().mean() > 4
    assert "place" in next(p.settings["columns"] for p in release.promises if "rare-l" in p.name)


def test_members_without_a_household_number_are_households_alone(people):
    frame = people.head(600).assign(home=lambda f: f.home.where(f.home % 3 > 0))
    assert frame.home.isna().any()
    release = vd.HouseholdCart(m=1).protect(vd.open(frame, ROLES), seed=1)
    assert release.datasets[0].home.notna().all()


def test_without_units_it_is_a_synthesis_of_rows(people):
    frame = people.drop(columns="home").head(500)
    release = vd.HouseholdCart(m=1).protect(frame, seed=1)
    assert len(release.datasets[0]) == 500
    assert list(release.datasets[0].columns) == list(frame.columns)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"exactly_one": ["boss"]}, PlanError, "relative"),
        ({"relatives": {"a.b": "age > 3"}}, PlanError, "without a dot"),
        ({"members": ["height"]}, ColumnError, "members"),
        (
            {"relatives": {"head": 'relation == "head"'}, "rules": ["age <= head.height"]},
            ColumnError,
            "height",
        ),
        ({"relatives": {"man": 'sex == "m"'}}, DataError, "break the rules across members"),
        (
            {"relatives": RELATIVES, "rules": ["sex - head.age < 3"]},
            PlanError,
            "holds no numbers",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(people, settings, error, words):
    with pytest.raises(error, match=words):
        vd.HouseholdCart(**settings).protect(vd.open(people, ROLES), seed=1)


def test_rules_that_no_draw_can_keep_are_refused(people, monkeypatch):
    monkeypatch.setattr("veladura.methods.households.rules.MOST_BROKEN", 1.0)
    recipe = vd.HouseholdCart(m=1, relatives=RELATIVES, rules=["age - head.age > 200"])
    with (
        pytest.warns(UserWarning, match="break a rule"),
        pytest.raises(DataError, match="however often"),
    ):
        recipe.protect(vd.open(people.head(800), ROLES), seed=1)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("unit-columns", lambda f: f.assign(rooms=np.arange(len(f)))),
        ("unit-sizes", lambda f: f.iloc[::2]),
        ("member-rules", lambda f: f.assign(age=np.where(f.relation == "child", 99, f.age))),
        ("member-rules", lambda f: f[f.relation != "head"]),
        ("rare-sizes", lambda f: f.assign(home=1)),
    ],
)
def test_every_check_sees_a_broken_release(people, release, name, spoil):
    promise = next(p for p in release.promises if p.name == name)
    whole = vd.open(people, ROLES).without_identifiers()
    for frame, status in ((release.datasets[0], "holds"), (spoil(release.datasets[0]), "broken")):
        table = vd.open(frame.reset_index(drop=True), ROLES).without_identifiers()
        assert prove(promise, Evidence(table, whole), CHECKS).status == status


def test_a_release_without_its_numbers_proves_nothing(release):
    table = vd.open(release.datasets[0].drop(columns="home"))
    for name in ("unit-columns", "unit-sizes", "member-rules"):
        promise = next(p for p in release.promises if p.name == name)
        assert prove(promise, Evidence(table), CHECKS).status == "broken"


def test_the_manifest_implies_the_promises(release):
    settings = release.manifest["steps"][0]["settings"]
    assert [p.name for p in implied_by(settings)] == [p.name for p in release.promises]
    assert isinstance(release.promises[0], Promise)
    assert release.rule.name == "single"


def test_a_saved_release_is_verified_from_its_files(release, tmp_path):
    folder = release.save(tmp_path / "out" / "release", custodian=tmp_path / "in" / "record")
    loaded = vd.load(folder)
    assert {p.status for p in loaded.proofs} == {"holds", "attested"}
    assert [p.promise.name for p in loaded.proofs if p.status == "attested"] == [
        "moved-numbers",
        "rare-sizes",
    ] * 2
