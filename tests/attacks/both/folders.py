"""Attacks by a folder or a formula of a stranger."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.attacks.both.common import (
    Attack,
    Outcome,
    anonymous,
    command,
    edited,
    people,
    rehash,
)

import veladura as vd

SENTENCE = "Nobody can be identified by anyone."


def praised(folder: Path, *options: str) -> Outcome:
    """Return whether `verify` has no complaint."""
    ended = command("verify", str(folder), *options, cwd=folder.parent)
    return ended.returncode == 0, f"verify ends with {ended.returncode}"


def status(printed: str, words: str) -> str:
    """Return what `verify` says of the sentence with some words, which may go over two lines."""
    before, found, _ = " ".join(printed.split()).partition(words)
    said = re.findall(r"\b(holds|broken|attested)\b", before)
    return said[-1] if found and said else "not mentioned"


def formula(text: str, home: Path) -> Outcome:
    """Run a formula that writes a file."""
    release = vd.Noise(columns=["income"]).protect(people(), seed=1)
    mark = home / "written"
    try:
        release.analyze(text.replace("FILE", str(mark)))
        said = "accepted"
    except Exception as error:  # noqa: BLE001  # of any version
        said = f"refused ({type(error).__name__})"
    return mark.exists(), f"{said}, the file {'was' if mark.exists() else 'was not'} written"


def formula_that_opens(home: Path) -> Outcome:
    return formula("income ~ {open('FILE', 'w').write('x') * age}", home)


def formula_that_measures(home: Path) -> Outcome:
    return formula("""income ~ age + np.testing.measure("open('FILE', 'w')")""", home)


def edited_claim(home: Path) -> Outcome:
    folder = anonymous(home)

    def change(manifest: dict) -> None:
        for promise in manifest["promises"]:
            promise["claim"] = SENTENCE

    edited(folder, change)
    ended = command("verify", str(folder), cwd=home)
    said = SENTENCE in ended.stdout.replace("\n", " ")
    return said and ended.returncode == 0, f"the sentence is {'' if said else 'not '}repeated"


def of_no_dataset(home: Path) -> Outcome:
    folder = anonymous(home)
    edited(folder, lambda m: [promise.update(datasets=[7]) for promise in m["promises"]])
    return praised(folder)


def k_of_one(home: Path) -> Outcome:
    folder = anonymous(home)

    def change(manifest: dict) -> None:
        for promise in manifest["promises"]:
            if "k" in promise["settings"]:
                promise["settings"]["k"] = 1

    edited(folder, change)
    return praised(folder)


def no_promises(home: Path) -> Outcome:
    folder = anonymous(home)
    edited(folder, lambda manifest: manifest.update(promises=[]))
    return praised(folder)


def real_rows(home: Path) -> Outcome:
    """Put rows of the original behind the manifest of a private release."""
    domain = {"sex": ["f", "m"], "ill": ["no", "yes"]}
    recipe = vd.DirichletMultinomial(columns=["sex", "ill"], domain=domain, epsilon=0.1)
    release = recipe.protect(people())
    release.save(home / "out" / "release", custodian=home / "safe" / "release")
    path = next((home / "out" / "release").glob("data/*.parquet"))
    schema = pq.read_schema(path)
    rows = pa.Table.from_pandas(people()[["sex", "ill"]], preserve_index=False)
    pq.write_table(rows.select(schema.names).cast(schema), path)
    rehash(path.parents[1])
    ended = command("verify", str(path.parents[1]), cwd=home)
    said = status(ended.stdout, "exp(0.1)")
    return said == "holds", f"{said} exp(0.1)"


def hidden_original(home: Path) -> Outcome:
    folder = anonymous(home)
    shutil.copyfile(home / "people.csv", folder / "data" / "SHA256SUMS")
    return praised(folder)


def certificate_of_changed_files(home: Path) -> Outcome:
    folder = anonymous(home)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["release"] = {**manifest.get("release", {}), "purpose": SENTENCE}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    ended = command("certificate", str(folder), cwd=home)
    return ended.returncode == 0, f"certificate ends with {ended.returncode}"


def unrelated_source(home: Path) -> Outcome:
    folder = anonymous(home)
    other = people().assign(age=np.arange(240))
    other.to_parquet(home / "other.parquet")
    record = str(home / "safe" / "release" / "record.json")
    ended = command(
        "verify", str(folder), "--source", "other.parquet", "--record", record, cwd=home
    )
    said = status(ended.stdout, "source")
    return said == "holds", f"the source: {said}"


def mutated_manifests(home: Path) -> Outcome:
    """Open forty manifests of which one value is something else."""
    folder, crashes = anonymous(home), 0
    from veladura.errors import VeladuraError

    honest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for key in honest:
        for odd in (None, 7, "x", [[]], {"a": 1}):
            edited(folder, lambda manifest, key=key, odd=odd: manifest.update({key: odd}))
            try:
                vd.load(folder)
            except VeladuraError:
                pass
            except Exception:  # noqa: BLE001  # the finding itself
                crashes += 1
            (folder / "manifest.json").write_text(json.dumps(honest), encoding="utf-8")
    return crashes > 0, f"{crashes} of {5 * len(honest)} end in an error of the program"


def endless_datasets(home: Path) -> Outcome:
    folder = anonymous(home)
    edited(folder, lambda manifest: manifest.update(datasets=10**30))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    try:
        ended = command("verify", str(folder), cwd=home, seconds=40)
    except Exception as error:  # noqa: BLE001
        return True, f"never ends ({type(error).__name__})"
    crash = "Traceback" in ended.stderr or ended.returncode not in (1, 2, 4)
    return crash, f"verify ends with {ended.returncode}"


def bomb(home: Path) -> Outcome:
    """A Parquet file that repeats a text of a megabyte two thousand times."""
    folder = anonymous(home)
    path = next(folder.glob("data/*.parquet"))
    names = pq.read_schema(path).names
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 2000), pa.array(["x" * (1 << 20)]))
    pq.write_table(pa.table(dict.fromkeys(names, text)), path, compression="zstd")
    rehash(folder)
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    ended = command("verify", str(folder), cwd=home, seconds=200)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    won = peak > 1500 or "MemoryError" in ended.stderr or ended.returncode < 0
    return won, f"{path.stat().st_size >> 10} KB take {peak} MB"


def link_out(home: Path) -> Outcome:
    folder = anonymous(home)
    path = next(folder.glob("data/*.parquet"))
    shutil.move(path, home / "outside.parquet")
    path.symlink_to(home / "outside.parquet")
    return praised(folder)


def pipe(home: Path) -> Outcome:
    folder = anonymous(home)
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    try:
        ended = command("verify", str(folder), cwd=home, seconds=30)
    except Exception:  # noqa: BLE001
        return True, "never ends"
    return "Traceback" in ended.stderr, f"verify ends with {ended.returncode}"


def control_characters(home: Path) -> Outcome:
    folder = anonymous(home)

    def change(manifest: dict) -> None:
        manifest["name"] = "\x1b[2Jpeople"
        for promise in manifest["promises"]:
            promise["claim"] = "\x1b[2JNobody can be identified."

    edited(folder, change)
    ended = command("verify", str(folder), cwd=home)
    won = "\x1b[2J" in ended.stdout + ended.stderr
    return won, "reach the terminal" if won else "are written out"


ATTACKS: dict[str, Attack] = {
    "formula that opens a file": formula_that_opens,
    "formula that runs a measure": formula_that_measures,
    "edited claim": edited_claim,
    "promise about dataset 7": of_no_dataset,
    "k of 1": k_of_one,
    "no promises": no_promises,
    "real rows behind a private manifest": real_rows,
    "the original as data/SHA256SUMS": hidden_original,
    "certificate of changed files": certificate_of_changed_files,
    "unrelated source": unrelated_source,
    "mutated manifests": mutated_manifests,
    "10^30 datasets": endless_datasets,
    "bomb": bomb,
    "link out of the folder": link_out,
    "pipe as manifest": pipe,
    "control characters": control_characters,
}
