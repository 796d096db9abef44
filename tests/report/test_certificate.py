"""The certificate says what the package holds, and nothing that is not in it."""

from __future__ import annotations

import hashlib

import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PromiseError
from veladura.report.certificate import certificate


@pytest.fixture
def folder(tmp_path):
    table = pd.DataFrame({"<b>age</b>": range(60), "income": [i * 1.5 for i in range(60)]})
    release = vd.Noise(columns=["income"]).protect(table, seed=5)
    return release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")


def test_every_file_is_named_with_its_hash(folder):
    page = certificate(folder)
    for path in (p for p in folder.rglob("*") if p.is_file()):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in page
    assert "Approved by" in page


def test_promises_are_told_with_what_became_of_them(folder):
    page = certificate(folder)
    for promise in vd.load(folder).promises:
        assert promise.claim.replace("'", "&#39;") in page
    assert ">attested<" in page or ">holds<" in page


def test_names_are_shown_as_text(folder):
    assert "&lt;b&gt;age&lt;/b&gt;" in certificate(folder)
    assert "<b>age" not in certificate(folder)


def test_a_folder_that_is_no_release_is_refused(tmp_path):
    with pytest.raises(PromiseError, match="not a whole release"):
        certificate(tmp_path)


def test_the_command_writes_it_once(veladura, folder, tmp_path):
    command = ["certificate", folder, "--out", "c.html"]
    assert veladura(*command, cwd=tmp_path).returncode == 0
    again = veladura(*command, cwd=tmp_path)
    assert again.returncode != 0
    assert "exists already" in again.stderr
