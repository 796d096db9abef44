"""What `veladura budget` and `veladura analyze --posterior` print, and the pictures of marginal posteriors."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.errors import PlanError
from veladura.inference.posterior.compare import column_table
from veladura.methods.private.events import Budget, Event, short
from veladura.methods.private.ledger import kept_ledgers, read_ledger

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.base.estimate import Estimate
    from veladura.core.release import Release
    from veladura.inference.posterior.shares import Posterior

MOST_CELLS_DRAWN = 24
MOST_CELLS_SHOWN = 2000  # of a posterior that a report works out
COLOUR, BAND = "#1f4e79", "#9db8d2"


def budget_rows(folder: Path) -> list[tuple[str, str, str, str, str]]:
    """Return one row a ledger: source, limit, spent, left, number of draws."""
    rows = []
    for path in kept_ledgers(folder):
        budget, events = read_ledger(path)
        spent = budget.spent(events)
        limit = (
            "none"
            if budget.limit is None
            else f"{budget.unit} = {short(budget.limit)}" + _delta(budget)
        )
        left = "-" if budget.limit is None or spent is None else short(budget.limit - spent)
        rows.append(
            (path.stem, limit, "-" if spent is None else short(spent), left, str(len(events)))
        )
    return rows


def event_lines(folder: Path) -> list[str]:
    """Return every draw of every ledger, in order."""
    return [f"{path.stem}: {event}" for path in kept_ledgers(folder) for event in _events(path)]


def _events(path: Path) -> tuple[Event, ...]:
    return read_ledger(path)[1]


def _delta(budget: Budget) -> str:
    return f", delta = {short(budget.delta)}" if budget.delta else ""


def read_groups(text: str) -> dict[str, Any]:
    """Return the values that a question names: ``sex=f`` or ``age=18-25|26-35,sex=f``.

    Examples
    --------
    >>> read_groups("age=18-25|26-35,sex=f")
    {'age': ('18-25', '26-35'), 'sex': ('f',)}
    """
    found: dict[str, Any] = {}
    for part in text.split(","):
        name, sign, values = part.partition("=")
        if not sign or not name.strip():
            msg = (
                f"{text!r} is no group.\n\nHint: write column=value, several values with |, several"
                " columns with a comma."
            )
            raise PlanError(msg)
        found[name.strip()] = tuple(value.strip() for value in values.split("|"))
    return found


def answers(
    posterior: Posterior, event: str, groups: Sequence[str], level: float
) -> dict[str, Estimate]:
    """Return the share of an event, in each group, and how two groups compare."""
    happens = posterior.where(**read_groups(event))
    found = {f"share of {event}": posterior.share(happens, level=level)}
    masks = {group: posterior.where(**read_groups(group)) for group in groups}
    found |= {
        f"share of {event} among {group}": posterior.share(happens, mask, level)
        for group, mask in masks.items()
    }
    if len(masks) == 2:  # noqa: PLR2004
        one, other = masks.values()
        told = " - ".join(groups)
        found[f"difference ({told})"] = posterior.difference(happens, one, other, level)
        found[f"odds ratio ({' / '.join(groups)})"] = posterior.odds_ratio(
            happens, one, other, level
        )
    return found


def draw_picture(posterior: Posterior, path: Path, level: float = 0.95) -> Path:
    """Write a picture of the marginal posteriors: one panel a column, or one a cell where there are few."""
    drawn(posterior, level).savefig(path, dpi=150)
    return path


def pictures(release: Release) -> dict[str, bytes]:
    """Return the marginal posteriors as SVG by title. They are made of the release alone, so that anyone may see them."""
    from matplotlib import rc_context

    from veladura.inference.posterior.posterior import posterior
    from veladura.inference.posterior.reading import model_of

    if model_of(release).domain.cells > MOST_CELLS_SHOWN:
        return {}
    out = BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "veladura", "text.parse_math": False}):
        drawn(posterior(release)).savefig(out, format="svg", metadata={"Date": None})
    return {
        "What the release says of the population: posterior means and 95 % intervals": (
            out.getvalue()
        )
    }


def drawn(posterior: Posterior, level: float = 0.95) -> Figure:
    """Return a figure of the marginal posteriors."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    names = posterior.domain.names
    cells = posterior.domain.cells if posterior.domain.cells <= MOST_CELLS_DRAWN else 0
    figure = Figure(
        figsize=(7, 1.2 + 0.28 * (cells + sum(posterior.domain.shape))), layout="constrained"
    )
    FigureCanvasAgg(figure)
    heights = [max(size, 2) for size in posterior.domain.shape] + (
        [cells] if cells and len(names) > 1 else []
    )
    axes = np.atleast_1d(figure.subplots(len(heights), 1, height_ratios=heights))
    for axis, name in zip(axes, names, strict=False):
        _panel(axis, column_table(posterior, name, level), name)
    if len(axes) > len(names):
        frame = posterior.table(level)
        labels = [
            " / ".join("missing" if v is None else str(v) for v in label)
            for label in posterior.domain.labels()
        ]
        _intervals(
            axes[-1],
            labels,
            np.asarray(frame.iloc[:, -5]),
            np.asarray(frame.iloc[:, -3]),
            np.asarray(frame.iloc[:, -2]),
        )
        axes[-1].set_title("cells", loc="left", fontsize=9)
    axes[-1].set_xlabel(f"share, with the shortest interval of {level:.0%}")
    return figure


def _panel(axis: Any, frame: Any, name: str) -> None:
    labels = ["missing" if value is None else str(value) for value in frame[name]]
    _intervals(
        axis,
        labels,
        np.asarray(frame["share"]),
        np.asarray(frame["lower"]),
        np.asarray(frame["upper"]),
    )
    axis.set_title(name, loc="left", fontsize=9)


def _intervals(axis: Any, labels: Sequence[str], middle: Any, low: Any, high: Any) -> None:
    places = np.arange(len(labels))[::-1]
    axis.hlines(places, low, high, color=BAND, linewidth=5)
    axis.plot(middle, places, "o", color=COLOUR, markersize=4)
    axis.set_yticks(places, labels, fontsize=8)
    axis.set_ylim(-0.6, len(labels) - 0.4)  # the outer bars whole
    axis.set_xlim(left=0)
    axis.spines[["top", "right"]].set_visible(False)
