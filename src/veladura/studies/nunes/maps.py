"""Maps of the study: intensities, places, traces, the continuous variable."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import INK, SOFT
from veladura.studies import pictures
from veladura.studies.nunes.places import (
    COMBINATIONS,
    FINE,
    NAMES,
    SIDE,
    density,
    of_combination,
    points,
)
from veladura.studies.nunes.releases import BOUNDS, Made
from veladura.studies.study import Picture

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHOWN = (0, 1, 2)  # the combination of which all datasets are drawn
TRACES = 8
KEYED = 3  # the panel beside which the key stands


def _square(axes: Axes, title: str) -> None:
    axes.set(xlim=BOUNDS[::2], ylim=BOUNDS[1::2], aspect="equal", xticks=[], yticks=[])
    axes.set_title(title, fontsize=7)


def _surface(axes: Axes, shares: Floats, most: float) -> None:
    """Draw people per area on a scale that all panels share: 1 is an even spread."""
    side = round(shares.size**0.5)
    axes.imshow(
        shares.reshape(side, side) * shares.size,
        origin="lower",
        extent=(0, SIDE, 0, SIDE),
        cmap="YlGnBu",
        interpolation="nearest",
        vmin=0.0,
        vmax=most,
    )


def _key(axes: Axes, most: float) -> None:
    """Draw the key of the scale beside the last panel of the first row."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    place = axes.inset_axes((1.06, 0.0, 0.06, 1.0))
    key = axes.figure.colorbar(ScalarMappable(Normalize(0.0, most), "YlGnBu"), cax=place)
    key.ax.tick_params(labelsize=6, colors=SOFT, length=2)
    key.outline.set_visible(False)
    key.ax.set_title("times an\neven spread", fontsize=5, color=SOFT)


def _most(surfaces: Iterable[Floats]) -> float:
    """Return the end of a common scale: the largest value, in times of an even spread."""
    return max((float(one.max()) * one.size for one in surfaces), default=1.0)


def true_maps(frame: pd.DataFrame) -> Picture:
    """Draw the true intensity of each combination, with the places of one data set."""
    most = _most(density(key, FINE) for key in COMBINATIONS)

    def draw(number: int, axes: Axes) -> None:
        key = COMBINATIONS[number]
        _surface(axes, density(key, FINE), most)
        if number == KEYED:
            _key(axes, most)
        axes.plot(*points(frame)[of_combination(frame, key)].T, ".", color="#b42318", markersize=2)
        _square(axes, NAMES[number])

    return pictures.panels(len(COMBINATIONS), draw, size=(1.7, 1.8))


def intensity_maps(one: Made, *, sized: bool = False) -> Picture:
    """Draw the posterior mean intensity of each combination, original places over it."""
    intensity = intensities(one)
    most = _most(intensity.values())
    z = one.frame["z"].to_numpy()

    def draw(number: int, axes: Axes) -> None:
        key = COMBINATIONS[number]
        mine = of_combination(one.frame, key)
        if key in intensity:
            _surface(axes, intensity[key], most)
        if number == KEYED:
            _key(axes, most)
        size = 1 + 6 * (z[mine] - z.min()) / (z.max() - z.min()) if sized else 2.0
        east, north = points(one.frame)[mine].T
        axes.scatter(east, north, s=size, color="#b42318", linewidths=0)
        _square(axes, NAMES[number])

    return pictures.panels(len(COMBINATIONS), draw, size=(1.7, 1.8))


def intensities(one: Made) -> dict[tuple[int, ...], Floats]:
    """Return the posterior mean intensity by combination, cells from south-west by rows."""
    fitted = one.fitted
    mean = np.asarray(fitted.posterior.mean)
    group = np.asarray(fitted.ground.groups.of_row)
    names = fitted.ground.groups.names
    found: dict[tuple[int, ...], Floats] = {}
    for place in range(len(names)):
        key = _levels(names[place])
        if key in COMBINATIONS and (group == place).any():
            values = mean[place] if mean.shape[0] == len(names) else mean[:, place]
            found[key] = values / values.sum()
    return found


def _levels(name: str) -> tuple[int, ...]:
    """Return the levels that a combination's name tells, in the order y, x1, x2."""
    return tuple(int(part.split()[-1].strip("=")) for part in name.replace("=", " ").split(","))


def placed_maps(one: Made) -> Picture:
    """Draw the original places of one combination and those of the m datasets, side by side."""
    mine = of_combination(one.frame, SHOWN)
    frames = [one.frame, *one.release.datasets]
    surface = intensities(one).get(SHOWN) if hasattr(one.fitted, "posterior") else None

    def draw(number: int, axes: Axes) -> None:
        if surface is not None:
            _surface(axes, surface, _most([surface]))
        colour = "#b42318" if number == 0 else INK
        axes.plot(*points(frames[number])[mine].T, ".", color=colour, markersize=2.5)
        _square(axes, "original" if number == 0 else f"dataset {number}")

    return pictures.panels(len(frames), draw, columns=6, size=(1.5, 1.7))


def traces(one: Made) -> Picture:
    """Draw the traces of the first parameters, all chains."""
    drawn = list(one.fitted.posterior.traces.items())[:TRACES]

    def draw(number: int, axes: Axes) -> None:
        name, values = drawn[number]
        for chain, colour in zip(values, pictures.COLOURS, strict=False):
            axes.plot(chain, color=colour, linewidth=0.4)
        axes.set_title(name, fontsize=7)
        axes.tick_params(labelsize=6, colors=SOFT)

    return pictures.panels(len(drawn), draw, size=(2.2, 1.5))


def z_boxes(frame: pd.DataFrame) -> Picture:
    """Draw Z by combination as boxes."""
    groups = {
        "".join(map(str, key)): frame["z"].to_numpy()[of_combination(frame, key)]
        for key in COMBINATIONS
    }
    means = [values.mean() for values in groups.values()]
    return pictures.one(pictures.boxes(groups, means, "Z"), width=6.5)


def z_map(frame: pd.DataFrame) -> Picture:
    """Draw the places, coloured by Z."""

    def draw(axes: Axes) -> None:
        east, north = points(frame).T
        dots = axes.scatter(east, north, c=frame["z"], s=6, cmap="viridis")
        _square(axes, "")
        axes.figure.colorbar(dots, ax=axes, label="Z", shrink=0.8)

    return pictures.one(draw, width=4.4, height=3.6)
