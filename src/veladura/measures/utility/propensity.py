"""Propensity scores of a release: their percentiles in both tables, and pMSE by dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import INK, SOFT, new_figure, style, write_figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


@dataclass(frozen=True, eq=False)
class DatasetScores:
    """Propensity scores of one dataset: the fitted probability of being a released row.

    Attributes
    ----------
    value
        pMSE of this dataset: the mean of (score - share)^2 over all rows.
    original, released
        The scores of the rows of each table that were used.
    """

    value: float
    original: Floats = field(repr=False)
    released: Floats = field(repr=False)

    @classmethod
    def of(cls, scores: Floats, label: Floats) -> DatasetScores:
        """Return the scores of stacked rows, told apart by a label: 1 for released rows."""
        value = float(np.mean((scores - label.mean()) ** 2))
        return cls(value, scores[label == 0], scores[label == 1])


@dataclass(frozen=True, eq=False)
class PropensityScores(Sequence[DatasetScores]):
    """The scores of all datasets of a release. For the custodian only: they are of original rows.

    Examples
    --------
    >>> label = np.array([0.0, 0.0, 1.0, 1.0])
    >>> scores = PropensityScores((DatasetScores.of(np.array([0.4, 0.5, 0.5, 0.6]), label),))
    >>> [round(value, 4) for value in scores.values]
    [0.005]
    """

    datasets: tuple[DatasetScores, ...] = ()

    def __getitem__(self, i):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN204
        return self.datasets[i]

    def __len__(self) -> int:
        return len(self.datasets)

    @property
    def values(self) -> tuple[float, ...]:
        """PMSE of each dataset; with main effects only it is G of Martins (2019), table 3.14."""
        return tuple(one.value for one in self.datasets)

    def percentiles(self, at: Sequence[float] = PERCENTILES) -> pd.DataFrame:
        """Return percentiles of the scores in both tables, means over the datasets.

        Where no model can tell the tables apart, both columns are equal.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                side: np.mean(
                    [np.percentile(getattr(one, side), list(at)) for one in self.datasets], axis=0
                )
                for side in ("original", "released")
            },
            index=pd.Index([f"{p:g} %" for p in at], name="percentile"),
        )

    def picture(self) -> Figure:
        """Return pMSE of each dataset beside the percentiles of the scores in both tables."""
        table = self.percentiles()
        with style():
            figure = new_figure(8.5, 3.4)
            left, right = figure.subplots(1, 2)
            numbers = np.arange(1, len(self) + 1)
            left.bar(numbers, self.values, color="#9db8d2", edgecolor=SOFT)
            left.axhline(float(np.mean(self.values)), color=INK, linewidth=0.8, linestyle="--")
            left.set_xticks(numbers)
            left.set_xlabel("dataset (dashed: mean)")
            left.set_ylabel("pMSE (G)")
            places = np.arange(len(table))
            right.plot(places, table["original"], "o-", color=INK, markersize=4, label="original")
            right.plot(
                places, table["released"], "s--", color="#3d7ea6", markersize=4, label="released"
            )
            right.set_xticks(places, [name.removesuffix(" %") for name in table.index])
            right.set_xlabel("percentile of the rows")
            right.set_ylabel("propensity score")
            right.legend(frameon=False)
            for axes in (left, right):
                axes.spines[["top", "right"]].set_visible(False)
            figure.suptitle("Propensity scores: private, do not share", fontsize=10, color=INK)
        return figure

    def plot(self, path: str | Path) -> Path:
        """Write the picture: SVG, PNG or PDF by the name of the file."""
        return write_figure(self.picture(), Path(path))
