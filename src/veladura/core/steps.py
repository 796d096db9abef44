"""Several recipes one after the other, as one recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.context import Context
from veladura.core.making import proved, refuse_empty, unproved
from veladura.core.promise import Promise
from veladura.core.recipe import Drawn, Fitted, Recipe
from veladura.core.release import Dataset, Release, Step, Titled
from veladura.errors import PlanError, PromiseError

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Steps(Recipe):
    """Apply recipes in order: each sees the output of the one before.

    After a synthesizer each of its m datasets goes on by itself. The promises of all steps are
    proved again on the final output, and the combining rule comes from the synthesizer.

    Parameters
    ----------
    recipes
        The recipes, first to last. May be given by position.

    Examples
    --------
    >>> import veladura as vd
    >>> vd.Steps([vd.TopCode(columns={"income": 100_000}), vd.Noise(columns=["age"])]).method
    'steps'
    """

    method = "steps"
    sentence = "Several methods were applied, one after the other."

    recipes: Sequence[Recipe] = field(kw_only=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.recipes:
            msg = "Steps needs at least one recipe."
            raise PlanError(msg)
        if wrong := [
            type(r).__name__
            for r in self.recipes
            if not isinstance(r, Recipe) or isinstance(r, Steps)
        ]:
            msg = f"Steps is made of single recipes, got {wrong}."
            raise PlanError(msg)
        if sum(recipe.synthesizes for recipe in self.recipes) > 1:
            msg = "Steps may hold one synthesizer only: no rule combines the sets of two."
            raise PlanError(msg)
        self._check_sources()
        self._check_private()

    def _check_sources(self) -> None:
        """A step that reads columns as the source has them comes before those that change them."""
        for number, recipe in enumerate(self.recipes):
            wanted = recipe.reads_as_given()
            changed = {n for earlier in self.recipes[:number] for n in earlier.changes(wanted)}
            if late := [name for name in wanted if name in changed]:
                msg = (
                    f"{recipe.method} reads {late} as the source has them, but an earlier step"
                    " changes them.\n\nHint: put this step before the one that changes them."
                )
                raise PlanError(msg)

    def _check_private(self) -> None:
        """A private step must see each row by itself, and its output as it was drawn."""
        private = [i for i, recipe in enumerate(self.recipes) if recipe.private]
        if private and private[-1] != len(self.recipes) - 1:
            msg = (
                "a differentially private step must be the last: its inference needs the rows as"
                " they were drawn."
            )
            raise PlanError(msg)
        if private and (
            wrong := [
                recipe.method for recipe in self.recipes[:-1] if not recipe.treats_rows_alone()
            ]
        ):
            msg = (
                "before a differentially private step, these look at more than one row or at the"
                f" data for their settings: {wrong}.\n\nHint: recode, or top-code with a given"
                " limit."
            )
            raise PlanError(msg)
        if (
            private
            and self.recipes[-1].counts_rows_openly()
            and (dropping := [recipe.method for recipe in self.recipes[:-1] if recipe.drops_rows])
        ):
            msg = (
                f"before a private step that takes the number of rows as public, {dropping} would"
                " let one replaced person change that number.\n\nHint: protect people who are"
                ' added or removed, neighbours = "add-remove", which keeps the number secret; or'
                " recode the column into bands and declare them in the domain."
            )
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedSteps:
        """Fit the first recipe; each other is fitted when the one before it is drawn."""
        first = self.recipes[0].fitted(table, context.within("step", 0))
        return FittedSteps(self, table, first.codes, first)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that some step replaces or answers for."""
        return tuple(dict.fromkeys(name for r in self.recipes for name in r.changes(names)))

    def parts(self) -> tuple[Recipe, ...]:
        """Return the recipes, first to last."""
        return tuple(self.recipes)

    def leaves_rows(self, table: Table) -> bool:
        """Whether rows stay where they live: every step counts them, or treats them in chunks."""
        lazy = [recipe.leaves_rows(table) for recipe in self.recipes]
        counts = [recipe.inside or recipe.private for recipe in self.recipes]
        return any(lazy) and all(one or other for one, other in zip(lazy, counts, strict=True))

    def who_holds(self, table: Table) -> str:
        """Return the steps that need all rows in memory: these are to be changed."""
        there = [r.inside or r.private or r.leaves_rows(table) for r in self.recipes]
        holding = [r.method for r, stays in zip(self.recipes, there, strict=True) if not stays]
        if not holding:  # each could do without, but rows of one step must be linked to the next
            return "the chain of the steps " + ", ".join(repr(r.method) for r in self.recipes)
        return f"the step{'s' * (len(holding) > 1)} " + " and ".join(map(repr, holding))

    def reads_rows(self) -> bool:
        """Whether rows are fetched: unless all steps work inside, so that rows stay linked."""
        return not all(recipe.inside for recipe in self.recipes)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Recipe:  # noqa: ARG003
        """Refuse: what to chain is the holder's choice."""
        msg = "steps is not a method to start from.\n\nHint: add further [[step]] tables to a plan."
        raise PlanError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class FittedSteps(Fitted[Steps]):
    """The first recipe fitted, the rest waiting for its output."""

    first: Fitted[Any]

    def draw(self, context: Context) -> Drawn:
        """Return what the last recipe leaves, with the promises of all."""
        first = context.within("step", 0)
        release = unproved(self.first, self.first.draw(first), first)
        labels = [_labels(release)]
        for number, recipe in enumerate(self.recipe.recipes[1:], start=1):
            release = _continue(release, recipe, context.within("step", number))
            labels.append(_labels(release))
        _refuse_ghosts(release, self.recipe.recipes, labels)
        return Drawn(
            datasets=release.tables,
            changed=release.changed,
            rule=release.rule,
            promises=release.promises,
            pictures=lambda _: _all_pictures(release.pictures),
            public_pictures=lambda _: _all_pictures(release.public_pictures),
            records=release.records,
            steps=release.steps,
        )


def _all_pictures(pictures: Sequence[Callable[[], Titled]]) -> Titled:
    """Return the pictures of several steps by title."""
    return {title: shown for picture in pictures for title, shown in picture().items()}


def _continue(release: Release, recipe: Recipe, context: Context) -> Release:
    """Apply a recipe to every dataset of a release.

    A promise that cannot be proved on the final output is proved here, on the output of its step.
    """
    outputs = []
    if not recipe.private:  # whose answer hides whether anybody is left
        refuse_empty(release)
    for i, dataset in enumerate(release.tables):
        own = context.within("dataset", i)
        fitted = recipe.fitted(dataset.table, own)
        outputs.append(unproved(fitted, fitted.draw(own), own))
    datasets = tuple(
        _chain(before, new)
        for before, output in zip(release.tables, outputs, strict=True)
        for new in output.tables
    )
    earlier, now = set(release.changed), set(outputs[0].changed)
    left = set(datasets[0].table.names)  # a private step releases its own columns only
    kept = _provable(release.promises, now, left)
    kept = tuple(p for p in kept if not release.checks[p.name].taken_away(p, now))
    proved([promise for promise in release.promises if promise not in kept], release)
    for output in outputs:
        # rows that are not held are linked to the step before, and here only
        linked = all(dataset.pair is None for dataset in output.tables)
        lasting = _provable(output.promises, earlier, left) if linked else ()
        proved([promise for promise in output.promises if promise not in lasting], output)
    # Pictures of earlier steps show values that are not released: for the custodian only.
    pictures = (*release.pictures, *release.public_pictures)
    return replace(
        release,
        tables=datasets,
        steps=(*release.steps, _joined_step(outputs)),
        promises=(*kept, *_provable(_joined_promises(outputs), earlier, left)),
        rule=outputs[0].rule if recipe.synthesizes else release.rule,
        pictures=(*pictures, *(picture for output in outputs for picture in output.pictures)),
        public_pictures=tuple(picture for output in outputs for picture in output.public_pictures),
        records={**release.records, **outputs[0].records},
    )


def _labels(release: Release) -> dict[str, set[str]]:
    """Return the categories that each column of a release holds."""
    from veladura.table.codes import label_text
    from veladura.table.summary import summarize

    summaries = summarize([dataset.table for dataset in release.tables])
    return {
        name: set(map(label_text, summary.values.to_pylist()))
        for name, summary in summaries.items()
        if summary.values is not None
    }


def _refuse_ghosts(
    release: Release, recipes: Sequence[Recipe], seen: Sequence[Mapping[str, set[str]]]
) -> None:
    """Refuse to tell of a category that no released row holds.

    A step may tell what it found in its output; a later one that leaves rows out may take the last
    of them. What the holder declared in the recipe is told as declared.
    """
    last, declared = seen[-1], _texts([recipe.settings() for recipe in recipes])
    for step, labels in zip(release.steps, seen, strict=True):
        published = _texts([step.settings, *(promise.settings for promise in release.promises)])
        published -= declared
        if gone := {
            name
            for name, held in labels.items()
            if name in last and published & (held - last[name])
        }:
            msg = (
                f"{step.method} would tell of categories of {sorted(gone)} that a later step took"
                " out of the release.\n\nHint: change the order of the steps: first what leaves"
                " rows out or recodes, then what tells its categories."
            )
            raise PromiseError(msg)


def _texts(value: Any) -> set[str]:
    """Return every text in a setting, keys and all."""
    if isinstance(value, Mapping):
        return set(map(str, value)).union(*map(_texts, value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*map(_texts, value))
    return {value} if isinstance(value, str) else set()


def _provable(promises: Sequence[Promise], others: set[str], left: set[str]) -> tuple[Promise, ...]:
    """Return the promises a chain can still make.

    Against the first original a promise can be proved only for columns that no other step changed,
    and only for columns that are left.
    """
    return tuple(
        promise
        for promise in promises
        if promise.about <= left and (promise.proof == "package" or not others & promise.about)
    )


def _joined_promises(outputs: Sequence[Release]) -> tuple[Promise, ...]:
    """Return the promises of all datasets; one that differs between them says which it is about."""
    first = outputs[0].promises
    if len(outputs) == 1 or all(output.promises == first for output in outputs):
        return first
    return tuple(
        replace(promise, datasets=(i,))
        for i, output in enumerate(outputs, start=1)
        for promise in output.promises
    )


def _joined_step(outputs: Sequence[Release]) -> Step:
    """Return the step for the manifest; settings that differ are listed for each dataset."""
    steps = [output.steps[-1] for output in outputs]
    if all(step.settings == steps[0].settings for step in steps):
        return steps[0]
    return replace(steps[0], settings={"datasets": [dict(step.settings) for step in steps]})


def _chain(before: Dataset, after: Dataset) -> Dataset:
    """Return the later dataset linked to the original rows through the earlier one."""
    linked = before.rows is not None and after.rows is not None
    rows: Any = np.asarray(before.rows)[after.rows] if linked else None
    return replace(after, rows=rows, pair=None)
