"""What the steps of a manifest imply: promises that must be there, and what must fit together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from veladura.core.promise import Promise, claim_of, fulfils
from veladura.core.release import Release, Step
from veladura.errors import PromiseError, VeladuraError


def implied_by(step: Step, datasets: int, person: str | None) -> list[tuple[Promise, ...]]:
    """Return, for each dataset, the promises that the settings of a step imply.

    Settings that cannot be read are refused.
    """
    if step.recipe is None:
        return [()] * datasets
    settings = step.settings.get("datasets", [step.settings] * datasets)
    try:
        every = zip(range(datasets), settings, strict=True)
        implied = [step.recipe.implied(own, person) for _, own in every]
        for promise in (promise for promises in implied for promise in promises):
            columns_of(promise)  # names, and nothing else
    except PromiseError:
        raise
    except (VeladuraError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        msg = f"the settings of the step {step.method!r} cannot be read from the manifest."
        raise PromiseError(msg) from None
    return implied


def columns_of(promise: Promise) -> Sequence[str]:
    """Return the columns that a promise is about; a manifest may say anything there."""
    columns = promise.settings.get("columns", promise.settings.get("about", ()))
    if not isinstance(columns, (list, tuple, Mapping)) or not all(
        isinstance(name, str) for name in columns
    ):
        raise TypeError
    return tuple(columns)


def missing_promises(release: Release) -> list[str]:
    """Return the promises that the steps imply and the manifest does not make, as sentences.

    A chain of steps keeps what the files can prove of its last output. What only the original
    proves it may leave out: another step may have changed the same columns.
    """
    checks, count = release.checks, len(release.tables)
    names, person = set(release.tables[0].table.names), release.tables[0].table.person
    missing = []
    for place, step in enumerate(release.steps):
        later = {name for after in release.steps[place + 1 :] for name in after.changed}
        for number, promises in enumerate(implied_by(step, count, person)):
            for promise in promises:
                may = len(release.steps) > 1 and promise.proof == "source"
                gone = not set(columns_of(promise)) <= names
                if may or gone or checks[promise.name].taken_away(promise, later):
                    continue
                if not _made(promise, number, release.promises, checks):
                    missing.append(claim_of(promise, checks))
    return list(dict.fromkeys(missing))


def _made(
    implied: Promise, dataset: int, promises: Sequence[Promise], checks: Mapping[str, Any]
) -> bool:
    """Whether a promise that a step implies is made for a dataset, or a stronger one."""
    return any(
        promise.concerns(dataset) and fulfils(promise, implied, checks[implied.name])
        for promise in promises
    )


def misfits(release: Release) -> list[str]:
    """Return what does not fit together in a manifest: rule, rows and changed columns.

    A step changes columns that its settings name. Who adds others to the list of changed columns
    makes columns that are released exactly look protected.
    """
    recipes = [step.recipe for step in release.steps if step.recipe is not None]
    rule, names = release.rule, set(release.tables[0].table.units.names)
    found = []
    if len(recipes) == len(release.steps):
        if any(recipe.private for recipe in recipes) != rule.private:
            found.append("the combining rule is not that of the steps")
        elif any(recipe.synthesizes for recipe in recipes) and not rule.synthetic:
            found.append("the combining rule is not that of a synthesis")
    found += [
        f"{step.method} changes a column that its settings do not name"
        for step in release.steps
        if step.recipe is not None and not set(step.changed) <= _names_in(step.settings)
    ]
    if len(release.steps) > 1:  # a later step may leave out rows and columns
        return found
    rows = getattr(rule, "rows", None)
    if rows is not None and any(dataset.table.rows != rows for dataset in release.tables):
        found.append("the combining rule is about another number of rows")
    if not set(release.changed) <= names:
        found.append("a changed column is not in the release")
    return found


def _names_in(settings: Any) -> set[str]:
    """Return every text in settings, keys of tables included."""
    if isinstance(settings, str):
        return {settings}
    if isinstance(settings, Mapping):
        return {*map(str, settings), *_names_in(list(settings.values()))}
    if isinstance(settings, (list, tuple)):
        return {name for item in settings for name in _names_in(item)}
    return set()
