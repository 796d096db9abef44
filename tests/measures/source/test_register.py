"""Linking with a register: who is found, by pandas, and numbers only outside the private list."""

from __future__ import annotations

import itertools
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import ColumnError, FolderError, PlanError

ON = ["zip", "birth", "sex"]


@pytest.fixture(scope="module")
def town() -> pd.DataFrame:
    rng = np.random.default_rng(17)
    frame = pd.DataFrame(
        {
            "name": [f"Zyzzyva {i}" for i in range(900)],
            "zip": rng.choice(["02138", "02139", "02141"], 900),
            "birth": rng.integers(1930, 2005, 900),
            "sex": rng.choice(["f", "m"], 900),
        }
    )
    frame.loc[rng.random(900) < 0.03, "birth"] = None
    return frame


@pytest.fixture(scope="module")
def patients(town):
    return town.sample(400, random_state=1).drop(columns="name").reset_index(drop=True)


@pytest.fixture(scope="module")
def voters(town):
    return town.sample(500, random_state=2).reset_index(drop=True)


def by_pandas(patients, voters, names) -> set[tuple[int, int]]:
    """Pairs of a row and an entry whose values occur once on either side."""
    names = list(names)
    left = patients.dropna(subset=names).reset_index(names="row")
    right = voters.dropna(subset=names).reset_index(names="entry")
    left = left[~left.duplicated(names, keep=False)]
    right = right[~right.duplicated(names, keep=False)]
    both = left.merge(right, on=names)
    return set(zip(both["row"], both["entry"], strict=True))


def test_everyone_found_is_found_by_pandas(patients, voters):
    found = vd.link(patients, voters, ON)
    subsets = [c for n in (1, 2, 3) for c in itertools.combinations(ON, n)]
    every = {names: by_pandas(patients, voters, names) for names in subsets}
    assert dict(found.found) == {names: len(pairs) for names, pairs in every.items()}
    assert found.found[("zip", "birth", "sex")] > 50
    listed = set(zip(found.row, found.entry, strict=True))
    # an entry is listed once, by the smallest set that finds somebody
    for row, entry, names in zip(found.row, found.entry, found.columns, strict=True):
        assert (row, entry) in every[names]
        smaller = [s for s in subsets if len(s) < len(names)]
        assert not any(entry == other for s in smaller for _, other in every[s])
    assert {entry for _, entry in listed} == {e for pairs in every.values() for _, e in pairs}


def test_matches_are_counted_by_pandas(patients, voters):
    found = vd.link(patients, voters, ON)
    for names, number in found.matched.items():
        keys = voters[list(names)].dropna().drop_duplicates()
        assert number == len(patients.dropna(subset=list(names)).merge(keys, on=list(names)))


def test_a_person_with_several_rows_is_one_person():
    table = vd.open(
        pd.DataFrame({"person": [1, 1, 2, 3], "zip": ["a", "a", "b", "b"]}),
        {"person": {"role": "person"}},
    )
    found = vd.link(table, pd.DataFrame({"zip": ["a", "b"]}), ["zip"])
    assert found.found[("zip",)] == 1
    assert (found.row.tolist(), found.entry.tolist()) == ([0], [0])


def test_a_release_is_met_at_its_own_level(patients, voters):
    recipe = vd.KAnonymity(
        quasi_identifiers=ON,
        k=2,
        max_suppression=0.2,
        hierarchies={
            "zip": vd.Hierarchy.mask(5),
            "birth": vd.Hierarchy.intervals([5, 10, 50]),
            "sex": vd.Hierarchy.star(),
        },
    )
    release = recipe.protect(patients)
    assert sum(release.manifest["steps"][0]["settings"]["levels"].values()) > 0
    found = vd.link(release, voters, ON)
    assert max(found.found.values()) == 0  # k = 2: nobody is alone
    assert found.matched[("zip", "birth", "sex")] > 0.5 * len(release.datasets[0])
    assert max(vd.link(patients, voters, ON).found.values()) > 50


def test_names_may_differ(patients, voters):
    other = voters.rename(columns={"zip": "postcode"})
    found = vd.link(patients, other, {"zip": "postcode", "birth": "birth", "sex": "sex"})
    assert found.found == vd.link(patients, voters, ON).found


def test_the_list_is_private(patients, voters, tmp_path):
    found = vd.link(patients, voters, ON)
    assert "Zyzzyva" not in repr(found)
    path = found.save(tmp_path / "safe" / "links.csv")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rows = pd.read_csv(path)
    assert rows["row"].tolist() == found.row.tolist()
    (tmp_path / "out" / "r").mkdir(parents=True)
    (tmp_path / "out" / "r" / "manifest.json").write_text("{}")
    with pytest.raises(FolderError, match="beside a release"):
        found.save(tmp_path / "out" / "links.csv")


def test_the_command_shows_numbers_only(patients, voters, tmp_path):
    patients.to_csv(tmp_path / "patients.csv", index=False)
    voters.to_csv(tmp_path / "voters.csv", index=False)
    command = [sys.executable, "-m", "veladura", "link", "patients.csv", "voters.csv"]
    done = subprocess.run(
        [*command, "--on", "zip,birth,sex", "--out", "safe/links.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    number = vd.link(patients, voters, ON).found[("zip", "birth", "sex")]
    assert f"{number} of 400" in done.stdout
    assert "Zyzzyva" not in done.stdout + done.stderr
    assert (tmp_path / "safe" / "links.csv").is_file()


def test_what_cannot_be_linked_is_refused(patients, voters):
    with pytest.raises(PlanError, match="1 to 8 columns"):
        vd.link(patients, voters, [])
    with pytest.raises(ColumnError, match="age"):
        vd.link(patients, voters, ["age"])
