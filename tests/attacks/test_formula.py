"""Attack: a formula that runs Python, from the command line or from a release of a stranger.

The formulas of `WON` wrote a file in version 0.1.0, three of them although they were refused; the
others are variants that it refused, or that would take very long. Base rate: none of the models
beside them may be refused.
"""

from __future__ import annotations

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
