"""CART synthesis: the whole pass beside the same synthesis with scikit-learn trees, in one run.

Growth with rows; memory.

Numbers on the command line after the name are ignored; BENCH_CART_ROWS chooses the sizes, as in
10000,100000,1000000.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import veladura as vd
from veladura.numeric.trees import tree as synth_tree

SIZES = (10_000, 100_000, 1_000_000)


def mixed(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return 15 columns as surveys have them.

    Categories of 2 to 60 levels, whole numbers, amounts with heavy tails, spikes, missing values.
    """
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(rows, 3))
    age = np.clip(45 + 18 * latent[:, 0] + 5 * rng.normal(size=rows), 16, 97).astype(int)
    region = ((latent[:, 1] + 0.7 * rng.normal(size=rows)) * 8 + 30).clip(0, 59).astype(int)
    school = np.digitize(latent[:, 2] + 0.8 * rng.normal(size=rows), [-1, 0, 1, 2])
    income = np.exp(9 + 0.4 * school + 0.01 * age + 0.6 * rng.standard_t(3, rows)).round(-1)
    income = np.where(rng.random(rows) < 0.12, 0.0, np.minimum(income, 1e8))
    job = ((school * 4 + region % 5 + rng.integers(0, 4, rows)) % 20).astype(int)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": age,
            "region": np.char.add("r", region.astype(str)),
            "school": np.char.add("s", school.astype(str)),
            "job": np.char.add("j", job.astype(str)),
            "income": income,
            "wealth": (np.sinh(latent[:, 1] * 3) * 1000 + income).round(2),
            "hours": np.where(rng.random(rows) < 0.4, 40, rng.integers(5, 70, rows)),
            "children": rng.poisson(np.where(age > 30, 1.6, 0.3)),
            "height": (165 + 8 * rng.normal(size=rows) + 3 * latent[:, 0]).round(1),
            "weight": (70 + 12 * rng.normal(size=rows) + 4 * latent[:, 0]).round(1),
            "married": (
                np.where(age > 28, rng.random(rows) < 0.7, rng.random(rows) < 0.1).astype(str)
            ),
            "trust": rng.choice(["low", "mid", "high"], rows),
            "rent": np.where(
                rng.random(rows) < 0.3,
                np.nan,
                np.exp(6 + 0.1 * school + 0.3 * rng.normal(size=rows)).round(0),
            ),
            "score": latent[:, 2] + 0.3 * rng.normal(size=rows),
        }
    )


@dataclass(frozen=True, eq=False, repr=False)
class LearnTree(synth_tree.Tree):
    """A tree of scikit-learn behind the same interface.

    Its leaves have no node above them but the root.
    """

    learnt: Any = None
    place: Any = None
    features: Any = None

    def _find(self, predictors: Any, which: Any, root: Any) -> Any:  # noqa: ARG002
        if self.learnt is None:
            return np.zeros(which.size, dtype=np.int64)
        return self.place[
            self.learnt.apply(predictors.bins[np.ix_(which, self.features)].astype(np.float32))
        ]


def grow_by_scikit_learn(
    predictors: Any,
    features: Sequence[int],
    target: Any,
    *,
    classes: int = 0,
    rows: Any = None,
    growth: Any = None,
    **_: Any,
) -> LearnTree:
    """Grow a tree on the same codes with scikit-learn."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    which = np.arange(target.size) if rows is None else rows
    nodes = np.zeros((1, 9), dtype=np.int64)
    nodes[0] = (-1, -1, 0, 0, -1, 0, which.size, -1, 0)
    if not len(features):
        return LearnTree(
            which,
            nodes,
            np.zeros((1, 2)),
            np.zeros(0, dtype=np.uint64),
            np.zeros(1, dtype=np.int64),
        )
    kind = DecisionTreeClassifier if classes else DecisionTreeRegressor
    bins = predictors.bins[np.ix_(which, list(features))].astype(np.float32)
    learnt = kind(min_samples_leaf=growth.min_leaf, random_state=0).fit(bins, target[which])
    leaf = learnt.apply(bins)
    used, count = np.unique(leaf, return_counts=True)
    place = np.zeros(learnt.tree_.node_count, dtype=np.int64)
    place[used] = np.arange(1, used.size + 1)
    ends = np.cumsum(count)
    leaves = np.zeros((used.size, 9), dtype=np.int64)
    leaves[:, 0], leaves[:, 5], leaves[:, 6] = -1, ends - count, ends
    both = np.concatenate([nodes, leaves])
    both[0, 0] = 0  # the root is split: else it would count as a leaf, with everybody in it
    return LearnTree(
        which[np.argsort(leaf, kind="stable")],
        both,
        np.zeros((len(both), 2)),
        np.zeros(0, dtype=np.uint64),
        np.zeros(len(both), dtype=np.int64),
        learnt,
        place,
        list(features),
    )


def timed(rows: int, grower: Any, threads: int) -> tuple[float, float]:
    """Return seconds and processor seconds of one whole pass.

    Grow all trees, draw one dataset, prove its promises.
    """
    frame = mixed(rows)
    table = vd.open(frame).without_identifiers()
    recipe = vd.Cart(m=1)
    kept, synth_tree.grow = synth_tree.grow, grower
    try:
        wall, cpu = time.perf_counter(), time.process_time()
        recipe.protect(table, seed=1, threads=threads)
        return time.perf_counter() - wall, time.process_time() - cpu
    finally:
        synth_tree.grow = kept


def main() -> None:
    sizes = [
        int(size) for size in os.environ.get("BENCH_CART_ROWS", "").split(",") if size
    ] or list(SIZES)
    timed(2000, synth_tree.grow, 1)  # compiled code warm
    if max(sizes) >= 1_000_000:
        fetch_memory()
    print(
        f"{'rows':>9}  {'ours':>8}  {'cpu':>8}  {'sklearn':>8}  {'cpu':>8}  {'ratio':>6} "
        f" {'cpu':>6}   (15 columns, m = 1, 2 threads each)"
    )
    before = None
    for rows in sizes:
        ours, theirs = timed(rows, synth_tree.grow, 2), timed(rows, grow_by_scikit_learn, 2)
        more = (
            ""
            if before is None
            else (
                f"   {rows / before[0]:.0f} times the rows cost {ours[1] / before[1]:.1f} times the"
                " processor time"
            )
        )
        print(
            f"{rows:9}  {ours[0]:7.2f}s  {ours[1]:7.2f}s  {theirs[0]:7.2f}s  {theirs[1]:7.2f}s "
            f" {theirs[0] / ours[0]:6.1f}  {theirs[1] / ours[1]:6.1f}{more}",
            flush=True,
        )
        before = (rows, ours[1])
    wide()
    levels()
    if max(sizes) >= 1_000_000:
        memory()


def fetch_memory(size: int = 4 << 30) -> None:
    """Write to as much memory as the runs need, and give it back.

    A virtual machine fetches a page from its host when it is written to for the first time, which
    takes 20 times as long as clearing it (2 and .1 ms a MB): who runs first would pay for both.
    """
    code = f"import numpy as np; np.empty({size}, dtype=np.uint8).fill(1)"
    subprocess.run([sys.executable, "-c", code], check=True)


def wide() -> None:
    """300 columns."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(5000, 5))
    frame = pd.DataFrame(
        {f"x{i}": np.round(latent[:, i % 5] + rng.normal(size=5000), 2) for i in range(300)}
    )
    start = time.perf_counter()
    vd.Cart(m=1).protect(frame, seed=1)
    print(f"300 columns x 5,000 rows: {time.perf_counter() - start:.1f} s")


def levels() -> None:
    """A factor of 1,000 levels as target and as predictor."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: rng.integers(0, 1000, 100_000).astype(str) for name in "ab"}
    ).assign(x=rng.normal(size=100_000))
    start = time.perf_counter()
    vd.Cart(m=1).protect(frame, seed=1)
    print(f"two factors of 1,000 levels, 100,000 rows: {time.perf_counter() - start:.1f} s")


def memory() -> None:
    """Peak memory of a process that synthesises a million rows.

    As Linux counts it for the program: ``getrusage`` counts that of the process before it too.
    """
    code = (
        "import veladura as vd; from benchmarks.bench_cart import mixed;"
        " vd.Cart(m=1).protect(mixed(1_000_000), seed=1, threads=2);"
        "print(int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) / 2**20)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    print(
        f"1,000,000 rows x 15 columns: peak {float(done.stdout):.2f} GiB, the table itself included"
    )


if __name__ == "__main__":
    main()
