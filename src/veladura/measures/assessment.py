"""Risk and utility of a release beside its original: every registered measure, one object."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.context import Context, Progress, silent, thread_count
from veladura.base.estimate import Estimate
from veladura.base.limits import Light, Limit
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.measures.measure import (
    Detail,
    Figure,
    NotApplicable,
    Subject,
    measures,
    open_quietly,
    reasons,
)

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

COLOURS: Mapping[Light, str] = {"green": "#17693a", "amber": "#7a4f01", "red": "#a3211b"}


@dataclass(frozen=True)
class Assessment:
    """The figures of a release, by full name, with the tables behind some of them.

    Attributes
    ----------
    figures
        By full name, as in ``"risk.uniqueness.average_prosecutor"``.
    details
        By measure, the figures of each column or pair.
    private
        Whether the release is differentially private: its figures are the custodian's.
    limits
        What figures may be, by name: those have a traffic light.
    """

    figures: Mapping[str, Figure]
    details: Mapping[str, Detail] = field(default_factory=dict, repr=False)
    private: bool = False
    limits: Mapping[str, Limit] = field(default_factory=dict)

    def light(self, name: str) -> Light | None:
        """Return the traffic light of a figure against its limit; None where it has none."""
        limit, figure = self.limits.get(name), self.figures.get(name)
        return (
            None if limit is None else limit.light(figure.estimate if figure is not None else None)
        )

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.figures:
            what = "figure"
            raise PlanError.unknown(what, name, self.figures)
        figure = self.figures[name]
        if figure.estimate is None:
            msg = f"{name} does not apply: {figure.why}"
            raise NotApplicable(msg)
        return figure.estimate

    def __iter__(self) -> Iterator[Figure]:
        return iter(self.figures.values())

    def __len__(self) -> int:
        return len(self.figures)

    def __str__(self) -> str:
        head = ("figure", "value", *(("gate",) if self.limits else ()), "better", "meaning")
        known = (
            figure for figure in self if figure.estimate is not None or figure.name in self.limits
        )
        lines = [head, *(self._line(figure) for figure in known)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head) - 1)]
        rows = [
            "  ".join(
                [
                    *(cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=True)),
                    line[-1],
                ]
            )
            for line in lines
        ]
        why = [f"{', '.join(names)}: {reason}" for reason, names in reasons(self).items()]
        return "\n".join(
            [
                rows[0],
                "-" * len(rows[0]),
                *rows[1:],
                *(["", "not applicable:", *why] if why else []),
            ]
        )

    def _line(self, figure: Figure) -> tuple[str, ...]:
        told = " ".join(filter(None, (figure.meaning, figure.note)))
        return (
            figure.name,
            _value(figure),
            *((self._gate(figure),) if self.limits else ()),
            figure.better,
            told,
        )

    def _gate(self, figure: Figure) -> str:
        """Return light and limit of a figure, as in "green (at most 0.2)"."""
        light = self.light(figure.name)
        return "" if light is None else f"{light} ({self.limits[figure.name]})"

    def to_html(self) -> str:
        """Return the figures as an HTML table, every text escaped."""
        names = ("Figure", "Value", *(("Gate",) if self.limits else ()), "Better", "Meaning")
        heads = "".join(f'<th scope="col">{head}</th>' for head in names)
        rows = "".join(self._row(figure) for figure in self)
        return (
            "<table"
            f' class="veladura-assessment"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
        )

    _repr_html_ = to_html

    def _row(self, figure: Figure) -> str:
        light = self.light(figure.name)
        colour = f' style="color: {COLOURS[light]}"' if light else ""
        gate = f"<td{colour}>{escape(self._gate(figure))}</td>" if self.limits else ""
        cells = f"<td>{escape(_value(figure))}</td>{gate}<td>{figure.better}</td><td>{escape(_told(figure))}</td>"
        return f'<tr><th scope="row">{escape(figure.name)}</th>{cells}</tr>'

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain values, None where a number is not known."""
        return {
            f.name: (
                {
                    **_numbers(f.estimate),
                    "unit": f.unit,
                    "better": f.better,
                    "meaning": f.meaning,
                    "why": f.why,
                    "note": f.note,
                }
                | (
                    {"light": light, "limit": str(self.limits[f.name])}
                    if (light := self.light(f.name))
                    else {}
                )
            )
            for f in self
        }


def assess(
    table: Any,
    release: Release,
    *,
    limits: Mapping[str, Limit] | None = None,
    control: Any = None,
    record: str | Path | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Assessment:
    """Return risk and utility of a release beside its original.

    Parameters
    ----------
    table
        The original: anything `veladura.open` takes. Identifiers and columns that were not
        released are left out.
    release
        What was made of it, in memory or loaded from a package. Without the link between rows
        the figures that need it are listed with the reason.
    limits
        What figures may be, as in the plan's ``[gate]``: those figures get a traffic light. Not for
        a private release.
    control
        Rows of the same population that the release was not made of, for attacks and distances.
    record
        The custodian's record of a release that was loaded: it links the released rows to those of
        the table.
    threads
        Measures are taken side by side; figures never depend on the number.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "income": range(100)})
    >>> figures = vd.assess(people, vd.Noise(columns=["income"]).protect(people, seed=1))
    >>> int(figures["risk.uniqueness.sample_uniques"]) <= 100
    True
    """
    from threadpoolctl import threadpool_limits

    if limits and release.rule.private:
        msg = (
            "a differentially private release is held against no limit: whether it passes would"
            " tell something of the data."
        )
        raise PlanError(msg)
    if record is not None:
        from veladura.release.reassess import with_source

        release = with_source(release, table, record)
    subject, known = (
        Subject(_original(table, release), release, _control(control, release)),
        measures(),
    )
    alone = str(subject.original.source.url or "").startswith(
        "sqlite"
    )  # its connections belong to one thread
    context = Context(Streams(0), 1 if alone else thread_count(threads), progress)
    with threadpool_limits(
        1, user_api="blas"
    ):  # one thread a measure: more would wait for each other, and move last digits
        found = context.map(
            "assessing risk and utility", lambda one: one.apply(subject), known.values()
        )
    figures = {figure.name: figure for taken, _ in found for figure in taken}
    details = {
        name: detail for name, (_, detail) in zip(known, found, strict=True) if detail is not None
    }
    return Assessment(figures, details, release.rule.private, limits or {})


def _original(source: Any, release: Release) -> Table:
    """Return the released columns of the original, declared as they were when it was released."""
    names = release.tables[0].table.names
    opened = (
        release.original
        if release.original is not None and _same(source, release.original)
        else open_quietly(source, _declared(source, release))
    )
    opened.schema.check("the release", names)
    return opened.without_identifiers().select(names)


def _control(source: Any, release: Release) -> Table | None:
    """Return the released columns of a control, declared as those of the original."""
    if source is None:
        return None
    names = release.tables[0].table.names
    opened = open_quietly(source, _declared(source, release))
    opened.schema.check("the release", names)
    return opened.select(names)


def _same(source: Any, original: Table) -> bool:
    """Whether the source is the very frame or file that the release was made of."""
    if isinstance(source, (str, Path)):
        return (
            original.source.file is not None
            and Path(source).resolve() == original.source.file.resolve()
        )
    return original.frame is not None and original.frame is source


def _declared(source: Any, release: Release) -> dict[str, Any] | None:
    """Return what was declared of the released columns, for a source that declares nothing itself."""
    from veladura.table.table import Table

    if isinstance(source, Table):
        return None
    known = {} if release.original is None else release.original.source.columns
    return {
        field.name: known.get(field.name, {"role": field.role})
        for field in release.tables[0].table.schema
    }


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


def _value(figure: Figure) -> str:
    return "not applicable" if figure.estimate is None else str(figure.estimate)


def _told(figure: Figure) -> str:
    return " ".join(part for part in (figure.meaning, figure.note, figure.why) if part)
