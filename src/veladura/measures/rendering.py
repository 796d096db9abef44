"""An assessment as text, as HTML and as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from veladura.base.limits import Light
from veladura.measures.measure import Figure, reasons

if TYPE_CHECKING:
    from veladura.base.estimate import Estimate
    from veladura.measures.assessment import Assessment

COLOURS: Mapping[Light, str] = {"green": "#17693a", "amber": "#7a4f01", "red": "#a3211b"}


def as_text(assessment: Assessment) -> str:
    """Return the figures as a table, then the measures that do not apply, by reason."""
    gated = bool(assessment.limits)
    head = ("figure", "value", *(("gate",) if gated else ()), "better", "meaning")
    shown = (
        figure
        for figure in assessment
        if figure.estimate is not None or figure.name in assessment.limits
    )
    lines = [head, *(_line(assessment, figure) for figure in shown)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
    rows = []
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=True)]
        rows.append("  ".join([*cells, line[-1]]))
    why = [f"{', '.join(names)}: {reason}" for reason, names in reasons(assessment).items()]
    last = ["", "not applicable:", *why] if why else []
    return "\n".join([rows[0], "-" * len(rows[0]), *rows[1:], *last])


def _line(assessment: Assessment, figure: Figure) -> tuple[str, ...]:
    gate = (_gate(assessment, figure),) if assessment.limits else ()
    text = " ".join(filter(None, (figure.meaning, figure.note)))
    return (figure.name, _value(figure), *gate, figure.better, text)


def _gate(assessment: Assessment, figure: Figure) -> str:
    """Return light and limit of a figure, as in "green (at most 0.2)"."""
    light = assessment.light(figure.name)
    return "" if light is None else f"{light} ({assessment.limits[figure.name]})"


def _value(figure: Figure) -> str:
    return "not applicable" if figure.estimate is None else str(figure.estimate)


def as_html(assessment: Assessment) -> str:
    """Return the figures as an HTML table, every text escaped."""
    gate = ("Gate",) if assessment.limits else ()
    names = ("Figure", "Value", *gate, "Better", "Meaning")
    heads = "".join(f'<th scope="col">{head}</th>' for head in names)
    rows = "".join(_row(assessment, figure) for figure in assessment)
    return (
        '<table class="veladura-assessment">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(assessment: Assessment, figure: Figure) -> str:
    light = assessment.light(figure.name)
    colour = f' style="color: {COLOURS[light]}"' if light else ""
    gate = f"<td{colour}>{escape(_gate(assessment, figure))}</td>" if assessment.limits else ""
    text = " ".join(part for part in (figure.meaning, figure.note, figure.why) if part)
    return (
        f'<tr><th scope="row">{escape(figure.name)}</th><td>{escape(_value(figure))}</td>'
        f"{gate}<td>{figure.better}</td><td>{escape(text)}</td></tr>"
    )


def as_json(assessment: Assessment) -> dict[str, Any]:
    """Return the figures as plain values, None where a number is not known."""
    return {figure.name: _plain(assessment, figure) for figure in assessment}


def _plain(assessment: Assessment, figure: Figure) -> dict[str, Any]:
    plain: dict[str, Any] = {
        **_numbers(figure.estimate),
        "unit": figure.unit,
        "better": figure.better,
        "meaning": figure.meaning,
        "why": figure.why,
        "note": figure.note,
    }
    if light := assessment.light(figure.name):
        plain |= {"light": light, "limit": str(assessment.limits[figure.name])}
    return plain


def _numbers(estimate: Estimate | None) -> dict[str, float | None]:
    ends = (
        (math.nan,) * 4
        if estimate is None
        else (estimate.value, estimate.lower, estimate.upper, estimate.level)
    )
    return {
        name: end if math.isfinite(end) else None
        for name, end in zip(("value", "lower", "upper", "level"), map(float, ends), strict=True)
    }
