"""Propensity score: how well a logistic model tells released rows from original ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from veladura.errors import PlanError
from veladura.inference.estimate import Estimate
from veladura.measure import Meaning, Measured, NotApplicable, Subject, measure, over_datasets
from veladura.recipe import Release
from veladura.streams import Streams
from veladura.utility.design import Design, design_of, read_columns
from veladura.utility.pairing import pair

if TYPE_CHECKING:
    from veladura.table.table import Table

Synthesis = Literal["simple", "proper"]
Floats = NDArray[np.float64]
MOST_ROWS = 20_000
STEPS, CLOSE = 200, 1e-8


@dataclass(frozen=True)
class PropensityScore:
    """Mean squared difference of the propensity score from the share of released rows.

    Attributes
    ----------
    value
        pMSE, mean over the datasets: 0 when nothing tells them apart, c (1 - c) when everything does.
    ratio
        The same divided by what it would be if the synthesis model were right: 1 then, more when it is not.
    expected
        That value.
    slopes
        Terms of the model that involve a replaced column.
    null
        Which expectation it is: "simple" or "proper" synthesis.
    note
        What was left out of the model to keep it small.
    """

    value: Estimate
    ratio: Estimate
    expected: float
    slopes: int
    null: str
    note: str = field(default="", repr=False)


def pmse(
    original: Any, synthetic: Any, *, synthesis: Synthesis | None = None, pairs: bool = True, replaced: Sequence[str] | None = None
) -> PropensityScore:
    """Return how well a logistic model of main effects and pairs tells synthetic rows from original ones.

    Rows are stacked; c is the share of synthetic ones among the N rows, p the fitted probability of
    being one. pMSE = mean (p - c)^2 (Woo et al. 2009, eq. 1). With f slopes that involve a replaced
    column its expectation is f c (1 - c)^2 / N if the synthesis model is right and simple (Snoke et al.
    2018, eq. 3), and 1/(1 - c) times that for proper synthesis, of which Bayesian-bootstrap leaves are one.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    synthetic
        A release, one released table, or a list of them: then figures are means over the tables.
    synthesis
        The null expectation. By default that of the release's manifest; "simple" for plain tables, as synthpop takes it.
    pairs
        Also products of two columns. Categories are lumped and pairs left out until a slope has ten rows.
    replaced
        The columns that were synthesised; by default those of the release, or all that differ.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> before, after = (pd.DataFrame({"x": rng.normal(size=500), "y": rng.normal(size=500)}) for _ in range(2))
    >>> found = pmse(before, after)
    >>> found.slopes, float(found.value) < 0.01
    (3, True)

    References
    ----------
    Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and specific utility
    measures for synthetic data. Journal of the Royal Statistical Society A 181(3), 663-688.
    """
    if synthesis is not None and synthesis not in get_args(Synthesis):
        what = "synthesis"
        raise PlanError.unknown(what, str(synthesis), get_args(Synthesis))
    pairing = pair(original, synthetic)
    if not pairing.forms:
        msg = "no released column can be compared with the original one."
        raise NotApplicable(msg)
    names = list(pairing.forms)
    if replaced is None:
        replaced = _replaced(pairing.original, pairing.released, synthetic, names)
    null = synthesis or _synthesis(synthetic)
    scores = [_score(pairing.original, table, names, replaced, pairs=pairs, null=null) for table in pairing.released]
    values, ratios, expected, designs = zip(*scores, strict=True)
    return PropensityScore(
        over_datasets(values, upper=1.0), over_datasets(ratios), float(np.mean(expected)), designs[0].slopes, null, designs[0].note
    )


def _synthesis(synthetic: Any) -> str:
    """Return which null a release has by its manifest."""
    if not isinstance(synthetic, Release):
        return "simple"
    told = [step.settings.get("synthesis") for step in synthetic.steps]
    return "proper" if "proper" in told else "simple"


def _replaced(original: Table, released: Sequence[Table], synthetic: Any, names: Sequence[str]) -> list[str]:
    """Return the columns a release says it replaced, or those of plain tables whose values are not the same row for row."""
    if isinstance(synthetic, Release):
        changed = {name for step in synthetic.steps for name in step.changed}
        return [name for name in names if name in changed]
    same = [
        name for name in names
        if all(table.rows == original.rows and table.arrow[name].to_pylist() == original.arrow[name].to_pylist() for table in released)
    ]  # fmt: skip
    return [name for name in names if name not in same] or list(names)


def _score(
    original: Table, released: Table, names: Sequence[str], replaced: Sequence[str], *, pairs: bool, null: str
) -> tuple[float, float, float, Design]:
    """Return pMSE, its ratio to the expectation, and that expectation."""
    rows = [_sampled(table) for table in (original, released)]
    columns = read_columns(original, released, names, rows)
    label = np.repeat([0.0, 1.0], [rows[0].size, rows[1].size])
    share = float(label.mean())
    design = design_of(columns, replaced, pairs=pairs)
    if design.matrix.size == 0:
        msg = "nothing varies enough, or there are too few rows, for a model to tell the two tables apart."
        raise NotApplicable(msg)
    fitted = logistic(design.matrix, label)
    value = float(np.mean((fitted - share) ** 2))
    # A sample of the original's rows is nearer to a fresh one: simple synthesis of all rows then has a larger null.
    known = 0.0 if null == "proper" else share * rows[0].size / original.rows
    expected = design.slopes * share * (1 - share) * (1 - known) / label.size
    return value, value / expected if expected > 0 else 0.0, expected, design


def _sampled(table: Table) -> NDArray[np.int64]:
    """Return all rows, or as many as the model needs, drawn from a fixed stream."""
    if table.rows <= MOST_ROWS:
        return np.arange(table.rows)
    return np.sort(Streams(0)("utility", "pmse").choice(table.rows, MOST_ROWS, replace=False))


def logistic(matrix: Floats, label: Floats) -> Floats:
    """Return fitted probabilities of a logistic regression on a matrix of full rank.

    Its columns are made orthonormal first, so that quasi-Newton steps (L-BFGS) are nearly Newton's: one
    product of the matrix with itself in all, instead of one a step. Where a group holds one label only,
    coefficients have no end but probabilities do: steps stop when the deviance stands still.
    """
    rows = label.size
    share = float(label.mean())
    root = linalg.cholesky(matrix.T @ matrix / rows, check_finite=False)

    def loss(weights: Floats) -> tuple[float, Floats]:
        linear = start + matrix @ linalg.solve_triangular(root, weights, check_finite=False)
        gradient = matrix.T @ (1 / (1 + np.exp(-np.clip(linear, -35, 35))) - label) / rows
        value = float(np.mean(np.logaddexp(0.0, linear) - label * linear))
        return value, linalg.solve_triangular(root, gradient, trans="T", check_finite=False)

    start = np.log(share / (1 - share))
    found = optimize.minimize(
        loss, np.zeros(matrix.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "ftol": CLOSE, "gtol": 1e-7}
    )
    linear = start + matrix @ linalg.solve_triangular(root, found.x, check_finite=False)
    fitted: Floats = 1 / (1 + np.exp(-np.clip(linear, -35, 35)))
    return fitted


@measure(
    "utility.pmse",
    figures={
        "value": Meaning("Squared distance of the propensity score from chance: how well a model tells released rows from original ones."),
        "ratio": Meaning("The same, divided by its value if the model behind the release were right: 1 is ideal.", "low"),
    },
)
def measure_propensity(subject: Subject) -> Measured:
    """Measure the release by a logistic model of main effects and pairs."""
    if not subject.changed:
        msg = "no column was replaced."
        raise NotApplicable(msg)
    if subject.original.rows < 2 or min(table.rows for table in subject.tables) < 2:  # noqa: PLR2004
        msg = "there are too few rows for a model."
        raise NotApplicable(msg)
    found = pmse(subject.original, subject.release)
    note = f"{found.slopes} slopes, {found.null} synthesis. {found.note}".strip()
    return Measured({"value": found.value, "ratio": found.ratio}, {"ratio": note})
