"""Risk and utility of a release beside its original: every registered measure, one object."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.inference.estimate import Estimate
from veladura.measure import Detail, Figure, NotApplicable, Subject, measures, open_quietly

if TYPE_CHECKING:
    from veladura.recipe import Release
    from veladura.table.table import Table


@dataclass(frozen=True)
class Assessment:
    """The figures of a release, by full name, with the tables behind some of them.

    Attributes
    ----------
    figures
        By full name, as in ``"risk.uniqueness.average_prosecutor"``.
    details
        By measure, the figures of each column or pair.
    rule
        The combining rule of the release; figures of a "posterior" release are the custodian's.
    """

    figures: Mapping[str, Figure]
    details: Mapping[str, Detail] = field(default_factory=dict, repr=False)
    rule: str = "none"

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
        head = ("figure", "value", "better", "meaning")
        lines = [head, *((f.name, _value(f), f.better, " ".join(filter(None, (f.meaning, f.note)))) for f in self)]
        widths = [max(len(line[i]) for line in lines) for i in range(3)]
        rows = ["  ".join([*(cell.ljust(width) for cell, width in zip(line[:3], widths, strict=True)), line[3]]) for line in lines]
        why = [f"{f.name}: {f.why}" for f in self if f.estimate is None]
        return "\n".join([rows[0], "-" * len(rows[0]), *rows[1:], *(["", "not applicable:", *why] if why else [])])

    def to_html(self) -> str:
        """Return the figures as an HTML table, every text escaped."""
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("Figure", "Value", "Better", "Meaning"))
        rows = "".join(
            f'<tr><th scope="row">{escape(f.name)}</th><td>{escape(_value(f))}</td><td>{f.better}</td><td>{escape(_told(f))}</td></tr>'
            for f in self
        )
        return f'<table class="veladura-assessment"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'

    _repr_html_ = to_html

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain values, None where a number is not known."""
        return {f.name: {**_numbers(f.estimate), "better": f.better, "meaning": f.meaning, "why": f.why, "note": f.note} for f in self}


def assess(table: Any, release: Release, *, control: Any = None, record: str | Path | None = None) -> Assessment:
    """Return risk and utility of a release beside its original.

    Parameters
    ----------
    table
        The original: anything `veladura.open` takes. Identifiers and columns that were not
        released are left out.
    release
        What was made of it, in memory or loaded from a package. Without the link between rows
        the figures that need it are listed with the reason.
    control
        Rows of the same population that the release was not made of, for attacks and distances.
    record
        The custodian's record of a release that was loaded: it links the released rows to those of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "income": range(100)})
    >>> figures = vd.assess(people, vd.Noise(columns=["income"]).protect(people, seed=1))
    >>> int(figures["risk.uniqueness.sample_uniques"]) <= 100
    True
    """
    if record is not None:
        from veladura.release.link import with_source

        release = with_source(release, table, record)
    subject = Subject(_original(table, release), release, _control(control, release))
    figures: dict[str, Figure] = {}
    details: dict[str, Detail] = {}
    for name, measure in measures().items():
        found, detail = measure.apply(subject)
        figures |= {figure.name: figure for figure in found}
        if detail is not None:
            details[name] = detail
    return Assessment(figures, details, release.rule)


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
        return original.source.file is not None and Path(source).resolve() == original.source.file.resolve()
    return original.frame is not None and original.frame is source


def _declared(source: Any, release: Release) -> dict[str, Any] | None:
    """Return what was declared of the released columns, for a source that declares nothing itself."""
    from veladura.table.table import Table

    if isinstance(source, Table):
        return None
    known = {} if release.original is None else release.original.source.columns
    return {field.name: known.get(field.name, {"role": field.role}) for field in release.tables[0].table.schema}


def _numbers(estimate: Estimate | None) -> dict[str, float | None]:
    ends = (math.nan,) * 4 if estimate is None else (estimate.value, estimate.lower, estimate.upper, estimate.level)
    return {
        name: end if math.isfinite(end) else None for name, end in zip(("value", "lower", "upper", "level"), map(float, ends), strict=True)
    }


def _value(figure: Figure) -> str:
    return "not applicable" if figure.estimate is None else str(figure.estimate)


def _told(figure: Figure) -> str:
    return " ".join(part for part in (figure.meaning, figure.note, figure.why) if part)
