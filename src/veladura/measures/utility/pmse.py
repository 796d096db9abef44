"""Propensity score: how well a model tells released rows from original ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from veladura.base.estimate import Estimate
from veladura.core.recipe import Release
from veladura.errors import PlanError
from veladura.measures.measure import (
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    over_datasets,
)
from veladura.measures.pairing import pair
from veladura.measures.utility.design import Design, design_of, read_columns
from veladura.measures.utility.propensity_tree import TreeScores, tree_scores
from veladura.numeric.sampling import matched_rows, sample_note

if TYPE_CHECKING:
    from veladura.table.table import Table

Synthesis = Literal["simple", "proper"]
Model = Literal["logistic", "tree"]
Floats = NDArray[np.float64]
Score = tuple[float, float, float, Design]
NORMAL = 1.959963984540054
STEPS, CLOSE = 200, 1e-8


@dataclass(frozen=True)
class PropensityScore:
    """Mean squared difference of the propensity score from the share of released rows.

    Attributes
    ----------
    value
        pMSE, mean over the datasets: 0 when nothing tells them apart, c (1 - c) when everything
        does. That mean is the G of Martins (2019), sec. 2.3.2.
    ratio
        The same divided by what it would be if the synthesis model were right: 1 then, more when it
        is not.
        Not a number where that value is not known.
    expected
        That value.
    slopes
        Terms of the model that involve a replaced column; the leaves of a tree.
    null
        Which expectation it is: "simple" or "proper" synthesis; how it was simulated for a tree.
    note
        What was left out of the model to keep it small, and how many rows were looked at.
    """

    value: Estimate
    ratio: Estimate
    expected: float
    slopes: int
    null: str
    note: str = field(default="", repr=False)


def pmse(
    original: Any,
    synthetic: Any,
    *,
    model: Model = "logistic",
    synthesis: Synthesis | None = None,
    pairs: bool = True,
    replaced: Sequence[str] | None = None,
) -> PropensityScore:
    """Return how well a logistic model of main effects and pairs, or a tree, tells synthetic rows from original ones.

    Rows are stacked; c is the share of synthetic ones among the N rows, p the fitted probability of
    being one. pMSE = mean (p - c)^2 (Woo et al. 2009, eq. 1). With f slopes that involve a replaced
    column its expectation is f c (1 - c)^2 / N if the synthesis model is right and simple (Snoke et
    al.
    2018, eq. 3), and 1/(1 - c) times that for proper synthesis, of which Bayesian-bootstrap leaves
    are one. For a tree the expectation is simulated: by shuffled labels, or by pairs of datasets
    where some columns were kept. Of each table at most 10,000 rows are looked at.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    synthetic
        A release, one released table, or a list of them: then figures are means over the tables.
    model
        "logistic", which sees what main effects and products see, or "tree", which also sees
        thresholds and deep interactions.
    synthesis
        The null expectation. By default that of the release's manifest; "simple" for plain tables,
        as synthpop takes it.
    pairs
        Also products of two columns. Categories are lumped and pairs left out until a slope has ten
        rows.
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
    Woo, M.-J., Reiter, J. P., Oganian, A. and Karr, A. F. (2009). Global measures of data utility
    for microdata masked for disclosure limitation. Journal of Privacy and Confidentiality 1(1),
    111-124.
    Snoke, J., Raab, G. M., Nowok, B., Dibben, C. and Slavkovic, A. (2018). General and specific
    utility measures for synthetic data. Journal of the Royal Statistical Society A 181(3), 663-688.
    """
    for setting, given, possible in (
        ("synthesis", synthesis, get_args(Synthesis)),
        ("model", model, get_args(Model)),
    ):
        if given is not None and given not in possible:
            raise PlanError.unknown(setting, str(given), possible)
    pairing = pair(original, synthetic)
    if not pairing.forms:
        msg = "no released column can be compared with the original one."
        raise NotApplicable(msg)
    names = list(pairing.forms)
    if replaced is None:
        replaced = _replaced(pairing.original, pairing.released, synthetic, names)
    null = synthesis or _synthesis(synthetic)
    note = sample_note(pairing.original, *pairing.released)
    if model == "tree":
        return _by_tree(
            tree_scores(pairing.original, pairing.released, names, replaced, null), note
        )
    scores = [
        _score(pairing.original, table, names, replaced, pairs=pairs, null=null)
        for table in pairing.released
    ]
    values, ratios, expected, designs = zip(*scores, strict=True)
    spread = math.sqrt(2 / designs[0].slopes) if designs[0].slopes else 0.0
    value, ratio = _estimates(values, ratios, float(np.mean(expected)), spread)
    return PropensityScore(
        value,
        ratio,
        float(np.mean(expected)),
        designs[0].slopes,
        null,
        f"{designs[0].note} {note}".strip(),
    )


def g(original: Any, synthetic: Any) -> Estimate:
    """Return G, the mean over the datasets of pMSE with main effects only, as the source of the method reports it.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"x": range(100)})
    >>> float(g(before, before)) < 1e-9
    True

    References
    ----------
    Martins (2019), sec. 2.3.2: G = (1/N) sum over rows of (p - c)^2, N the stacked rows, averaged
    over the m datasets.
    """
    return pmse(original, synthetic, pairs=False).value


def _by_tree(found: TreeScores, note: str) -> PropensityScore:
    if not found.expected > 0:  # unknown, or a tree that never splits by chance
        missing = Estimate(math.nan, math.nan, math.nan)
        why = (
            "Some columns were kept and rows are not aligned: what chance alone gives needs at"
            " least two datasets."
        )
        return PropensityScore(
            over_datasets(found.values, upper=1.0),
            missing,
            found.expected,
            found.leaves,
            found.null,
            f"{why} {note}".strip(),
        )
    ratios = [value / found.expected for value in found.values]
    value, ratio = _estimates(found.values, ratios, found.expected, found.spread / found.expected)
    return PropensityScore(value, ratio, found.expected, found.leaves, found.null, note)


def _estimates(
    values: Sequence[float], ratios: Sequence[float], expected: float, spread: float
) -> tuple[Estimate, Estimate]:
    """Return pMSE and ratio: t intervals over several datasets, of one by the law of the ratio.

    N pMSE / (c (1 - c)^2) is chi-squared with f degrees of freedom if the model is right, and
    noncentral if it is not: a ratio R then has the variance 2 (2 R - 1) / f, that is, (2 R - 1)
    times the one it has when the model is right.
    """
    if len(values) > 1 or not expected > 0:
        return over_datasets(values, upper=1.0), over_datasets(ratios)
    (value,), (ratio,) = values, ratios
    half = NORMAL * spread * math.sqrt(max(2 * ratio - 1, 1.0))
    low, high = max(ratio - half, 0.0), ratio + half
    return Estimate(value, low * expected, max(min(high * expected, 1.0), value)), Estimate(
        ratio, low, high
    )


def _synthesis(synthetic: Any) -> str:
    """Return which null a release has by its manifest."""
    if not isinstance(synthetic, Release):
        return "simple"
    told = [step.settings.get("synthesis") for step in synthetic.steps]
    return "proper" if "proper" in told else "simple"


def _replaced(
    original: Table, released: Sequence[Table], synthetic: Any, names: Sequence[str]
) -> list[str]:
    """Return the columns a release says it replaced, or those of plain tables whose values are not the same row for row."""
    if isinstance(synthetic, Release):
        changed = {name for step in synthetic.steps for name in step.changed}
        return [name for name in names if name in changed]
    same = [
        name
        for name in names
        if all(
            table.rows == original.rows
            and table.arrow[name].to_pylist() == original.arrow[name].to_pylist()
            for table in released
        )
    ]
    return [name for name in names if name not in same] or list(names)


def _score(
    original: Table,
    released: Table,
    names: Sequence[str],
    replaced: Sequence[str],
    *,
    pairs: bool,
    null: str,
) -> Score:
    """Return pMSE, its ratio to the expectation, that expectation and the model."""
    rows = matched_rows(original, released, [name for name in names if name not in replaced])
    columns = read_columns(original, released, names, list(rows))
    label = np.repeat([0.0, 1.0], [rows.original.size, rows.released.size])
    share = float(label.mean())
    design = design_of(columns, replaced, pairs=pairs)
    if design.matrix.size == 0:
        msg = (
            "nothing varies enough, or there are too few rows, for a model to tell the two tables"
            " apart."
        )
        raise NotApplicable(msg)
    fitted = logistic(design.matrix, label)
    value = float(np.mean((fitted - share) ** 2))
    # A sample of the original's rows is nearer to a fresh one: simple synthesis of all rows then
    # has a larger null.
    known = 0.0 if null == "proper" else share * rows.original.size / original.rows
    expected = design.slopes * share * (1 - share) * (1 - known) / label.size
    return value, value / expected if expected > 0 else 0.0, expected, design


def logistic(matrix: Floats, label: Floats) -> Floats:
    """Return fitted probabilities of a logistic regression on a matrix of full rank.

    Its columns are made orthonormal first, so that quasi-Newton steps (L-BFGS) are nearly Newton's:
    one product of the matrix with itself in all, instead of one a step. Where a group holds one
    label only, coefficients have no end but probabilities do: steps stop when the deviance stands
    still.
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
        loss,
        np.zeros(matrix.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "ftol": CLOSE, "gtol": 1e-7},
    )
    linear = start + matrix @ linalg.solve_triangular(root, found.x, check_finite=False)
    fitted: Floats = 1 / (1 + np.exp(-np.clip(linear, -35, 35)))
    return fitted


@measure(
    "utility.pmse",
    figures={
        "value": Meaning(
            "Squared distance of the propensity score from chance: how well a model tells released"
            " rows from original ones."
        ),
        "ratio": Meaning(
            "How well a model tells released rows from original ones, over what it would if the"
            " release were ideal: 1 is ideal.",
            headline=True,
        ),
        "g": Meaning(
            "Squared distance of the propensity score from chance, by a model that looks at columns"
            " one by one."
        ),
    },
)
def measure_propensity(subject: Subject) -> Measured:
    """Measure the release by a logistic model of main effects and pairs."""
    _check(subject)
    found = pmse(subject.original, subject.release)
    note = f"{found.slopes} slopes, {found.null} synthesis. {found.note}".strip()
    return Measured(
        {"value": found.value, "ratio": found.ratio, "g": g(subject.original, subject.release)},
        {"ratio": note},
    )


@measure(
    "utility.pmse_tree",
    figures={
        "value": Meaning(
            "Squared distance of the propensity score from chance, by a tree, which also sees"
            " thresholds."
        ),
        "ratio": Meaning(
            "How well a tree tells released rows from original ones, over what it would if the"
            " release were ideal: 1 is ideal."
        ),
    },
)
def measure_propensity_tree(subject: Subject) -> Measured:
    """Measure the release by a classification tree."""
    _check(subject)
    found = pmse(subject.original, subject.release, model="tree")
    note = f"{found.slopes} leaves, {found.null}. {found.note}".strip()
    ratio = NotApplicable(found.note) if math.isnan(found.ratio.value) else found.ratio
    return Measured({"value": found.value, "ratio": ratio}, {"ratio": note})


def _check(subject: Subject) -> None:
    if not subject.changed:
        msg = "no column was replaced."
        raise NotApplicable(msg)
    if subject.original.rows < 2 or min(table.rows for table in subject.tables) < 2:  # noqa: PLR2004
        msg = "there are too few rows for a model."
        raise NotApplicable(msg)
