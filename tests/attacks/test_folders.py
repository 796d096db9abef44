"""A stranger sends a release folder to someone who opens it: the folder must not open them.

Against version e5638e6 these attacks won: mutated manifests crashed 32 places, a number of datasets
of 1e30 never ended, a file of half a megabyte took gigabytes, links and names led out of the
folder, and a name with control characters rewrote the terminal. The words of each attack say so.
"""

from __future__ import annotations

import json
import os
import shutil
import struct

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.generators.mutations import mutated, written

import veladura as vd
from veladura.errors import PromiseError, VeladuraError
from veladura.release import data as data_files
from veladura.release.folder import write_hashes
from veladura.release.parquet_pages import unfolded_size
from veladura.release.verify import holds, verify
from veladura.report.gather import gather
from veladura.report.render import render

ESCAPE, TURN = "\x1b[2J\x1b[31m", "\u202e"


def frame(rows=120):
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, rows),
            "sex": rng.choice(["f", "m"], rows),
            "ill": rng.choice(["no", "yes"], rows),
            "income": rng.normal(3000, 800, rows).round(2).clip(0),
            "x": rng.uniform(0, 10, rows).round(3),
            "y": rng.uniform(0, 10, rows).round(3),
        }
    )


AGES = {"age": vd.Hierarchy.intervals([10, 20])}
DOMAIN = {"sex": ["f", "m"], "ill": ["no", "yes"]}
DIVERSE = vd.LDiversity(column="ill", l=2)
RECIPES = {
    "k-anonymity": vd.KAnonymity(
        quasi_identifiers=["age", "sex"],
        k=3,
        max_suppression=0.3,
        hierarchies=AGES,
        models=[DIVERSE],
    ),
    "private": vd.DirichletMultinomial(columns=["sex", "ill"], domain=DOMAIN, epsilon=1.0),
    "places": vd.Donut(x="x", y="y", region=[0, 0, 10, 10], inner=0.5, outer=2),
    "cart": vd.Cart(columns=["income"], m=2, rules=["income >= 0"]),
    "recode": vd.Recode(columns={"income": {"round": 100}, "sex": {"groups": {"a": ["f"]}}}),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Honest releases, to be copied before they are attacked."""
    home = tmp_path_factory.mktemp("made")
    for name, recipe in RECIPES.items():
        seed = None if recipe.private else 1
        recipe.protect(frame(), seed=seed).save(home / "out" / name, custodian=home / "safe" / name)
    return home / "out"


@pytest.fixture
def folder(made, tmp_path):
    return shutil.copytree(made / "recode", tmp_path / "release")


@pytest.mark.parametrize("name", RECIPES)
def test_mutated_manifests_are_told_in_words(name, made, tmp_path):
    """Was: 32 places that crash. Forty mutants a method, fitting checksums, no other exception."""
    rng = np.random.default_rng(list(name.encode()))
    refused = 0
    for number in range(40):
        mutant = shutil.copytree(made / name, tmp_path / f"mutant-{number}")
        file = "codebook.json" if number % 4 == 0 else "manifest.json"
        content = json.loads((mutant / file).read_text(encoding="utf-8"))
        written(mutant / file, mutated(rng, content))
        write_hashes(mutant)
        refused += not holds(verify(mutant))
        try:
            release = vd.load(mutant)
            assert render(gather(release)).startswith("<!doctype html>")
        except VeladuraError:
            continue  # in words
    assert refused > 20  # most mutations break something that is checked


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("datasets", 10**30),  # was: never ends
        ("datasets", 1e30),  # was: TypeError
        ("datasets", 10**9),  # was: a list of a billion names
        ("rows", [10**30]),
        ("steps", []),
        ("steps", None),
        ("columns", {}),
        ("promises", 7),
        ("files", {"format": "../../../../etc/passwd"}),  # was: any file ending
        ("exact", [{"name": 3}]),
        ("units", ["x"]),
    ],
)
def test_impossible_manifests_are_refused_at_the_door(key, value, folder):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, key: value}), encoding="utf-8")
    with pytest.raises(PromiseError):
        vd.load(folder)
    assert not holds(verify(folder))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"format": NaN}', '{"format": 1, "format": 2}', "1" * 10_000, "\xff"]
)
@pytest.mark.parametrize("file", ["manifest.json", "codebook.json"])
def test_json_that_is_none_is_refused(text, file, folder):
    """Was: RecursionError; a key that occurs twice is read as its last value."""
    (folder / file).write_bytes(text.encode("latin-1"))
    with pytest.raises(PromiseError, match="not valid JSON"):
        vd.load(folder)


def linked_file(folder):
    target = folder.parent / "elsewhere.parquet"
    (folder / "data" / "dataset-1.parquet").rename(target)
    (folder / "data" / "dataset-1.parquet").symlink_to(target)


def linked_data(folder):
    (folder / "data").rename(folder.parent / "elsewhere")
    (folder / "data").symlink_to(folder.parent / "elsewhere")


def linked_manifest(folder):
    (folder / "manifest.json").rename(folder.parent / "elsewhere.json")
    (folder / "manifest.json").symlink_to(folder.parent / "elsewhere.json")


def pipe(folder):
    """Was: waits for ever."""
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")


def data_pipe(folder):
    """Was: refused in words too."""
    (folder / "data" / "dataset-1.parquet").unlink()
    os.mkfifo(folder / "data" / "dataset-1.parquet")


def device(folder):
    """Was: reads zeros until memory ends."""
    (folder / "codebook.json").unlink()
    (folder / "codebook.json").symlink_to("/dev/zero")


@pytest.mark.parametrize(
    "attack", [linked_file, linked_data, linked_manifest, pipe, data_pipe, device]
)
def test_no_link_or_device_is_followed(attack, folder):
    attack(folder)
    with pytest.raises(PromiseError):
        vd.load(folder)
    assert not holds(verify(folder))


def test_a_region_or_hierarchy_is_never_read_from_a_path(made, tmp_path):
    """Was: a promise whose region is a path opens that file on the reader's computer."""
    folder = shutil.copytree(made / "places", tmp_path / "release")
    outside = tmp_path / "region.geojson"
    square = [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]
    outside.write_text(json.dumps({"type": "Polygon", "coordinates": square}), encoding="utf-8")
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["promises"][0]["settings"]["region"] = str(outside)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    write_hashes(folder)
    assert not holds(verify(folder))


BOMB = 1_600  # texts of a megabyte


def bomb(path, megabytes=BOMB):
    """Write a file that repeats a text of a megabyte: one page of it, and many rows."""
    texts = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(megabytes, dtype=np.int32)), pa.array(["x" * 1_000_000])
    )
    pq.write_table(pa.table({"c": texts}), path, compression="zstd", store_schema=False)
    return path


def lying(path):
    """Let the footer say that everything is one byte when unfolded; the pages do not change."""
    content = path.read_bytes()
    about = pq.ParquetFile(path).metadata.row_group(0)
    for size in {about.column(0).total_uncompressed_size, about.total_byte_size}:
        honest = _varint(2 * size)
        content = content.replace(honest, b"\x82" + b"\x80" * (len(honest) - 2) + b"\x00")
    path.write_bytes(content)
    return path


def _varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def as_release(folder, file):
    """Put a file of one text column into a release folder that describes it."""
    shutil.copy(file, folder / "data" / "dataset-1.parquet")
    about = {"name": "c", "kind": "category", "role": "other", "type": "string", "missing": 0}
    (folder / "codebook.json").write_text(json.dumps([about]), encoding="utf-8")
    return folder


def test_a_bomb_is_refused_before_it_unfolds(folder, tmp_path):
    """Was: a file of a few kilobytes takes gigabytes of memory, from load and from verify."""
    file = bomb(tmp_path / "bomb.parquet")
    assert file.stat().st_size < 500_000
    as_release(folder, file)
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(PromiseError, match=r"unfold to .* GB"):
        vd.load(folder)
    assert not holds(verify(folder))
    assert pa.default_memory_pool().max_memory() - before < 300_000_000


def test_a_small_file_is_read_and_a_large_one_if_asked(folder, tmp_path):
    """The base rate: the same file, with fewer rows, is a release like any other."""
    assert vd.load(as_release(folder, bomb(tmp_path / "b.parquet", 3))).tables[0].table.rows == 3


def test_pages_are_measured_though_the_footer_lies(tmp_path):
    """The size comes from the headers of the pages, as the reader goes by them."""
    rows = pa.table({"c": ["y" * 100_000 + str(i) for i in range(200)]})
    honest, liar = tmp_path / "honest.parquet", tmp_path / "liar.parquet"
    for path in (honest, liar):
        pq.write_table(rows, path, compression="zstd", use_dictionary=False)
    lying(liar)
    assert pq.ParquetFile(liar).metadata.row_group(0).column(0).total_uncompressed_size == 1
    assert unfolded_size(liar) == unfolded_size(honest) > 200 * 100_000


def test_texts_that_repeat_the_text_before_are_refused(folder, tmp_path):
    """DELTA_BYTE_ARRAY stores only how a text differs from the one before it."""
    path = tmp_path / "delta.parquet"
    pq.write_table(
        pa.table({"c": ["z" * 1000] * 50}),
        path,
        use_dictionary=False,
        column_encoding={"c": "DELTA_BYTE_ARRAY"},
    )
    with pytest.raises(PromiseError, match="cannot be read"):
        vd.load(as_release(folder, path))


def test_a_footer_with_impossible_rows_is_refused(folder, tmp_path):
    """A file that is cut, or whose columns lie outside it, is told as one that cannot be read."""
    path = bomb(tmp_path / "cut.parquet", 3)
    content = bytearray(path.read_bytes())
    length = struct.unpack("<I", content[-8:-4])[0]
    rng = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(content)
        broken[len(content) - 8 - int(rng.integers(length))] = int(rng.integers(256))
        path.write_bytes(broken)
        try:
            vd.load(as_release(folder, path))
        except PromiseError:
            continue


def test_control_characters_reach_no_terminal_and_no_page(veladura, tmp_path):
    """Was: a column's name clears the screen and writes 'holds' in green over what was there."""
    name = f"in{ESCAPE}come{TURN}"
    table = pd.DataFrame({name: range(60), "sex": [f"f{ESCAPE}", f"m{TURN}\x9b1m"] * 30})
    release = vd.Recode(columns={name: {"round": 10}}).protect(table)
    saved = release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    printed = veladura("verify", saved, cwd=tmp_path)
    assert printed.returncode == 0
    veladura("certificate", saved, "--out", "page.html", cwd=tmp_path)
    asked = veladura("analyze", saved, f"`{name}` ~ 1", cwd=tmp_path)
    told = veladura("analyze", saved, "nothing ~ sex", cwd=tmp_path)
    texts = [
        *(text for done in (printed, asked, told) for text in (done.stdout, done.stderr)),
        (saved / "report.html").read_text(encoding="utf-8"),
        (tmp_path / "page.html").read_text(encoding="utf-8"),
    ]
    assert any("\\u001b[2J" in text for text in texts)
    for text in texts:
        assert not {"\x1b", TURN, "\x9b"} & set(text)


def test_control_characters_reach_no_picture():
    """A label of a picture is text of the data."""
    from veladura.base.pictures import image_of, new_figure

    figure = new_figure(3, 2)
    figure.text(0.5, 0.5, f"a{ESCAPE}b{TURN}<script>")
    svg = image_of(figure).decode("utf-8")
    assert "\x1b" not in svg
    assert TURN not in svg
    assert "<script>" not in svg


def as_csv_release(folder, rows, columns=2_000):
    """Put a CSV file of empty numbers into a release folder that describes it."""
    for file in (folder / "data").iterdir():
        file.unlink()
    names = [f"c{i}" for i in range(columns)]
    line = "," * (columns - 1) + "\n"
    text = ",".join(f'"{name}"' for name in names) + "\n" + line * rows
    (folder / "data" / "dataset-1.csv").write_text(text, encoding="utf-8")
    about = {"kind": "number", "role": "other", "type": "double", "missing": rows}
    codebook = [{"name": name, **about} for name in names]
    (folder / "codebook.json").write_text(json.dumps(codebook), encoding="utf-8")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["format"] = "csv"
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder / "data" / "dataset-1.csv"


def test_empty_cells_of_a_csv_file_are_counted_before_they_are_read(folder, monkeypatch):
    """Was: a row of separators takes eight bytes of memory for each of them."""
    file = as_csv_release(folder, 500)
    size = file.stat().st_size
    read = vd.load(folder).tables[0].table.arrow
    assert read.nbytes > 6 * size
    assert data_files.unfolded_text(file, 2_000) >= read.nbytes
    monkeypatch.setattr(data_files, "most_bytes", lambda stored: 5 * stored)
    monkeypatch.setattr(data_files, "read_data", None)  # it is not called
    with pytest.raises(PromiseError, match="unfold to"):
        vd.load(folder)


def test_a_line_without_an_end_is_refused(folder, monkeypatch):
    file = as_csv_release(folder, 2)
    monkeypatch.setattr(data_files, "MOST_LINE", 3_000)
    with pytest.raises(PromiseError, match="cannot be read"):
        vd.load(folder)
    monkeypatch.setattr(data_files, "MOST_LINE", file.stat().st_size)
    assert vd.load(folder).tables[0].table.rows == 2


def test_a_release_that_a_killed_run_set_aside_is_told(veladura, folder):
    """Where a disk cannot exchange folders, --force sets the old release aside for a moment."""
    aside = folder.parent / f".{folder.name}.part" / "old"
    aside.parent.mkdir()
    folder.rename(aside)
    with pytest.raises(PromiseError, match="set it aside in") as told:
        vd.load(folder)
    assert str(aside) in str(told.value)
    printed = veladura("verify", folder, cwd=folder.parent)
    assert printed.returncode == 2
    assert "set it aside" in " ".join(printed.stderr.split())
