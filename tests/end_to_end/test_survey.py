"""The generated survey: its design, and its way through the commands to design-based intervals."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

from veladura.example.survey import Design, draw_sample, make_country, make_panel, next_year


@pytest.fixture(scope="module")
def country():
    return make_country(areas=40, households=12)


def test_weights_add_up_to_the_country_and_ignoring_them_is_wrong(country):
    """40 samples: Horvitz-Thompson totals are unbiased, plain means are not (t at 1e-5)."""
    sizes, weighted, plain = [], [], []
    for seed in range(40):
        sample = draw_sample(country, seed, Design(areas=8, households=8))
        sizes.append(sample["weight"].sum())
        weighted.append((sample["weight"] * sample["income"]).sum())
        plain.append(sample["income"].mean())

    def apart(values, truth):
        return (np.mean(values) - truth) / (np.std(values, ddof=1) / np.sqrt(40))

    assert abs(apart(sizes, len(country))) < 5.0
    assert abs(apart(weighted, country["income"].sum())) < 5.0
    assert apart(plain, country["income"].mean()) < -5.0  # rich areas are sampled at a lower rate


def test_households_are_whole_and_make_sense(country):
    heads = country[country["relation"] == "head"].set_index("household")
    assert heads.index.is_unique
    assert set(country["household"]) == set(heads.index)
    children = country[country["relation"] == "child"]
    assert (heads["age"].reindex(children["household"]).to_numpy() - children["age"] >= 18).all()
    assert country.groupby("household")["rent"].nunique().max() == 1


def test_a_wave_asks_the_same_people_a_year_later(country):
    first = draw_sample(country, 1, Design(areas=10, households=8))
    second = next_year(first, 1)
    both = first.merge(second, on="person", suffixes=("", "_later"))
    assert 0.85 < second["household"].nunique() / first["household"].nunique() < 1
    assert (both["age_later"] - both["age"]).isin([0, 1]).all()
    assert (both["area_later"] == both["area"]).all()
    assert second["weight"].sum() == pytest.approx(first["weight"].sum(), rel=1e-5)
    assert (
        second.groupby("household")
        .size()
        .equals(first[first["household"].isin(second["household"])].groupby("household").size())
    )


def test_the_same_seed_gives_the_same_survey():
    design = Design(areas=2, households=10)
    assert make_panel(3, 2, design).equals(make_panel(3, 2, design))
    assert not make_panel(3, 1, design).equals(make_panel(4, 1, design))


def test_the_survey_goes_through_the_commands(tmp_path, veladura):
    """800 households: files, a drafted plan with the design found, release, proof, intervals."""
    done = veladura("example", "--households", "800", "--waves", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "survey").iterdir())
    assert files == ["panel.csv", "survey-2023.csv", "survey-2024.csv"]
    assert veladura("example", "--households", "800", cwd=tmp_path).returncode != 0
    source = "survey/survey-2023.csv"
    done = veladura("init", source, "--method", "cart", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plan = tomllib.loads((tmp_path / "plan.toml").read_text(encoding="utf-8"))
    roles = {name: column["role"] for name, column in plan["columns"].items()}
    wanted = {
        "stratum": "strata",
        "area": "cluster",
        "household": "household",
        "weight": "weight",
    }
    assert {name: roles[name] for name in wanted} == wanted
    assert "stratum" not in plan["step"][0]["columns"]
    assert plan["step"][0]["order"][0] == "weight"
    assert veladura("confirm", "plan.toml", "--accept-all", cwd=tmp_path).returncode == 0
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    folder = plan["release"]["folder"]
    assert veladura("verify", folder, cwd=tmp_path).returncode == 0
    asked = ["--mean", "income", "--total", "income", "--ratio", "income/rent", "--out", "t.csv"]
    done = veladura("survey", folder, *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "strata stratum, clusters area" in " ".join(done.stdout.split())
    shown = pd.read_csv(tmp_path / "t.csv").set_index("estimate of")
    people = pd.read_csv(tmp_path / source)
    own = np.average(people["income"], weights=people["weight"])
    mean = shown.loc["mean of income"]
    assert abs(mean["estimate"] - own) < 4 * mean["error"]


@pytest.mark.slow
def test_the_third_wave_extends_the_first_two(tmp_path, veladura, monkeypatch):
    """By the commands: a drafted plan of two waves, the same plan with three, both verified."""
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    assert veladura("example", "--households", "400", cwd=tmp_path).returncode == 0
    panel = pd.read_csv(tmp_path / "survey/panel.csv")
    panel[panel["year"] < 2025].to_csv(tmp_path / "two.csv", index=False)
    panel.to_csv(tmp_path / "three.csv", index=False)
    assert veladura("init", "two.csv", "--method", "households", cwd=tmp_path).returncode == 0
    plan = tmp_path / "plan.toml"
    text = plan.read_text(encoding="utf-8").replace("m = 5", "m = 2")
    assert 'kind = "integer"' in text.partition("[columns.year]")[2].partition("[columns")[0]
    series = '[custodian]\nseries = "survey"\nconsistent = true'
    plan.write_text(text.replace("[custodian]", series), encoding="utf-8")
    assert veladura("confirm", "plan.toml", "--accept-all", cwd=tmp_path).returncode == 0
    for name in ("two", "three"):
        done = veladura("run", "plan.toml", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert ("this release extends the one in" in done.stderr) == (name == "three")
        text = plan.read_text(encoding="utf-8")  # next year: the same plan, the longer file
        plan.write_text(text.replace("two", "three"), encoding="utf-8")
    folders = ["release/two", "release/three"]
    assert veladura("verify", folders[0], cwd=tmp_path).returncode == 0
    done = veladura("verify", folders[1], "--earlier", folders[0], cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "holds The earlier release is the one that this release" in " ".join(done.stdout.split())
    mixed = veladura("verify", folders[0], "--earlier", folders[1], cwd=tmp_path)
    assert mixed.returncode == 4
