"""All exhibits of study 001."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.measures.utility.spatial_regression import spatial_regression
from veladura.methods.geography.rectangles import shares_in
from veladura.studies import pictures
from veladura.studies.nunes import maps
from veladura.studies.nunes.places import COMBINATIONS, NAMES, density, of_combination, simulate
from veladura.studies.nunes.releases import (
    LINES,
    Made,
    Measured,
    data_set,
    made,
    marked,
    measured,
)
from veladura.studies.study import Cell, Entry, Result, Results, Setting, cells

if TYPE_CHECKING:
    import pandas as pd

Line = tuple[str, int]
QUADRANTS = ((1.5, 3.5, 4.5, 7.5), (5.5, 2.5, 8.5, 6.5))
INTENSITY = {
    ("Z normal", 5): "Figure 11",
    ("Z normal", 10): "Figure 12",
    ("Z normal", 20): "Figure 13",
    ("Z ICAR", 5): "Figure 19",
    ("Z ICAR", 10): "Figure 20",
    ("Z ICAR", 20): "Figure 21",
}
PLACES = {
    ("model", 10): "Figure 5",
    ("naive", 10): "Figure 6",
    ("Z normal", 5): "Figure 14",
    ("Z normal", 10): "Figure 15",
    ("Z normal", 20): "Figure 16",
    ("Z ICAR", 5): "Figure 22",
    ("Z ICAR", 10): "Figure 23",
    ("Z ICAR", 20): "Figure 24",
}


def run(setting: Setting) -> tuple[str, Results]:
    """Run the study; return its settings in words, and the exhibits."""
    repetitions = setting.times(2, 10)
    first: dict[Line, Made] = {}
    found: dict[Line, Measured] = {}
    with setting.progress("releasing places", len(LINES) * repetitions) as advance:
        for line in LINES:
            each = []
            for number in range(repetitions):
                each.append(made(setting, *line, number))
                advance()
            first[line], found[line] = each[0], measured(setting, each)
    frame = data_set(setting, 0)
    words = (
        f"Simulated: 500 rows on [0, 10]^2, 12 combinations, m = 5; {repetitions} data sets, two"
        f" chains of {setting.times(900, 3000):,} sweeps each, a third of them burn-in; 1,000"
        " rectangles. Monte Carlo errors are standard errors over data sets. Pictures show the"
        " first data set."
    )
    return words, {
        **_generator(setting, frame),
        **_maps(first),
        **_tables(setting, found),
        **_intervals(setting, first, found),
        **_regressions(setting, first),
    }


def _generator(setting: Setting, frame: pd.DataFrame) -> Results:
    large = simulate(setting.streams("large"), setting.times(20_000, 200_000))
    x1 = (large["x1"] == "1").to_numpy()
    first = [float(x1.mean()), float((~x1).mean())]
    second = [[float((large["x2"][rows] == level).mean()) for level in "123"] for rows in (x1, ~x1)]
    one, two = setting.printed["Table 1"], setting.printed["Table 2"]
    return {
        "Table 1": Result(("", "x1 = 1", "x1 = 2"), [("share", *cells(first, one["p"]))]),
        "Table 2": Result(
            ("", "x2 = 1", "x2 = 2", "x2 = 3"),
            [
                ("x1 = 1", *cells(second[0], two["one"])),
                ("x1 = 2", *cells(second[1], two["two"])),
            ],
        ),
        "Table 3": Result(
            ("combination", "people", "mean of east", "mean of north"),
            [
                (
                    name,
                    str(int(rows.sum())),
                    Cell(float(large["east"][rows].mean()), digits=2),
                    Cell(float(large["north"][rows].mean()), digits=2),
                )
                for name, key in zip(NAMES, COMBINATIONS, strict=True)
                for rows in [of_combination(large, key)]
            ],
        ),
        "Figure 1": Result(picture=maps.true_maps(frame)),
        "Figure 9": Result(picture=maps.z_boxes(frame)),
        "Figure 10": Result(picture=maps.z_map(frame)),
    }


def _maps(first: dict[Line, Made]) -> Results:
    model = first["model", 10]
    kept = [
        float(np.corrcoef(shares, density(key, 10))[0, 1])  # type: ignore[arg-type]
        for key, shares in maps.intensities(model).items()
    ]
    return {
        "Figure 2": Result(picture=maps.traces(model), remark=f"Worst R-hat {model.rhat:.2f}."),
        "Figure 3": Result(
            picture=maps.intensity_maps(model),
            remark=(
                "Correlation of estimated and true intensity over the cells, mean of the"
                f" combinations: {np.mean(kept):.2f} ({min(kept):.2f} to {max(kept):.2f})."
            ),
        ),
        **{
            number: Result(picture=maps.intensity_maps(first[line], sized=True))
            for line, number in INTENSITY.items()
        },
        **{
            number: Result(picture=maps.placed_maps(first[line])) for line, number in PLACES.items()
        },
    }


def _tables(setting: Setting, found: dict[Line, Measured]) -> Results:
    printed = setting.printed["Table 4"]
    model, naive = found["model", 10], found["naive", 10]
    rows: list[list[Entry]] = []
    for place, name in enumerate(NAMES):
        row: list[Entry] = [name]
        for who, one in (("model", model), ("naive", naive)):
            row.extend(_mean(one.smallest[:, place], printed[f"{who} smallest"][place]))
            row.extend(_mean(one.mean[:, place], printed[who][place]))
        rows.append(row)
    totals: list[Entry] = ["mean"]
    for who, one in (("model", model), ("naive", naive)):
        totals.append("")
        totals.extend(_mean(np.nanmean(one.mean, axis=1), printed[f"{who} mean"]))
    header = ("", "model, smallest", "model, mean", "naive, smallest", "naive, mean")
    return {
        "Table 4": Result(header, [*rows, totals], remark=_stay(found, LINES[:2])),
        "Table 5": _by_grid(setting, found, "Z normal", "Table 5"),
        "Table 6": _by_grid(setting, found, "Z ICAR", "Table 6"),
    }


def _mean(values: Floats, theirs: float) -> list[Entry]:
    """Return the mean of the data sets that have the combination."""
    present = values[np.isfinite(values)]
    return cells(present[:, None], [theirs]) if present.size else [Cell(theirs=theirs)]


def _stay(found: dict[Line, Measured], lines: tuple[Line, ...]) -> str:
    told = ", ".join(f"{name} {found[name, side].stay.mean():.3f}" for name, side in lines)
    worst = max(np.nanmax(found[line].rhat) for line in lines if line[0] != "naive")
    return f"Share of rows that stay in their cell: {told}. Worst R-hat {worst:.2f}."


def _by_grid(setting: Setting, found: dict[Line, Measured], prior: str, table: str) -> Result:
    printed = setting.printed[table]
    rows: list[list[Entry]] = [["smallest"], ["mean"]]
    for place, side in enumerate((5, 10, 20)):
        one = found[prior, side]
        rows[0].extend(_mean(np.nanmean(one.smallest, axis=1), printed["smallest"][place]))
        rows[1].extend(_mean(np.nanmean(one.mean, axis=1), printed["mean"][place]))
    lines = tuple((prior, side) for side in (5, 10, 20))
    words = _stay(found, lines).replace(f"{prior} ", "")
    return Result(("", "5 x 5", "10 x 10", "20 x 20"), rows, remark=f"By grid. {words}")


def _intervals(setting: Setting, first: dict[Line, Made], found: dict[Line, Measured]) -> Results:
    """Intervals in the two quadrants as pictures, mean overlap in rectangles as tables."""
    results: dict[str, Result] = {
        "Figure 4": Result(
            ("quadrant", "west", "south", "east", "north"),
            [
                (str(number), *(Cell(end, digits=1) for end in box))
                for number, box in enumerate(QUADRANTS, start=1)
            ],
        )
    }
    for number, lines in (
        ("Figure 7", LINES[:2]),
        ("Figure 17", tuple(("Z normal", side) for side in (5, 10, 20))),
        ("Figure 25", tuple(("Z ICAR", side) for side in (5, 10, 20))),
    ):
        printed = setting.printed[number]
        theirs = printed.get("overlap") or [printed["model"], printed["naive"]]
        names = [name if number == "Figure 7" else f"{side} x {side}" for name, side in lines]
        sets = {"original": shares_in(marked(first[lines[0]].frame), [], np.array(QUADRANTS))}
        for label, line in zip(names, lines, strict=True):
            one = first[line]
            sets[label] = shares_in(
                marked(one.frame), [marked(d) for d in one.release.datasets], np.array(QUADRANTS)
            )
        results[number] = Result(
            ("overlap in 1,000 rectangles", *names),
            [
                (
                    "mean",
                    *(
                        cells(found[line].overlap[:, None], [value])[0]
                        for line, value in zip(lines, theirs, strict=True)
                    ),
                )
            ],
            pictures.one(
                pictures.intervals(("quadrant 1", "quadrant 2"), sets, "share of y = 1"),
                width=4.6,
                key=True,
            ),
        )
    return results


def _regressions(setting: Setting, first: dict[Line, Made]) -> Results:
    """Spatial regression of y on x1 and x2: credible intervals, original beside releases."""
    plots = {"Figure 8": LINES[:2]}
    if setting.full:
        plots |= {
            "Figure 18": tuple(("Z normal", side) for side in (5, 10, 20)),
            "Figure 26": tuple(("Z ICAR", side) for side in (5, 10, 20)),
        }
    frame = first["model", 10].frame
    original = _fitted(frame)
    results: dict[str, Result] = {}
    for number, lines in plots.items():
        sets = {"original": original}
        for name, side in lines:
            datasets = first[name, side].release.datasets[: setting.times(2, 3)]
            label = name if number == "Figure 8" else f"{side} x {side}"
            sets[label] = _fitted(datasets)
        names = original[0]
        results[number] = Result(
            ("parameter", *sets),
            [
                (name, *(f"{low[i]:.2f} to {high[i]:.2f}" for _, low, high in sets.values()))
                for i, name in enumerate(names)
            ],
            pictures.panels(
                len(names),
                lambda i, axes, sets=sets, names=names: pictures.intervals(  # type: ignore[misc]
                    [names[i]], {k: (v[1][i : i + 1], v[2][i : i + 1]) for k, v in sets.items()}
                )(axes),
                size=(1.9, 1.7),
                key=True,
            ),
        )
    return results


def _fitted(data: object) -> tuple[tuple[str, ...], Floats, Floats]:
    """Return names and 95 % intervals of a spatial regression of y on x1 and x2."""
    import pandas as pd

    frames = [data] if isinstance(data, pd.DataFrame) else list(data)  # type: ignore[call-overload]
    numbers = [one.assign(y=(one["y"].astype(str) == "1").astype(float)) for one in frames]

    class Stacked:
        datasets = numbers

    found = spatial_regression(
        Stacked(), "y", ["x1", "x2"], x="east", y="north", draws=2000, seed=1
    )
    return (found.names, *found.interval())
