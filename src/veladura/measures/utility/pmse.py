"""pMSE, the propensity score mean squared error: how well a model tells the tables apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.core.release import Release
from veladura.core.rules import Synthetic
from veladura.errors import NotApplicable, PlanError
from veladura.measures.measure import Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.measures.utility.design import Design, design_of, read_columns
from veladura.measures.utility.propensity import DatasetScores, PropensityScores
from veladura.measures.utility.propensity_tree import TreeScores, tree_scores
from veladura.numeric.logistic import logistic
from veladura.numeric.sampling import matched_rows, sample_note

if TYPE_CHECKING:
    import pandas as pd

    from veladura.table.table import Table

Synthesis = Literal["simple", "proper"]
Model = Literal["logistic", "tree"]
Score = tuple[float, float, float, Design, DatasetScores]
NORMAL = 1.959963984540054


@dataclass(frozen=True)
class PropensityScore:
    """The propensity score mean squared error and its ratio.

    Attributes
    ----------
    value
        pMSE, mean over the datasets: 0 when the model cannot tell the rows apart, c (1 - c) when it
        always can. That mean is the G of Martins (2019), sec. 2.3.2.
    ratio
        pMSE over its expectation under a correct synthesis model: about 1 for a correct one, more
        for others. Not a number where that expectation is not known.
    expected
        That expectation.
    slopes
        Terms of the model that involve a replaced column; the leaves of a tree.
    null
        Which expectation it is: "simple" or "proper" synthesis; for a tree how it was simulated.
    note
        What was left out of the model to keep it small, and how many rows were used.
    scores
        The propensity scores of every dataset: ``scores.values`` is pMSE by dataset (G),
        ``scores.percentiles()`` compares both tables, ``scores.plot(path)`` draws them. Private.
    """

    value: Estimate
    ratio: Estimate
    expected: float
    slopes: int
    null: str
    note: str = field(default="", repr=False)
    scores: PropensityScores = field(default_factory=PropensityScores, repr=False)

    @property
    def G(self) -> tuple[float, ...]:  # noqa: N802  # the name of the literature
        """PMSE of each dataset; the G of Martins (2019) with ``pairs=False``."""
        return self.scores.values

    @property
    def percentiles(self) -> pd.DataFrame:
        """Percentiles of the scores in both tables, means over the datasets."""
        return self.scores.percentiles()


@renamed(synthetic="release", released="release")
def pmse(
    original: Any,
    release: Any,
    *,
    model: Model = "logistic",
    synthesis: Synthesis | None = None,
    pairs: bool = True,
    replaced: Sequence[str] | None = None,
) -> PropensityScore:
    """Return pMSE and its ratio, by a logistic model of main effects and pairs, or by a tree.

    Rows are stacked; c is the share of synthetic ones among the N rows, p the fitted probability of
    being one. pMSE = mean (p - c)^2 (Woo et al. 2009, eq. 1). With f slopes that involve a replaced
    column its expectation is f c (1 - c)^2 / N if the synthesis model is right and simple (Snoke et
    al. 2018, eq. 3), and 1/(1 - c) times that for proper synthesis, of which Bayesian-bootstrap
    leaves are one. For a tree the expectation is simulated: by shuffled labels, or by pairs of
    datasets where some columns were kept. Of each table at most 10,000 rows are used.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.
    model
        "logistic", with main effects and products, or "tree", which also detects thresholds and
        deep interactions.
    synthesis
        The null expectation. By default that of the release's rule; "simple" for plain tables,
        as in synthpop.
    pairs
        Whether the model has products of two columns. Categories are lumped and pairs left out
        until each slope has ten rows.
    replaced
        The columns that were synthesised; by default those of the release, or all that differ.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> everybody = pd.DataFrame({"x": rng.normal(size=1000), "y": rng.normal(size=1000)})
    >>> score = pmse(everybody[:500], everybody[500:])
    >>> score.slopes, float(score.value) < 0.01
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
    pairing = pair(original, release)
    if not pairing.forms:
        msg = "no released column can be compared with the original one."
        raise NotApplicable(msg)
    names = list(pairing.forms)
    if replaced is None:
        replaced = _replaced(pairing.original, pairing.released, release, names)
    null = synthesis or synthesis_of(release)
    note = sample_note(pairing.original, *pairing.released)
    if model == "tree":
        return _by_tree(
            tree_scores(pairing.original, pairing.released, names, replaced, null), note
        )
    scores = [
        _score(pairing.original, table, names, replaced, pairs=pairs, null=null)
        for table in pairing.released
    ]
    values, ratios, expected, designs, each = zip(*scores, strict=True)
    spread = math.sqrt(2 / designs[0].slopes) if designs[0].slopes else 0.0
    value, ratio = _estimates(values, ratios, float(np.mean(expected)), spread)
    return PropensityScore(
        value,
        ratio,
        float(np.mean(expected)),
        designs[0].slopes,
        null,
        f"{designs[0].note} {note}".strip(),
        PropensityScores(tuple(each)),
    )


@renamed(synthetic="release", released="release")
def g(original: Any, release: Any) -> Estimate:
    """Return G: pMSE with main effects only, mean over the datasets.

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
    return pmse(original, release, pairs=False).value


def _by_tree(scores: TreeScores, note: str) -> PropensityScore:
    expected = scores.expected
    if not expected > 0:  # unknown, or a tree that never splits by chance
        missing = Estimate(math.nan, math.nan, math.nan)
        why = (
            "Some columns were kept and rows are not aligned: the expectation by chance needs at"
            " least two datasets."
        )
        note = f"{why} {note}".strip()
        value = over_datasets(scores.values, upper=1.0)
        return PropensityScore(
            value, missing, expected, scores.leaves, scores.null, note, scores.scores
        )
    ratios = [value / expected for value in scores.values]
    value, ratio = _estimates(scores.values, ratios, expected, scores.spread / expected)
    return PropensityScore(value, ratio, expected, scores.leaves, scores.null, note, scores.scores)


def _estimates(
    values: Sequence[float], ratios: Sequence[float], expected: float, spread: float
) -> tuple[Estimate, Estimate]:
    """Return pMSE and ratio: t intervals over several datasets, else by the ratio's distribution.

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


def synthesis_of(release: Any) -> str:
    """Return which null a release has by its combining rule."""
    rule = release.rule if isinstance(release, Release) else None
    return "proper" if isinstance(rule, Synthetic) and rule.proper else "simple"


def _replaced(
    original: Table, released: Sequence[Table], release: Any, names: Sequence[str]
) -> list[str]:
    """Return the columns a release replaced; of plain tables, those that differ row for row."""
    if isinstance(release, Release):
        changed = {name for step in release.steps for name in step.changed}
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
            "there are too few rows, or columns vary too little, for a model that tells the tables"
            " apart."
        )
        raise NotApplicable(msg)
    fitted = logistic(design.matrix, label, design.cross)
    value = float(np.mean((fitted - share) ** 2))
    # A sample of the original's rows is nearer to a new one: simple synthesis of all rows then has
    # a larger null.
    nearer = 0.0 if null == "proper" else share * rows.original.size / original.rows
    expected = design.slopes * share * (1 - share) * (1 - nearer) / label.size
    ratio = value / expected if expected > 0 else 0.0
    return value, ratio, expected, design, DatasetScores.of(fitted, label)


def measure(subject: Subject) -> Measured:
    """Measure the release by a logistic model of main effects and pairs."""
    check_replaced(subject)
    score = pmse(subject.original, subject.release)
    note = f"{score.slopes} slopes, {score.null} synthesis. {score.note}".strip()
    return Measured(
        {"value": score.value, "ratio": score.ratio, "g": g(subject.original, subject.release)},
        {"ratio": note},
    )


def check_replaced(subject: Subject) -> None:
    """Say that the score does not apply where no column was replaced, or rows are too few."""
    if not subject.changed:
        msg = "no column was replaced."
        raise NotApplicable(msg)
    if subject.original.rows < 2 or min(table.rows for table in subject.tables) < 2:  # noqa: PLR2004
        msg = "there are too few rows for a model."
        raise NotApplicable(msg)


MEASURE = Measure(
    "utility.pmse",
    figures={
        "value": Meaning(
            "pMSE: propensity score mean squared error of a logistic model that tells released"
            " rows from original ones; 0 when it cannot."
        ),
        "ratio": Meaning(
            "pMSE ratio: pMSE over its expectation under a correct synthesis; 1 is ideal.",
            headline=True,
        ),
        "g": Meaning("G: pMSE of a model with main effects only, mean over the datasets."),
    },
    function=measure,
)
