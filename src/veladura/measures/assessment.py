"""Risk and utility of a release: every measure against the original, in one object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.blas import one_thread
from veladura.base.context import Context, Progress, silent, thread_count
from veladura.base.estimate import Estimate
from veladura.base.limits import Light, Limit
from veladura.base.streams import Streams
from veladura.errors import NotApplicable, PlanError
from veladura.inference.formula import check_models
from veladura.measures.knowledge import Scenario, check_intruders
from veladura.measures.measure import Detail, Figure, Measure, Subject
from veladura.measures.population import among_its_people, conditions_of
from veladura.measures.registry import MEASURES
from veladura.measures.registry import measures as own_measures
from veladura.measures.rendering import as_html, as_json, as_text
from veladura.table.profiles import profile_columns

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.measures.risk.at_risk import AtRisk
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
    private
        Whether the release is differentially private: its figures are the custodian's.
    limits
        The limits of a gate, by figure: those figures have a traffic light.
    """

    figures: Mapping[str, Figure]
    details: Mapping[str, Detail] = field(default_factory=dict, repr=False)
    private: bool = False
    limits: Mapping[str, Limit] = field(default_factory=dict)

    @property
    def intruders(self) -> tuple[AtRisk, ...]:
        """The people at risk for each intruder, before and after."""
        from veladura.measures.risk.intruders import AtRiskTable

        table = self.details.get("risk.intruders")
        return table.records if isinstance(table, AtRiskTable) else ()

    def light(self, name: str) -> Light | None:
        """Return the traffic light of a figure against its limit; None where it has none."""
        limit, figure = self.limits.get(name), self.figures.get(name)
        if limit is None:
            return None
        return limit.light(None if figure is None else figure.estimate)

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
        return as_text(self)

    def to_html(self) -> str:
        """Return the figures as an HTML table, every text escaped."""
        return as_html(self)

    _repr_html_ = to_html

    def to_json(self) -> dict[str, Any]:
        """Return the figures as plain values, None where a number is not known."""
        return as_json(self)


def assess(
    table: Any,
    release: Release,
    *,
    limits: Mapping[str, Limit] | None = None,
    control: Any = None,
    intruders: Iterable[Scenario] = (),
    models: Iterable[str] = (),
    measures: Iterable[Measure] = (),
    threads: int | None = None,
    progress: Progress = silent,
) -> Assessment:
    """Return risk and utility of a release against its original.

    Parameters
    ----------
    table
        The original: anything `veladura.open` takes. Identifiers and columns that were not
        released are left out.
    release
        The release made from it, in memory or loaded from a package. Without the link between rows
        the figures that need it are listed with the reason.
    limits
        Limits on figures, as in the plan's ``[gate]``: those figures get a traffic light. Not for a
        differentially private release.
    control
        The control group: people of the same population who are not in the original.
    intruders
        Who looks for people, and what they know: `veladura.risk.Scenario`, as ``[[intruder]]`` in
        a plan. By default a register and an acquaintance, by the roles of the columns.
    models
        Formulas of the holder, as ``[utility] models`` in a plan: see `veladura.utility.slopes`.
    measures
        Measures of your own, beside those of the library.
    threads
        Measures run side by side; figures never depend on the number of threads.
    """
    # SciPy has a BLAS of its own, and only those that are loaded already are limited.
    import scipy.linalg  # noqa: F401

    if limits and release.rule.private:
        msg = (
            "a differentially private release cannot be held against limits: whether it passes"
            " would disclose something about the data."
        )
        raise PlanError(msg)
    if release.rule.statistics:  # no rows of people: nothing to hold beside the original
        return Assessment({}, {}, private=True)
    opened = _opened(table, release)
    scenarios = check_intruders(intruders, opened.schema, opened.source.columns)
    original, about = among_its_people(_original(opened, release), release)
    subject = Subject(
        original,
        about,
        _control(control, release),
        scenarios,
        check_models(models),
    )
    taken = [*own_measures(), *_checked(measures)]
    for part in (subject.original, *subject.tables):
        if not part.in_memory:
            profile_columns(part)  # a pass over all columns instead of one for each
    # connections to SQLite belong to one thread
    alone = str(subject.original.source.url or "").startswith("sqlite")
    context = Context(Streams(0), 1 if alone else thread_count(threads), progress)
    # one thread a measure: more would wait for each other, and change last digits
    with one_thread():
        results = context.map(
            "assessing risk and utility", lambda measure: measure.apply(subject), taken
        )
    figures = {figure.name: figure for listed, _ in results for figure in listed}
    details = {
        measure.name: detail
        for measure, (_, detail) in zip(taken, results, strict=True)
        if detail is not None
    }
    return Assessment(figures, details, release.rule.private, limits or {})


def _checked(measures: Iterable[Measure]) -> list[Measure]:
    """Return measures from elsewhere, after checking that their names are free."""
    listed = list(measures)
    names = [*MEASURES, *(measure.name for measure in listed)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"two measures have the same name: {twice}.\n\nHint: give yours another name."
        raise PlanError(msg)
    return listed


def _opened(source: Any, release: Release) -> Table:
    """Return the original, declared as it was when it was released."""
    from veladura.table.source import open_quietly

    if release.original is not None and _same(source, release.original):
        return release.original
    return open_quietly(source, _declared(source, release))


def _original(opened: Table, release: Release) -> Table:
    """Return the released columns of the original, and those that say who it is about."""
    names = list(release.tables[0].table.names)
    opened.schema.check("the release", names)
    known = opened.without_identifiers()
    read = {name for condition in conditions_of(release) for name in condition.columns}
    names += [name for name in known.names if name in read and name not in names]
    selected = known.select(names)
    return selected.fetched() if release.tables[0].table.in_memory else selected


def _control(source: Any, release: Release) -> Table | None:
    """Return the released columns of a control group, declared as those of the original."""
    from veladura.table.source import open_quietly

    if source is None:
        return None
    names = release.tables[0].table.names
    opened = open_quietly(source, _declared(source, release))
    opened.schema.check("the release", names)
    return opened.select(names)


def _same(source: Any, original: Table) -> bool:
    """Whether the source is the very frame or file that the release was made from."""
    if isinstance(source, (str, Path)):
        file = original.source.file
        return file is not None and Path(source).resolve() == file.resolve()
    return original.frame is not None and original.frame is source


def _declared(source: Any, release: Release) -> dict[str, Any] | None:
    """Return what was declared of the released columns, for a source that declares nothing."""
    from veladura.table.schema import UNITS
    from veladura.table.table import Table

    if isinstance(source, Table):
        return None
    declared = {} if release.original is None else release.original.source.columns
    known = release.tables[0].table if release.original is None else release.original
    names = [*release.tables[0].table.names, *known.units.schema.of_role(*UNITS)]
    return {
        field.name: declared.get(field.name, {"role": field.role})
        for field in known.units.schema
        if field.name in names
    }
