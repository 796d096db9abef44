"""Prediction loss: a model trained on the release, tested on the original (TSTR)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.core.release import Release
from veladura.errors import NotApplicable
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import Pairing, pair
from veladura.measures.utility.design import Raw, read_columns
from veladura.measures.utility.propensity_tree import predictors_of
from veladura.numeric.sampling import matched_rows, sample_note
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.tree import Growth, grow
from veladura.table.schema import WEIGHTS

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_TARGETS, MOST_CLASSES, FEWEST_ROWS = 5, 20, 60
TEST_SHARE, RANKS, NORMAL = 0.3, 10_000, 1.959963984540054


@dataclass(frozen=True)
class Prediction:
    """R^2 of predictions on original rows, by models trained on original and on released rows.

    Attributes
    ----------
    real, synthetic
        Trees trained on original and on released rows, both tested on original rows that the first
        was not trained on; mean over targets.
    lost
        Prediction loss: their difference.
    targets
        For each target the two values of R^2.
    """

    real: Estimate
    synthetic: Estimate
    lost: Estimate
    targets: Mapping[str, tuple[Estimate, Estimate]] = field(repr=False)
    note: str = field(default="", repr=False)


@dataclass(frozen=True)
class Trial:
    """Mean square errors of one test, over the target's variance; error of their difference."""

    real: float
    synthetic: float
    error: float


@renamed(released="release")
def prediction(original: Any, release: Any, targets: Sequence[str] | None = None) -> Prediction:
    """Return the drop in R^2 when a model is trained on the release instead of the original.

    Original rows are split, 30 % of them for the test. A tree on the rest and one on as many
    released rows predict each target from all other columns: numbers by their rank, categories by
    their shares. 1 - mean square error / variance is R^2 of ranks, or the Brier skill score. Where
    a release kept columns and every row, released versions of test rows are not trained on; other
    releases were made from the test rows too, and contain a little of them.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.
    targets
        Columns to predict. By default up to five, replaced and sensitive ones first.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.tile(np.arange(100.0), 4)
    >>> before = pd.DataFrame({"x": x, "y": x})
    >>> scores = prediction(before, before.assign(y=x[::-1]), ["y"])
    >>> float(scores.real) > 0.9, float(scores.synthetic) < 0
    (True, True)

    References
    ----------
    Esteban, C., Hyland, S. L. and Raetsch, G. (2017). Real-valued (medical) time series generation
    with recurrent conditional GANs. arXiv 1706.02633, sec. 4.2 (train on synthetic, test on real).
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly
    Weather Review 78, 1-3.
    """
    pairing = pair(original, release)
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
        else _proposed(pairing, names, release)
    )
    changed = (
        {name for step in release.steps for name in step.changed}
        if isinstance(release, Release)
        else set(names)
    )
    kept = [name for name in names if name not in changed]
    tested = [_tested(pairing.original, table, names, kept, wanted) for table in pairing.released]
    trials = {
        name: [tests[name] for tests in tested]
        for name in tested[0]
        if all(name in tests for tests in tested)
    }
    if not trials:
        msg = "no column can be predicted: they are constant, missing, or have too many categories."
        raise NotApplicable(msg)
    return _summary(trials, sample_note(pairing.original, *pairing.released))


def _summary(trials: Mapping[str, Sequence[Trial]], note: str) -> Prediction:
    shares = {
        name: (_shares([t.real for t in tests]), _shares([t.synthetic for t in tests]))
        for name, tests in trials.items()
    }
    sets = range(len(next(iter(trials.values()))))
    real, synthetic = (
        [float(np.mean([1 - getattr(tests[i], side) for tests in trials.values()])) for i in sets]
        for side in ("real", "synthetic")
    )
    lost = _interval(
        [a - b for a, b in zip(real, synthetic, strict=True)],
        [tests[0].error for tests in trials.values()],
    )
    return Prediction(_mean(real), _mean(synthetic), lost, shares, note)


def _shares(errors: Sequence[float]) -> Estimate:
    return _mean([1 - error for error in errors])


def _mean(values: Sequence[float]) -> Estimate:
    return over_datasets(values, lower=-np.inf, upper=1.0)


def _interval(values: Sequence[float], errors: Sequence[float]) -> Estimate:
    """Return the mean over datasets; of a single one, with the error over test rows and targets."""
    if len(values) > 1:
        return Estimate.mean(values)
    half = NORMAL * float(np.sqrt(np.sum(np.square(errors)))) / len(errors)
    return Estimate(values[0], values[0] - half, values[0] + half)


def _proposed(pairing: Pairing, names: Sequence[str], release: Any) -> list[str]:
    """Return columns worth predicting: replaced ones first, sensitive ones among them first."""
    changed = (
        {name for step in release.steps for name in step.changed}
        if isinstance(release, Release)
        else set(names)
    )
    schema = pairing.original.schema
    fitting = [name for name in names if schema[name].role not in WEIGHTS]
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
    trials: dict[str, Trial] = {}
    for name in targets:
        if len(trials) == MOST_TARGETS:
            break
        place = names.index(name)
        features = [i for i in range(len(names)) if i != place]
        tested = _test(predictors, features, columns[name], test, train, other)
        if tested is not None:
            trials[name] = tested
    return trials


def _test(
    predictors: Predictors, features: Sequence[int], raw: Raw, test: Ints, train: Ints, other: Ints
) -> Trial | None:
    """Return the errors of both trees on the test rows; None where the target is not suitable."""
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
        trained = np.sort(raw.numbers[train])
        middle = (
            np.searchsorted(trained, raw.numbers, side="left")
            + np.searchsorted(trained, raw.numbers, side="right")
        ) / (2 * trained.size)
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
    """Return the square error of each test row, predicted by the mean of its leaf."""
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


def measure(subject: Subject) -> Measured:
    """Measure up to five targets."""
    scores = prediction(subject.original, subject.release)
    rows = tuple(
        (name, f"{float(a):.3f}", f"{float(b):.3f}") for name, (a, b) in scores.targets.items()
    )
    detail = Detail(
        "R² of predictions, tested on original rows",
        ("Target", "Trained on the original", "Trained on the release"),
        rows,
    )
    note = f"Mean over {len(scores.targets)} targets. {scores.note}".strip()
    return Measured(
        {"real": scores.real, "synthetic": scores.synthetic, "lost": scores.lost},
        {"lost": note},
        detail,
    )


MEASURE = Measure(
    "utility.prediction",
    figures={
        "real": Meaning(
            "Prediction, R² on original rows of a model trained on the original.",
            "neither",
            "share",
        ),
        "synthetic": Meaning(
            "Prediction, R² on original rows of a model trained on the release.",
            "high",
            "share",
        ),
        "lost": Meaning(
            "Prediction loss: drop in R² when a model is trained on the release instead of the"
            " original; 0 is ideal.",
            "low",
            "share",
            headline=True,
        ),
    },
    function=measure,
)
