"""The command line as a stranger uses it.

One command after the other, and mistakes told in words.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import pytest

from veladura import example
from veladura.core import registry

pytestmark = pytest.mark.quick

CANARY = "canary-5d41402abc4b"


def in_a_process(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "veladura.cli.main", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("people")
    write_people(home, 600)
    return home


def write_people(home, rows):
    people = pd.read_csv(example.path("clinic.csv"), dtype=str, keep_default_na=False)
    people.head(rows).to_csv(home / "people.csv", index=False)


SLOW = {"marginals": [pytest.mark.slow]}  # it compiles its model at every start
STARTED_FROM = [  # the register has no weights
    None,
    *(name for name in registry.METHODS if name not in ("steps", "reweight", "calibrate")),
]


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=SLOW.get(name, [])) for name in STARTED_FROM]
)
def test_init_confirm_run_verify_without_touching_a_line(veladura, folder, method, tmp_path):
    if method and not registry.available(method):
        pytest.skip(f"the extra dp is not installed: {method} DID NOT RUN")
    if method == "marginals":  # seven columns of 600 people drown in the noise: it is refused
        folder = tmp_path
        write_people(folder, 3000)
    plan = f"{method}.toml"
    chosen = ["--method", method] if method else []
    assert veladura("init", "people.csv", "--out", plan, *chosen, cwd=folder).returncode == 0
    text = (
        (folder / plan)
        .read_text(encoding="utf-8")
        .replace("release/people", f"release/{method}")
        .replace("custodian/people", f"custodian/{method}")
    )
    (folder / plan).write_text(text, encoding="utf-8")
    assert "roles and kinds of the columns were guessed" in text
    assert veladura("confirm", plan, "--accept-all", cwd=folder).returncode == 0
    done = (veladura if method else in_a_process)(
        "run", plan, cwd=folder
    )  # once as a stranger does it, else without starting Python anew
    assert done.returncode == 0, done.stderr
    verified = veladura("verify", f"release/{method}", cwd=folder)
    assert verified.returncode == 0, verified.stdout
    proved = veladura(
        "verify",
        f"release/{method}",
        "--source",
        "people.csv",
        "--record",
        f"custodian/{method}/record.json",
        cwd=folder,
    )
    assert proved.returncode == 0, proved.stdout
    attested = [line for line in proved.stdout.splitlines() if line.startswith("attested  ")]
    # no row shows how it was drawn, with the original beside it or without
    drawn = ("Differential privacy", "Gaussian noise")
    assert all(any(words in line for words in drawn) for line in attested)
    manifest = json.loads(
        (folder / "release" / str(method) / "manifest.json").read_text(encoding="utf-8")
    )
    assert "name" not in [column["name"] for column in manifest["columns"]]
    assert "social_number" not in [column["name"] for column in manifest["columns"]]


def test_a_dry_run_writes_nothing(veladura, folder):  # scratch files are gone when the process is
    edited(veladura, folder, "dry.toml")
    before = sorted(folder.rglob("*"))
    done = in_a_process("run", "dry.toml", "--dry-run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(folder.rglob("*")) == before


def edited(veladura, folder, name, *changes):
    """A plan that runs, with some of its text replaced or added."""
    assert (
        veladura(
            "init", "people.csv", "--out", name, "--method", "noise", "--force", cwd=folder
        ).returncode
        == 0
    )
    assert veladura("confirm", name, "--accept-all", cwd=folder).returncode == 0
    text = (folder / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / name).write_text(
        text.replace("release/people", f"release/{name}").replace(
            "custodian/people", f"custodian/{name}"
        ),
        encoding="utf-8",
    )
    return name


@pytest.mark.parametrize(
    ("name", "changes", "code", "message"),
    [
        ("typo", [("[release]", "[relase]")], 2, "did you mean 'release'"),
        (
            "column",
            [('    "income",\n    "stay",\n]\n# Standard', '    "incom",\n]\n# Standard')],
            2,
            "did you mean ['income']",
        ),
        (
            "gate",
            [("\n[gate]", '\n[gate]\n"risk.uniqueness.sample_unique" = {max = 1}')],
            2,
            "did you mean 'risk.uniqueness.sample_uniques'",
        ),
        (
            "refused",
            [("\n[gate]", '\n[gate]\n"risk.unchanged.cells" = {min = 1.0}')],
            4,
            "risk.unchanged.cells",
        ),
        (
            "kind",
            [
                (
                    '[columns.zip]\nrole = "quasi-identifier"\nkind = "category"',
                    '[columns.zip]\nkind = "date"',
                )
            ],
            3,
            "'zip': 600",
        ),
        ("inside", [("custodian/people", "release/people/inside")], 2, "inside, around or beside"),
        ("gone", [("people.csv", "nobody.csv")], 3, "is not a file"),
    ],
)
def test_a_mistake_is_told_in_words(veladura, folder, name, changes, code, message):
    plan = edited(veladura, folder, f"{name}.toml", *changes)
    done = veladura("run", plan, cwd=folder)
    assert (done.returncode, message in " ".join(done.stderr.split())) == (code, True), done.stderr
    assert not (folder / "release" / plan).exists()


def test_a_refused_release_leaves_its_report_with_the_custodian(veladura, folder):
    plan = edited(
        veladura,
        folder,
        "gated.toml",
        ("\n[gate]", '\n[gate]\n"risk.unchanged.cells" = {min = 1.0}'),
    )
    assert veladura("run", plan, cwd=folder).returncode == 4
    assert (folder / "custodian" / plan / "refused.html").exists()


def test_existing_things_are_kept(veladura, folder):
    plan = edited(veladura, folder, "twice.toml")
    assert veladura("run", plan, cwd=folder).returncode == 0
    again = veladura("run", plan, cwd=folder)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert veladura("run", plan, "--force", cwd=folder).returncode == 0
    assert veladura("init", "people.csv", "--out", plan, cwd=folder).returncode == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "no rows"),
        ("a,a\n1,2\n", "more than once: ['a']"),
        (f"a,b\n1,2\n{CANARY}\n", "more or fewer fields"),
        (f'a,b\n1,"{CANARY}\n', "quote"),
    ],
)
def test_a_bad_file_is_told_without_its_values(veladura, tmp_path, content, message):
    (tmp_path / "bad.csv").write_text(content, encoding="utf-8")
    done = veladura("init", "bad.csv", cwd=tmp_path)
    assert (done.returncode, message in " ".join(done.stderr.split())) == (3, True), done.stderr
    assert CANARY not in done.stderr + done.stdout
    assert not (tmp_path / "plan.toml").exists()


def test_invalid_utf8_is_told(veladura, tmp_path):
    (tmp_path / "bad.csv").write_bytes("name,x\nJosé,1\n".encode() + b"\xff\xfe,2\n")
    done = veladura("init", "bad.csv", cwd=tmp_path)
    assert (done.returncode, "not valid" in done.stderr) == (3, True), done.stderr


def test_help_and_version(veladura, tmp_path):
    assert "Exit codes" in in_a_process("--help", cwd=tmp_path).stdout
    assert veladura("--version", cwd=tmp_path).stdout.startswith("veladura 0.")
    assert veladura("verify", "nowhere", cwd=tmp_path).returncode == 2
    assert veladura("init", "x.csv", "--method", "nois", cwd=tmp_path).returncode in (2, 3)


def test_quiet_prints_nothing(veladura, folder):
    plan = edited(veladura, folder, "quiet.toml")
    done = veladura("run", plan, "--quiet", cwd=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert veladura("verify", f"release/{plan}", "--quiet", cwd=folder).stdout == ""
