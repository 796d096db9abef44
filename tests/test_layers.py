"""Imports point one way, and only the table layer knows Ibis."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import veladura

ROOT = Path(veladura.__file__).parent
# Lower layers first; a module may import from its own layer and those below.
LAYERS = (
    {"errors", "expression", "jit", "streams", "context", "typed", "example"},
    {"table", "inference.estimate"},
    {
        "promise",
        "recipe",
        "measure",
        "limit",
        "steps",
        "masks",
        "synth",
        "dp",
        "anonymize",
        "risk",
        "utility",
        "inference",
        "assessment",
        "spatial",
        "mcmc",
    },
    {"methods", "report", "release"},
    {"plan", "run", "init", "demo", "warm", "comparison", "cli", "cli_show", "contract", "testing", "cli_analyze", "init_gate"},
)


def layer_of(module: str) -> int:
    parts = module.removeprefix("veladura.").split(".")
    for length in (2, 1):
        for number, names in enumerate(LAYERS):
            if ".".join(parts[:length]) in names:
                return number
    msg = f"{module} is in no layer: put it into LAYERS"
    raise AssertionError(msg)


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(("veladura", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        if name != "veladura":
            yield name, path


def imports_of(path: Path, *, whole: bool) -> set[str]:
    """What a file imports when it is loaded or, with ``whole``, anywhere in it; types apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if whole else iter(tree.body)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" if node.module == "veladura" else node.module for alias in node.names}
    return found


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_imports_point_down(name, path):
    ours = {module for module in imports_of(path, whole=False) if module.startswith("veladura.")}
    assert {module for module in ours if layer_of(module) > layer_of(name)} == set()


@pytest.mark.parametrize(("name", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_only_the_table_layer_knows_the_database(name, path):
    outside = {module.split(".")[0] for module in imports_of(path, whole=True)} & {"ibis", "duckdb", "sqlglot", "psycopg"}
    assert not outside or name.startswith("veladura.table")


def test_importing_veladura_loads_nothing_heavy():
    code = "import sys, veladura; print([m for m in ('numpy', 'ibis', 'pandas', 'numba', 'scipy', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_command_line_starts_without_the_heavy_parts():
    code = "import sys, veladura.cli; print([m for m in ('ibis', 'pandas', 'numba', 'scipy', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
