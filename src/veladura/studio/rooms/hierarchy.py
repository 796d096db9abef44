"""The editor of a hierarchy: cuts on a histogram, groups of codes, periods, a grid on a map."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from veladura.base.settings import from_table, to_plain
from veladura.errors import PlanError, VeladuraError
from veladura.numeric.hierarchies.grid import pair_name
from veladura.numeric.hierarchies.hierarchy import Hierarchy, Period
from veladura.plan.ways import drawn_hierarchy
from veladura.studio.answers import Answer, FieldError, Form, required, text, texts
from veladura.studio.pages import fragment
from veladura.studio.rooms.protect import change_steps, hierarchies_of, raw_steps
from veladura.table.codes import label_texts
from veladura.table.roles.names import hints_of
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.studio.session import Session

BARS, MOST_CODES = 48, 300
RASTER = 60  # cells of the map across


def show(session: Session, query: Mapping[str, str]) -> str:
    """Return the editor that fits the column."""
    name = query.get("column", "")
    given = _given(session, name)
    plan, _ = session.ready
    pair = _pair(session, name)
    facts: dict[str, Any] = {
        "name": name,
        "rule": Hierarchy(**_typed(given)).rule,
        "given": given,
        "read_only": session.read_only,
        "arx": ""
        if pair
        else session.views.address(
            lambda: _csv(session, name), "application/octet-stream", "hierarchy.csv"
        ),
        "picture": ""
        if pair
        else session.views.address(lambda: drawn_hierarchy(plan, name).encode(), "image/svg+xml"),
    }
    if pair:
        return fragment("hierarchy", **facts, editor=_map(session, pair, given))
    kind = session.ready[1].table.schema[name].kind
    if kind in NUMERIC:
        editor = _histogram(session, name, given)
    elif kind == "date":
        editor = fragment(
            "hierarchy-dates",
            name=name,
            periods=get_args(Period),
            given=given.get("periods", ()),
            read_only=session.read_only,
        )
    else:
        editor = _codes(session, name, given)
    return fragment("hierarchy", **facts, editor=editor)


def _step(session: Session) -> dict[str, Any]:
    step = next((s for s in raw_steps(session) if s["method"] == "k-anonymity"), None)
    if step is None:
        msg = "the plan has no k-anonymity step, so that it has no hierarchies."
        raise PlanError(msg)
    return step


def _given(session: Session, name: str) -> dict[str, Any]:
    """Return the hierarchy of the plan, or the one that a run would suggest."""
    from veladura.numeric.hierarchies.suggest import suggest_from

    step, possible = _step(session), hierarchies_of(session)
    if name not in possible:
        raise PlanError.unknown("hierarchy", name, possible)
    if name in step.get("hierarchies", {}):
        return dict(step["hierarchies"][name])
    counts = session.ready[1].table.people_counts([name])
    return dict(to_plain(suggest_from(counts, int(step.get("k", 5)))))


def _typed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a hierarchy as the class has them."""
    made: Hierarchy = from_table(Hierarchy, dict(given), "hierarchy")
    return {name: getattr(made, name) for name in given}


def _pair(session: Session, name: str) -> tuple[str, str] | None:
    pairs = [tuple(pair) for pair in _step(session).get("pairs", ())]
    return next((pair for pair in pairs if pair_name(pair) == name), None)


def _histogram(session: Session, name: str, given: Mapping[str, Any]) -> str:
    """Return the histogram of a column of numbers, with the cuts of every level."""
    counts = session.ready[1].table.people_counts([name])
    column = counts.columns[0]
    present = ~column.missing
    values, sizes = column.numbers()[present], counts.size[present]
    if values.size == 0:
        msg = f"{name} has no value: there is nothing to cut."
        raise PlanError(msg)
    low, high = float(values.min()), float(values.max())
    high = high if high > low else low + 1
    bars, _ = np.histogram(values, bins=BARS, range=(low, high), weights=sizes)
    return fragment(
        "hierarchy-numbers",
        name=name,
        bars=[float(bar / max(bars.max(), 1)) for bar in bars],
        low=low,
        high=high,
        levels=json.dumps(_cuts(given, low, high)),
        widths=", ".join(f"{width:g}" for width in given.get("widths", ())),
        whole=session.ready[1].table.schema[name].kind == "integer",
        read_only=session.read_only,
    )


def _cuts(given: Mapping[str, Any], low: float, high: float) -> list[list[float]]:
    """Return the limits of each level: those of the plan, or those that its widths give."""
    if given.get("cuts"):
        return [list(map(float, level)) for level in given["cuts"]]
    levels = []
    for width in given.get("widths", ()):
        first = float(given.get("origin", 0.0))
        start = first + np.ceil((low - first) / width) * width
        cuts = [float(cut) for cut in np.arange(start, high, width) if low < cut < high]
        if 0 < len(cuts) <= BARS:
            levels.append(cuts)
    return levels or [[round(low + (high - low) * share, 1) for share in (0.25, 0.5, 0.75)]]


def _codes(session: Session, name: str, given: Mapping[str, Any]) -> str:
    """Return the codes of a column, each with its groups at two levels."""
    counts = session.ready[1].table.people_counts([name])
    column = counts.columns[0]
    labels = label_texts(column)
    known = [
        (labels[int(code)], int(size))
        for code, size, missing in zip(column.values, counts.size, column.missing, strict=True)
        if not missing
    ]
    made: Hierarchy = from_table(Hierarchy, dict(given), "hierarchy")
    from veladura.numeric.hierarchies.levels import table_of

    rows = {row[0]: row for row in (made.rows or table_of(made, [text for text, _ in known]))}
    shown = []
    for code, size in sorted(known)[:MOST_CODES]:
        above = list(rows.get(code, (code,)))[1:-1]
        first, second = (*above, "", "")[:2]
        shown.append((code, size, first, second or first if len(above) > 1 else ""))
    return fragment(
        "hierarchy-codes",
        name=name,
        rows=shown,
        more=max(len(known) - MOST_CODES, 0),
        deeper=made.height > 3,  # noqa: PLR2004
        read_only=session.read_only,
    )


def _map(session: Session, pair: tuple[str, str], given: Mapping[str, Any]) -> str:
    """Return the places as a picture without a map below: where people are, and the cells."""
    counts = session.ready[1].table.people_counts(list(pair))
    x, y = (column.numbers() for column in counts.columns)
    there = ~(np.isnan(x) | np.isnan(y))
    x, y, sizes = x[there], y[there], counts.size[there]
    if x.size == 0:
        msg = "no row has a place: there is nothing to draw."
        raise PlanError(msg)
    made: Hierarchy = from_table(Hierarchy, dict(given), "hierarchy")
    turned = _is_north(pair[0]) and not _is_north(pair[1])
    if turned:  # a map has east to the right, whichever column comes first
        x, y = y, x
    density, across, down = np.histogram2d(x, y, bins=RASTER, weights=sizes)
    cells = [
        (int(i), int(RASTER - 1 - j), float(np.sqrt(density[i, j] / density.max())))
        for i, j in zip(*np.nonzero(density), strict=True)
    ]
    return fragment(
        "hierarchy-map",
        name=pair_name(pair),
        cells=cells,
        raster=RASTER,
        axes=pair,
        turned=turned,
        extent=json.dumps([across[0], across[-1], down[0], down[-1]]),
        cell=" ".join(f"{side:g}" for side in dict.fromkeys(made.sides)),
        levels=made.sizes,
        origin=[f"{corner:g}" for corner in made.corner],
        read_only=session.read_only,
    )


def _is_north(name: str) -> bool:
    """Whether a coordinate counts to the north, by its name."""
    return "y" in hints_of(name)


def _save(session: Session, name: str, rule: Mapping[str, Any], field: str) -> Answer:
    """Put a hierarchy into the plan; a way that was chosen for the old one is not kept."""
    session.refuse_read_only()
    try:
        made = from_table(Hierarchy, dict(rule), f"the hierarchy of {name}")
        steps = raw_steps(session)
        step = next(s for s in steps if s["method"] == "k-anonymity")
        step["hierarchies"] = {**step.get("hierarchies", {}), name: to_plain(made)}
        step.pop("levels", None)
        change_steps(session, steps, f"the hierarchy of {name}")
    except VeladuraError as error:
        raise FieldError(field, str(error)) from None
    return Answer(f"The hierarchy of {name} is in the plan.")


def _numbers(session: Session, form: Form) -> Answer:
    """Keep the cuts of every level, or widths."""
    name = required(form, "column", "the column")
    if widths := text(form, "widths"):
        try:
            rule: dict[str, Any] = {"widths": [float(part) for part in widths.split(",")]}
        except ValueError:
            raise FieldError("widths", "write numbers with commas: 5, 10, 20.") from None
        return _save(session, name, rule, "widths")
    levels = form.get("levels")
    if not isinstance(levels, list) or not all(isinstance(level, list) for level in levels):
        raise FieldError("widths", "the cuts cannot be read.")
    kept = [sorted({float(cut) for cut in level}) for level in levels if level]
    return _save(session, name, {"cuts": kept}, "widths")


def _dates(session: Session, form: Form) -> Answer:
    """Keep the periods."""
    name = required(form, "column", "the column")
    periods = [period for period in get_args(Period) if period in texts(form, "periods")]
    return _save(session, name, {"periods": periods}, "periods")


def _groups(session: Session, form: Form) -> Answer:
    """Keep groups of codes at one or two levels."""
    name = required(form, "column", "the column")
    codes, ones, twos = (texts(form, key) for key in ("code", "first", "second"))
    first: dict[str, list[str]] = {}
    second: dict[str, list[str]] = {}
    for code, one, two in zip(codes, ones, twos, strict=True):
        group = one.strip() or code
        if group != code or one.strip():
            first.setdefault(group, []).append(code)
        if two.strip() and group not in second.setdefault(two.strip(), []):
            second[two.strip()].append(group)
    if not first and not second:
        return _save(session, name, {"flat": True}, "first")
    both = [level for level in (first, second) if level]
    return _save(session, name, {"grouped": both}, "first")


def _grid(session: Session, form: Form) -> Answer:
    """Keep the cells of a grid."""
    name = required(form, "column", "the pair")
    try:
        sides = [float(part) for part in text(form, "cell").split()]
        origin = [float(text(form, "x")), float(text(form, "y"))]
        levels = int(text(form, "levels"))
    except ValueError:
        raise FieldError("cell", "cell, sizes and corner are numbers.") from None
    cell: Any = sides[0] if len(sides) == 1 else sides
    return _save(session, name, {"cell": cell, "levels": levels, "origin": origin}, "cell")


def _arx(session: Session, form: Form) -> Answer:
    """Read a hierarchy as ARX writes it: a value and its levels a line, semicolons between."""
    name = required(form, "column", "the column")
    content = required(form, "arx", "the file")
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "hierarchy.csv"
        path.write_text(content, encoding="utf-8")
        try:
            made = Hierarchy.from_csv(path)
        except VeladuraError as error:
            said = str(error).replace(str(path), "the file")
            raise FieldError("arx", said) from None
    return _save(session, name, {"rows": [list(row) for row in made.rows]}, "arx")


def _csv(session: Session, name: str) -> bytes:
    """Return the hierarchy written out for the values of the column, as ARX reads it."""
    values = session.ready[1].table.column(name).to_arrow().unique().drop_null().to_pylist()
    made: Hierarchy = from_table(Hierarchy, _given(session, name), "hierarchy")
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "hierarchy.csv"
        made.to_csv(path, sorted(values))
        return path.read_bytes()


ACTIONS = {"numbers": _numbers, "dates": _dates, "groups": _groups, "grid": _grid, "arx": _arx}
