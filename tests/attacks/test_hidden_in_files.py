"""An enemy hides the original, a mark or a lie in files with fitting checksums.

The values are those of an honest k-anonymous release: a check that reads values only finds nothing.
The words of each attack say what happened in version e5638e6, and until the attack was written.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import PlanError, PromiseError
from veladura.release.certificate import certificate
from veladura.release.contents import active_content
from veladura.release.folder import write_hashes
from veladura.release.verify import holds, verify

NAME = "Zyzzyva Okonkwo"  # a person of the original


def people(rows=300):
    rng = np.random.default_rng(11)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 4, rows).astype(float),
            "sex": rng.choice(["f", "m"], rows),
            "bonus": rng.choice([0.0, 1.5, 2.0], rows),
            "income": rng.integers(0, 10_000, rows),
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("made")
    release = vd.KAnonymity(quasi_identifiers=["age", "sex", "bonus"], k=5).protect(people())
    for format_ in ("csv", "parquet"):
        folder, safe = home / "out" / format_, home / "safe" / format_
        release.save(folder, custodian=safe, format=format_)
    return home / "out"


def data(folder):
    return next((folder / "data").iterdir())


def rewritten(folder, change, **options):
    """Write the Parquet file again after a change of its table."""
    table = change(pq.read_table(data(folder)))
    pq.write_table(table, data(folder), **({"store_schema": False} | options))


def replaced(folder, old, new, count=1):
    content = data(folder).read_text(encoding="utf-8")
    assert old in content
    data(folder).write_text(content.replace(old, new, count), encoding="utf-8")


def edited(folder, change, name="manifest.json"):
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    change(content)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


# -- names: k-anonymity is proved of columns that the file calls otherwise


def swapped_names(folder):
    """Was: holds. The file's income and age have each other's names."""
    rewritten(folder, lambda table: table.rename_columns(["income", "sex", "bonus", "age"]))


def swapped_header(folder):
    """Was: holds; a spreadsheet shows the header."""
    replaced(folder, '"age","sex","bonus","income"', '"income","sex","bonus","age"')


# -- marks inside a class: values that are equal, and look different


def negative_zero(folder):
    """Was: holds. One row of a class has the other zero."""

    def mark(table):
        bonus = table["bonus"].to_numpy().copy()
        bonus[np.flatnonzero(bonus == 0)[0]] = -0.0
        return table.set_column(2, "bonus", pa.array(bonus))

    rewritten(folder, mark)


def nan_beside_missing(folder):
    """Was: broken too. A missing number of a class is NaN in one row."""

    def mark(table):
        bonus = table["bonus"].to_numpy().copy()
        zeros = np.flatnonzero(bonus == 0)
        bonus[zeros] = np.nan
        mask = np.isin(np.arange(len(bonus)), zeros[1:])
        return table.set_column(2, "bonus", pa.array(bonus, mask=mask))

    rewritten(folder, mark)
    missing = pq.read_table(data(folder))["bonus"].null_count + 1

    def describe(codebook):
        codebook[2] |= {"missing": missing, "lowest": 1.5}

    edited(folder, describe, "codebook.json")


def other_digits(folder):
    """Was: holds. 1.5 is written 1.50 in one row."""
    replaced(folder, ",1.5,", ",1.50,")


def without_quotes(folder):
    """Was: holds. A text without quotes in one row."""
    replaced(folder, ',"f",', ",f,")


def apostrophe(folder):
    """Was: holds. The reader takes an apostrophe away that the others do not have."""
    replaced(folder, ',"f",', ',"\'f",')


# -- what no reader of values sees


def metadata(folder):
    """Was: holds. The original in the metadata of a Parquet file."""
    table = pq.read_table(data(folder))
    with pq.ParquetWriter(data(folder), table.schema, store_schema=False) as file:
        file.write_table(table)
        file.add_key_value_metadata({"note": NAME})


def loose_bytes(folder):
    """Was: holds. The original between the last page and the footer."""
    content = data(folder).read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    whole = content[:-footer] + NAME.encode() * 1000 + content[-footer:]
    data(folder).write_bytes(whole)


def unused_category(folder):
    """Was: holds. A value that no row has, in the dictionary of a column."""

    def hide(table):
        codes = pa.array(np.where(np.asarray(table["sex"]) == "f", 0, 1).astype(np.int32))
        texts = pa.DictionaryArray.from_arrays(codes, pa.array(["f", "m", NAME]))
        return table.set_column(1, "sex", texts)

    rewritten(folder, hide)
    assert NAME.encode() in data(folder).read_bytes()


def untrue_statistics(folder):
    """Was: holds. A reader that goes by the footer misses every man."""
    rewritten(folder, lambda table: table, compression="none")
    content = data(folder).read_bytes()
    length = int.from_bytes(content[-8:-4], "little") + 8
    before, footer = content[:-length], content[-length:]
    data(folder).write_bytes(before + footer.replace(b"\x01m", b"\x01g"))
    men = f"SELECT count(*) FROM '{data(folder)}' WHERE sex = 'm'"  # noqa: S608
    with duckdb.connect() as connection:
        assert connection.execute(men).fetchall() == [(0,)]


def signature_of_nothing(folder):
    """Was: there was none; then: attested, whatever the file holds."""
    (folder / "SHA256SUMS.sig").write_text(NAME, encoding="utf-8")


def signature_with_a_key_of_its_own(folder):
    """Then: attested. The original as the name of the key."""
    content = {"format": "veladura-signature", "version": 1, "algorithm": "ed25519"}
    content |= {"key": NAME, "signature": base64.b64encode(bytes(64)).decode()}
    (folder / "SHA256SUMS.sig").write_text(json.dumps(content), encoding="utf-8")


# -- words that differ from the rows


def no_exact_column(folder):
    """Then: holds, and a certificate that no column is exact. The income is."""
    edited(folder, lambda manifest: manifest.update(exact=[]))


def nobody_is_unique(folder):
    """Then: holds, and a certificate that nobody is unique by the income alone."""
    edited(folder, lambda manifest: manifest["exact"][0].update(unique=0, reason="harmless"))


def one_dataset_of_two(folder):
    """Was: holds. The original as a second dataset, and promises about the first."""
    shutil.copy(data(folder), folder / "data" / "dataset-2.parquet")
    people().to_parquet(folder / "data" / "dataset-2.parquet", index=False)

    def more(manifest):
        manifest |= {"datasets": 2, "rows": [*manifest["rows"], len(people())]}
        for promise in manifest["promises"]:
            promise["datasets"] = [1]

    edited(folder, more)


def page_that_runs(folder):
    """Was: holds. The page of a stranger runs a program in the reader's browser."""
    with (folder / "report.html").open("a", encoding="utf-8") as page:
        page.write("<script>fetch('https://elsewhere.example/')</script>")


# -- words that no reader looks for


def every_column_called_changed(folder):
    """Was: no such list. Then: holds, and a certificate without an exact column."""

    def lie(manifest):
        manifest["steps"][0]["changed"] = [column["name"] for column in manifest["columns"]]
        manifest["exact"] = []

    edited(folder, lie)


def original_as_an_entry(folder):
    """Was: holds, as in the two that follow. The original is in the manifest."""
    edited(folder, lambda manifest: manifest.update(appendix=people().to_csv()))


def original_beside_the_format(folder):
    edited(folder, lambda manifest: manifest["files"].update(appendix=people().to_csv()))


def original_as_a_setting_of_the_rule(folder):
    edited(folder, lambda manifest: manifest["rule_settings"].update(appendix=people().to_csv()))


def original_as_a_comment(folder):
    """Was: holds. The page shows nothing of it."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    comment = f"<!-- {people().to_csv()} --></body>"
    (folder / "report.html").write_text(page.replace("</body>", comment), encoding="utf-8")


def original_after_the_end(folder):
    """Was: holds."""
    with (folder / "report.html").open("a", encoding="utf-8") as page:
        page.write(people().to_csv())


IN_PARQUET = (
    swapped_names,
    negative_zero,
    nan_beside_missing,
    metadata,
    loose_bytes,
    unused_category,
    untrue_statistics,
    signature_of_nothing,
    signature_with_a_key_of_its_own,
    no_exact_column,
    nobody_is_unique,
    one_dataset_of_two,
    page_that_runs,
    every_column_called_changed,
    original_as_an_entry,
    original_beside_the_format,
    original_as_a_setting_of_the_rule,
    original_as_a_comment,
    original_after_the_end,
)
IN_CSV = (swapped_header, other_digits, without_quotes, apostrophe)


@pytest.mark.parametrize(
    ("attack", "format_"),
    [*((attack, "parquet") for attack in IN_PARQUET), *((attack, "csv") for attack in IN_CSV)],
)
def test_what_is_hidden_in_a_file_is_found(attack, format_, made, tmp_path):
    folder = shutil.copytree(made / format_, tmp_path / "release")
    attack(folder)
    write_hashes(folder)
    lines = verify(folder)
    assert not holds(lines)
    assert next(line for line in lines if "checksums" in line.claim).status == "holds"
    with pytest.raises(PromiseError):
        certificate(folder)


def test_unique_people_that_rows_cannot_show_are_the_holders_word(made, tmp_path):
    """Then: an entry about a number of people silenced the count, and "holds" was printed."""
    folder = shutil.copytree(made / "parquet", tmp_path / "release")

    def lie(manifest):
        manifest["exact"][0]["unique"] = 0
        manifest["units"] = {"person": "it is not released"}

    edited(folder, lie)
    write_hashes(folder)
    told = [line.status for line in verify(folder) if "unique by each" in line.claim]
    assert told == ["attested"]


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_an_honest_release_hides_nothing(made, format_):
    """The base rate: the same folders before the attack."""
    assert holds(verify(made / format_))


ODD = {"a=b": ["=1", "'x", 'say "hi"', "a,b", "line\nbreak", "ü", None] * 10}


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_honest_files_of_odd_tables_hide_nothing(tmp_path, format_, lazy, monkeypatch):
    """However it is written: in memory, or by DuckDB where the data live."""
    if lazy:
        monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    table = pd.DataFrame(
        {
            **ODD,
            "x": [0.1, 1e-9, 1e30, 2.5, None, -3.0, 7.0] * 10,
            "day": pd.to_datetime(["2020-02-29", "1970-01-01"] * 35),
            "yes": [True, False] * 35,
            "n": range(70),
        }
    )
    table.to_parquet(tmp_path / "odd.parquet", index=False)
    recipe = vd.KAnonymity(quasi_identifiers=["yes"], k=2)
    release = recipe.protect(tmp_path / "odd.parquet", seed=1)
    saved = release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "r", format=format_)
    broken = [line for line in verify(saved) if line.status == "broken"]
    assert not broken


def test_names_that_look_alike_are_refused(made, tmp_path):
    """Then: holds. k-anonymity of a name with a Cyrillic letter; the age itself is exact."""
    table = people()
    table["\u0430ge"] = 1.0
    release = vd.KAnonymity(quasi_identifiers=["\u0430ge", "sex"], k=5).protect(table)
    with pytest.raises(PlanError, match=r"look alike: 'age', '\\u0430ge'"):
        release.save(tmp_path / "out" / "r", custodian=tmp_path / "safe" / "r")
    folder = shutil.copytree(made / "csv", tmp_path / "release")

    def rename(manifest):
        manifest["columns"][3]["name"] = "a\u200bge"
        manifest["exact"][0]["name"] = "a\u200bge"

    edited(folder, rename)
    edited(folder, lambda codebook: codebook[3].update(name="a\u200bge"), "codebook.json")
    replaced(folder, '"income"', '"a\u200bge"')
    write_hashes(folder)
    alike = [line for line in verify(folder) if "look alike" in line.claim]
    assert [(line.status, line.detail) for line in alike] == [("broken", "'age', 'a\\u200bge'")]


@pytest.mark.parametrize(
    "page",
    [
        "<script src=x></script>",
        '<img src="https://elsewhere.example/x.png">',
        '<a href="javascript:x()">a</a>',
        '<svg><a xlink:href="https://elsewhere.example">a</a></svg>',
        "<style>@import 'x.css';</style>",
        '<p style="background: url(x.png)">a</p>',
        '<meta http-equiv="refresh" content="0;url=x">',
        "<body onload=x()>",
        "<!-- the original -->",
        "<?the original?>",
        "<svg><![CDATA[the original]]></svg>",
        "</html>the original",
        "</html><p>",
    ],
)
def test_a_page_that_runs_loads_or_hides_is_seen(page):
    assert active_content(f"<!doctype html><p>7 rows</p>{page}")


def test_the_hash_of_rows_is_that_of_their_file(made):
    """The recount of a CSV file by other code."""
    folder = made / "csv"
    listed = (folder / "SHA256SUMS").read_text(encoding="utf-8")
    assert hashlib.sha256(data(folder).read_bytes()).hexdigest() in listed
