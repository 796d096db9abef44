"""What `veladura analyze` shows of a release of places: shares in rectangles, and a regression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.private_files import private_file, refuse_near_release
from veladura.cli.show import say
from veladura.errors import ColumnError, PlanError

if TYPE_CHECKING:
    import pandas as pd

    from veladura.core.release import Release

Frames = dict[str, "list[pd.DataFrame]"]


@dataclass(frozen=True)
class Asked:
    """What is asked of a release of places.

    Attributes
    ----------
    places
        The columns of coordinates, "east,north"; None for those that the manifest names.
    beside
        The original, shown beside the release: then files are private.
    """

    folder: Path
    places: str | None
    beside: str | None
    level: float
    picture: Path | None
    out: Path | None
    large: bool = field(kw_only=True)


def show_rectangles(asked: Asked, rectangles: Sequence[str], event: str | None) -> None:
    """Show the share of an event in rectangles of the map, original beside the release if asked."""
    from veladura.measures.utility.rectangles import shares_of
    from veladura.methods.geography.rectangles import Marked

    boxes = dict(_rectangle(text) for text in rectangles)
    if event is None or "=" not in event:
        msg = (
            "--rectangle needs --event column=value: whose share is wanted.\n\nHint: add --event"
            " ill=yes, for instance."
        )
        raise PlanError(msg)
    name, _, value = (part.strip() for part in event.partition("="))
    release, frames = _frames(asked)
    x, y = _places(release, asked.places)
    marked = {
        source: [Marked(_points(data, x, y), _holds(data, name, value)) for data in datasets]
        for source, datasets in frames.items()
    }
    found = shares_of(boxes, marked, f"{name} = {value}", asked.level)
    say(str(found), quiet=False)
    _write(asked, found.picture, found.to_frame)


def show_spatial(asked: Asked, formula: str) -> None:
    """Show a Bayesian spatial regression over all datasets, that of the original beside if asked.

    The covariance of places is exponential with a nugget; draws of the datasets are stacked (Zhou
    and Reiter 2010).
    """
    from veladura.measures.utility.spatial_regression import (
        intervals_picture,
        intervals_table,
        spatial_regression,
    )

    response, value, predictors = _formula(formula)
    release, frames = _frames(asked)
    x, y = _places(release, asked.places)
    posteriors = {}
    for source, datasets in frames.items():
        prepared = []
        for data in datasets:
            _check(data, [response, *predictors])
            outcome = data[response] if value is None else _holds(data, response, value)
            at = _points(data, x, y)
            prepared.append(
                data[predictors].assign(
                    **{"\0response": _numbers(outcome, response), "\0x": at[:, 0], "\0y": at[:, 1]}
                )
            )
        posteriors[source] = spatial_regression(
            _Stacked(prepared), "\0response", predictors, x="\0x", y="\0y"
        )
    table = intervals_table(posteriors, asked.level)
    say(f"Spatial regression: {formula}, {100 * asked.level:g} % credible intervals", quiet=False)
    say(table.to_string(index=False, float_format="{:.4g}".format), quiet=False)
    _write(asked, lambda: intervals_picture(posteriors, asked.level), lambda: table)


class _Stacked:
    """Datasets of a release, prepared for the regression."""

    def __init__(self, datasets: Sequence[pd.DataFrame]) -> None:
        self.datasets = datasets


def _frames(asked: Asked) -> tuple[Release, Frames]:
    """Return the release and its datasets, after the original if one was named."""
    from veladura.release.package import load
    from veladura.table.source import open_unwarned

    release = load(asked.folder, large=asked.large)
    frames: Frames = {}
    if asked.beside is not None:
        frames["original"] = [open_unwarned(asked.beside).arrow.to_pandas()]
    frames["release"] = list(release.datasets)
    return release, frames


def _places(release: Release, given: str | None) -> tuple[str, str]:
    """Return the columns of the places: as asked, else those that the manifest says were moved."""
    from veladura.methods.geography.placed import step_of_places

    if given is not None:
        x, sign, y = (part.strip() for part in given.partition(","))
        if not sign or not x or not y:
            msg = f"--places takes two columns, got {given!r}.\n\nHint: write --places east,north."
            raise PlanError(msg)
        return x, y
    step = step_of_places(release)
    if step is None:
        msg = (
            "no step of this release moved places, so their columns are not known.\n\nHint: name"
            " them with --places east,north."
        )
        raise PlanError(msg)
    return str(step.settings["x"]), str(step.settings["y"])


def _rectangle(text: str) -> tuple[str, list[float]]:
    name, sign, corners = text.rpartition("=")
    try:
        box = [float(part) for part in corners.split(",")]
    except ValueError:
        box = []
    if not sign or len(box) != 4 or not box[0] < box[2] or not box[1] < box[3]:  # noqa: PLR2004
        msg = (
            f"--rectangle takes name=west,south,east,north, got {text!r}.\n\nHint: write"
            " --rectangle centre=2,2,4,5, with west < east and south < north."
        )
        raise PlanError(msg)
    return name.strip(), box


def _formula(text: str) -> tuple[str, str | None, list[str]]:
    """Return response, the value of it that counts as 1, and predictors of ``y ~ a + b``."""
    left, sign, right = text.partition("~")
    response, _, value = (part.strip() for part in left.partition("="))
    terms = [term.strip().removeprefix("C(").removesuffix(")") for term in right.split("+")]
    if not sign or not response or not all(terms):
        msg = (
            f"a spatial regression takes response ~ column + column, got {text!r}.\n\nHint: write"
            ' "income ~ age + sex", or "ill=yes ~ age" for the share of a value.'
        )
        raise PlanError(msg)
    return response, value or None, terms


def _check(data: pd.DataFrame, names: Sequence[str]) -> None:
    if absent := [name for name in names if name not in data.columns]:
        what = "the question"
        raise ColumnError.missing(what, absent, list(map(str, data.columns)))


def _holds(data: pd.DataFrame, name: str, value: str) -> Any:
    _check(data, [name])
    return (data[name].astype(str) == value).to_numpy()


def _numbers(values: Any, name: str) -> Any:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        msg = (
            f"{name} holds no numbers, so it cannot be a response.\n\nHint: write"
            f' "{name}=VALUE ~ ..." for the share of one of its values.'
        )
        raise PlanError(msg) from None


def _points(data: pd.DataFrame, x: str, y: str) -> Any:
    _check(data, [x, y])
    return np.column_stack([_numbers(data[name], name) for name in (x, y)])


def _write(asked: Asked, image: Callable[[], bytes], table: Callable[[], pd.DataFrame]) -> None:
    """Write picture and table; those that show the original are private."""
    private = asked.beside is not None
    contents: tuple[tuple[Path | None, Callable[[], bytes]], ...] = (
        (asked.picture, image),
        (asked.out, lambda: table().to_csv(index=False).encode()),
    )
    for path, content in contents:
        if path is None:
            continue
        if private:
            refuse_near_release(path)
            with private_file(path) as stream:
                stream.write(content())
        else:
            path.write_bytes(content())
        say(f"{path} written{'   (private: do not share)' if private else ''}", quiet=False)
