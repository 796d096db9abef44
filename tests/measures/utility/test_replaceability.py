"""Replaceability of critical cells: what the manifest says, within what the data allow."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import NotApplicable


@pytest.fixture
def people():
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {"sex": rng.choice(list("fm"), 300), "income": rng.integers(1, 120, 300) * 1000.0}
    )


def test_figures_are_those_of_the_manifest_and_within_what_the_data_allow(people):
    release = vd.CriticalCart(critical={"income": "income > 90_000"}, m=2).protect(people, seed=1)
    pools = vd.utility.replaceability(release)
    critical = people.loc[people["income"] > 90_000, "income"]
    assert 2 <= float(pools.donors) <= critical.nunique()
    assert float(pools.two_donors) == 1.0
    assert 0 < float(pools.range) <= 1
    overall = release.manifest["steps"][0]["settings"]["replaceability"]["overall"]
    assert {name: float(getattr(pools, name)) for name in overall} == overall


def test_other_releases_have_no_critical_cells(people):
    with pytest.raises(NotApplicable, match="no critical cells"):
        vd.utility.replaceability(vd.Noise(columns=["income"]).protect(people, seed=1))
