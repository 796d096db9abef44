"""Chapter 3: the three scenarios, their trees, synthetic data, risk and utility."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from veladura.base.arrays import Floats
from veladura.inference.combined import Combined, combine
from veladura.measures.risk.intruder import Intruder
from veladura.measures.risk.scenarios import match_curve
from veladura.measures.utility.pmse import pmse
from veladura.methods.cart.cart import Cart
from veladura.studies import pictures
from veladura.studies.martins.procedure import LeafTree, grow, synthetic
from veladura.studies.martins.scenarios import (
    DEGREES,
    NAMES,
    TRUTH,
    combinations,
    regression,
    scenario,
)
from veladura.studies.study import Cell, Entry, Picture, Result, Results, Setting, cells

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

RADII = (0.3, 0.5, 0.7, 1.0)
KEYS = ["x1", "x2", "x3"]
M = 5


@dataclass(frozen=True, eq=False)
class Repetition:
    """One data set of a scenario: its tree by the document's rule, and both syntheses."""

    data: pd.DataFrame
    tree: LeafTree
    theirs: list[pd.DataFrame]
    ours: list[pd.DataFrame]

    def combined(self, datasets: Sequence[pd.DataFrame]) -> Combined:
        """Return combined regression coefficients of m datasets."""
        q, v = zip(*(regression(one) for one in datasets), strict=True)
        return combine(np.array(q), np.array(v), rule="partial")


def repetition(setting: Setting, errors: str, number: int) -> Repetition:
    """Generate one data set and synthesise it by `Cart` and by the document's procedure."""
    data = scenario(setting.streams("scenario", errors, number), errors)
    y = data["y"].to_numpy()
    tree = grow(y, {name: data[name].to_numpy() for name in KEYS}, {})
    rng = setting.streams("kernel", errors, number)
    theirs = [data.assign(y=synthetic(rng, y, tree.leaves)) for _ in range(M)]
    release = Cart(columns=["y"], m=M).protect(
        data, setting.streams.within("cart", errors, number), threads=1
    )
    return Repetition(data, tree, theirs, list(release.datasets))


def simulated(setting: Setting) -> Results:
    """Return the exhibits of chapter 3."""
    number = setting.times(12, 200)
    runs: dict[str, list[Repetition]] = {}
    with setting.progress("synthesising scenarios", number * len(DEGREES)) as advance:
        for errors in DEGREES:
            runs[errors] = []
            for i in range(number):
                runs[errors].append(repetition(setting, errors, i))
                advance()
    return {
        **_generator(setting),
        **_histograms(runs),
        **_leaves(setting, runs),
        **_coefficients(setting, runs),
        **_risk(setting, runs),
        **_utility(setting, runs),
    }


def _generator(setting: Setting) -> Results:
    large = scenario(setting.streams("large"), "normal", setting.times(20_000, 200_000))
    x1, x2, x3 = (large[name].to_numpy() for name in KEYS)
    printed = setting.printed
    first = [float((x3 == value).mean()) for value in (0, 1)]
    second = [[float((x1[x3 == given] == value).mean()) for value in (0, 1)] for given in (0, 1)]
    third = [float(x2[(x3 == a) & (x1 == b)].mean()) for a, b in ((0, 0), (1, 0), (0, 1), (1, 1))]
    table = printed["Table 3.4"]
    theory = combinations()
    keys = [tuple(map(int, name)) for name in table["combination"]]
    return {
        "Table 3.1": Result(("", "0", "1"), [("X3", *cells(first, printed["Table 3.1"]["p"]))]),
        "Table 3.2": Result(
            ("", "0", "1"),
            [
                ("X1 given X3 = 0", *cells(second[0], printed["Table 3.2"]["zero"])),
                ("X1 given X3 = 1", *cells(second[1], printed["Table 3.2"]["one"])),
            ],
        ),
        "Table 3.3": Result(
            ("X3, X1", "0, 0", "1, 0", "0, 1", "1, 1"),
            [("X2 = 1", *cells(third, printed["Table 3.3"]["one"]))],
        ),
        "Table 3.4": Result(
            ("", *table["combination"]),
            [
                ("mean", *cells([theory[key][0] for key in keys], table["mean"], 1)),  # type: ignore[index]
                ("probability", *cells([theory[key][1] for key in keys], table["p"])),  # type: ignore[index]
            ],
            remark="Exact, with the roles rotated: X3 first, then X1 given X3, then X2.",
        ),
    }


def _histograms(runs: dict[str, list[Repetition]]) -> Results:
    """Histograms with the densities of the combinations, and of the leaves of the tree."""
    results: dict[str, Result] = {}
    for number, (errors, degrees) in enumerate(DEGREES.items(), start=1):
        one = runs[errors][0]
        y = one.data["y"].to_numpy()
        low, high = np.quantile(y, [0.005, 0.995])
        at = np.linspace(low, high, 300)
        law = stats.norm() if degrees is None else stats.t(degrees)
        lines = [
            (at, chance * law.pdf(at - mean), "".join(map(str, key)))
            for key, (mean, chance) in combinations().items()
        ]
        shown = y[(y >= low) & (y <= high)]
        results[f"Figure 3.{number}"] = Result(
            picture=pictures.one(pictures.histogram(shown, "y", lines=lines, title="x1 x2 x3"))
        )
        leaf = one.tree.membership(y.size)
        densities = [
            (
                at,
                float((leaf == k).mean()) * stats.gaussian_kde(y[leaf == k])(at),
                f"F{k + 1}",
            )
            for k in range(len(one.tree.leaves))
        ]
        results[f"Figure 3.{number + 3}"] = Result(
            ("the tree",),
            [(line,) for line in one.tree.lines],
            pictures.one(pictures.histogram(shown, "y", lines=densities, title="leaf")),
        )
    return results


def _leaves(setting: Setting, runs: dict[str, list[Repetition]]) -> Results:
    """Leaf statistics, original and synthetic, over the samples with the printed leaves."""
    results: dict[str, Result] = {}
    tables = {"normal": ("3.5", "3.8", "3.7"), "t2": ("3.6", "3.10", "3.9")}
    tables["t10"] = ("3.7", "3.11", "3.10")
    for errors, (first, second, figure) in tables.items():
        printed, made = setting.printed[f"Table {first}"], setting.printed[f"Table {second}"]
        leaves = _printed_leaves(len(printed["n"]))
        groups = [_statistics(one, leaves) for one in runs[errors]]
        n, mean, variance, ours, ours_var, theirs, theirs_var = (
            np.array(part) for part in zip(*groups, strict=True)
        )
        header = ("", *(f"F{k + 1}" for k in range(len(leaves))))
        same = sum(len(one.tree.leaves) == len(leaves) for one in runs[errors])
        results[f"Table {first}"] = Result(
            header,
            [
                ["n", *cells(n, printed["n"], 0)],
                ["mean", *cells(mean, printed["mean"], 2)],
                ["variance", *cells(variance, printed["variance"], 2)],
            ],
            remark=(
                f"Groups are the printed leaves; {same} of {len(groups)} samples have a tree with"
                f" {len(leaves)} leaves."
            ),
        )
        results[f"Table {second}"] = Result(
            header,
            [
                ["Cart, mean", *cells(ours, made["mean"], 2)],
                ["Cart, variance", *cells(ours_var, made["variance"], 2)],
                ["its procedure, mean", *cells(theirs, made["mean"], 2)],
                ["its procedure, variance", *cells(theirs_var, made["variance"], 2)],
            ],
        )
        results[f"Figure {figure}"] = Result(picture=_leaf_intervals(runs[errors][0], leaves))
    return results


def _printed_leaves(number: int) -> list[dict[str, int]]:
    """Return the leaves that the document prints, as conditions; scenario 2 has five."""
    high = (
        [{"x2": 0, "x3": 1}]
        if number == 5
        else [{"x2": 0, "x3": 1, "x1": 0}, {"x2": 0, "x3": 1, "x1": 1}]
    )
    low = [{"x2": 1, "x3": 0}, {"x2": 1, "x3": 1, "x1": 0}, {"x2": 1, "x3": 1, "x1": 1}]
    return [{"x2": 0, "x3": 0}, *high, *low]


def _inside(data: pd.DataFrame, leaf: dict[str, int]) -> Floats:
    return np.asarray(np.all([data[name] == value for name, value in leaf.items()], axis=0))


def _statistics(one: Repetition, leaves: list[dict[str, int]]) -> list[list[float]]:
    """Return sizes, means and variances by leaf: original, ours and by its procedure."""
    found: list[list[float]] = [[] for _ in range(7)]
    for leaf in leaves:
        rows = _inside(one.data, leaf)
        y = one.data["y"].to_numpy()[rows]
        sets = [
            [data["y"].to_numpy()[rows] for data in datasets] for datasets in (one.ours, one.theirs)
        ]
        figures = [float(rows.sum()), y.mean(), y.var(ddof=1)]
        for values in sets:
            figures.append(float(np.mean([v.mean() for v in values])))
            figures.append(float(np.mean([v.var(ddof=1) for v in values])))
        for place, figure in enumerate(figures):
            found[place].append(figure)
    return found


def _leaf_intervals(one: Repetition, leaves: list[dict[str, int]]) -> Picture:
    ends: dict[str, list[tuple[float, float]]] = {"original": [], "Cart": []}
    for leaf in leaves:
        rows = _inside(one.data, leaf)
        y = one.data["y"].to_numpy()[rows]
        half = 1.96 * y.std(ddof=1) / np.sqrt(y.size)
        ends["original"].append((y.mean() - half, y.mean() + half))
        made = [data["y"].to_numpy()[rows] for data in one.ours]
        both = combine(
            np.array([v.mean() for v in made]),
            np.array([v.var(ddof=1) / v.size for v in made]),
            rule="partial",
        )
        ends["Cart"].append((float(both.lower), float(both.upper)))
    sets = {name: (np.array(pairs)[:, 0], np.array(pairs)[:, 1]) for name, pairs in ends.items()}
    names = [f"F{k + 1}" for k in range(len(leaves))]
    return pictures.one(pictures.intervals(names, sets, "mean of y"), key=True)


def _coefficients(setting: Setting, runs: dict[str, list[Repetition]]) -> Results:
    """Regression coefficients over repetitions beside the printed ones, with their ranges."""
    printed = {
        "normal": setting.printed["Table 3.9"]["b"],
        "t2": setting.printed["Table 3.12"]["t2"],
        "t10": setting.printed["Table 3.12"]["t10"],
    }
    rows: dict[str, list[list[Entry]]] = {}
    for errors, each in runs.items():
        ours = np.array([np.asarray(one.combined(one.ours).value) for one in each])
        theirs = np.array([np.asarray(one.combined(one.theirs).value) for one in each])
        span = [
            f"{low:.2f} to {high:.2f}"
            for low, high in zip(theirs.min(axis=0), theirs.max(axis=0), strict=True)
        ]
        rows[errors] = [
            [f"{errors}: Cart", *cells(ours, printed[errors], 3)],
            [f"{errors}: its procedure", *cells(theirs, printed[errors], 3)],
            [f"{errors}: its procedure, range", *span],
            [f"{errors}: relative error, Cart", *cells(ours / TRUTH - 1, digits=3)],
        ]
    header = ("", *NAMES)
    figures = {"normal": "3.8", "t2": "3.11", "t10": "3.12"}
    words = f"{len(runs['normal'])} data sets of 1,000 rows, m = {M}; truth 23, 1.5, -5.4, 2.5."
    return {
        "Table 3.9": Result(header, rows["normal"], remark=words),
        "Table 3.12": Result(header, [*rows["t2"], *rows["t10"], _implied(setting)], remark=words),
        **{
            f"Figure {figure}": Result(picture=_coefficient_intervals(runs[errors][0]))
            for errors, figure in figures.items()
        },
    }


def _implied(setting: Setting) -> list[Entry]:
    """Return the coefficients that the leaf means of Table 3.10 imply: weighted least squares."""
    means = setting.printed["Table 3.10"]["mean"]
    leaves = _printed_leaves(5)
    x, y, weight = [], [], []
    for key, (_, chance) in combinations().items():
        named = dict(zip(KEYS, key, strict=True))
        leaf = next(
            k
            for k, one in enumerate(leaves)
            if all(named[name] == value for name, value in one.items())
        )
        x.append([1, *key])
        y.append(means[leaf])
        weight.append(chance)
    design, w = np.array(x, dtype=float), np.array(weight)
    slopes = np.linalg.solve((design.T * w) @ design, (design.T * w) @ np.array(y))
    return ["t2: what Table 3.10 implies", *cells(slopes, digits=3)]


def _coefficient_intervals(one: Repetition) -> Picture:
    slopes, variances = regression(one.data)
    half = stats.t.ppf(0.975, len(one.data) - 4) * np.sqrt(variances)
    ours = one.combined(one.ours)
    ends = {
        "original": (slopes - half, slopes + half),
        "Cart": (np.asarray(ours.lower), np.asarray(ours.upper)),
    }

    def draw(place: int, axes: Axes) -> None:
        part = {
            name: (low[place : place + 1], high[place : place + 1])
            for name, (low, high) in ends.items()
        }
        pictures.intervals([NAMES[place]], part, truth=TRUTH[place])(axes)

    return pictures.panels(4, draw, size=(1.7, 2.2), key=True)


def _risk(setting: Setting, runs: dict[str, list[Repetition]]) -> Results:
    """EMR / n, TMR and FMR by radius, the covariates known (sec. 2.3.1)."""
    printed = setting.printed["Table 3.13"]
    some = setting.times(6, 40)
    rows: list[list[Entry]] = []
    curves: dict[str, Floats] = {}
    at_one: list[list[Entry]] = []
    intruder = Intruder(known=tuple(KEYS), sensitive=("y",), radius=1.0)
    for errors, each in runs.items():
        found = []
        for one in each[:some]:
            curve = match_curve(one.data, one.ours, intruder, factors=RADII)
            found.append(
                [[float(curve[r].emr), float(curve[r].tmr), float(curve[r].fmr)] for r in RADII]
            )
        values = np.array(found)
        for place, radius in enumerate(RADII):
            rows.append([f"{errors}, l = {radius}", *cells(values[:, place], digits=4)])
        at_one.append([errors, *cells(values[:, -1], printed[errors], 4)])
        curves[errors] = values.mean(axis=0)

    def draw(place: int, axes: Axes) -> None:
        lines = {errors: curve[:, place] for errors, curve in curves.items()}
        pictures.curves(RADII, lines, ("l", ("EMR / n", "TMR", "FMR")[place]))(axes)

    header = ("", "EMR / n", "TMR", "FMR")
    return {
        "Table 3.13": Result(header, at_one, remark=f"{some} data sets."),
        "Figure 3.13": Result(header, rows, pictures.panels(3, draw, columns=3)),
    }


def _utility(setting: Setting, runs: dict[str, list[Repetition]]) -> Results:
    """G of each dataset: logistic model of y and the covariates (sec. 2.3.2)."""
    printed = setting.printed["Table 3.14"]
    some = setting.times(4, 40)
    scores = {
        errors: np.array(
            [
                [float(pmse(one.data, [d], pairs=False, replaced=["y"]).value) for d in one.ours]
                for one in each[:some]
            ]
        )
        for errors, each in runs.items()
    }
    rows: list[list[Entry]] = [
        [errors, *cells(values.mean(axis=1)[:, None], [printed[errors]], 5)]
        for errors, values in scores.items()
    ]
    shown = {errors: values[0] for errors, values in scores.items()}
    return {
        "Table 3.14": Result(("", "G"), rows, remark=f"Means over m and {some} data sets."),
        "Figure 3.14": Result(
            ("", *(f"dataset {k + 1}" for k in range(M))),
            [(errors, *(Cell(float(g), digits=5) for g in each)) for errors, each in shown.items()],
            pictures.one(pictures.boxes(shown, 0.0, "G")),
        ),
    }
