"""Attack: a formula that runs Python, from the command line or from a release of a stranger.

The formulas of `WON` wrote a file in version 0.1.0, three of them although they were refused; the
others are variants that it refused, or that would take very long. Base rate: none of the models
beside them may be refused.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.inference.formula import check_formula

WON = [
    "income ~ {open(F, 'w').write('x') * stay}",
    "income ~ stay + I(open(F, 'w').write('x'))",
    "income ~ np.testing.measure(\"open(F, 'w')\")",
    "income ~ I(np.savetxt(F, stay))",
    "income ~ I(stay.to_csv(F))",
]
ATTACKS = [
    *WON,
    "income ~ I(__import__('pathlib').Path(F).touch())",
    "income ~ {[open(F, 'w') for x in [1]]}",
    "income ~ {(lambda: open(F, 'w'))()}",
    "income ~ I(stay.__class__.__init__)",
    "income ~ eval('1')",
    "income ~ I(f'{open(F)}')",
    "income ~ I(C.__globals__)",
    "income ~ I(getattr(stay, 'to_csv')(F))",
    "income ~ I((x := open(F, 'w')))",
    "income ~ stay; open(F, 'w')",
    "income ~ `a` + {`a`.to_csv(F)}",
    "income ~ I(*stay)",
    "{open(F, 'w')} ~ stay",
    "income ~ stay # + I(open(F, 'w'))",
    "income ~ stay\\n+ I(open(F, 'w'))",
    "income ~ I(9 ** 9 ** 9 ** 9)",
    "income ~ I(stay ** stay)",
]
MODELS = [
    "income ~ stay",
    "log(income) ~ stay + C(sex)",
    "income ~ stay * sex + I(stay ** 2)",
    "income ~ np.log(stay) + stay:sex",
    "income ~ bs(stay, df=4) + 0",
    "income ~ poly(stay, degree=2) + {stay / 2 > 7}",
    "income ~ stay + {stay ** 2}",
    "income ~ C(sex, contr.treatment('m')) - 1",
    "income ~ center(stay) + sex",
    "income ~ (stay + sex) ^ 2",
    "I(sex == 'm') ~ stay",
]


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 300),
            "stay": rng.integers(1, 30, 300),
            "income": rng.integers(1, 900, 300),
        }
    )


@pytest.fixture(scope="module")
def release():
    return vd.Noise(columns=["income"]).protect(people(), seed=1)


@pytest.mark.parametrize("formula", ATTACKS)
def test_a_formula_that_runs_python_is_refused_before_it_runs(formula, release, tmp_path):
    place = tmp_path / "written"
    attack = formula.replace("F", repr(str(place)))
    with pytest.raises(PlanError):
        release.analyze(attack)
    with pytest.raises(PlanError):
        vd.utility.overlap(people(), release, attack)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("formula", MODELS)
def test_a_model_is_not_refused(formula, release):
    check_formula(formula)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        family = "binomial" if formula.startswith("I(sex") else "gaussian"
        assert release.analyze(formula, family=family).coefficients.names


MANY = "+".join(f"v{i}" for i in range(24))
HUGE = [
    "income ~ bs(stay, df=1000000)",  # took all memory, as did the next two
    "income ~ poly(stay, 1000000)",
    "income ~ C(stay):C(income):C(n)",
    f"income ~ ({MANY})**10",  # never ended
    f"income ~ {MANY.replace('+', '*')}",
    "income ~ bs(stay, df=10**9)",
    "income ~ stay | sex",  # ended in an error of the program, as did the next
    "income ~ 0",
]


@pytest.mark.parametrize("formula", HUGE)
def test_a_model_that_no_computer_holds_is_refused_at_once(formula):
    rng = np.random.default_rng(0)
    wide = people().assign(n=range(300), **{f"v{i}": rng.random(300) for i in range(24)})
    release = vd.Noise(columns=["income"]).protect(wide, seed=1)
    before = time.process_time()
    with pytest.raises(PlanError):
        release.analyze(formula)
    assert time.process_time() - before < 5


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 3000 + "stay > 1" + ")" * 3000,  # both: the parser went too deep
        "not " * 5000 + "stay > 1",
        " and ".join(["stay > 1"] * 5000),
        " implies ".join(["stay > 1"] * 5000),
        "stay > 1" + " " * 200_000,
    ],
)
def test_a_condition_that_goes_too_deep_is_refused(condition):
    with pytest.raises(PlanError, match="more than"):
        vd.Filter(where=condition).protect(people())


def test_many_parts_of_a_condition_are_understood():
    kept = vd.Filter(where=" or ".join(f"stay == {i}" for i in range(1, 200))).protect(people())
    assert len(kept.datasets[0]) == 300
