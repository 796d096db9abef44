"""Chapters 2 and 4: the example of sensitivity, HIV cases, and traffic collisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.studies import pictures
from veladura.studies.marcolin.releases import alpha_of, estimated, released
from veladura.studies.study import Cell, Entry, Picture, Result, Results, Setting, cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRIOR, EPSILON = 0.5, 2.0
AGES = (34, 50, 43, 26, 29, 31, 30, 27)  # of Table 2.1
GROUPS = ("26-35", "36-45", "46-55", "55+")
LABELS = tuple(f"{sex} {age}" for sex in ("men", "women") for age in GROUPS)
PRINTED_ALPHA = 39.37


def examples(setting: Setting) -> Results:
    """Return the examples of chapter 2."""
    count = sum(age < 45 for age in AGES)
    hiv = np.array(setting.printed["Table 2.2"]["counts"], dtype=np.float64)
    n = int(hiv.sum())
    alpha = alpha_of(EPSILON, n)
    repetitions = setting.times(100, 600)
    release = released(setting.streams("hiv"), np.tile(hiv, (repetitions, 1)), n, alpha)
    found = estimated(release, n, alpha, PRIOR, hiv / n)
    names = [f"{sex}, {age}" for age in ("18-24", "25-40", "41-55", "55+") for sex in "mf"]
    return {
        "Table 2.1": Result(
            ("", "value"),
            [
                ("people below 45", str(count)),
                ("sensitivity of that count", Cell(1, None, 1, 0)),
                ("sensitivity of a histogram, one row replaced", Cell(2, digits=0)),
                ("noise of the Laplace mechanism, epsilon 1", "Laplace(1), histogram Laplace(2)"),
            ],
        ),
        "Table 2.2": Result(
            ("", *names),
            [
                ["counts", *(Cell(None, None, value, 0) for value in hiv)],
                ["true share", *(Cell(value / n) for value in hiv)],
                ["mean of E(p)", *cells(found.mean)],
                ["coverage, 95 %", *cells(found.covered)],
            ],
            remark=f"alpha = {alpha:.2f}, n = {n}, {repetitions} releases.",
        ),
    }


def collisions(setting: Setting) -> Results:
    """Return the application of chapter 4."""
    printed = setting.printed
    men, women = (printed["Table 4.1"][sex] for sex in ("men", "women"))
    counts = np.array([*men, *women], dtype=np.float64)
    n = int(counts.sum())
    true = (PRIOR + counts) / (n + PRIOR * counts.size)
    ways = {"alpha 16.75": alpha_of(EPSILON, n), "alpha 39.37": PRINTED_ALPHA}
    found = {name: _releases(setting, counts, n, alpha) for name, alpha in ways.items()}
    ten = np.array([0, *men, 0, *women], dtype=np.float64)
    all_ages = _releases(setting, ten, n, ways["alpha 16.75"])
    header = ("", *LABELS)
    bias, relative = (printed[f"Table {table}"]["bias"] for table in ("4.4", "4.5"))
    return {
        "Figure 4.1": Result(
            ("", *printed["Figure 4.1"]["ages"]),
            [
                [name, *(Cell(None, None, value, 0) for value in printed["Figure 4.1"][name])]
                for name in ("women, collisions", "men, collisions")
            ],
        ),
        "Table 4.1": Result(
            ("", "18-25", *GROUPS),
            [
                [sex, *cells(all_ages[:, part])]
                for sex, part in (("men, E(p)", slice(0, 5)), ("women, E(p)", slice(5, 10)))
            ],
            remark="Means of E(p) with the ages 18-25 declared too, alpha 16.75.",
        ),
        "Table 4.2": Result(header, [["mean", *cells(true, printed["Table 4.2"]["mean"], 4)]]),
        "Table 4.3": Result(
            header,
            [
                [name, *cells(values, printed["Table 4.3"]["mean"], 4)]
                for name, values in found.items()
            ],
            remark=f"{len(all_ages)} releases.",
        ),
        "Table 4.4": Result(header, [_row(name, v - true, bias) for name, v in found.items()]),
        "Table 4.5": Result(
            header, [_row(name, v / true - 1, relative) for name, v in found.items()]
        ),
        "Figure 4.2": Result(picture=_densities(found["alpha 16.75"], true)),
    }


def _row(name: str, draws: Floats, theirs: list[float]) -> list[Entry]:
    return [name, *cells(draws, theirs, 4)]


def _releases(setting: Setting, counts: Floats, n: int, alpha: float) -> Floats:
    """Return posterior means over releases of one table."""
    rng = setting.streams("collisions", str(counts.tolist()), str(alpha))
    tables = np.tile(counts, (setting.times(200, 600), 1))
    return estimated(released(rng, tables, n, alpha), n, alpha, PRIOR).mean


def _densities(means: Floats, true: Floats) -> Picture:
    def draw(cell: int, axes: Axes) -> None:
        pictures.densities({"": means[:, cell]}, true[cell])(axes)
        axes.set_title(LABELS[cell], fontsize=8)

    return pictures.panels(true.size, draw, size=(1.9, 1.5))
