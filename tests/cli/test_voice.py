"""Warnings are spoken in the tool's own voice: once, with what to do, without file and line."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veladura
from veladura.cli.voice import speak_warnings
from veladura.errors import VeladuraWarning

pytestmark = pytest.mark.quick
ROOT = Path(veladura.__file__).parent


class OwnWarning(VeladuraWarning):
    """A warning of the library."""


def test_own_warnings_are_cautions_with_a_hint(capsys):
    with speak_warnings():
        for _ in range(3):
            warnings.warn("the chains [1] disagree.\n\nHint: sweeps = 40", OwnWarning, stacklevel=1)
    shown = capsys.readouterr()
    assert shown.err == "caution: the chains [1] disagree.\nHint: sweeps = 40\n"
    assert shown.out == ""


def test_the_text_of_other_libraries_may_hold_values(capsys, monkeypatch):
    monkeypatch.delenv("VELADURA_DEBUG", raising=False)
    place = "/usr/lib/python3/site-packages/scipy/stats.py"
    with speak_warnings():
        warnings.simplefilter("always")
        for secret in ("Zanzibar", "Timbuktu"):
            warnings.warn_explicit(f"bad value {secret}", RuntimeWarning, place, 7)
    shown = capsys.readouterr().err
    assert "scipy" in shown
    assert shown.count("RuntimeWarning") == 1
    assert not any(word in shown for word in ("Zanzibar", "Timbuktu", "stats.py", ":7"))
    monkeypatch.setenv("VELADURA_DEBUG", "1")
    with speak_warnings():
        warnings.simplefilter("always")
        warnings.warn_explicit("bad value Zanzibar", RuntimeWarning, place, 7)
    assert "Zanzibar" in capsys.readouterr().err


def test_python_speaks_for_itself_again_afterwards():
    before = warnings.showwarning
    with speak_warnings():
        assert warnings.showwarning is not before
    assert warnings.showwarning is before


def test_every_warning_of_the_library_has_its_voice():
    """Each `warnings.warn` names a category of ours; a plain one would be told as a stranger's."""
    ours = {"DeprecationWarning"}  # old names, for programmers: Python hides it from users
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(
                isinstance(base, ast.Name) and base.id == "VeladuraWarning" for base in node.bases
            ):
                ours.add(node.name)
    ours.add("VeladuraWarning")
    seen = 0
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
                seen += 1
                assert len(node.args) > 1, f"{path.name}:{node.lineno}"
                assert ast.unparse(node.args[1]) in ours, f"{path.name}:{node.lineno}"
    assert seen > 10


def test_a_run_speaks_of_its_sampler(veladura, tmp_path):
    draw = np.random.default_rng(3)
    places = pd.DataFrame(draw.random((120, 2)).round(4), columns=["x", "y"])
    places["ill"] = np.where(draw.random(120) < 0.4, "yes", "no")
    places.to_csv(tmp_path / "homes.csv", index=False)
    (tmp_path / "plan.toml").write_text(
        """
[source]
path = "homes.csv"
[columns]
x = {kind = "number"}
y = {kind = "number"}
ill = {kind = "category"}
[[step]]
method = "geography"
x = "x"
y = "y"
attributes = ["ill"]
region = [0, 0, 1, 1]
grid = [3, 3]
m = 2
sweeps = 30
burn = 10
chains = 2
[release]
folder = "out/release"
[custodian]
folder = "safe/record"
[run]
seed = 1
"""
    )
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "caution: the Markov chains have not converged" in done.stderr
    assert "\n  sweeps = " in done.stderr
    assert "Warning:" not in done.stderr
    assert ".py" not in done.stderr
