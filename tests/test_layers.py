"""Imports point down the list of layers, also inside functions; only `table` knows the database."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import veladura

ROOT = Path(veladura.__file__).parent
# Lower layers first. A module may import from its own layer and from those below it.
LAYERS = (
    ("errors",),
    ("base", "example"),
    ("table",),
    ("numeric",),
    ("core",),
    (
        "methods.preparing",
        "methods.masks",
        "methods.kanonymity",
        "methods.cart",
        "methods.geography",
        "methods.private",
    ),
    ("methods.critical",),  # draws from the trees of cart
    ("methods", "inference"),
    ("measures",),
    ("report",),
    ("release",),
    ("plan",),
    ("comparison", "testing"),
    ("studies",),
    ("cli", "studio"),
    ("__main__", "risk", "utility"),  # front doors
)
# Upward imports that are allowed, with the reason.
EXCEPTIONS = {
    # The release is what users hold: its methods lead to what the upper layers do with it.
    ("core.release", "inference.analysis"),
    ("core.release", "inference.pooling"),
    ("core.release", "release.manifest"),
    ("core.release", "release.package"),
}


def layer_of(module: str) -> int:
    """The number of the layer that a module within the package belongs to."""
    for number, names in enumerate(LAYERS):
        if any(module == name or module.startswith(f"{name}.") for name in names):
            return number
    msg = f"{module} is in no layer: put it into LAYERS"
    raise AssertionError(msg)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if name != "__init__":
            yield name, path


def imports_of(path: Path, *, types: bool) -> set[str]:
    """Every module that a file imports, anywhere in it; imports for type checkers only if asked."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not types:
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                node.body = []
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                imported.add(inner if is_module(inner) else node.module)
    return imported


def is_module(name: str) -> bool:
    """Whether a dotted name is a module or package of ours."""
    place = ROOT.parent.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


EVERY = [pytest.param(name, path, id=name) for name, path in modules()]


@pytest.mark.parametrize(("name", "path"), EVERY)
def test_imports_point_down(name, path):
    ours = {
        module.removeprefix("veladura.")
        for module in imports_of(path, types=False)
        if module.startswith("veladura.")
    }
    upward = {(name, module) for module in ours if layer_of(module) > layer_of(name)}
    assert upward - EXCEPTIONS == set()


@pytest.mark.parametrize(("name", "path"), EVERY)
def test_only_the_table_layer_knows_the_database(name, path):
    outside = {module.split(".")[0] for module in imports_of(path, types=True)}
    assert name.startswith("table") or not outside & {"ibis", "duckdb", "sqlglot", "psycopg"}


def test_every_exception_is_needed():
    paths = dict(modules())
    for name, module in EXCEPTIONS:
        assert f"veladura.{module}" in imports_of(paths[name], types=False)


HEAVY = "('ibis', 'pandas', 'numba', 'scipy', 'pyarrow')"


@pytest.mark.parametrize("module", ["veladura", "veladura.cli.main"])
def test_starting_loads_nothing_heavy(module):
    code = f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
