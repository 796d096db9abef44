"""`vd.risk` and `vd.utility`: the functions, always, and what type checkers read is what runs."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import veladura as vd
from veladura.measures.registry import MEASURES

DOORS = [vd.risk, vd.utility]


def typed_names(module):
    """The names that the module imports for type checkers, with the module of each."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    return {alias.name: line.module for line in blocks[0].body for alias in line.names}


@pytest.mark.parametrize("door", DOORS)
def test_the_lazy_table_the_list_and_the_typed_imports_agree(door):
    assert typed_names(door) == door._PLACES
    assert sorted(door._PLACES) == list(door.__all__) == sorted(door.__all__) == dir(door)


@pytest.mark.parametrize("door", DOORS)
def test_every_name_is_documented_and_comes_from_its_place(door):
    for name, place in door._PLACES.items():
        thing = getattr(door, name)
        assert inspect.isfunction(thing) or inspect.isclass(thing)
        assert thing.__module__ == place
        assert inspect.getdoc(thing)


@pytest.mark.parametrize("door", DOORS)
def test_no_name_is_a_submodule(door):
    """A submodule that is imported becomes an attribute of its package, in place of an export."""
    assert not hasattr(door, "__path__")
    package = import_module(f"veladura.measures.{door.__name__.rpartition('.')[2]}")
    assert not hasattr(package, "__all__")
    for name in MEASURES:
        import_module(MEASURES[name])
    assert not any(inspect.ismodule(getattr(door, name)) for name in door.__all__)


@pytest.mark.parametrize("door", DOORS)
def test_an_unknown_name_is_an_attribute_error(door):
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        door.no_such_name  # noqa: B018


@pytest.mark.parametrize(
    ("door", "old", "new"),
    [
        (vd.risk, "closest", "distance"),
        (vd.utility, "cluster", "clusters"),
        (vd.utility, "predict", "prediction"),
    ],
)
def test_old_names_of_functions_work_with_a_warning(door, old, new):
    with pytest.warns(DeprecationWarning, match=f"{old} is now called .*{new}") as caught:
        assert getattr(door, old) is getattr(door, new)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("door", DOORS)
def test_one_name_for_one_argument(door):
    """The release is `release`, the control group `control`, an intruder's columns `known`."""
    old = {"released", "datasets", "synthetic", "holdout", "keys", "data"}
    first = {"original", "table", "release", "schema"}
    for name in door.__all__:
        if inspect.isfunction(function := getattr(door, name)):
            names = list(inspect.signature(function).parameters)
            assert names[0] in first, name
            assert not old & set(names), name


def test_the_doors_load_no_measure():
    code = (
        "import sys, veladura.risk, veladura.utility;"
        "print([name for name in sys.modules if name.startswith('veladura.measures')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_know_the_signatures(tmp_path):
    """A wrong keyword and an unknown function are refused, a right call is not."""
    code = (
        "import veladura.risk\n"
        "veladura.risk.uniqueness('people.csv', ['zip'])\n"
        "veladura.risk.uniqueness('people.csv', columnz=['zip'])\n"
        "veladura.risk.no_such_name\n"
    )
    path = tmp_path / "uses.py"
    path.write_text(code, encoding="utf-8")
    source = Path(vd.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=source.parent,
        env={"MYPYPATH": str(source), "PATH": ""},
    )
    lines = [line for line in done.stdout.splitlines() if "uses.py" in line]
    assert [line.split(":")[1] for line in lines if "error" in line] == ["3", "4"]
