"""The command line starts as a module, and its help speaks plainly."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from typer.main import get_command

import veladura as vd
from veladura.cli.main import app
from veladura.cli.show import show_short_seed


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "veladura", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"veladura {vd.__version__}"


def test_help_and_version_are_offered_in_the_usual_words(veladura, tmp_path):
    text = " ".join(veladura("--help", cwd=tmp_path).stdout.split())
    assert "Show the version and exit." in text
    assert "Exit codes: 0 done" in text


@pytest.mark.parametrize("name", sorted(get_command(app).commands))
def test_every_option_has_a_sentence(name):
    command = get_command(app).commands[name]
    assert command.help
    for parameter in command.params:
        if parameter.name != "help":
            assert re.search(r"[.)]$", parameter.help or ""), parameter.name


def test_private_folders_are_marked(veladura, tmp_path):
    (tmp_path / "t.csv").write_text(
        "sex,income\n" + "".join(f"{'fm'[i % 2]},{900 + (i * i * 7) % 83}.5\n" for i in range(60)),
        encoding="utf-8",
    )
    assert veladura("init", "t.csv", "--method", "noise", cwd=tmp_path).returncode == 0
    assert veladura("confirm", "plan.toml", "--accept-all", cwd=tmp_path).returncode == 0
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert "(private: do not share)" in done.stdout
    verified = veladura("verify", "release/t", cwd=tmp_path).stdout
    assert "All files match their checksums." in verified
    assert "Rows and columns match the manifest." in verified


@pytest.mark.parametrize(("seed", "short"), [(None, False), (7, True), (1 << 100, False)])
def test_a_seed_that_can_be_tried_is_told_to_the_holder_alone(capsys, seed, short):
    show_short_seed(seed, quiet=False)
    said = capsys.readouterr().out
    assert ("short seed" in said) is short
    assert "7" not in said  # its length, not the seed
    show_short_seed(seed, quiet=True)
    assert not capsys.readouterr().out


def test_the_tree_of_a_column_is_shown_and_never_written_into_the_release(veladura, tmp_path):
    rows = "".join(
        f"{'fm'[i % 2]},{i % 7},{900 + (i * i * 7) % 83 + 50 * (i % 2)}.5\n" for i in range(200)
    )
    (tmp_path / "t.csv").write_text(f"sex,visits,income\n{rows}", encoding="utf-8")
    assert veladura("init", "t.csv", "--method", "cart", cwd=tmp_path).returncode == 0
    done = veladura("tree", "plan.toml", "income", "--most", "4", "--out", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Tree of income (private: do not share)" in done.stdout
    assert "Means by leaf, original and synthetic" in done.stdout
    names = {path.name for path in (tmp_path / "mine").iterdir()}
    assert names == {"tree.txt", "tree.svg", "leaves.svg", "means.svg", "subtrees.svg"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "mine").iterdir())
    sexes = veladura("tree", "plan.toml", "sex", cwd=tmp_path).stdout
    assert "sensitivity" in sexes
    inside = veladura("tree", "plan.toml", "income", "--out", "release/t/trees", cwd=tmp_path)
    assert inside.returncode == 2
    assert "must not be" in inside.stderr
    assert not (tmp_path / "release").exists()


def test_assess_takes_what_an_intruder_knows_and_draws_the_match_curve(veladura, tmp_path):
    rows = "".join(f"{'fm'[i % 2]},{900 + (i * i * 7) % 831}.5\n" for i in range(120))
    (tmp_path / "t.csv").write_text(f"sex,income\n{rows}", encoding="utf-8")
    assert veladura("init", "t.csv", "--method", "noise", cwd=tmp_path).returncode == 0
    assert veladura("run", "plan.toml", cwd=tmp_path).returncode in (0, 4)
    record = next(tmp_path.rglob("record.json"), None)
    assert record is not None
    asked = ("assess", "release/t", "--source", "t.csv", "--record", str(record))
    done = veladura(*asked, "--within", "income=50", "--curve", "curve.svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "asked" in done.stdout
    assert "EMR / n" in (tmp_path / "curve.svg").read_text()
    wrong = veladura(*asked, "--within", "income", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "--within takes a column and a distance" in wrong.stderr
