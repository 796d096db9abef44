"""Train on the release, test on the original: what a prediction loses when it is learnt from released rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.core.recipe import Release
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    over_datasets,
)
from veladura.measures.pairing import Pairing, pair
from veladura.measures.utility.design import Raw, read_columns
from veladura.measures.utility.propensity_tree import predictors_of
from veladura.numeric.sampling import matched_rows, sample_note
from veladura.numeric.trees.tree import Growth, Predictors, grow

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_TARGETS, MOST_CLASSES, FEWEST_ROWS = 5, 20, 60
TEST_SHARE, RANKS, NORMAL = 0.3, 10_000, 1.959963984540054
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Prediction:
    """How well columns are predicted from the others, as the share of their variance that is explained.

    Attributes
    ----------
    real, synthetic
        Trees trained on original and on released rows, both tested on original rows that the first
        did not see; mean over targets.
    lost
        Their difference.
    targets
        For each target the two shares.
    """

    real: Estimate
    synthetic: Estimate
    lost: Estimate
    targets: Mapping[str, tuple[Estimate, Estimate]] = field(repr=False)
    note: str = field(default="", repr=False)


@dataclass(frozen=True)
class Trial:
    """The mean square errors of one test, in units of the target's variance, and the error of their difference."""

    real: float
    synthetic: float
    error: float


def predict(original: Any, released: Any, targets: Sequence[str] | None = None) -> Prediction:
    """Return what a prediction loses when it is learnt from released rows instead of original ones.

    Original rows are split, 30 % of them for the test. A tree on the rest and one on as many
    released rows predict each target from all other columns: numbers by their rank, categories by
    their shares. 1 less the mean square error over the variance is R^2 of ranks, or the Brier skill
    score. Where a release kept columns and every row, released versions of test rows are not learnt
    from; other releases were made of the test rows too, and have seen a little of them.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    released
        A release, one released table, or a list of them: then figures are means over the tables.
    targets
        Columns to predict. By default up to five, replaced and sensitive ones first.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.tile(np.arange(100.0), 4)
    >>> before = pd.DataFrame({"x": x, "y": x})
    >>> found = predict(before, before.assign(y=x[::-1]), ["y"])
    >>> float(found.real) > 0.9, float(found.synthetic) < 0
    (True, True)

    References
    ----------
    Esteban, C., Hyland, S. L. and Raetsch, G. (2017). Real-valued (medical) time series generation
    with recurrent conditional GANs. arXiv 1706.02633, sec. 4.2 (train on synthetic, test on real).
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly
    Weather Review 78, 1-3.
    """
    pairing = pair(original, released)
    names = [name for name in pairing.forms if pairing.original.schema[name].kind != "text"]
    if targets is not None:
        pairing.original.schema.check("targets", targets)
    if (
        len(names) < 2  # noqa: PLR2004
        or min(pairing.original.rows, *(table.rows for table in pairing.released)) < FEWEST_ROWS
    ):
        msg = f"a prediction needs two columns that can be compared, and {FEWEST_ROWS} rows."
        raise NotApplicable(msg)
    wanted = (
        [name for name in targets if name in names]
        if targets is not None
        else _proposed(pairing, names, released)
    )
    changed = (
        {name for step in released.steps for name in step.changed}
        if isinstance(released, Release)
        else set(names)
    )
    kept = [name for name in names if name not in changed]
    tested = [_tested(pairing.original, table, names, kept, wanted) for table in pairing.released]
    found = {
        name: [one[name] for one in tested]
        for name in tested[0]
        if all(name in one for one in tested)
    }
    if not found:
        msg = "no column is fit to be predicted."
        raise NotApplicable(msg)
    return _summary(found, sample_note(pairing.original, *pairing.released))


def _summary(found: Mapping[str, Sequence[Trial]], note: str) -> Prediction:
    shares = {
        name: (_shares([t.real for t in tests]), _shares([t.synthetic for t in tests]))
        for name, tests in found.items()
    }
    sets = range(len(next(iter(found.values()))))
    real, synthetic = (
        [float(np.mean([1 - getattr(tests[i], side) for tests in found.values()])) for i in sets]
        for side in ("real", "synthetic")
    )
    lost = _interval(
        [a - b for a, b in zip(real, synthetic, strict=True)],
        [tests[0].error for tests in found.values()],
    )
    return Prediction(_mean(real), _mean(synthetic), lost, shares, note)


def _shares(errors: Sequence[float]) -> Estimate:
    return _mean([1 - error for error in errors])


def _mean(values: Sequence[float]) -> Estimate:
    return over_datasets(values, lower=-np.inf, upper=1.0)


def _interval(values: Sequence[float], errors: Sequence[float]) -> Estimate:
    """Return the mean over datasets; of a single one, with the error of a mean over test rows and targets."""
    if len(values) > 1:
        return Estimate.mean(values)
    half = NORMAL * float(np.sqrt(np.sum(np.square(errors)))) / len(errors)
    return Estimate(values[0], values[0] - half, values[0] + half)


def _proposed(pairing: Pairing, names: Sequence[str], released: Any) -> list[str]:
    """Return columns worth predicting: replaced ones first, sensitive ones among them first."""
    changed = (
        {name for step in released.steps for name in step.changed}
        if isinstance(released, Release)
        else set(names)
    )
    schema = pairing.original.schema
    fitting = [name for name in names if schema[name].role != "weight"]
    return sorted(fitting, key=lambda name: (name not in changed, schema[name].role != "sensitive"))


def _tested(
    original: Table,
    released: Table,
    names: Sequence[str],
    kept: Sequence[str],
    targets: Sequence[str],
) -> dict[str, Trial]:
    """Return the tests of up to five targets on one dataset."""
    rows = matched_rows(original, released, kept)
    columns = read_columns(original, released, names, list(rows))
    rng = Streams(0)("utility", "prediction")
    shuffled = rng.permutation(rows.original.size)
    cut = int(TEST_SHARE * rows.original.size)
    test, train = shuffled[:cut], shuffled[cut:]
    other = rows.original.size + (
        train if rows.aligned else rng.permutation(rows.released.size)[: train.size]
    )
    predictors = predictors_of(columns)
    found: dict[str, Trial] = {}
    for name in targets:
        if len(found) == MOST_TARGETS:
            break
        place = names.index(name)
        features = [i for i in range(len(names)) if i != place]
        tested = _test(predictors, features, columns[name], test, train, other)
        if tested is not None:
            found[name] = tested
    return found


def _test(
    predictors: Predictors, features: Sequence[int], raw: Raw, test: Ints, train: Ints, other: Ints
) -> Trial | None:
    """Return the errors on the test rows of trees from original and from released rows; None where a target is not fit for it."""
    test, train, other = (rows[~raw.missing[rows]] for rows in (test, train, other))
    if min(test.size, train.size, other.size) < FEWEST_ROWS // 4:
        return None
    if raw.codes is not None:
        classes = int(raw.codes.max()) + 1
        if classes > MOST_CLASSES:
            return None
        target, truth = raw.codes, np.eye(classes)[raw.codes]
    else:
        assert raw.numbers is not None  # noqa: S101  # one of the two
        known = np.sort(raw.numbers[train])
        middle = (
            np.searchsorted(known, raw.numbers, side="left")
            + np.searchsorted(known, raw.numbers, side="right")
        ) / (2 * known.size)
        target, classes, truth = np.round(RANKS * middle).astype(np.int64), 0, middle[:, None]
    variance = float(((truth[test] - truth[test].mean(axis=0)) ** 2).sum(axis=1).mean())
    if variance <= 0:
        return None
    losses = [
        _losses(predictors, features, target, truth, classes, rows, test) / variance
        for rows in (train, other)
    ]
    error = float((losses[1] - losses[0]).std() / np.sqrt(test.size))
    return Trial(float(losses[0].mean()), float(losses[1].mean()), error)


def _losses(
    predictors: Predictors,
    features: Sequence[int],
    target: Ints,
    truth: Floats,
    classes: int,
    train: Ints,
    test: Ints,
) -> Floats:
    """Return the square error of each test row: that of the mean of its leaf."""
    growth = Growth(min_leaf=max(10, train.size // 200))
    tree = grow(predictors, features, target, classes=classes, rows=train, growth=growth)
    home = tree.find(predictors, train)
    size = np.bincount(home, minlength=len(tree.nodes))
    sums = np.column_stack(
        [np.bincount(home, weights=column, minlength=len(tree.nodes)) for column in truth[train].T]
    )
    means = sums / np.maximum(size, 1)[:, None]
    losses: Floats = ((truth[test] - means[tree.find(predictors, test)]) ** 2).sum(axis=1)
    return losses


@measure(
    "utility.prediction",
    figures={
        "real": Meaning(
            "Share of the variance of a column that a model learnt from original rows predicts.",
            "neither",
            "share",
        ),
        "synthetic": Meaning(
            "Share of that variance that a model learnt from released rows predicts, tested on"
            " original rows.",
            "high",
            "share",
        ),
        "lost": Meaning(
            "Share of that variance that is lost by learning from released rows: 0 is ideal.",
            "low",
            "share",
            headline=True,
        ),
    },
)
def measure_prediction(subject: Subject) -> Measured:
    """Measure up to five targets."""
    found = predict(subject.original, subject.release)
    rows = tuple(
        (name, f"{float(a):.3f}", f"{float(b):.3f}") for name, (a, b) in found.targets.items()
    )
    detail = Detail(
        "Variance explained, tested on original rows",
        ("Target", "Learnt from the original", "Learnt from the release"),
        rows,
    )
    note = f"Mean over {len(found.targets)} targets. {found.note}".strip()
    return Measured(
        {"real": found.real, "synthetic": found.synthetic, "lost": found.lost},
        {"lost": note},
        detail,
    )
