"""Every number that a recipe, a plan or a command takes may be strange: words, or a run that ends.

Tried in every numeric setting of every method: 0, -1, the smallest and largest floating-point
numbers, infinite ones, what is not a number, and integers beyond 32 and 64 bits.
"""

from __future__ import annotations

import dataclasses
import typing
import warnings
from io import BytesIO

import pandas as pd
import pytest
import tomli_w
from tests.fuzz.harness import TookTooLong, timed
from tests.fuzz.targets import COLUMNS, STEPS, people

import veladura as vd
from veladura.core import registry
from veladura.errors import InternalError, VeladuraError
from veladura.plan.reading import plan_in
from veladura.plan.steps import recipe_from

STRANGE = (0, -1, 1e-300, 1e300, float("inf"), float("nan"), 2**31, 2**63, 10**30)
PLACES = {"x": "x", "y": "y", "region": [0.0, 0.0, 1.0, 1.0]}
SEX = {"columns": ["sex"], "domain": {"sex": ["f", "m"]}, "epsilon": 1.0}
BASES = {
    **{str(step["method"]): step for step in STEPS},
    "reweight": {"method": "reweight", "column": "income", "digits": 2},
    "calibrate": {"method": "calibrate", "column": "income", "totals": {"sex": {"f": 9, "m": 9}}},
    "areas": {"method": "areas", "x": "x", "y": "y", "areas": {"all": [0.0, 0.0, 1.0, 1.0]}},
    "filter": {"method": "filter", "where": "income > 1"},
    "suppress": {"method": "suppress", "risk": 0.5, "known": ["sex"]},
    "sample": {"method": "sample", "fraction": 0.5},
    "beta-binomial": {"method": "beta-binomial", **SEX},
    "noisy-counts": {"method": "noisy-counts", **SEX},
    "private-summary": {
        "method": "private-summary",
        "columns": ["income"],
        "bounds": {"income": [0.0, 100.0]},
        "bins": 5,
        "epsilon": 1.0,
    },
    "private-regression": {
        "method": "private-regression",
        "outcome": "income",
        "columns": ["sex"],
        "bounds": {"income": [0.0, 100.0]},
        "domain": {"sex": ["f", "m"]},
        "epsilon": 1.0,
    },
    "naive-geography": {"method": "naive-geography", **PLACES, "grid": [3, 3]},
    "households": {"method": "households", "m": 1},
}
ROLES = {"name": {"role": "identifier"}, "income": "number", "home": {"role": "identifier"}}
NEEDED = {"households": {"home": {"role": "household"}}}  # what a method asks of the columns
METHODS = [method for method in registry.METHODS if method != "steps"]


def takes_numbers(type_: object) -> bool:
    return type_ in (int, float) or any(map(takes_numbers, typing.get_args(type_)))


def numeric_settings(method: str) -> list[str]:
    cls = registry.find(method)
    hints = typing.get_type_hints(cls)
    return [field.name for field in dataclasses.fields(cls) if takes_numbers(hints[field.name])]


def in_shape(value: object, strange: float) -> list[object]:
    """Return a strange number, and where the setting holds several, it in the place of each."""
    if isinstance(value, (list, tuple)):
        return [[*value[:i], strange, *value[i + 1 :]] for i in range(len(value))]
    if isinstance(value, dict):
        return [{**value, key: strange} for key in value]
    return [strange]


def ends(act: typing.Callable[[], object], what: str) -> None:
    """Hold that something ends, well or in words."""
    try:
        with timed(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            act()
    except InternalError:
        raise
    except VeladuraError:
        return
    except TookTooLong:
        pytest.fail(f"{what} did not end")
    except Exception as error:  # noqa: BLE001  # the finding itself
        pytest.fail(f"{what}: {type(error).__name__}")


@pytest.fixture(scope="module")
def frame():
    read = pd.read_csv(BytesIO(people().replace(b",Zyzzyva9071,", b",a,")))
    return read.assign(home=[f"home {row // 3}" for row in range(len(read))])


@pytest.fixture(scope="module")
def table(frame):
    return vd.open(frame, ROLES)


@pytest.mark.parametrize("method", METHODS)
def test_a_strange_number_in_a_setting_is_refused_or_used(method, frame):
    base = BASES[method]
    table = vd.open(frame, {**ROLES, **NEEDED.get(method, {})})
    recipe = recipe_from(base)
    for setting in numeric_settings(method):
        for strange in STRANGE:
            for value in in_shape(base.get(setting, getattr(recipe, setting)), strange):
                ends(
                    lambda value=value, setting=setting: recipe_from(
                        {**base, setting: value}
                    ).protect(table, ledger=vd.Ledger()),
                    f"{method} with {setting} = {value!r}",
                )


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ("run", "seed"),
        ("run", "threads"),
        ("budget", "epsilon"),
        ("budget", "delta"),
        ("budget", "rho"),
        ("gate", "max"),
        ("intruder", "within"),
    ],
)
def test_a_strange_number_in_a_plan_is_refused_or_used(section, key, tmp_path):
    (tmp_path / "people.csv").write_bytes(people())
    for strange in STRANGE:
        plan: dict[str, typing.Any] = {
            "source": {"path": "people.csv"},
            "columns": COLUMNS,
            "step": [{"method": "noise", "columns": ["income"]}],
        }
        if section == "gate":
            plan["gate"] = {"risk.holes.ratio": {key: strange}}
        elif section == "intruder":
            plan["intruder"] = [{"name": "a", "knows": ["age"], key: {"age": strange}}]
        else:
            plan[section] = {key: strange}

        def act(plan: dict[str, typing.Any] = plan) -> None:
            read = plan_in(tomli_w.dumps(plan), tmp_path)
            if section == "budget":
                given = read.budget
                vd.Ledger(epsilon=given.epsilon, delta=given.delta, rho=given.rho)
            read.recipe.protect(read.open(), seed=read.run.seed, threads=read.run.threads)

        ends(act, f"[{section}] {key} = {strange!r}")


NUL = "a\0b"
COMMANDS = {
    "init": ["init", NUL],
    "init --out": ["init", "people.csv", "--out", NUL],
    "init --table": ["init", "people.csv", "--table", NUL],
    "confirm": ["confirm", NUL],
    "run": ["run", NUL],
    "ways": ["ways", NUL],
    "verify": ["verify", NUL],
    "verify --source": ["verify", "release", "--source", NUL, "--record", "x"],
    "verify --record": ["verify", "release", "--source", "people.csv", "--record", NUL],
    "assess": ["assess", NUL, "--source", "people.csv"],
    "assess --source": ["assess", "release", "--source", NUL],
    "assess --record": ["assess", "release", "--source", "people.csv", "--record", NUL],
    "assess --plan": ["assess", "release", "--plan", NUL],
    "assess --html": ["assess", "release", "--source", "people.csv", "--html", NUL],
    "assess --json": ["assess", "release", "--source", "people.csv", "--json", NUL],
    "analyze": ["analyze", NUL, "income ~ age"],
    "analyze --picture": ["analyze", "release", "income ~ age", "--picture", f"{NUL}.png"],
    "analyze --out": ["analyze", "release", "income ~ age", "--out", f"{NUL}.csv"],
    "compare": ["compare", NUL, "plan.toml"],
    "certificate": ["certificate", NUL],
    "certificate --out": ["certificate", "release", "--out", NUL],
    "budget": ["budget", NUL],
    "demo": ["demo", "--out", NUL],
}
NUMBERS = ["0", "-1", "1e-300", "1e300", "inf", "nan", str(10**30)]
OPTIONS = {
    "analyze --level": ["analyze", "release", "income ~ age", "--level"],
    "analyze --prior": ["analyze", "release", "--posterior", "--prior"],
    "compare --workers": ["compare", "plan.toml", "other.toml", "--workers"],
}


@pytest.fixture(scope="module")
def home(table, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    (home / "people.csv").write_bytes(people())
    vd.Noise(columns=["income"]).protect(table, seed=1).save(
        home / "release", custodian=home / "safe" / "release"
    )
    for name in ("plan", "other"):
        step = {"method": "noise", "columns": ["income"]}
        plan = {"source": {"path": "people.csv"}, "columns": COLUMNS, "step": [step]}
        (home / f"{name}.toml").write_text(tomli_w.dumps(plan), encoding="utf-8")
    return home


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_path_with_a_nul_is_refused_in_words(veladura, home, command):
    done = veladura(*command, cwd=home)
    assert done.returncode in (2, 3, 4), (done.returncode, done.stderr)
    assert "unexpected failure" not in done.stderr


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("command", OPTIONS.values(), ids=OPTIONS)
def test_a_strange_number_in_an_option_is_refused_or_used(veladura, home, command, number):
    done = veladura(*command, number, cwd=home)
    assert done.returncode in (0, 2, 3), (done.returncode, done.stderr)
    assert "unexpected failure" not in done.stderr


@pytest.mark.parametrize(
    "place",
    [("source", "path"), ("source", "url"), ("release", "folder"), ("custodian", "folder")],
)
def test_a_nul_in_a_plan_is_refused_in_words(veladura, home, place):
    section, key = place
    plan = {
        "source": {"path": "people.csv"},
        "columns": COLUMNS,
        "step": [{"method": "noise", "columns": ["income"]}],
    }
    plan[section] = {key: NUL if key != "url" else f"sqlite:///{NUL}"}
    (home / "strange.toml").write_text(tomli_w.dumps(plan), encoding="utf-8")
    done = veladura("run", "strange.toml", cwd=home)
    assert done.returncode in (2, 3), (done.returncode, done.stderr)
