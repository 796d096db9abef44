"""The public names: sorted, documented, and all there."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import veladura as vd
from veladura.core.recipe import Recipe
from veladura.core.registry import METHODS

PROMISED = {
    "Noise",
    "Swap",
    "Microaggregation",
    "TopCode",
    "Recode",
    "Pram",
    "Steps",
    "Estimate",
    "Release",
    "assess",
    "load",
    "open",
    "risk",
    "utility",
    "testing",
}


def test_every_export_is_there_and_documented():
    for name in vd.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(vd, name)), name


def test_the_list_is_sorted_and_holds_what_the_design_names():
    assert list(vd.__all__) == sorted(vd.__all__)
    assert set(vd.__all__) >= PROMISED
    assert dir(vd) == sorted(vd.__all__)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(vd, "no_such_name")


def test_every_method_is_a_recipe_under_its_own_name():
    for method, (module, name) in METHODS.items():
        recipe = getattr(vd, name)
        assert issubclass(recipe, Recipe)
        assert recipe.method == method
        assert recipe.__module__ == module


ROOT = Path(__file__).parents[1]
STUB = Path(vd.__file__).with_suffix(".pyi")


def test_the_stub_and_the_package_agree():
    """What editors see is what there is: the same names, from the same modules."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    seen = {
        alias.asname: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(seen) == set(vd.__all__) - {"__version__"}
    for name, (module, attribute) in seen.items():
        assert getattr(vd, name) is getattr(import_module(module), attribute), name
    (listed,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    assert listed == list(vd.__all__)


RIGHT = """
import veladura as vd

release = vd.Cart(columns=["income"], m=5).protect("people.csv", seed=7)
vd.KAnonymity(quasi_identifiers=["zip", "sex"], k=5, max_suppression=0.02)
vd.CriticalCart(critical={"income": "income > 200_000"}, groups=[["income", "wealth"]], m=5)
vd.Noise(columns=["income"], scale=0.2)
vd.Geography(x="lon", y="lat", attributes=["sex"], region="region.geojson", grid=(20, 20), m=5)
vd.KAnonymity(quasi_identifiers=[["zip"], ["sex"]], hierarchies={"zip": vd.Hierarchy.mask(5)})
vd.DirichletMultinomial(columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=2.0)
vd.Steps([vd.TopCode(columns={"income": 60_000}), vd.Swap(columns=["income"])])
float(release.estimate(lambda data: (data["income"].mean(), 1.0)))
vd.risk.uniqueness(release.datasets[0], ["sex"])
"""
WRONG = {
    'vd.Cart(columnz=["income"])': "columnz",
    'vd.Cart(columns=["income"], m="five")': '"m" to "Cart"',
    "vd.NoSuchName": "NoSuchName",
    'vd.Noise(columns=["income"]).protekt("people.csv")': "protekt",
}


def types_of(folder: Path, code: str) -> str:
    """What mypy says of a user's script; where its own cache breaks it, without that cache."""
    (folder / "script.py").write_text(code, encoding="utf-8")
    for cache in (ROOT / ".mypy_cache" / "scripts", folder / "cache"):
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--follow-imports=silent",
                f"--cache-dir={cache}",
                f"--config-file={ROOT / 'pyproject.toml'}",
                str(folder / "script.py"),
            ],
            env={"PATH": "", "MYPYPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        if "INTERNAL ERROR" not in said:
            break
    return said


@pytest.mark.xdist_group("mypy")
def test_type_checkers_accept_what_the_design_shows(tmp_path):
    assert "Success" in types_of(tmp_path, RIGHT)


@pytest.mark.xdist_group("mypy")
def test_type_checkers_refuse_mistakes(tmp_path):
    said = types_of(tmp_path, "\n".join(["import veladura as vd", *WRONG]))
    for line, word in enumerate(WRONG.values(), start=2):
        assert any(f"script.py:{line}" in part and word in part for part in said.splitlines()), said


PACKAGES = ["veladura", "veladura.inference", "veladura.testing"]


@pytest.mark.parametrize("name", PACKAGES)
def test_no_export_shares_its_name_with_a_submodule(name):
    """Else what the name means depends on what was imported before."""
    package = import_module(name)
    inside = {found.name for found in pkgutil.iter_modules(package.__path__)}
    for shared in inside & set(package.__all__):
        assert getattr(package, shared) is import_module(f"{name}.{shared}")
