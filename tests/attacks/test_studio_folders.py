"""A stranger's release folder is opened in the studio: the analyst's room says what is wrong.

The room lists and serves the files of the folder and shows its report. Nothing of the folder may
run in the page, lead out of the folder or end in an error of the program.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import shlex
import shutil
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tests.generators.mutations import mutated, written

import veladura as vd
from veladura.errors import VeladuraError
from veladura.release.folder import write_hashes
from veladura.report.snippets import command, r_snippet, snippet
from veladura.studio import rooms
from veladura.studio.app import Routes
from veladura.studio.session import Session
from veladura.studio.views import SEALED

DOMAIN = {"sex": ["f", "m"], "ill": ["no", "yes"]}
RECIPES = {
    "recode": vd.Recode(columns={"age": {"round": 10}}),
    "cart": vd.Cart(columns=["age"], m=2),
    "private": vd.DirichletMultinomial(columns=["sex", "ill"], domain=DOMAIN, epsilon=1.0),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Honest releases, to be copied before they are attacked."""
    pytest.importorskip("starlette")
    home, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(4)
    people = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 120),
            "sex": rng.choice(["f", "m"], 120),
            "ill": rng.choice(["no", "yes"], 120),
        }
    )
    for name, recipe in RECIPES.items():
        seed = None if recipe.private else 1
        recipe.protect(people, seed=seed).save(home / "out" / name, custodian=home / "safe" / name)
    return home / "out"


def answer(folder):
    """Return the status and the JSON that the room's address answers."""
    session = Session(None, release=folder)
    response = Routes(session, lambda: True)._answered(
        lambda: {"html": rooms.show(session, "analyst", {})}
    )
    return response.status_code, json.loads(response.body), session


@pytest.mark.parametrize("name", RECIPES)
def test_mutated_releases_are_told_in_words(name, made, tmp_path):
    rng = np.random.default_rng(list(name.encode()))
    for number in range(25):
        mutant = shutil.copytree(made / name, tmp_path / f"mutant-{number}")
        file = "codebook.json" if number % 4 == 0 else "manifest.json"
        content = json.loads((mutant / file).read_text(encoding="utf-8"))
        written(mutant / file, mutated(rng, content))
        write_hashes(mutant)
        status, _, session = answer(mutant)
        assert status in (200, 422)
        for action, form in (
            ("analyze", {"formula": "age ~ sex"}),
            ("posterior", {"event": "ill=yes", "among": "sex=f"}),
            ("posterior", {"column": "sex"}),
        ):
            try:
                rooms.do(session, f"analyst/{action}", form)
            except VeladuraError:
                continue  # in words


def linked(folder):
    (folder.parent / "secret").write_text("the reader's own file", encoding="utf-8")
    (folder / "data" / "more.csv").symlink_to(folder.parent / "secret")


def dangling(folder):
    (folder / "data" / "more.csv").symlink_to(folder.parent / "nowhere")


def pipe(folder):
    os.mkfifo(folder / "data" / "more.csv")


def linked_report(folder):
    (folder.parent / "secret").write_text("the reader's own file", encoding="utf-8")
    (folder / "report.html").unlink()
    (folder / "report.html").symlink_to(folder.parent / "secret")


def no_report(folder):
    (folder / "report.html").unlink()


def odd_name(folder):
    (folder / "data" / 'a"\r\nset-cookie: x=1\u202e.csv').write_text("1", encoding="utf-8")


@pytest.mark.parametrize("attack", [linked, dangling, pipe, linked_report, no_report, odd_name])
def test_nothing_leads_out_of_the_folder(attack, made, tmp_path):
    folder = shutil.copytree(made / "recode", tmp_path / "release")
    attack(folder)
    status, content, session = answer(folder)
    assert status == 200
    assert "does not verify" in unescape(content["html"])
    views = session.views._kept.values()
    assert views
    for view in views:  # what the page can ask for: files of the folder only, none that waits
        assert b"reader's own" not in view.make()


def test_the_report_of_a_stranger_runs_nothing(made, tmp_path):
    """Scripts, forms and addresses elsewhere are sealed off by the headers of the document."""
    assert "sandbox;" in SEALED
    assert SEALED.startswith("default-src 'none';")
    folder = shutil.copytree(made / "recode", tmp_path / "release")
    (folder / "report.html").write_text("<script>alert(1)</script>", encoding="utf-8")
    write_hashes(folder)
    status, content, _ = answer(folder)
    assert status == 200
    assert "does not verify" in content["html"]
    assert "alert(1)" not in content["html"]


def test_a_file_name_cannot_write_headers(made, tmp_path):
    """Quotes, ends of lines and letters outside Latin-1 in the name of a file."""
    folder = shutil.copytree(made / "recode", tmp_path / "release")
    odd_name(folder)
    _, _, session = answer(folder)
    ticket, view = next((t, v) for t, v in session.views._kept.items() if "set-cookie" in v.name)
    request = SimpleNamespace(path_params={"ticket": ticket})
    response = asyncio.run(Routes(session, lambda: True).view(request))
    assert response.body == view.make() == b"1"
    assert "set-cookie" not in response.headers
    assert not {"\r", "\n", '"'} & set(response.headers["content-disposition"])
    (folder / "data" / view.name).unlink()
    assert asyncio.run(Routes(session, lambda: True).view(request)).status_code == 404


def test_the_name_of_a_folder_is_no_code_to_copy(made, tmp_path):
    """The room shows lines to copy: quotes in the name of a sent folder must stay inside them."""
    name = """a"); open("stolen", "w"); ("$(touch stolen)'; touch stolen;'"""
    folder = tmp_path / name
    shutil.copytree(made / "recode", folder)
    release = vd.load(folder)
    loading = ast.parse(snippet(release, str(folder))).body[1].value
    assert [ast.literal_eval(argument) for argument in loading.args] == [str(folder)]
    first, second = (shlex.split(line) for line in command(release, str(folder)).splitlines())
    assert first == ["veladura", "verify", str(folder)]
    assert second[:3] == ["veladura", "analyze", str(folder)]
    assigned = r_snippet(release, str(folder)).splitlines()[0].removeprefix("folder <- ")
    assert json.loads(assigned) == str(folder)
