"""The schemes of the document, drawn on simulated incomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.pictures import image_of, style
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.pictures import forced_figure
from veladura.studies import pictures
from veladura.studies.aslanyan.incomes import NAMES, conditions, incomes
from veladura.studies.study import Cell, Picture, Result, Results, Setting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from veladura.methods.critical.fitted import FittedCritical

SHARE, SHOWN = 0.15, 60


def schemes(setting: Setting) -> Results:
    """Return the schemes, and what is told with them."""
    frame = incomes(setting.streams("schemes"))
    recipe = CriticalCart(critical=conditions(frame, NAMES, SHARE), groups=[NAMES], m=2)
    fitted: FittedCritical = recipe.fit(frame)  # type: ignore[assignment]
    proposed: FittedCritical = CriticalCart(  # type: ignore[assignment]
        critical=recipe.critical, m=2
    ).fit(frame)
    # the cells of a fit are in an order of its own; the picture shows the table as it stands
    marks = np.column_stack([frame.eval(str(recipe.critical[name])) for name in NAMES])
    first = np.lexsort((*~marks.T[::-1], -marks.sum(axis=1)))  # most cells first, by combination
    spaced = first[np.linspace(0, len(first) - 1, SHOWN).astype(int)]
    return {
        "Figure 1": Result(picture=_matrix(frame, marks, np.arange(SHOWN), "as they stand")),
        "Figure 2": Result(picture=_matrix(frame, marks, spaced, "critical rows first")),
        "Figure 3": Result(
            ("column", "critical when", "cells"),
            [
                (name, str(recipe.critical[name]), str(int(marks[:, place].sum())))
                for place, name in enumerate(NAMES)
            ],
        ),
        "Figure 4": Result(
            ("critical in", "rows"),
            [(", ".join(pattern.columns), str(pattern.rows.size)) for pattern in fitted.structure],
            _indicators(marks[first[: int(marks.any(axis=1).sum())]]),
        ),
        "Figure 5": Result(
            ("place", "column", "critical cells"),
            [
                (str(place), name, str(int(fitted.cells.marks[name].sum())))
                for place, name in enumerate(fitted.order, start=1)
            ],
        ),
        "Figure 6": _relocated(frame, recipe.critical),
        "Figure 7": Result(picture=Picture(lambda: _forced(fitted))),
        "Section 4": Result(
            ("class", "columns"),
            [
                (str(number), ", ".join([*class_.confidential, *class_.others]))
                for number, class_ in enumerate(proposed.classes, start=1)
            ],
        ),
        "Section 5": _replaceable(fitted),
    }


def _forced(fitted: FittedCritical) -> bytes:
    with style():
        return image_of(forced_figure(fitted, fitted.classes[0]))


def _matrix(frame: pd.DataFrame, marks: Mask, rows: Ints, title: str) -> Picture:
    """Draw some rows of the table, critical cells dark."""
    names = list(frame)
    shade = np.zeros((len(rows), len(names)))
    for place, name in enumerate(NAMES):
        shade[:, names.index(name)] = 1 + 2 * marks[rows, place]
    return _image(shade, names, f"{len(rows)} rows, {title};\ncritical cells dark")


def _indicators(marks: Mask) -> Picture:
    return _image(np.where(marks, 3.0, 0.0), NAMES, f"Z: {len(marks)} rows with a critical cell")


def _image(shade: Floats, names: list[str], title: str) -> Picture:
    def draw(axes: Axes) -> None:
        from matplotlib.colors import ListedColormap

        colours = ListedColormap(["#f6f8fa", "#d8e3ee", "#a7c0d8", "#2f6690"])
        axes.imshow(shade, aspect="auto", cmap=colours, vmin=0, vmax=3, interpolation="nearest")
        axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axes.set_yticks([])
        axes.set_title(title, fontsize=9, loc="left")

    return pictures.one(draw, width=3.6, height=4.2)


def _relocated(frame: pd.DataFrame, critical: object) -> Result:
    """Count critical values that come back, with bare relocation and by default."""
    rows = []
    for name, settings in (
        ("relocation only (smoothing none)", {"smoothing": "none"}),
        ("moved (default)", {}),
    ):
        recipe = CriticalCart(critical=critical, groups=[NAMES], m=5, **settings)  # type: ignore[arg-type]
        release = recipe.protect(frame, seed=1, threads=1)
        back = [
            (data[column].to_numpy() == frame[column].to_numpy())[marked].mean()
            for data in release.datasets
            for column in NAMES
            for marked in [frame.eval(str(recipe.critical[column])).to_numpy()]
        ]
        known = [
            np.isin(data[column].to_numpy()[marked], frame[column].to_numpy()[marked]).mean()
            for data in release.datasets
            for column in NAMES
            for marked in [frame.eval(str(recipe.critical[column])).to_numpy()]
        ]
        rows.append((name, Cell(float(np.mean(back))), Cell(float(np.mean(known)))))
    return Result(("", "keep their value", "hold somebody's critical value"), rows)


def _replaceable(fitted: FittedCritical) -> Result:
    from veladura.methods.critical.pools import replaceability

    told = replaceability(fitted.pools)
    overall = told.get("overall", {})
    columns = {name: told["columns"][name] for name in told.get("columns", {})} or {
        name: figures for name, figures in told.items() if name != "overall"
    }
    header = ("column", *overall)
    rows = [
        (name, *(Cell(float(figures[key])) for key in overall))
        for name, figures in [*columns.items(), ("overall", overall)]
    ]
    return Result(header, rows)
