"""What a privacy budget buys: expected errors, intervals and beliefs, before anything is drawn.

Everything here comes from public quantities: the number of rows, the declared domain and epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.methods.private.expected import Expected, Reading, best_size, reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veladura.core.recipe import Recipe
    from veladura.methods.private.private import PrivateRecipe
    from veladura.plan.plan import Plan
    from veladura.table.table import Table

EPSILONS = (0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
PRIORS = (0.01, 0.1, 0.5)
MOST_CELLS = 400  # of an exact posterior that is computed for the width of intervals
MOST_ROWS = 50_000_000
PUBLIC_ROWS = 1000  # where the number of rows is not public and nobody gave one


@dataclass(frozen=True)
class Outlook:
    """What one epsilon buys.

    Attributes
    ----------
    epsilon
        The privacy loss of a row, as the plan has it.
    loss
        The privacy loss of a person, as the ledger is charged with it.
    expected
        The expected error of the released table.
    half_width
        Half the average width of the 95 % intervals, of the cells' shares or of what ``reading``
        says; None where there are none.
    """

    epsilon: float
    loss: float
    expected: Expected
    half_width: float | None

    @property
    def odds(self) -> float:
        """By what factor the odds of a neighbour's guess can change, at most."""
        return math.exp(min(self.loss, 700.0))

    def belief(self, prior: float) -> float:
        """Return what a belief of ``prior`` can become at most (Bayes' theorem).

        Examples
        --------
        >>> round(Outlook(1.0, 1.0, Expected(0, 1), None).belief(0.1), 3)
        0.232
        """
        return 1 / (1 + (1 - prior) / prior / self.odds)


@dataclass(frozen=True)
class TableOutlook:
    """What the epsilon of the plan buys for one table of a workload."""

    columns: tuple[str, ...]
    cells: int
    expected: Expected
    half_width: float


@dataclass(frozen=True)
class WhatIf:
    """The outlook of a private step for several epsilons, and better designs where it is poor."""

    method: str
    columns: tuple[str, ...]
    rows: int
    cells: int
    own: Outlook
    outlooks: tuple[Outlook, ...]
    better: tuple[str, ...]
    reading: Reading
    tables: tuple[TableOutlook, ...] = ()


def what_if(plan: Plan, rows: int | None = None) -> WhatIf:
    """Return what the private step of a plan can be expected to give.

    Parameters
    ----------
    rows
        The number of rows; counted in the source where it is public and not given.
    """
    recipe = private_step(plan)
    n = _public_rows(recipe, plan) if rows is None else rows
    if n < 1:
        msg = f"rows ({n}) must be at least 1."
        raise PlanError(msg)
    if n > MOST_ROWS:
        msg = (
            f"rows ({n:,}) must be at most {MOST_ROWS:,}: invented tables of as many rows are"
            " drawn.\n\nHint: give fewer; the errors of a larger table are smaller."
        )
        raise PlanError(msg)
    listed = sorted({*EPSILONS, float(recipe.epsilon)})
    outlooks = {epsilon: outlook(replace(recipe, epsilon=epsilon), n) for epsilon in listed}
    own = outlooks[float(recipe.epsilon)]
    poor = own.expected.verdict != "useful"
    return WhatIf(
        recipe.method,
        tuple(recipe.columns),
        n,
        _cells(recipe),
        own,
        tuple(outlooks.values()),
        tuple(better(recipe, n, tuple(outlooks.values()))) if poor else (),
        _reading(recipe),
        _tables(recipe, n),
    )


def _tables(recipe: Any, n: int) -> tuple[TableOutlook, ...]:
    """Return the outlook of each table of a workload, the worst first; none for other methods."""
    if not hasattr(recipe, "tables"):
        return ()
    recipe.warn_of_size(recipe.declared())
    noise, tables = recipe.outlook(), recipe.tables()
    gives = {cells: noise.expected(n, cells) for cells in set(tables.values())}
    listed = [
        TableOutlook(columns, cells, gives[cells], noise.half_width(n, cells))
        for columns, cells in tables.items()
    ]
    return tuple(sorted(listed, key=lambda table: -table.expected.ratio))


def private_step(plan: Plan) -> Any:
    """Return the private step of a plan, or say that it has none that can be looked at."""
    private = [step for step in plan.steps if step.private]
    if not private:
        msg = "the plan has no differentially private step.\n\nHint: name a plan that has one."
        raise PlanError(msg)
    if not hasattr(private[-1], "expected"):
        msg = f"what {private[-1].method} gives cannot be told before it is drawn."
        raise PlanError(msg)
    return private[-1]


def _public_rows(recipe: PrivateRecipe, plan: Plan, table: Table | None = None) -> int:
    """Return the number of rows where one person does not decide it, else a round one."""
    if recipe.contribution.total_sensitivity:
        return recipe.size or PUBLIC_ROWS
    opened = plan.open() if table is None else table
    return opened.rows if recipe.rows_per_person is None else opened.people


def outlook(recipe: Any, n: int) -> Outlook:
    """Return what a recipe can be expected to give for n rows."""
    loss = float(recipe.loss()[0])
    return Outlook(float(recipe.epsilon), loss, recipe.expected(n), _half_width(recipe, n))


def _cells(recipe: Any) -> int:
    return int(recipe.table_cells())


def _reading(recipe: Any) -> Reading:
    return getattr(recipe, "reading", None) or Reading()


def _half_width(recipe: Any, n: int) -> float | None:
    """Return half the average width of 95 % intervals, from the posterior of one rehearsal."""
    from veladura.inference.posterior.posterior import from_counts
    from veladura.methods.private.domain import Domain

    cells = _cells(recipe)
    if hasattr(recipe, "half_width"):  # a formula of its own
        width: float | None = recipe.half_width(n)
        return width
    if not hasattr(recipe, "rehearsal") or cells > MOST_CELLS:
        return None
    rng = Streams(0)("private", "width")
    n = recipe.contribution.expected_people(n)
    drawn = recipe.rehearsal(rng.multinomial(n, reference(cells)), rng)
    line = Domain({"cell": tuple(range(cells))})
    posterior = from_counts(line, drawn.released, n, alpha=drawn.alpha, scale=drawn.scale)
    interval = posterior.interval(0.95, "equal")
    return float(np.mean(interval.upper - interval.lower) / 2)


def better(recipe: Any, n: int, outlooks: Sequence[Outlook]) -> list[str]:
    """Return designs with a smaller expected error, in words, the best first."""
    from veladura.core import registry

    found: list[tuple[float, str]] = []

    def add(other: Any, words: str) -> None:
        gives = other.expected(n)
        if gives.verdict == "useful":
            found.append((gives.error, f"{words}: expected error {gives.error:.3f}"))

    if hasattr(recipe, "rehearsal"):  # every cell of the product of its columns is counted
        other = registry.find("noisy-counts")
        if not isinstance(recipe, other):
            add(_same(recipe, other), 'method = "noisy-counts" at the same epsilon')
        if getattr(recipe, "m", 1) > 1:
            add(replace(recipe, m=1), f"m = 1 dataset instead of {recipe.m}")
        if len(recipe.columns) > 1:
            tables = _same(recipe, registry.find("marginals"))
            add(tables, 'method = "marginals", which keeps tables of two columns')
        size = best_size(recipe, n, _cells(recipe))
        add(replace(recipe, size=size), f"size = {size} rows instead of {recipe.size or n}")
    found.sort()
    useful = [row.epsilon for row in outlooks if row.expected.verdict == "useful"]
    words = [text for _, text in found]
    if useful:
        words.append(f"epsilon = {min(useful):g}: the smallest listed one that is useful")
    domain = recipe.declared()
    if len(domain.names) > 1:
        shape = dict(zip(domain.names, domain.shape, strict=True))
        widest = max(shape, key=lambda name: shape[name])
        words.append(f"fewer cells: {widest!r} alone has {shape[widest]} categories")
    return words


def _same(recipe: Any, other: type[Recipe]) -> Any:
    """Return another method with the settings that both have."""
    names = ["columns", "domain", "epsilon", "missing", "rows_per_person", "neighbours"]
    given = {name: getattr(recipe, name) for name in [*names, "structural_zeros"]}
    if getattr(other, "subsamples", False):
        given["fraction"] = recipe.fraction
    elif recipe.fraction is not None:  # the same loss of a person, without a sample to lessen it
        given["epsilon"] = float(recipe.loss()[0] / recipe.rows_each)
    return other(**given)


def refuse_hopeless(plan: Plan, table: Table) -> None:
    """Refuse a private step that is expected to give no more than a table nobody looked at.

    The decision rests on public quantities, so it tells nothing; nothing has been charged.
    """
    step: Any = next((step for step in plan.steps if step.private), None)
    if step is None or plan.budget.accept_noise or not hasattr(step, "expected"):
        return
    n = _public_rows(step, plan, table)
    gives = step.expected(n)
    if gives.verdict != "hopeless":
        return
    listed = [outlook(replace(step, epsilon=e), n) for e in EPSILONS if e > float(step.epsilon)]
    designs = "".join(f"\n  - {words}" for words in better(step, n, listed))
    reading = _reading(step)
    msg = (
        f"{step.method} at epsilon = {step.epsilon} over {_cells(step)} {reading.counted} is"
        f" expected to tell nothing about {n} rows: its error is {gives.error:.2f}, and"
        f" {reading.ignores} has {gives.ignorance:.2f}. Nothing was drawn, and nothing was"
        " charged.\n\nHint:"
        f" better designs are{designs or ' fewer or coarser columns.'}\n  - or accept it:"
        " [budget] accept_noise = true"
    )
    raise PlanError(msg)
