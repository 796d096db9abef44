"""Attack: a manifest that says that an intruder finds fewer people than he does."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.release.folder import write_hashes
from veladura.release.verify import holds, verify


def people():
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, 300),
            "sex": rng.choice(["f", "m"], 300),
            "town": rng.choice(list("abcdef"), 300),
            "income": rng.gamma(3, 900, 300).round(),
        }
    )


RECIPES = {
    "coarser": vd.Recode(columns={"age": {"round": 10}}),
    "k-anonymity": vd.KAnonymity(quasi_identifiers=["age", "sex"], k=3),
    "top": vd.TopCode(columns={"income": 4000.0}),
    "noise": vd.Noise(columns=["income"]),
    "synthetic": vd.Cart(columns=["income"], m=2),
}
KEYS = {"age": {"role": "quasi-identifier"}, "sex": {"role": "quasi-identifier"}}


@pytest.fixture(scope="module", params=RECIPES)
def saved(request, tmp_path_factory):
    home = tmp_path_factory.mktemp(request.param)
    recipe = RECIPES[request.param]
    release = recipe.protect(vd.open(people(), KEYS), seed=3)
    folder = release.save(home / "out" / "r", custodian=home / "safe" / "r")
    return folder, home / "safe" / "r" / "record.json"


def edited(folder, number, key, value):
    """Return the lines of `verify` with one number of the manifest edited, checksums anew."""
    path = folder / "manifest.json"
    old = path.read_text(encoding="utf-8")
    manifest = json.loads(old)
    manifest["risk"][number][key] = value
    path.write_text(json.dumps(manifest), encoding="utf-8")
    write_hashes(folder)
    try:
        return verify(folder)
    finally:
        path.write_text(old, encoding="utf-8")
        write_hashes(folder)


def alone(folder, knows):
    """Count the people whose values nobody shares, by pandas."""
    frame = pd.read_parquet(folder / "data" / "dataset-1.parquet")
    return int((frame.groupby(knows, dropna=False).size() == 1).sum())


def test_what_released_rows_can_say_is_counted_and_an_edit_is_broken(saved):
    folder, _ = saved
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    changed = {
        name
        for step in manifest["steps"]
        if step["method"] in ("noise", "cart")
        for name in step["changed"]
    }
    assert holds(verify(folder))
    counted = 0
    for i, risk in enumerate(manifest["risk"]):
        if risk["within"] or changed & set(risk["knows"]):
            assert holds(edited(folder, i, "after", risk["after"] + 1))  # attested: not seen
            continue
        counted += 1
        assert risk["after"] == alone(folder, risk["knows"])
        wrong = max(risk["after"] - 1, 0) or risk["after"] + 1
        broken = [line for line in edited(folder, i, "after", wrong) if line.status == "broken"]
        assert len(broken) == 1
        assert "finds" in broken[0].claim
    assert counted
    claims = [line.claim for line in verify(folder) if line.status == "attested"]
    assert any("before protection" in claim for claim in claims)


def test_impossible_numbers_are_broken(saved):
    folder, _ = saved
    assert not holds(edited(folder, 0, "before", 10_000))
    assert not holds(edited(folder, 0, "people", 0))
    assert not holds(edited(folder, 0, "knows", ["no such column"]))


def test_with_the_source_every_number_is_counted(saved):
    folder, record = saved
    lines = verify(folder, people(), record)
    assert holds(lines)
    assert not any("before protection" in line.claim for line in lines)


def test_with_the_source_a_false_number_before_is_broken(saved):
    folder, record = saved
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    release = vd.load(folder)
    release.manifest["risk"][0]["before"] = manifest["risk"][0]["before"] // 2
    from veladura.release.head_counts import risk_lines
    from veladura.release.reassess import with_source

    assert not holds(risk_lines(with_source(release, people(), record)))
