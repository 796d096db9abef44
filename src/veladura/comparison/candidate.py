"""One recipe of a comparison: what to run, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable, VeladuraError
from veladura.measures.assessment import assess
from veladura.measures.knowledge import Scenario
from veladura.measures.measure import Figure
from veladura.measures.population import among_its_people
from veladura.measures.utility.recoded import recoded
from veladura.plan.reading import read_plan
from veladura.table.source import open as open_table

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.core.release import Release
    from veladura.table.table import Table

MOST_CELLS = 20_000_000  # of a table whose rows are fetched to be measured


@dataclass(frozen=True)
class Candidate:
    """The result of one recipe.

    Attributes
    ----------
    name
        Its name on the map.
    method, private
        The methods of its steps, and whether its release is differentially private.
    columns, datasets
        The numbers of released columns and datasets.
    figures
        Risk and utility, by full name.
    problem
        Why there is no release, where there is none.
    lost
        By column, the information lost in values that became coarser.
    swept
        The values of the settings that a sweep varies.
    """

    name: str
    method: str
    private: bool = False
    columns: int = 0
    datasets: int = 0
    seconds: float = 0.0
    figures: Mapping[str, Figure] = field(default_factory=dict, repr=False)
    problem: str = ""
    lost: Mapping[str, float] = field(default_factory=dict, repr=False)
    swept: Mapping[str, int | float | str] = field(default_factory=dict)

    def estimate(self, figure: str) -> Estimate | None:
        """Return a figure, or None where it does not apply."""
        measured = self.figures.get(figure)
        return None if measured is None else measured.estimate

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Candidate:
        """Return a candidate from what `to_json` gave."""
        figures = {name: _figure(values) for name, values in plain["figures"].items()}
        return cls(**{**plain, "figures": figures})


def _figure(values: Mapping[str, Any]) -> Figure:
    estimate = None if values["estimate"] is None else Estimate(**values["estimate"])
    return Figure(**{**values, "estimate": estimate})


@dataclass(frozen=True, eq=False)
class Job:
    """A recipe and its table: the path of a plan, or a source with the recipe itself.

    Attributes
    ----------
    source, columns
        A path or a frame, and what was declared of its columns.
    plan
        The path of a plan instead.
    intruders
        Who looks for people; by default the usual ones.
    models
        Formulas of the holder.
    """

    name: str
    recipe: Recipe
    source: Any = field(default=None, repr=False)
    columns: Mapping[str, Any] = field(default_factory=dict, repr=False)
    plan: Path | None = None
    seed: int | None = None
    threads: int | None = None
    intruders: tuple[Scenario, ...] = ()
    models: tuple[str, ...] = ()

    def open(self) -> Table:
        """Open the table, in memory where it is small enough: some figures need its rows."""
        table = (
            read_plan(self.plan).open()
            if self.plan is not None
            else open_table(self.source, self.columns)
        )
        if table.frame is not None or table.rows * len(table.names) > MOST_CELLS:
            return table
        return open_table(table.read(), table.source.columns, name=table.source.name)


def evaluate(job: Job) -> Candidate:
    """Protect and measure; an error of a recipe becomes the problem of its candidate.

    Nothing is released or written, so that a private draw is charged to no ledger.
    """
    start = perf_counter()
    candidate = Candidate(job.name, _methods(job.recipe))
    try:
        table = job.open()
        release = job.recipe.protect(
            table, seed=None if job.recipe.private else job.seed, threads=job.threads
        )
        figures = assess(table, release, intruders=job.intruders, models=job.models).figures
    except VeladuraError as error:
        return replace(
            candidate, problem=str(error).partition("\n")[0], seconds=perf_counter() - start
        )
    seconds = perf_counter() - start
    names = release.tables[0].table.names
    return replace(
        candidate,
        private=release.rule.private,
        columns=len(names),
        datasets=len(release.tables),
        seconds=seconds,
        figures=dict(figures),
        lost=_lost(table, release),
    )


def _lost(table: Table, release: Release) -> dict[str, float]:
    """Return the information lost by column; nothing where no column is coarser, or rows stay."""
    if not table.in_memory or not all(d.table.in_memory for d in release.tables):
        return {}
    original, about = among_its_people(table.without_identifiers(), release)
    try:
        return {name: float(value) for name, value in recoded(original, about).columns.items()}
    except NotApplicable:
        return {}


def _methods(recipe: Recipe) -> str:
    return ", then ".join(step.method for step in getattr(recipe, "recipes", (recipe,)))
