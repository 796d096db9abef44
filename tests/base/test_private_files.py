"""Private files are readable by their owner only, whatever the umask and what was there before."""

from __future__ import annotations

import os

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.base.private_files import write_private
from veladura.plan.draft import draft, write_draft

pytestmark = [
    pytest.mark.quick,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of this kind"),
]


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o777


def test_a_file_that_was_open_to_all_is_closed(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old and longer")
    path.chmod(0o666)
    write_private(path, "Ä")
    assert path.read_text(encoding="utf-8") == "Ä"
    assert mode(path) == 0o600


def test_plans_are_private(tmp_path):
    lengths = np.random.default_rng(1).normal(170, 10, 60).round(1)
    pd.DataFrame({"length": lengths}).to_csv(tmp_path / "a.csv", index=False)
    text = draft(str(tmp_path / "a.csv"), method="noise", home=tmp_path)
    write_draft(text, tmp_path / "plan.toml", force=False)
    assert mode(tmp_path / "plan.toml") == 0o600


def test_everything_of_the_custodian_is_private(tmp_path):
    release = vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": np.arange(60.0)}), seed=1)
    for _ in range(2):  # the second sets the first aside
        release.save(tmp_path / "out/release", custodian=tmp_path / "safe/record", force=True)
    paths = [tmp_path / "safe/record", *(tmp_path / "safe/record").rglob("*")]
    assert {path.name for path in paths} >= {"rows.parquet", "record.json", "report-custodian.html"}
    assert sum(path.name == "rows.parquet" for path in paths) == 2
    assert {mode(path) for path in paths if path.is_dir()} == {0o700}
    assert {mode(path) for path in paths if path.is_file()} == {0o600}
