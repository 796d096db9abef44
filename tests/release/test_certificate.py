"""The certificate says what the package holds, and nothing that is not in it."""

from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura import example
from veladura.errors import PromiseError
from veladura.release.certificate import certificate

pytestmark = pytest.mark.quick


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("certificate")
    table = pd.DataFrame({"<b>age</b>": range(60), "income": [i * 1.5 for i in range(60)]})
    release = vd.Noise(columns=["income"]).protect(table, seed=5)
    return release.save(home / "out" / "release", custodian=home / "safe" / "record")


def test_every_file_is_named_with_its_hash(folder):
    page = certificate(folder)
    for path in (p for p in folder.rglob("*") if p.is_file()):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in page
    assert "Approved by" in page


def test_promises_are_told_with_what_became_of_them(folder):
    page = certificate(folder)
    for claim in vd.load(folder).claims:
        assert claim.replace("'", "&#39;") in page
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


def test_a_new_process_knows_the_checks_of_every_method(tmp_path):
    """Where the method was never used, its checks are not known until the package is proved."""
    frame = pd.DataFrame(
        {
            "lon": np.linspace(-71.3, -71.1, 60),
            "lat": np.linspace(42.3, 42.5, 60),
            "sex": ["f", "m"] * 30,
        }
    )
    places = {
        "x": "lon",
        "y": "lat",
        "region": example.path("region.geojson"),
        "coordinates": "degrees",
    }
    saved = (
        vd.NaiveGeography(**places, grid=(2, 2))
        .protect(frame, seed=1)
        .save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "r")
    )
    code = (
        "import sys; from veladura.release.certificate import certificate;"
        " print(certificate(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, saved], capture_output=True, text=True, check=False
    )
    assert ">holds<" in done.stdout, done.stderr
