"""Other models of a whole table by the same scorers: forests, boosting, adversarial forests.

Boosting and adversarial random forests are prototypes: they live here, not in the package. Their
numbers are those of donors, not moved, so that they disclose more than their figures here say.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

import veladura as vd
from benchmarks.acceptance_synthesis import TASKS, Task

SEEDS = (1, 2)
SMALL = ("termlife", "testdata", "SD2011", "ma2019", "adult")
BINS, ROUNDS, TREES, LEAF = 20, 50, 10, 5
Table = pd.DataFrame


def coded(frame: Table) -> Table:
    """Return numbers as they are and categories as codes; missing values are below all others."""
    return pd.DataFrame(
        {
            name: column.fillna(column.min() - 1)
            if pd.api.types.is_numeric_dtype(column)
            else pd.Series(pd.factorize(column, sort=True)[0], index=column.index)
            for name, column in frame.items()
        }
    ).astype(float)


def boosted(frame: Table, seed: int) -> Table:
    """Draw column after column from gradient-boosted class probabilities; numbers in 20 bins."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng, codes = np.random.default_rng(seed), coded(frame)
    released, drawn = {}, np.empty((len(frame), 0))
    for name in frame:
        column = codes[name].to_numpy()
        cuts = np.unique(np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1]))
        distinct = np.unique(column)
        place = np.searchsorted(cuts if distinct.size > BINS else distinct, column)
        if drawn.shape[1] and np.unique(place).size > 1:
            model = HistGradientBoostingClassifier(
                max_iter=ROUNDS, min_samples_leaf=LEAF, random_state=seed
            ).fit(codes[list(released)].to_numpy(), place)
            heights = model.predict_proba(drawn).cumsum(axis=1)
            at = (rng.random((len(frame), 1)) > heights).sum(axis=1).clip(0, heights.shape[1] - 1)
            picked = model.classes_[at]
        else:
            picked = rng.permutation(place)
        donors = np.empty(len(frame), dtype=np.int64)
        for each in np.unique(picked):
            here = picked == each
            donors[here] = rng.choice(np.flatnonzero(place == each), here.sum())
        released[name] = frame[name].to_numpy()[donors]
        drawn = np.column_stack([drawn, column[donors]])
    return pd.DataFrame(released)


def adversarial(frame: Table, seed: int, most: int = 5) -> Table:
    """Draw from an adversarial random forest (Watson et al. 2023, algorithms 1 and 2).

    A forest tells the table from one whose columns are independent within its leaves, until it
    cannot. Each row is drawn from a leaf, column by column.
    """
    from sklearn.ensemble import RandomForestClassifier

    rng, codes = np.random.default_rng(seed), coded(frame)
    real, size = codes.to_numpy(), len(frame)
    donors = np.column_stack([rng.integers(size, size=size) for _ in frame])
    for _ in range(most):
        fake = np.take_along_axis(real, donors, axis=0)
        forest = RandomForestClassifier(
            TREES, min_samples_leaf=LEAF, oob_score=True, random_state=seed, n_jobs=1
        ).fit(np.vstack([real, fake]), np.repeat([1, 0], size))
        leaves = forest.apply(real)
        donors = np.empty((size, real.shape[1]), dtype=np.int64)
        tree = rng.integers(TREES, size=size)
        wanted = leaves[rng.integers(size, size=size), tree]  # as often as people are in it
        for number, leaf in {*zip(tree.tolist(), wanted.tolist(), strict=True)}:
            here = np.flatnonzero((tree == number) & (wanted == leaf))
            people = np.flatnonzero(leaves[:, number] == leaf)
            donors[here] = rng.choice(people, (here.size, real.shape[1]))
        if forest.oob_score_ <= 0.5:
            break
    return pd.DataFrame(
        {name: frame[name].to_numpy()[donors[:, i]] for i, name in enumerate(frame)}
    )


def recipe(**settings: object) -> Callable[[Table, int], Table]:
    return lambda frame, seed: vd.Cart(m=1, **settings).protect(frame, seed=seed).datasets[0]


MODELS: dict[str, Callable[[Table, int], Table]] = {
    "cart": recipe(),
    "bagging": recipe(model="bagging"),
    "forest": recipe(model="forest"),
    "boosting": boosted,
    "adversarial": adversarial,
}


def scored(frame: Table, made: Table, task: Task) -> list[float]:
    """Return two-way S_pMSE, the score of a tree, replicated uniques and DiSCO in %."""
    inferred = vd.risk.attribution(frame, made, list(task.known), task.target)
    return [
        float(vd.utility.pairs(frame, made).mean),
        float(vd.utility.pmse_tree(frame, made, synthesis="simple").ratio),
        100 * float(vd.risk.replicated(frame, made, list(task.known)).replicated),
        100 * float(inferred.disco),
    ]


def main(data: Path, tables: tuple[str, ...] = SMALL) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in (task for task in TASKS if task.name in tables):
            frame = task.frame(data)
            print(f"\n{task.name}: two-way S_pMSE, tree, replicated uniques %, DiSCO %, cpu s")
            for name, model in MODELS.items():
                start = time.process_time()
                made = [model(frame, seed) for seed in SEEDS]
                seconds = (time.process_time() - start) / len(SEEDS)
                means = np.mean([scored(frame, each, task) for each in made], axis=0)
                figures = " ".join(f"{value:7.2f}" for value in means)
                print(f"{name:12} {figures} {seconds:7.1f}", flush=True)
