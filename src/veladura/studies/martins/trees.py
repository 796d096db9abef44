"""The drawings of chapter 1: a tree of sex by height and weight, and its partition."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.pictures import image_of, style
from veladura.errors import VeladuraWarning
from veladura.methods.cart.cart import Cart
from veladura.studies.study import Picture, Result, Results, Setting

if TYPE_CHECKING:
    import pandas as pd

MOST = 5  # leaves that are drawn


def people(setting: Setting, rows: int = 600) -> pd.DataFrame:
    """Return simulated people: sex, height in cm, weight in kg, blood pressure in mm."""
    import pandas as pd

    rng = setting.streams("people")
    man = rng.random(rows) < 0.5
    height = np.round(np.where(man, 176, 163) + 7 * rng.standard_normal(rows))
    weight = np.round(np.where(man, 82, 68) + 0.6 * (height - 170) + 10 * rng.standard_normal(rows))
    pressure = np.round(70 + 0.5 * weight + 0.1 * height + 6 * rng.standard_normal(rows))
    return pd.DataFrame(
        {
            "sex": np.where(man, "man", "woman"),
            "height": height,
            "weight": weight,
            "pressure": pressure,
        }
    )


def drawings(setting: Setting) -> Results:
    """Return both drawings, the tree in words and its sensitivity and specificity."""
    frame = people(setting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VeladuraWarning)  # of a tree that is cut on purpose
        plain = {"predictors": ["height", "weight"], "linear_scores": False, "m": 2}
        sex: Any = Cart(columns=["sex"], **plain).fit(frame, setting.streams)  # type: ignore[arg-type]
        pressure: Any = Cart(columns=["pressure"], criterion="values", **plain).fit(  # type: ignore[arg-type]
            frame, setting.streams
        )
    tree, told = sex.tree("sex", most=MOST), sex.confusion("sex", most=MOST)
    return {
        "Figure 1.1": Result(
            ("the tree",),
            [(line,) for line in tree.text().splitlines()],
            _drawn(tree),
            f"Of men: sensitivity {told.sensitivity['man']:.2f}, specificity"
            f" {told.specificity['man']:.2f} (section 1.3).",
        ),
        "Figure 1.2": Result(picture=_drawn(pressure.surface("pressure", most=MOST))),
    }


def _drawn(shown: Any) -> Picture:
    def make() -> bytes:
        with style():
            return image_of(shown.picture())

    return Picture(make)
