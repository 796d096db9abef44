"""An enemy edits a release folder, writes fitting checksums, and asks `verify` to praise it.

Against version e5638e6 every one of these attacks won: `verify` printed the enemy's sentence, or
called broken promises kept. The words of each attack say what happened there.
"""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import PromiseError
from veladura.release.verify import holds, verify


def people(rows=240):
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["no", "yes"], rows),
            "income": rng.normal(3000, 800, rows).round(2),
        }
    )


def anonymous(**settings):
    ages = vd.Hierarchy.intervals([10, 20])
    return vd.KAnonymity(
        quasi_identifiers=["age", "sex"], k=5, hierarchies={"age": ages}, **settings
    )


def private():
    domain = {"sex": ["f", "m"], "ill": ["no", "yes"]}
    return vd.DirichletMultinomial(columns=["sex", "ill"], domain=domain, epsilon=0.1)


RECIPES = {"k": anonymous, "dp": private}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Honest releases, to be copied before they are attacked."""
    home = tmp_path_factory.mktemp("made")
    people().to_csv(home / "people.csv", index=False)
    for name, recipe in RECIPES.items():
        release = recipe().protect(home / "people.csv")
        release.save(home / "out" / name, custodian=home / "safe" / name)
    return home


@pytest.fixture
def folder(made, tmp_path):
    """The k-anonymous release."""
    return copied(made / "out" / "k", tmp_path)


def copied(folder, home):
    return shutil.copytree(folder, home / "release")


def rehash(folder):
    """Write checksums that fit, as anyone can."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != folder / "SHA256SUMS"
    ]
    (folder / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")


def edit(folder, change, file="manifest.json"):
    """Change the manifest and write fitting checksums."""
    path = folder / file
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    rehash(folder)


def promise(manifest, name="group-size"):
    return next(promise for promise in manifest["promises"] if promise["name"] == name)


def settings(manifest):
    return manifest["steps"][0]["settings"]


def test_an_honest_release_holds(made):
    """The base rate: without an enemy nothing is broken."""
    for name in RECIPES:
        assert holds(verify(made / "out" / name))


LIE = "Nobody can be identified, whatever an intruder knows."


def test_an_edited_claim_is_never_printed(folder):
    """Was: 'holds  Nobody can be identified, whatever an intruder knows.'"""

    def lie(manifest):
        promise(manifest)["claim"] = LIE

    edit(folder, lie)
    lines = verify(folder)
    assert not holds(lines)
    assert not any(LIE in line.claim for line in lines)
    assert any("at least 5 people" in line.claim for line in lines)


def nowhere(manifest):
    """Was: a promise about dataset 7 of 1 'holds', with no dataset to break it."""
    promise(manifest)["datasets"] = [7]


def k_of_one(manifest):
    """Was: 'every combination is shared by at least 5 people' holds, checked with k = 1."""
    promise(manifest)["settings"]["k"] = 1


def one_everywhere(manifest):
    """Was: the same, with the setting of the step changed too."""
    promise(manifest)["settings"]["k"] = settings(manifest)["k"] = 1


def k_of_two(manifest):
    """Was: the sentence says 5, the check counts to 2."""
    promise(manifest)["settings"]["k"] = 2


def no_columns(manifest):
    """Was: nobody counts the combinations of no columns."""
    promise(manifest)["settings"]["columns"] = []


def fewer_columns(manifest):
    """Was: k holds for sex alone; the sentence still names age."""
    promise(manifest)["settings"]["columns"] = ["sex"]


def other_column(manifest):
    """Was: an error about the call (exit code 2), not a broken promise."""
    promise(manifest)["settings"]["columns"] = ["no such column"]


def only_attested(manifest):
    """Was: a promise that the files break becomes one that only the original can break."""
    promise(manifest)["proof"] = "source"


def stars_everywhere(manifest):
    """Was: rows without any value count as suppressed ones, although none were."""
    promise(manifest)["settings"] |= {"starred": True}


def no_promises(manifest):
    """Was: a step with k = 5 that promises nothing: everything holds."""
    manifest["promises"] = []


def other_rule(manifest):
    """Was: the combining rule of synthetic rows over rows of real people."""
    manifest["rule"], manifest["rule_settings"] = "posterior", {}


@pytest.mark.parametrize(
    "attack",
    [
        nowhere,
        k_of_one,
        one_everywhere,
        k_of_two,
        no_columns,
        fewer_columns,
        other_column,
        only_attested,
        stars_everywhere,
        no_promises,
        other_rule,
    ],
)
def test_promises_cannot_be_emptied(attack, folder):
    edit(folder, attack)
    assert not holds(verify(folder))


def test_a_promise_about_one_dataset_is_not_one_about_all(made, tmp_path):
    """Was: two datasets, the promise kept to the first: everything holds."""
    release = vd.Cart(columns=["income"], m=2, limits={"income": {"min": 0, "max": 9000}})
    release.protect(made / "people.csv", seed=1).save(
        tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record"
    )
    folder = tmp_path / "out" / "release"
    assert holds(verify(folder))

    def first_only(manifest):
        promise(manifest, "limits")["datasets"] = [1]

    edit(folder, first_only)
    assert not holds(verify(folder))


def privacy(lines):
    return {line.status for line in lines if "exp(0.1)" in line.claim}


def test_real_rows_behind_a_private_manifest_are_never_called_private(made, tmp_path):
    """Was: 'holds  Differential privacy with epsilon = 0.1', over the rows of the original."""
    folder = copied(made / "out" / "dp", tmp_path)
    real = people()[["sex", "ill"]]
    pq.write_table(
        pa.Table.from_pandas(real, preserve_index=False), folder / "data" / "dataset-1.parquet"
    )
    edit(folder, lambda book: [about.update(missing=0) for about in book], "codebook.json")
    assert privacy(verify(folder)) == {"attested"}


def test_privacy_that_the_settings_contradict_is_broken(made, tmp_path):
    """The check still counts: an alpha too small for epsilon is broken, not attested."""
    folder = copied(made / "out" / "dp", tmp_path)

    def weaker(manifest):
        settings(manifest)["alpha"] = promise(manifest, "dp-ratio")["settings"]["alpha"] = "0.001"

    edit(folder, weaker)
    assert privacy(verify(folder)) == {"broken"}


def nested_list(folder):
    """Was: a file of this name is never listed, so it passes: here with the whole original."""
    people().to_csv(folder / "data" / "SHA256SUMS", index=False)


def listed_extra(folder):
    """Was: any file passes once it is in the list."""
    people().to_csv(folder / "data" / "original.csv", index=False)
    rehash(folder)


def hidden_file(folder):
    """A hidden file that is listed."""
    people().to_csv(folder / ".original.csv", index=False)
    rehash(folder)


def empty_folder(folder):
    """Was: a folder is no file; its name can say anything."""
    (folder / "people" / "Ann Smith, 1961-04-02").mkdir(parents=True)


def link_out(folder):
    """Was: the report is a link to a file that changes after it was verified."""
    outside = folder.parent / "outside.html"
    (folder / "report.html").rename(outside)
    (folder / "report.html").symlink_to(outside)
    rehash(folder)


def linked_folder(folder):
    """Was: data from outside the folder."""
    outside = folder.parent / "outside"
    (folder / "data").rename(outside)
    (folder / "data").symlink_to(outside)
    rehash(folder)


@pytest.mark.parametrize(
    "attack", [nested_list, listed_extra, hidden_file, empty_folder, link_out, linked_folder]
)
def test_nothing_else_is_in_the_folder(attack, folder):
    attack(folder)
    assert not holds(verify(folder))


def test_a_certificate_needs_files_that_verify(folder):
    """Was: a certificate with 'holds' and checksums, over a file that was changed after them."""
    from veladura.release.certificate import certificate

    assert "<!doctype html>" in certificate(folder).lower()
    report = folder / "report.html"
    report.write_text(report.read_text(encoding="utf-8") + "<p>changed", encoding="utf-8")
    with pytest.raises(PromiseError, match="does not verify"):
        certificate(folder)


def test_a_certificate_does_not_print_an_edited_claim(folder):
    """Was: the enemy's sentence on a sheet to sign."""
    from veladura.release.certificate import certificate

    def lie(manifest):
        promise(manifest)["claim"] = LIE

    edit(folder, lie)
    with pytest.raises(PromiseError, match="does not verify"):
        certificate(folder)


def about_source(lines):
    return next(line.status for line in lines if line.claim.startswith("The source is"))


@pytest.mark.parametrize("name", ["other.csv", "other.parquet"])
def test_an_unrelated_source_is_told_as_such(name, made, tmp_path):
    """Was: 'The source is the one that was released' of any table with another suffix.

    The CSV, of the same suffix, was told apart there too: its checksum was compared.
    """
    record = made / "safe" / "dp" / "record.json"
    other = people(100).assign(ill="no")
    path = tmp_path / name
    other.to_csv(path, index=False) if name.endswith("csv") else other.to_parquet(path)
    assert about_source(verify(made / "out" / "dp", path, record)) == "broken"


def test_the_same_table_in_another_file_is_the_source(made, tmp_path):
    """The other way round: format and order of rows do not matter."""
    frame = pd.read_csv(made / "people.csv").sample(frac=1, random_state=1)
    frame.to_parquet(tmp_path / "people.parquet")
    for name in RECIPES:
        record = made / "safe" / name / "record.json"
        lines = verify(made / "out" / name, tmp_path / "people.parquet", record)
        assert about_source(lines) == "holds"
