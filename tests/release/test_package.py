"""Packages are written whole or not at all, in random order, and read back unchanged."""

from __future__ import annotations

import json
import stat

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.rules import AsReleased, Single
from veladura.errors import FolderError, PromiseError
from veladura.release import package
from veladura.release.folder import write_hashes
from veladura.release.manifest import rule_of, steps_of
from veladura.release.verify import holds, verify


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.normal(size=200).round(3),
            "who": [f"p{i:03d}" for i in range(200)],
            "g": ["a", "b"] * 100,
        }
    )


@pytest.fixture(scope="module")
def release(frame):
    return vd.Noise(columns=["x"]).protect(vd.open(frame, {"g": "category"}, name="people"), seed=3)


@pytest.fixture
def saved(release, tmp_path):
    release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c")
    return tmp_path / "out" / "r"


def test_a_package_holds_what_goes_out_and_the_record_what_stays(saved, tmp_path):
    names = sorted(
        path.relative_to(saved).as_posix() for path in saved.rglob("*") if path.is_file()
    )
    assert names == [
        "SHA256SUMS",
        "codebook.json",
        "data/dataset-1.parquet",
        "manifest.json",
        "report.html",
    ]
    assert sorted(path.name for path in (tmp_path / "safe" / "c").iterdir()) == [
        "record.json",
        "report-custodian.html",
        "risky.csv",
        "rows.parquet",
    ]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["r"]


def test_the_seed_never_leaves(saved, tmp_path, frame):
    release = vd.Noise(columns=["x"]).protect(
        vd.open(frame, {"g": "category"}), seed=987_654_321_987
    )
    folder = release.save(tmp_path / "o" / "r", custodian=tmp_path / "s" / "c")
    record = json.loads((tmp_path / "s" / "c" / "record.json").read_text(encoding="utf-8"))
    assert record["entropy"] == "987654321987"
    assert all(
        b"987654321987" not in path.read_bytes() for path in folder.rglob("*") if path.is_file()
    )


def test_the_record_is_for_its_owner_only(saved, tmp_path):
    assert stat.S_IMODE((tmp_path / "safe" / "c").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "safe" / "c" / "record.json").stat().st_mode) == 0o600


def test_rows_are_shuffled_and_the_record_can_tell_how(saved, release, frame, tmp_path):
    loaded = vd.load(saved)
    assert list(loaded.datasets[0]["who"]) != list(frame["who"])
    assert sorted(loaded.datasets[0]["who"]) == sorted(frame["who"])
    assert loaded.rows is None
    lines = verify(saved, frame, tmp_path / "safe" / "c" / "record.json")
    assert [line.status for line in lines] == ["holds"] * len(lines)


def test_the_link_of_the_record_is_the_right_one(saved, frame, tmp_path):
    from veladura.release import custodian

    _, (places,) = custodian.read_record(tmp_path / "safe" / "c" / "record.json")
    original = vd.open(frame, {"g": "category"})
    rows = custodian.row_order(original)[places]
    assert list(frame["who"].iloc[rows]) == list(vd.load(saved).datasets[0]["who"])


def test_another_order_of_the_source_gives_the_same_bytes(saved, frame, tmp_path):
    moved = frame.sample(frac=1, random_state=1)
    again = vd.Noise(columns=["x"]).protect(
        vd.open(moved, {"g": "category"}, name="people"), seed=3
    )
    other = again.save(tmp_path / "o2" / "r", custodian=tmp_path / "s2" / "c")
    assert (other / "data" / "dataset-1.parquet").read_bytes() == (
        saved / "data" / "dataset-1.parquet"
    ).read_bytes()


def test_a_folder_that_exists_is_never_overwritten_unasked(saved, release, tmp_path):
    with pytest.raises(FolderError, match="exists already"):
        release.save(saved, custodian=tmp_path / "safe" / "c2")
    release.save(saved, custodian=tmp_path / "safe" / "c2", force=True)
    assert holds(verify(saved))


def test_force_never_replaces_what_is_not_a_release(release, tmp_path):
    (tmp_path / "out" / "thesis").mkdir(parents=True)
    (tmp_path / "out" / "thesis" / "chapter1.txt").write_text("work of years", encoding="utf-8")
    with pytest.raises(FolderError, match="not a release"):
        release.save(tmp_path / "out" / "thesis", custodian=tmp_path / "safe" / "c", force=True)
    assert (tmp_path / "out" / "thesis" / "chapter1.txt").read_text(
        encoding="utf-8"
    ) == "work of years"


def test_an_old_record_is_refused_and_with_force_kept_aside(saved, release, tmp_path):
    with pytest.raises(FolderError, match="already holds a record"):
        release.save(tmp_path / "out" / "r2", custodian=tmp_path / "safe" / "c")
    release.save(tmp_path / "out" / "r2", custodian=tmp_path / "safe" / "c", force=True)
    assert len(list((tmp_path / "safe" / "c").glob("superseded-*/record.json"))) == 1


@pytest.mark.parametrize("where", ["out/r", "out/r/inside", "out", "out/beside", "."])
def test_a_custodian_folder_that_would_leave_with_the_release_is_refused(where, release, tmp_path):
    with pytest.raises(FolderError, match="inside, around or beside"):
        release.save(tmp_path / "out" / "r", custodian=tmp_path / where)
    assert not (tmp_path / "out" / "r").exists()


def test_a_link_does_not_hide_where_the_custodian_folder_is(release, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").symlink_to(tmp_path / "out")
    with pytest.raises(FolderError, match="inside, around or beside"):
        release.save(tmp_path / "out" / "r", custodian=tmp_path / "elsewhere" / "c")


def test_a_custodian_folder_that_no_disk_takes_is_refused_in_words(release, tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for where in ("x" * 5000, "circle/c", "a\0b"):
        with pytest.raises(FolderError, match="custodian folder cannot be used"):
            release.save(tmp_path / "out" / "r", custodian=tmp_path / where)
        assert not (tmp_path / "out" / "r").exists()
    with pytest.raises(FolderError, match="NUL character"):
        release.save(tmp_path / "out\0" / "r", custodian=tmp_path / "safe" / "c")


def test_the_default_custodian_folder_comes_from_the_environment(release, tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "home"))
    release.save(tmp_path / "out" / "r")
    assert len(list((tmp_path / "home" / "records").glob("r-*/record.json"))) == 1
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / "out"))
    with pytest.raises(FolderError, match="inside, around or beside"):
        release.save(tmp_path / "out" / "r2")


def test_a_full_disk_leaves_nothing(release, tmp_path, monkeypatch):
    def full(*_args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(package, "write_rows", full)
    with pytest.raises(FolderError, match=r"No space left on device\. Nothing was released"):
        release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c")
    assert list((tmp_path / "out").iterdir()) == []


def change_data(folder):
    path = folder / "data" / "dataset-1.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"\0")


def change_a_promise(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace("0.1", "0.2"), encoding="utf-8")


def add_a_file(folder):
    (folder / "extra.txt").write_text("x", encoding="utf-8")


def remove_the_report(folder):
    (folder / "report.html").unlink()


def remove_the_hashes(folder):
    (folder / "SHA256SUMS").unlink()


@pytest.mark.parametrize(
    "tamper", [change_data, change_a_promise, add_a_file, remove_the_report, remove_the_hashes]
)
def test_tampering_is_seen(tamper, saved):
    assert holds(verify(saved))
    tamper(saved)
    assert not holds(verify(saved))


@pytest.mark.parametrize(
    ("file", "old", "new", "claim"),
    [
        ("codebook.json", '"a"', '"z"', "codebook"),
        ("manifest.json", "200", "201", "Rows and columns"),
        ("manifest.json", '"version": 1', '"version": 9', "readable release"),
        ("manifest.json", '"format": "veladura-release"', '"format": "x"', "readable release"),
    ],
)
def test_each_claim_is_proved_apart_from_the_hashes(file, old, new, claim, saved):
    path = saved / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    write_hashes(saved)
    assert [line.status for line in verify(saved) if claim in line.claim] == ["broken"]


def test_another_source_or_record_is_seen(saved, frame, release, tmp_path):
    other = release.save(tmp_path / "o3" / "r", custodian=tmp_path / "s3" / "c", format="csv")
    assert holds(verify(other, frame, tmp_path / "s3" / "c" / "record.json"))
    assert not holds(verify(saved, frame, tmp_path / "s3" / "c" / "record.json"))


def test_a_folder_that_is_no_release_cannot_be_loaded(tmp_path):
    with pytest.raises(PromiseError, match="not a whole release folder"):
        vd.load(tmp_path)


def test_a_manifest_of_version_0_1_0_keeps_its_combining_rule():
    """It has no rule_settings: rows and kind of synthesis stand among the settings of a step."""
    settings = {"rows": 250, "original_rows": 800, "synthesis": "simple"}
    manifest = {
        "rule": "single",
        "steps": [{"method": "cart", "settings": settings, "changed": ["income"]}],
    }
    rule = rule_of(manifest, steps_of(manifest))
    assert rule == Single(rows=250, original_rows=800, proper=False)
    assert rule_of({**manifest, "rule": "none"}, steps_of(manifest)) == AsReleased()
    with pytest.raises(PromiseError, match="combining rule"):
        rule_of({**manifest, "rule": "no-such-rule"}, steps_of(manifest))
