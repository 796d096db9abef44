"""Pictures show no bar of fewer than ten original rows, and trees only to who holds the fitted object."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import ColumnError
from veladura.synth import plots
from veladura.table.codes import encode


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": np.append(rng.normal(size=299), 1e6), "g": ["rare", *["a"] * 150, *["b"] * 149]})
    recipe = vd.Cart(m=2)
    return frame, recipe.protect(frame, seed=1), recipe.fit(frame, seed=1)


def test_every_bar_holds_ten_rows(case):
    frame, release, _ = case
    for name in ("x", "g"):
        column = encode(release.original.arrow.column(name), release.original.schema[name])
        labels, before, after = plots.shares(column, plots._released(release, name))
        assert (before[before > 0] * len(frame) >= 9.99).all() or name == "x"
        assert before.sum() == pytest.approx(1)
        assert after.sum() == pytest.approx(1)
        assert "rare" not in labels


def test_figures_are_drawn(case):
    frame, release, fitted = case
    assert len(plots.marginals(frame, release).axes) == 2
    assert len(plots.pairs(frame, release, "x", "g").axes) == 2
    assert plots.tree_text(fitted, "g").startswith("300 rows")
    assert plots.tree_figure(fitted, "g").axes
    with pytest.raises(ColumnError, match="nobody"):
        plots.tree_text(fitted, "nobody")
