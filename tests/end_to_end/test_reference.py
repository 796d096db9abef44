"""The API reference has an entry for every public name, and no entry for anything else."""

from __future__ import annotations

import inspect
import pkgutil
import re
from pathlib import Path

import veladura as vd

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
ENTRIES = [
    entry
    for page in PAGES
    for entry in re.findall(
        r"^::: veladura\.(\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE
    )
]
MODULES = {name for name in vd.__all__ if inspect.ismodule(getattr(vd, name))}


def resolved(entry):
    """What stands behind an entry: a public name, or one in an inner module."""
    module, _, rest = entry.partition(".")
    public = getattr(vd, module)
    return pkgutil.resolve_name(f"{public.__name__}.{rest}") if rest else public


def test_every_public_name_has_one_entry():
    assert len(ENTRIES) == len(set(ENTRIES))
    assert {entry for entry in ENTRIES if "." not in entry} == (
        set(vd.__all__) - MODULES - {"__version__"}
    )


def test_every_measure_has_an_entry():
    for module in ("risk", "utility"):
        listed = {entry.split(".")[1] for entry in ENTRIES if entry.startswith(f"{module}.")}
        assert listed == set(getattr(vd, module).__all__)


def test_every_error_has_an_entry():
    listed = {resolved(entry) for entry in ENTRIES if entry.startswith("errors.")}
    own = {value for value in vars(vd.errors).values() if inspect.isclass(value)}
    assert listed == {
        value
        for value in own
        if issubclass(value, (vd.errors.VeladuraError, vd.errors.VeladuraWarning))
    }


def test_every_entry_is_documented():
    for entry in ENTRIES:
        assert inspect.getdoc(resolved(entry)), entry


def test_every_page_is_in_the_site():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"reference/{page.name}" in site
