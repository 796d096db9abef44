"""Chapter 4: the Survey of Consumer Finances 2004, a file that the user has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from veladura.base.arrays import Floats
from veladura.errors import DataError
from veladura.measures.risk.match import match
from veladura.measures.utility.pmse import pmse
from veladura.methods.cart.cart import Cart
from veladura.studies import pictures
from veladura.studies.martins.procedure import LeafTree, grow, synthetic
from veladura.studies.study import Cell, Entry, Result, Results, Setting, cells

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = ("Gender", "Age", "MarStat", "Education", "Ethnicity", "NumHH", "Charity", "Income")
LARGEST = 10_000_000  # "two incomes above 1,000,000": only this limit leaves 498 rows
CATEGORIES = ("gender", "age", "married", "education", "ethnicity")
RADII = (5_000, 10_000, 20_000, 30_000)


def read(path: Path) -> pd.DataFrame:
    """Return the file of the survey; refuse one that lacks its columns."""
    import pandas as pd

    frame = pd.read_csv(path)
    names = {name.lower(): name for name in frame}
    if lacking := [name for name in COLUMNS if name.lower() not in names]:
        msg = (
            f"{path} lacks the columns {lacking} of the Survey of Consumer Finances.\n\nHint: the"
            " extract of 500 households is termlife.csv of Frees (2011)."
        )
        raise DataError(msg)
    return frame.rename(columns={names[name.lower()]: name for name in COLUMNS})


def households(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the households as the document groups them, with the logarithm of their income."""
    import pandas as pd

    frame = frame[frame["Income"] < LARGEST].reset_index(drop=True)
    age = pd.cut(frame["Age"], [0, 29, 59, 200], labels=["16-29", "30-59", "60+"])
    school = pd.cut(frame["Education"], [-1, 9, 12, 99], labels=["<=9", "10-12", ">=13"])
    return pd.DataFrame(
        {
            "gender": frame["Gender"].astype(str),
            "age": age.astype(str),
            "married": frame["MarStat"].astype(str),
            "education": school.astype(str),
            "ethnicity": frame["Ethnicity"].astype(str),
            "household": frame["NumHH"],
            "charity": frame["Charity"],
            "log_income": np.log(frame["Income"]),
        }
    )


def survey(setting: Setting) -> Results:
    """Return the exhibits of chapter 4; none without the file."""
    if setting.data is None:
        return {}
    whole = read(setting.data)
    frame = households(whole)
    y = frame["log_income"].to_numpy()
    categories = {name: frame[name].to_numpy() for name in CATEGORIES}
    numbers = {"household": frame["household"].to_numpy(float)}
    with_charity = {**numbers, "charity": frame["charity"].to_numpy(float)}
    tree, other = grow(y, categories, numbers), grow(y, categories, with_charity)
    release = Cart(columns=["log_income"], m=5).protect(frame, setting.streams.within("survey"))
    return {
        **_described(setting, whole["Income"].to_numpy(float)),
        "Table 4.3": _tested(setting, whole, frame),
        "Figure 4.2": _trees(setting, tree, other, y),
        "Table 4.4": _by_leaf(setting, tree, y, list(release.datasets)),
        **_risk(setting, frame, tree),
        "Section 4.3": Result(
            ("", "G"),
            [
                (
                    "log income replaced",
                    Cell(
                        float(pmse(frame, release, pairs=False).value),
                        None,
                        setting.printed["Section 4.3"]["G"],
                        4,
                    ),
                )
            ],
        ),
    }


def _described(setting: Setting, income: Floats) -> Results:
    results: dict[str, Result] = {}
    header = ("", "min", "1st quartile", "median", "mean", "3rd quartile", "max", "deviation")
    for number, name, values, digits in (
        ("Table 4.1", "INCOME", income, 0),
        ("Table 4.2", "log INCOME", np.log(income), 3),
    ):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        told = [values.min(), low, middle, values.mean(), high, values.max(), values.std(ddof=1)]
        rows = [(name, *cells(told, setting.printed[number]["value"], digits))]
        results[number] = Result(header, rows)

    def draw(place: int, axes: Axes) -> None:
        values = income[income < np.quantile(income, 0.98)] if place == 0 else np.log(income)
        name = ("INCOME, lower 98 %", "log INCOME")[place]
        pictures.histogram(values, name, bins=30)(axes)

    results["Figure 4.1"] = Result(picture=pictures.panels(2, draw, size=(3.0, 2.4)))
    return results


def _tested(setting: Setting, whole: pd.DataFrame, frame: pd.DataFrame) -> Result:
    """T test for two groups, analysis of variance for more, correlation for CHARITY."""
    printed = setting.printed["Table 4.3"]
    y = frame["log_income"].to_numpy()
    rows: list[list[Entry]] = []
    for name in (*CATEGORIES, "household"):
        groups = [y[(frame[name] == level).to_numpy()] for level in sorted(frame[name].unique())]
        groups = [group for group in groups if group.size > 1]
        test = stats.ttest_ind(*groups) if len(groups) == 2 else stats.f_oneway(*groups)
        theirs = printed["NUMHH"] if name == "household" else None
        kind = "t test" if len(groups) == 2 else "ANOVA"
        rows.append([name, kind, Cell(float(test.pvalue), None, theirs, 4)])
    raw = stats.pearsonr(whole["Charity"], whole["Income"])
    logged = stats.pearsonr(whole["Charity"], np.log(whole["Income"]))
    theirs = printed["charity"]
    rows.append(["charity with income: r", "correlation", Cell(float(raw[0]), None, theirs)])
    rows.append(["charity with income", "p value", Cell(float(raw[1]), digits=4)])
    rows.append(["charity with log income: r", "correlation", Cell(float(logged[0]))])
    return Result(("covariate of log INCOME", "test", "p value or r"), rows)


def _trees(setting: Setting, tree: LeafTree, other: LeafTree, y: Floats) -> Result:
    printed = setting.printed["Figure 4.2"]
    rows: list[list[Entry]] = [["without CHARITY", ""]]
    rows += [[line, ""] for line in tree.lines]
    rows.append(["with CHARITY", ""])
    rows += [[line, ""] for line in other.lines]
    for place, leaf in enumerate(tree.leaves[: len(printed["n"])]):
        told = (
            f"{leaf.size} rows [{printed['n'][place]}], mean {y[leaf].mean():.3f}"
            f" [{printed['mean'][place]}]"
        )
        rows.append([f"F{place + 1}", told])
    return Result(("tree", "leaf"), rows)


def _by_leaf(setting: Setting, tree: LeafTree, y: Floats, datasets: list[pd.DataFrame]) -> Result:
    printed = setting.printed["Table 4.4"]
    made = [data["log_income"].to_numpy() for data in datasets]
    rng = setting.streams("survey", "kernel")
    theirs = [synthetic(rng, y, tree.leaves) for _ in range(5)]
    rows: list[list[Entry]] = [["original, mean", *(Cell(float(y[k].mean())) for k in tree.leaves)]]
    for name, values in (("Cart", made), ("its procedure", theirs)):
        means = np.array([[v[leaf].mean() for leaf in tree.leaves] for v in values])
        spread = np.array([[v[leaf].var(ddof=1) for leaf in tree.leaves] for v in values])
        rows.append([f"{name}, mean", *cells(means.mean(axis=0), printed["mean"])])
        rows.append([f"{name}, variance", *cells(spread.mean(axis=0), printed["variance"])])
    return Result(("", *(f"F{k + 1}" for k in range(len(tree.leaves)))), rows)


def _risk(setting: Setting, frame: pd.DataFrame, tree: LeafTree) -> Results:
    """Match risk by its definitions with its leaves, CHARITY known or not; and of `Cart`."""
    printed = setting.printed["Table 4.5"]
    y = frame["log_income"].to_numpy()
    original = frame.drop(columns="log_income").assign(income=np.exp(y))
    known = [name for name in original if name != "income"]
    ways = {
        "its leaves, charity known": (known, False),
        "its leaves, charity not known": ([name for name in known if name != "charity"], False),
        "Cart, charity known": (known, True),
    }
    repetitions = setting.times(3, 20)
    found: dict[str, Floats] = {}
    for name, (columns, ours) in ways.items():
        rates: list[list[list[float]]] = []
        for number in range(repetitions):
            datasets = _datasets(setting, frame, tree, number, ours=ours)
            made = [original.assign(income=np.exp(one)) for one in datasets]
            rates.append([_rates(original, made, columns, radius) for radius in RADII])
        found[name] = np.array(rates)
    rows: list[list[Entry]] = []
    for name, values in found.items():
        for place, radius in enumerate(RADII):
            theirs = printed[str(radius)]
            rows.append([f"{name}, {radius:,}", *cells(values[:, place], theirs)])
    lines = {name: values.mean(axis=0)[:, 0] for name, values in found.items()}
    points = {float(radius): printed[str(radius)][0] for radius in RADII}
    return {
        "Table 4.5": Result(
            ("", "EMR / n", "TMR", "FMR"), rows, remark=f"{repetitions} syntheses, m = 5."
        ),
        "Figure 4.3": Result(
            picture=pictures.one(
                pictures.curves(RADII, lines, ("radius, dollars", "EMR / n"), points)
            )
        ),
    }


def _datasets(
    setting: Setting, frame: pd.DataFrame, tree: LeafTree, number: int, *, ours: bool
) -> list[Floats]:
    """Return five synthetic log incomes, by `Cart` or by the document's procedure."""
    if ours:
        streams = setting.streams.within("survey", "risk", number)
        release = Cart(columns=["log_income"], m=5).protect(frame, streams, threads=1)
        return [data["log_income"].to_numpy() for data in release.datasets]
    rng = setting.streams("survey", "risk", number)
    y = frame["log_income"].to_numpy()
    return [synthetic(rng, y, tree.leaves) for _ in range(5)]


def _rates(
    original: pd.DataFrame, made: list[pd.DataFrame], known: list[str], radius: float
) -> list[float]:
    found = match(original, made, known=known, sensitive="income", radius=radius)
    return [float(found.emr), float(found.tmr), float(found.fmr)]
