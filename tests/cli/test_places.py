"""Shares in rectangles and spatial regressions of a release, from the command line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import ColumnError, PlanError

WEST, EAST = [0.0, 0.0, 5.0, 10.0], [5.0, 0.0, 10.0, 10.0]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a folder with homes.csv and a release; the ill live in the west."""
    folder = tmp_path_factory.mktemp("places")
    rng = np.random.default_rng(3)
    people = pd.DataFrame((10 * rng.random((300, 2))).round(4), columns=["east", "north"])
    chance = np.where(people["east"] < 5, 0.7, 0.2)
    people["ill"] = np.where(rng.random(300) < chance, "yes", "no")
    people["age"] = rng.integers(20, 80, 300)
    people["cost"] = (2.0 * people["age"] + rng.normal(0, 5, 300)).round(2)
    people.to_csv(folder / "homes.csv", index=False)
    release = vd.NaiveGeography(x="east", y="north", region=(0, 0, 10, 10), grid=(5, 5), m=3)
    release.protect(people, seed=1).save(folder / "out" / "release", folder / "safe" / "record")
    return folder


def ask(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["analyze", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def test_shares_in_two_rectangles_are_those_counted_by_hand(home):
    table = home / "private" / "shares.csv"
    table.parent.mkdir(exist_ok=True)
    picture = table.with_suffix(".svg")
    text = ask(
        home / "out" / "release",
        "--rectangle",
        "west=0,0,5,10",
        "--rectangle",
        "east=5,0,10,10",
        "--event",
        "ill=yes",
        "--beside",
        home / "homes.csv",
        "--out",
        table,
        "--picture",
        picture,
    )
    assert "overlap of release" in text
    shares = pd.read_csv(table).set_index(["rectangle", "source"])
    people = pd.read_csv(home / "homes.csv")
    release = vd.load(home / "out" / "release").datasets
    for name, inside in (("west", lambda d: d["east"] <= 5), ("east", lambda d: d["east"] >= 5)):
        original = people[inside(people)]["ill"] == "yes"
        share = original.mean()
        assert shares.loc[(name, "original"), "share"] == pytest.approx(share)
        half = 1.959964 * np.sqrt(share * (1 - share) / len(original))
        assert shares.loc[(name, "original"), "upper"] == pytest.approx(share + half)
        each = [(d[inside(d)]["ill"] == "yes") for d in release]
        assert shares.loc[(name, "release"), "share"] == pytest.approx(
            np.mean([one.mean() for one in each])
        )
        # Reiter (2003): T = b / m + v
        q, v = (
            [one.mean() for one in each],
            [one.mean() * (1 - one.mean()) / len(one) for one in each],
        )
        total = np.var(q, ddof=1) / 3 + np.mean(v)
        width = shares.loc[(name, "release"), "upper"] - np.mean(q)
        assert width >= 1.959964 * np.sqrt(total) - 1e-9  # a t quantile
    assert b"<svg" in picture.read_bytes()
    assert oct(table.stat().st_mode & 0o777) == "0o600"


def test_rectangles_work_without_the_original(home, tmp_path):
    out = tmp_path / "shares.csv"
    ask(
        home / "out" / "release", "--rectangle", "west=0,0,5,10", "--event", "ill=yes", "--out", out
    )
    assert pd.read_csv(out)["source"].tolist() == ["release"]


def test_a_spatial_regression_finds_the_slope_in_original_and_release(home, tmp_path):
    out = tmp_path / "regression.csv"
    text = ask(
        home / "out" / "release",
        "cost ~ age + ill",
        "--places",
        "east,north",
        "--beside",
        home / "homes.csv",
        "--out",
        out,
        "--picture",
        tmp_path / "regression.svg",
    )
    assert "credible intervals" in text
    table = pd.read_csv(out).set_index(["parameter", "source"])
    for source in ("original", "release"):
        row = table.loc[("age", source)]
        assert row["lower"] < 2.0 < row["upper"]
        assert row["upper"] - row["lower"] < 0.2
        ill = table.loc[("ill_yes", source)]
        assert ill["lower"] < 0 < ill["upper"]
    assert b"<svg" in (tmp_path / "regression.svg").read_bytes()


def test_the_share_of_a_value_is_a_response(home, tmp_path):
    out = tmp_path / "ill.csv"
    ask(home / "out" / "release", "ill=yes ~ age", "--places", "east,north", "--out", out)
    table = pd.read_csv(out).set_index("parameter")
    assert abs(table.loc["age", "mean"]) < 0.01


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (["--rectangle", "west=0,0,5,10"], PlanError, "--event"),
        (["--rectangle", "west=5,0,0,10", "--event", "ill=yes"], PlanError, "west < east"),
        (["--rectangle", "west=0,0,5,10", "--event", "sick=yes"], ColumnError, "sick"),
        (["cost ~ age", "--places", "east"], PlanError, "two columns"),
        (["ill ~ age", "--places", "east,north"], PlanError, "ill=VALUE"),
        (["cost", "--places", "east,north"], PlanError, "response ~ column"),
        (["cost ~ height", "--places", "east,north"], ColumnError, "height"),
    ],
)
def test_mistakes_are_explained(home, options, error, message):
    with pytest.raises(error, match=message):
        ask(home / "out" / "release", *options)


def test_what_shows_the_original_may_not_be_written_beside_a_release(home):
    with pytest.raises(Exception, match="beside a release"):
        ask(
            home / "out" / "release",
            "--rectangle",
            "west=0,0,5,10",
            "--event",
            "ill=yes",
            "--beside",
            home / "homes.csv",
            "--out",
            home / "out" / "shares.csv",
        )
