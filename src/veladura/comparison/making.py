"""Run a comparison: recipes on a table, or plans of one source, in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.context import Progress, silent, thread_count
from veladura.comparison import worker
from veladura.comparison.cache import Cache, data_hash
from veladura.comparison.candidate import Candidate, Job
from veladura.comparison.result import Comparison, axis, check_axes
from veladura.errors import PlanError
from veladura.plan.plan import Plan, read_plan
from veladura.table.database.scratch import custodian_home
from veladura.table.source import open_quietly
from veladura.table.table import Table

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe


def compare(
    table: Any,
    recipes: Mapping[str, Recipe] | Sequence[Recipe],
    *,
    seed: int | None = None,
    risk: str | None = None,
    utility: str | None = None,
    workers: int | None = None,
    custodian: str | Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Return many recipes on one table with risk and utility of each: what is worth having, what is not.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    recipes
        By the name that each shall have on the map, or a list of them.
    seed
        Moves every recipe that takes one.
    risk, utility
        The figures of the two axes, as in ``"utility.pmse.ratio"``. By default ones that most
        candidates have.
    workers
        Processes at work at once; by default one for each core. The result does not depend on it.
    custodian
        A folder in which figures are kept, so that the same recipe on the same table is measured
        once.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"age": range(20, 80), "income": range(60)})
    >>> found = vd.compare(people, {"weak": vd.Noise(columns=["income"], scale=0.01), "strong": vd.Noise(columns=["income"], scale=1.0)}, seed=1)
    >>> [candidate.name for candidate in found.candidates]
    ['weak', 'strong']
    """
    check_axes(risk, utility)
    named = _named(recipes)
    opened = open_quietly(table) if not isinstance(table, Table) else table
    source = table if isinstance(table, (str, Path)) else opened.arrow
    declared = dict(opened.source.columns)
    jobs = [Job(name, recipe, source, declared, seed=seed) for name, recipe in named.items()]
    cache = Cache(None if custodian is None else Path(custodian))
    candidates = _run(
        jobs, data_hash(opened) if custodian is not None else None, cache, workers, progress
    )
    return Comparison(
        tuple(candidates), axis(candidates, "risk", risk), axis(candidates, "utility", utility)
    )


def compare_plans(
    paths: Sequence[str | Path],
    *,
    risk: str | None = None,
    utility: str | None = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> Comparison:
    """Return plans of one source compared; figures are kept in the custodian's folder unless ``fresh``."""
    check_axes(risk, utility)
    plans = {Path(path): read_plan(path) for path in paths}
    if len(plans) < 2:  # noqa: PLR2004
        msg = "a comparison needs at least two plans.\n\nHint: copy a plan and change its [[step]]."
        raise PlanError(msg)
    _one_source(list(plans.values()))
    names = _names(list(plans))
    jobs = [
        Job(
            names[path],
            plan.recipe,
            None,
            {n: str(d) for n, d in plan.columns.items()},
            path,
            plan.run.seed,
        )
        for path, plan in plans.items()
    ]
    first = next(iter(plans.values()))
    cache = Cache(None if fresh else first.custodian_folder or custodian_home())
    candidates = _run(jobs, data_hash(first.open()), cache, workers, progress)
    return Comparison(
        tuple(candidates), axis(candidates, "risk", risk), axis(candidates, "utility", utility)
    )


def _run(
    jobs: Sequence[Job], data: str | None, cache: Cache, workers: int | None, progress: Progress
) -> list[Candidate]:
    """Return what became of each job; only those not known yet are run."""
    at_once = min(workers or thread_count(), len(jobs)) or 1
    threads = max(thread_count() // at_once, 1)
    found = {job.name: known for job in jobs if (known := cache.look(job, data)) is not None}
    with progress("comparing", len(jobs)) as advance, ThreadPoolExecutor(at_once) as pool:
        for _ in found:
            advance()
        running = {
            pool.submit(worker.run, replace(job, threads=threads)): job
            for job in jobs
            if job.name not in found
        }
        for done in as_completed(running):
            job = running[done]
            found[job.name] = done.result()
            cache.keep(job, data, found[job.name])
            advance()
    return [found[job.name] for job in jobs]


def _named(recipes: Mapping[str, Recipe] | Sequence[Recipe]) -> dict[str, Recipe]:
    """Return recipes by name: their method, numbered where it occurs again."""
    if isinstance(recipes, Mapping):
        named = dict(recipes)
    else:
        methods = [recipe.method for recipe in recipes]
        named = {
            m if methods.count(m) == 1 else f"{m} {methods[: i + 1].count(m)}": r
            for i, (m, r) in enumerate(zip(methods, recipes, strict=True))
        }
    if not named:
        msg = "there is nothing to compare: no recipe was given."
        raise PlanError(msg)
    return named


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return what each plan is called: the name of its file, with its folder where two have the same."""
    stems = [path.stem for path in paths]
    return {
        path: path.stem if stems.count(path.stem) == 1 else str(path.with_suffix(""))
        for path in paths
    }


def _one_source(plans: Sequence[Plan]) -> None:
    """Refuse plans of different tables: their figures cannot be compared."""
    places = {
        plan.source.url or str((plan.home / str(plan.source.path)).resolve()) for plan in plans
    }
    if len(places) > 1 or len({plan.source.table for plan in plans}) > 1:
        msg = (
            f"the plans are of {len(places)} different sources.\n\nHint: compare plans of one"
            " table; figures of different tables say nothing together."
        )
        raise PlanError(msg)
