"""veladura demo: the bundled clinic register, protected as a whole, then by every method alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from veladura import example
from veladura.base.context import Progress, silent
from veladura.base.private_files import write_private
from veladura.core import registry
from veladura.errors import FolderError
from veladura.methods.private.ledger import Ledger
from veladura.plan.confirm import accept_all, confirm
from veladura.plan.draft import draft
from veladura.plan.reading import read_plan
from veladura.plan.run import Outcome, run
from veladura.plan.warm import warming

SEED = 1998
FILES = ("clinic.csv", "region.geojson", "lake.geojson")
# What the holder of the register declares: the land, and the lake nobody lives in.
MAP = {"region": Path("../region.geojson"), "exclude": Path("../lake.geojson")}
WHOLE = "whole"
ALL_COLUMNS = "made-up people: every category is shared by many of them"
ONE_METHOD = "made-up people: this release shows what one method does by itself"
_OURS = {*FILES, "plans", "releases", "custodian"}


def run_demo(out: Path, *, force: bool = False, progress: Progress = silent) -> dict[str, Outcome]:
    """Write a plan, a release and a record below a folder for each; return the outcomes.

    The first is the protection of the whole table that `veladura init` drafts. The others show what
    each method does by itself: parts of a protection, not releases to publish.
    """
    _clear(out, force=force)
    for name in FILES:
        shutil.copyfile(example.path(name), out / name)
    with warming():
        outcomes = {WHOLE: run(read_plan(_plan(out, None)), force=force, progress=progress)}
        for method in [name for name in registry.METHODS if _suits(name)]:
            outcomes[method] = run(
                read_plan(_plan(out, method)),
                force=force,
                progress=progress,
                ledger=Ledger() if registry.find(method).private else None,  # invented people
            )
    return outcomes


def _suits(method: str) -> bool:
    """Whether a method is installed and suits the register, which has no sampling weights."""
    of_weights = ("reweight", "calibrate")
    return method not in ("steps", *of_weights) and registry.available(method)


def _clear(out: Path, *, force: bool) -> None:
    """Empty the folder of an earlier demo; refuse one with other files."""
    if out.exists() and any(out.iterdir()):
        if strange := sorted(path.name for path in out.iterdir() if path.name not in _OURS):
            msg = (
                f"{out} contains files that are not from a demo: {strange[:3]}.\n\nHint: name"
                " another folder with --out."
            )
            raise FolderError(msg)
        if not force:
            msg = (
                f"{out} exists already.\n\nHint: replace the demo in it with --force, or name"
                " another folder with --out."
            )
            raise FolderError(msg)
        shutil.rmtree(out)
    (out / "plans").mkdir(parents=True)


def _plan(out: Path, method: str | None) -> Path:
    """Write the plan that `veladura init` drafts, with a seed and the folders of the demo."""
    name = method or WHOLE
    path = out / "plans" / f"{name}.toml"
    recipe = None if method is None else registry.find(method)
    text = draft(
        str(out / "clinic.csv"),
        method=method,
        home=path.parent,
        release=f"../releases/{name}",
        custodian=f"../custodian/{name}",
        seed=None if recipe is not None and recipe.private else SEED,
        settings=MAP if recipe is not None and "region" in recipe.declared_by_holder else None,
    )
    write_private(path, text)
    confirm(path, accept_all(ALL_COLUMNS if method is None else ONE_METHOD))
    return path
