"""Run a comparison: recipes on one table, or plans of one source, each in its own process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from veladura.base.checks import check_whole
from veladura.base.context import Progress, silent, thread_count
from veladura.comparison import worker
from veladura.comparison.cache import Cache, data_hash
from veladura.comparison.candidate import Candidate, Job
from veladura.comparison.result import Comparison, axis, check_axes
from veladura.comparison.sweep import Value, label_of, swept
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.measures.knowledge import Scenario
from veladura.plan.plan import Plan
from veladura.plan.reading import read_plan
from veladura.table.database.scratch import custodian_home
from veladura.table.source import open_quietly
from veladura.table.table import Table


def compare(
    table: Any,
    recipes: Mapping[str, Recipe] | Sequence[Recipe] | Recipe,
    *,
    sweep: Mapping[str, Sequence[int | float | str]] | None = None,
    seed: int | None = None,
    risk: str | None = None,
    utility: str | None = None,
    workers: int | None = None,
    custodian: str | Path | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Return the risk-utility comparison of several recipes on one table.

    Parameters
    ----------
    table
        Anything `veladura.open` takes.
    recipes
        A list of recipes, or a mapping of their names on the map to the recipes; one recipe, with
        ``sweep``.
    sweep
        Settings with the values to try, as in ``{"k": [2, 5, 10]}``: every combination is a
        candidate, and `Comparison.curves` has pictures of what each attribute loses.
    seed
        For every recipe that takes one.
    risk, utility
        The figures of the two axes, such as ``"utility.pmse.ratio"``. By default the people at
        risk for the strongest intruder, and a figure of utility that most candidates have.
    workers
        Number of processes; by default one per core. The result does not depend on it.
    custodian
        A folder in which figures are kept, so that the same recipe on the same table is measured
        once.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"age": range(20, 80), "income": range(60)})
    >>> weak, strong = (vd.Noise(columns=["income"], scale=scale) for scale in (0.01, 1.0))
    >>> comparison = vd.compare(people, {"weak": weak, "strong": strong}, seed=1)
    >>> [candidate.name for candidate in comparison.candidates]
    ['weak', 'strong']
    """
    check_axes(risk, utility)
    named, values = _swept(_named(recipes), sweep)
    opened = open_quietly(table) if not isinstance(table, Table) else table
    source = table if isinstance(table, (str, Path)) else opened.arrow
    declared = dict(opened.source.columns)
    jobs = [Job(name, recipe, source, declared, seed=seed) for name, recipe in named.items()]
    cache = Cache(None if custodian is None else Path(custodian))
    candidates = _run(
        jobs, data_hash(opened) if custodian is not None else None, cache, workers, progress
    )
    candidates = [replace(c, swept=values.get(c.name, {})) for c in candidates]
    return Comparison(
        tuple(candidates), axis(candidates, "risk", risk), axis(candidates, "utility", utility)
    )


def compare_plans(
    paths: Sequence[str | Path],
    *,
    sweep: Mapping[str, Sequence[int | float | str]] | None = None,
    risk: str | None = None,
    utility: str | None = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> Comparison:
    """Return the comparison of plans of one source, or of one plan with several settings.

    Figures are kept in the custodian folder for the next comparison, unless ``fresh``.
    """
    check_axes(risk, utility)
    plans = {Path(path): read_plan(path) for path in paths}
    if len(plans) < 2 and not sweep:  # noqa: PLR2004
        msg = (
            "a comparison needs at least two plans.\n\nHint: copy a plan and change its [[step]],"
            " or try several values of a setting: --sweep k=2,5,10."
        )
        raise PlanError(msg)
    _one_source(list(plans.values()))
    names = _names(list(plans))
    values: dict[str, Mapping[str, Value]] = {}
    jobs = []
    for path, plan in plans.items():
        recipes, own = _swept({names[path]: plan.recipe}, sweep, alone=len(plans) == 1)
        values |= own
        jobs += [
            Job(
                name,
                recipe,
                None,
                {n: str(d) for n, d in plan.columns.items()},
                path,
                plan.run.seed,
                intruders=_shared_intruders(list(plans.values())),
                models=_shared_models(list(plans.values())),
            )
            for name, recipe in recipes.items()
        ]
    first = next(iter(plans.values()))
    cache = Cache(None if fresh else first.custodian_folder or custodian_home())
    candidates = _run(jobs, data_hash(first.open()), cache, workers, progress)
    candidates = [replace(c, swept=values.get(c.name, {})) for c in candidates]
    return Comparison(
        tuple(candidates), axis(candidates, "risk", risk), axis(candidates, "utility", utility)
    )


def _run(
    jobs: Sequence[Job], data: str | None, cache: Cache, workers: int | None, progress: Progress
) -> list[Candidate]:
    """Return the candidate of each job; run those that are not kept yet."""
    if workers is not None:
        check_whole("workers", workers, 1)
    at_once = min(workers or thread_count(), len(jobs)) or 1
    threads = max(thread_count() // at_once, 1)
    done = {job.name: kept for job in jobs if (kept := cache.look(job, data)) is not None}
    with progress("comparing recipes", len(jobs)) as advance, ExitStack() as stack:
        pool = ThreadPoolExecutor(at_once)
        stack.callback(pool.shutdown, cancel_futures=True)  # when it is interrupted
        for _ in done:
            advance()
        running = {
            pool.submit(worker.run, replace(job, threads=threads)): job
            for job in jobs
            if job.name not in done
        }
        for future in as_completed(running):
            job = running[future]
            done[job.name] = future.result()
            cache.keep(job, data, done[job.name])
            advance()
    return [done[job.name] for job in jobs]


def _swept(
    recipes: Mapping[str, Recipe],
    sweep: Mapping[str, Sequence[Value]] | None,
    *,
    alone: bool | None = None,
) -> tuple[dict[str, Recipe], dict[str, Mapping[str, Value]]]:
    """Return recipes by name, with every combination of a sweep, and the values of each."""
    if sweep is None or not sweep:
        return dict(recipes), {}
    made: dict[str, Recipe] = {}
    values: dict[str, Mapping[str, Value]] = {}
    single = len(recipes) == 1 if alone is None else alone
    for name, recipe in recipes.items():
        for combination, changed in swept(recipe, sweep):
            label = label_of(combination) if single else f"{name}: {label_of(combination)}"
            made[label], values[label] = changed, combination
    return made, values


def _named(recipes: Mapping[str, Recipe] | Sequence[Recipe] | Recipe) -> dict[str, Recipe]:
    """Return recipes by name: their method, numbered where it occurs again."""
    if isinstance(recipes, Recipe):
        return {recipes.method: recipes}
    if isinstance(recipes, Mapping):
        named = dict(recipes)
    else:
        methods = [recipe.method for recipe in recipes]
        named = {
            m if methods.count(m) == 1 else f"{m} {methods[: i + 1].count(m)}": r
            for i, (m, r) in enumerate(zip(methods, recipes, strict=True))
        }
    if not named:
        msg = "no recipe was given: there is nothing to compare."
        raise PlanError(msg)
    return named


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """Return the name of each plan: its file name, with the folder where two are the same."""
    stems = [path.stem for path in paths]
    return {
        path: path.stem if stems.count(path.stem) == 1 else str(path.with_suffix(""))
        for path in paths
    }


def _shared_intruders(plans: Sequence[Plan]) -> tuple[Scenario, ...]:
    """Return the intruders of all plans, or none: people must be at risk of the same intruders."""
    first = plans[0].intruders
    return first if all(plan.intruders == first for plan in plans) else ()


def _shared_models(plans: Sequence[Plan]) -> tuple[str, ...]:
    """Return the models of all plans, or none: figures must be of the same regressions."""
    first = plans[0].utility.models
    return first if all(plan.utility.models == first for plan in plans) else ()


def _one_source(plans: Sequence[Plan]) -> None:
    """Refuse plans of different tables: their figures cannot be compared."""
    places = {
        plan.source.url or str((plan.home / str(plan.source.path)).resolve()) for plan in plans
    }
    if len(places) > 1 or len({plan.source.table for plan in plans}) > 1:
        msg = (
            f"the plans have {len(places)} different sources: their figures cannot be"
            " compared.\n\nHint: compare plans of the same table."
        )
        raise PlanError(msg)
