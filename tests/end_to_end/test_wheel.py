"""The built wheel holds everything a user needs besides code."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_templates_example_and_maps_are_in_the_wheel(tmp_path):
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        str(ROOT),
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(tmp_path),
        "--quiet",
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("veladura-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources <= names
    wanted = {
        "report/templates/report.html.j2",
        "example/clinic.csv",
        "example/region.geojson",
        "example/lake.geojson",
        "py.typed",
    }
    assert {f"veladura/{name}" for name in wanted} <= names
    assert any(name.endswith("entry_points.txt") for name in names)
    assert any("LICENSE" in name for name in names)
