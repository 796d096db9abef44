"""The checks of the contract.

Each is a function with a name, and refuses a recipe that breaks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.inference.cautions import cautions
from veladura.measures.registry import figure_names
from veladura.plan.reading import parse_plan
from veladura.plan.steps import steps_to_toml
from veladura.release.package import load
from veladura.release.verify import holds, verify
from veladura.report.words import setting_meanings
from veladura.table.schema import LABELLED
from veladura.testing.case import (
    CANARY,
    CANARY_NUMBER,
    SEED,
    Case,
    ContractError,
    content,
    data_bytes,
    equal,
    equal_tables,
    example_frame,
    same_values,
    sorted_rows,
)


def check_recipe(
    recipe: Recipe,
    frame: pd.DataFrame | None = None,
    identifiers: tuple[str, ...] = ("name", "social_number"),
) -> None:
    """Refuse a recipe that breaks the contract of recipes, naming the rule.

    Parameters
    ----------
    recipe
        The recipe, with settings that fit the frame.
    frame
        The table to try it on; by default the head of the bundled clinic register.
    identifiers
        Columns of the frame to declare as identifiers.

    Examples
    --------
    >>> import veladura as vd
    >>> vd.testing.check_recipe(vd.TopCode(columns={"income": 60_000}))
    """
    case = Case(recipe, example_frame() if frame is None else frame, identifiers)
    for check in CHECKS:
        check(case)


def shows_no_data(case: Case) -> None:
    """The repr of recipe, fitted object and release show no value."""
    seed = SEED if case.recipe.seedable else None
    fitted = case.recipe.fit(case.table(), seed=seed, unsafe_repeatable=True)
    for thing in (case.recipe, fitted, fitted.sample(seed=seed, unsafe_repeatable=True)):
        _require(
            "canary" not in repr(thing) and str(CANARY_NUMBER) not in repr(thing),
            f"the repr of {type(thing).__name__} shows data",
        )


def does_something(case: Case) -> None:
    """Some value changes, or some row goes, and the recipe says in which columns."""
    release = case.release
    before = case.table().without_identifiers().arrow
    same = all(
        len(d.table.arrow) == len(before) and d.table.arrow.equals(before) for d in release.tables
    )
    _require(not same, "the recipe does nothing")
    names = case.table().names  # a table of statistics has columns of its own
    forgotten = ({*case.release.changed} & {*names}) - {*case.recipe.changes(names)}
    _require(not forgotten, f"changes() does not name columns that it replaces: {forgotten}")


def repeats_by_seed(case: Case) -> None:
    """The same seed gives the same bytes for 1 and 2 threads.

    Another seed, other draws if it draws at all.

    A private recipe refuses a seed, unless it is told that the run is a test.
    """
    if case.recipe.private:
        _require(_refuses_a_seed(case), "a private recipe takes a seed")
    if not case.recipe.seedable:
        return
    one = case.save(case.protect(threads=1))
    _require(
        data_bytes(one) == data_bytes(case.saved("parquet")),
        "the same seed gives other bytes with another number of threads",
    )
    differs = not same_values(case.release, case.protect(seed=SEED + 1))
    _require(
        differs == case.recipe.random,
        (
            "the seed is ignored"
            if case.recipe.random
            else "a recipe without randomness depends on the seed"
        ),
    )


def ignores_unused_columns(case: Case) -> None:
    """A column the recipe does not use moves no draw."""
    if not case.recipe.seedable:
        return
    noise = np.random.default_rng(SEED).permutation(len(case.frame))
    wider = case.protect(case.frame.assign(unused_by_any_recipe=noise))
    if "unused_by_any_recipe" in wider.changed:
        return  # it uses every column
    for plain, wide in zip(case.release.tables, wider.tables, strict=True):
        for name in wider.steps[-1].changed:
            _require(
                equal(plain.table.arrow[name], wide.table.arrow[name]),
                f"an unused column moves the draws of {name!r}",
            )


def follows_the_rows(case: Case) -> None:
    """Permuting the input permutes the output, and the release stays in the input's order."""
    order = np.random.default_rng(SEED).permutation(len(case.frame))
    plain, moved = case.release, case.protect(case.frame.iloc[order])
    if plain.rows is None:
        _require(
            same_values(plain, moved) or not case.recipe.seedable,
            "the order of the input moves the draws",
        )
        return
    for before, after in zip(plain.tables, moved.tables, strict=True):
        _require(
            bool(np.all(np.diff(np.asarray(before.rows)) > 0)),
            "the rows do not come back in the order of the input",
        )
        link = np.argsort(order[after.rows])
        _require(
            equal_tables(before.table.arrow, after.table.arrow.take(pa.array(link))),
            "permuting the input does not permute the output",
        )


def returns_the_frame(case: Case) -> None:
    """Frame type, index and dtypes come back; what is not changed is equal.

    No category is unused.
    """
    release = case.release
    if release.rule.statistics:  # a table of its own
        return
    gone = [*case.identifiers, *case.recipe.leaves_out()]
    kept = case.frame.drop(columns=gone)
    if release.rule.private:  # releases what it is asked to, in the order it is asked in
        kept = kept[list(release.tables[0].table.names)]
    changed = {name for step in release.steps for name in step.changed}
    kinds = {about.name: about.kind for about in case.table().schema}
    for frame, dataset in zip(release.datasets, release.tables, strict=True):
        _require(
            isinstance(frame, pd.DataFrame) and list(frame.columns) == list(kept.columns),
            "the columns of the frame do not come back",
        )
        expected = kept if dataset.rows is None else kept.iloc[dataset.rows]
        _require(
            dataset.rows is None or frame.index.equals(expected.index),
            "the index does not come back",
        )
        _require(not frame.attrs, "attributes of the original frame come back")
        for name in frame.columns:
            if name not in changed:
                _require(
                    _bare(frame[name]).equals(_bare(expected[name])),
                    f"column {name!r} is not told as changed, but is",
                )
            retold = (
                name in changed
                and dataset.table.schema[name].kind in ("category", "ordered")
                and kinds[name] not in LABELLED
            )  # numbers to text
            _require(
                retold or _same_dtype(kept[name].dtype, frame[name].dtype),
                f"the dtype of {name!r} does not come back",
            )
            _require(_no_unused(frame[name]), f"column {name!r} has a category that no row holds")


def leaves_the_input(case: Case) -> None:
    """The input is never modified."""
    before = case.frame.copy(deep=True)
    case.protect()
    pd.testing.assert_frame_equal(before, case.frame)
    _require(before.attrs == case.frame.attrs, "the input is modified")


def serves_other_frames(case: Case) -> None:
    """Arrow and polars frames come back as themselves, with the same values."""
    from veladura.table.frames.conversion import library_of

    plain = pa.Table.from_pandas(case.frame, preserve_index=False)
    frames: list[Any] = [plain]
    try:
        import polars as pl
    except ModuleNotFoundError:
        pass
    else:
        frames.append(pl.from_arrow(plain))
    for frame in frames:
        release = case.protect(frame)
        _require(
            library_of(release.datasets[0]) == library_of(frame), "another kind of frame comes back"
        )
        _require(
            not case.recipe.seedable or same_values(release, case.release),
            f"a {library_of(frame)} frame gives other values",
        )


def survives_saving(case: Case) -> None:
    """A saved release verifies, loads, and holds the same rows in another order."""
    release = case.release
    for format_ in ("parquet", "csv"):
        home = case.saved(format_)
        lines = verify(
            home / "out" / "release", case.frame, home / "safe" / "record" / "record.json"
        )
        _require(
            holds(lines),
            "a saved release does not verify:"
            f" {[line.claim for line in lines if line.status == 'broken']}",
        )
        _require(
            all(line.status == "holds" for line in lines) or release.rows is None,
            "source and record do not prove every promise",
        )
        loaded = load(home / "out" / "release")
        for before, after in zip(release.tables, loaded.tables, strict=True):
            _require(
                sorted_rows(before.table.arrow) == sorted_rows(after.table.arrow),
                f"saving as {format_} changes values",
            )


def survives_a_plan(case: Case) -> None:
    """Written to a plan and read back it is the same recipe."""
    plan = parse_plan('[source]\npath = "t.csv"\n' + steps_to_toml(case.recipe))
    _require(plan.recipe == case.recipe, "a plan does not give the recipe back")


def leaks_no_canary(case: Case) -> None:
    """Nothing of the original that is not in the release is in any file.

    Name or piece of metadata.
    """
    release = case.release
    texts = {
        str(value)
        for d in release.tables
        for c in d.table.arrow.columns
        for value in c.unique().to_pylist()
    }
    hidden = (
        [CANARY.encode()]
        if not any(CANARY in text for text in texts)
        else [f"{CANARY}-{what}".encode() for what in ("unused", "row")]
    )
    hidden += [] if str(CANARY_NUMBER) in texts else [str(CANARY_NUMBER).encode()]
    for format_ in ("parquet", "csv"):
        for path in sorted((case.saved(format_) / "out" / "release").rglob("*")):
            found = [canary for canary in hidden if path.is_file() and canary in content(path)]
            _require(
                not found, f"{path.name} holds something of the original that was not released"
            )


def describes_itself(case: Case) -> None:
    """The class says what the method did, what an analyst must know.

    How promises are proved.
    """
    for recipe in getattr(case.recipe, "recipes", (case.recipe,)):
        kind = type(recipe)
        name = kind.__name__
        _require(
            kind.sentence.endswith("."), f"the sentence of {name} does not end with a full stop"
        )
        _require(
            bool(kind.caution) or kind.synthesizes or kind.cautions is not Recipe.cautions,
            f"{name} does not caution analysts: its caution is empty",
        )
        strange = set(recipe.proposed_gate()) - set(figure_names())
        _require(not strange, f"the gate of {name} names figures that do not exist")
        meant, given = set(setting_meanings(kind)), {f.name for f in fields(recipe)}
        _require(given <= meant, f"settings without a docstring: {sorted(given - meant)}")
    unproved = {promise.name for promise in case.release.promises} - set(case.release.checks)
    _require(not unproved, f"promises without a check: {sorted(unproved)}")


def can_be_analysed(case: Case) -> None:
    """The combining rule survives saving, and a synthesis that it covers gives no caution."""
    release = case.release
    loaded = load(case.saved("parquet") / "out" / "release")
    _require(loaded.rule == release.rule, "the combining rule does not come back from the manifest")
    steps = getattr(case.recipe, "recipes", (case.recipe,))
    if all(recipe.synthesizes for recipe in steps):
        _require(
            not cautions(loaded), "the combining rule covers the synthesis, yet it is cautioned"
        )
    if release.rule.combines(len(release.tables)):
        _require(
            bool(release.rule.conclusions.may and release.rule.title),
            "the combining rule does not say what may be concluded",
        )


CHECKS: tuple[Callable[[Case], None], ...] = (
    shows_no_data,
    leaves_the_input,
    does_something,
    repeats_by_seed,
    ignores_unused_columns,
    follows_the_rows,
    returns_the_frame,
    serves_other_frames,
    survives_saving,
    leaks_no_canary,
    survives_a_plan,
    describes_itself,
    can_be_analysed,
)


def _refuses_a_seed(case: Case) -> bool:
    try:
        case.recipe.protect(case.table(), seed=SEED)
    except PlanError:
        return True
    return False


def _require(condition: bool, rule: str) -> None:  # noqa: FBT001
    if not condition:
        raise ContractError(rule)


def _bare(series: Any) -> Any:
    """Return a column without its categories: which of them are unused is another check."""
    return series.astype(object) if isinstance(series.dtype, pd.CategoricalDtype) else series


def _same_dtype(before: Any, after: Any) -> bool:
    """Whether the dtype came back; a recoded column may turn from numbers or dates into text."""
    if isinstance(before, pd.CategoricalDtype):
        return isinstance(after, pd.CategoricalDtype)
    return bool(before == after)


def _no_unused(series: Any) -> bool:
    return not isinstance(series.dtype, pd.CategoricalDtype) or set(series.cat.categories) <= set(
        series.dropna().unique()
    )
