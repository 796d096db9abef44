"""Private tables of many columns: coverage of intervals, and error beside other software.

``python -m benchmarks.acceptance_marginals coverage`` draws population, data and noise 400 times
at each of three epsilons (``--runs`` and ``--epsilon`` change that).
``python -m benchmarks.acceptance_marginals error k-marginal`` needs ``VELADURA_DATA``;
``peers`` needs ``smartnoise-synth``, for its AIM and MST, in the Python that ``--peer-python``
names.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.marginal_tables import GENERATED, REAL, frame_of
from veladura.base.arrays import Floats

EPSILONS = ("0.5", "1", "3")
SHAPE = (2, 3, 2, 4, 3)  # 144 cells
ROWS = 2000
REPORTED = 50  # runs between two tables of coverage
NAMES = [f"c{i}" for i in range(len(SHAPE))]
KINDS = {"means": slice(0, 2), "two-way cells": slice(2, 19), "logistic": slice(19, 22)}


def main() -> None:
    """Run the parts that are named."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("parts", nargs="+", choices=["coverage", "error", "k-marginal", "peers"])
    reader.add_argument("--runs", type=int, default=400)
    reader.add_argument("--seed", type=int, default=20260101)
    reader.add_argument("--epsilon", action="append")
    reader.add_argument("--table", action="append", choices=[*REAL, *GENERATED])
    reader.add_argument("--peer", action="append", choices=["AIM", "MST"])
    reader.add_argument("--peer-python", default=sys.executable)
    given = reader.parse_args()
    if "coverage" in given.parts:
        for epsilon in given.epsilon or EPSILONS:
            coverage(epsilon, given.runs, given.seed)
    if "error" in given.parts or "peers" in given.parts:
        for name in given.table or (*REAL, *GENERATED):
            for epsilon in given.epsilon or ("0.3", "1", "3"):
                peers = given.peer or ["MST", "AIM"] if "peers" in given.parts else []
                compared(name, float(epsilon), peers, given.peer_python)
    if "k-marginal" in given.parts:
        k_marginal()


class Population:
    """A log-linear population with relations between all pairs of columns, and what is asked."""

    def __init__(self) -> None:
        from veladura.numeric.graphical.chains import indicator

        columns = range(len(SHAPE))
        tables = [*((c,) for c in columns), *combinations(columns, 2)]
        self.indicators = {table: indicator(SHAPE, table) for table in tables}
        self.grid = np.indices(SHAPE).reshape(len(SHAPE), -1)
        first, second = self.grid[1], self.grid[2]
        self.design = np.column_stack(
            [np.ones(first.size), first == 1, first == 2, second == 1]
        ).astype(float)
        self.response = self.grid[0].astype(float)

    def draw(self, rng: np.random.Generator) -> Floats:
        """Return the shares of all cells of a population."""
        scores = sum(
            block @ rng.normal(0, 0.5 if len(table) == 1 else 0.4, block.shape[1])
            for table, block in self.indicators.items()
        )
        shares = np.exp(scores)
        return shares / shares.sum()

    def quantities(self, shares: Floats) -> Floats:
        """Return two means, 17 two-way cells and three logistic coefficients, in rows."""
        return np.hstack(
            [
                shares @ self.grid[[3, 1]].T.astype(float),
                shares @ self.indicators[0, 3],
                shares @ self.indicators[1, 4],
                self.logistic(shares)[:, 1:],
            ]
        )

    def logistic(self, shares: Floats) -> Floats:
        """Return the coefficients of the first column on the second and third, by Newton steps."""
        beta = np.zeros((len(shares), self.design.shape[1]))
        for _ in range(15):
            fitted = 1 / (1 + np.exp(-(beta @ self.design.T)))
            slope = (shares * (self.response - fitted)) @ self.design
            weight = shares * fitted * (1 - fitted)
            hessian = np.einsum("sc,ci,cj->sij", weight, self.design, self.design)
            hessian += 1e-10 * np.eye(hessian.shape[1])
            beta += np.clip(np.linalg.solve(hessian, slope[:, :, None])[:, :, 0], -2, 2)
        return beta

    def variances(self, share: Floats, rows: int) -> Floats:
        """Return the variances that a naive analysis of some rows gives these quantities."""
        quantities = self.quantities(share[None, :])[0]
        numbers = self.grid[[3, 1]].astype(float)
        means = (share @ (numbers**2).T - quantities[:2] ** 2) / rows
        cells = quantities[2:19] * (1 - quantities[2:19]) / rows
        fitted = 1 / (1 + np.exp(-(self.design @ self.logistic(share[None, :])[0])))
        weight = rows * share * fitted * (1 - fitted)
        hessian = (self.design * weight[:, None]).T @ self.design
        slopes = np.diag(np.linalg.pinv(hessian))[1:]
        return np.concatenate([means, cells, slopes])


def coverage(epsilon: str, runs: int, seed: int) -> None:
    """Print the coverage of 95 % intervals: posterior, 20 datasets combined, naive."""
    import veladura as vd
    from veladura.core.rules import NoiseAwareRows
    from veladura.inference.combined import combine_by
    from veladura.table.codes import label_text

    rng, world = np.random.default_rng(seed), Population()
    domain = {name: list(range(size)) for name, size in zip(NAMES, SHAPE, strict=True)}
    recipe = vd.Marginals(columns=NAMES, domain=domain, epsilon=float(epsilon), rounds=10)
    inside: dict[str, list[Floats]] = {"posterior": [], "20 datasets": [], "naive": []}
    began, poor = time.process_time(), 0
    for number in range(1, runs + 1):
        share = world.draw(rng)
        truth = world.quantities(share[None, :])[0]
        rows = rng.choice(share.size, ROWS, p=share)
        frame = pd.DataFrame(dict(zip(NAMES, np.unravel_index(rows, SHAPE), strict=True)))
        release = recipe.protect(frame)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")  # chains that have not converged say so
            posterior = vd.posterior(release)
        poor += bool(said)
        drawn = world.quantities(posterior.table_draws(NAMES))
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        inside["posterior"].append((low <= truth) & (truth <= high))
        tables = [_shares(codes) for codes in posterior.rows(20, ROWS)]
        q = world.quantities(np.array(tables))
        v = np.array([world.variances(table, ROWS) for table in tables])
        combined = combine_by(NoiseAwareRows(), q, v, level=0.95)
        inside["20 datasets"].append((combined.lower <= truth) & (truth <= combined.upper))
        data = release.datasets[0]
        table = _shares([data[name].map(label_text).astype(int).to_numpy() for name in NAMES])
        half = 1.96 * np.sqrt(world.variances(table, ROWS))
        inside["naive"].append(np.abs(world.quantities(table[None, :])[0] - truth) <= half)
        if number % REPORTED == 0 or number == runs:
            seconds = (time.process_time() - began) / number
            print(f"epsilon {epsilon}, {number} runs, {poor} with a warning, {seconds:.1f} s each")
            _print_coverage(inside)


def _print_coverage(inside: dict[str, list[Floats]]) -> None:
    for name, hits in inside.items():
        each = np.array(hits)
        figures = "  ".join(f"{kind} {each[:, place].mean():.3f}" for kind, place in KINDS.items())
        error = 2 * max((each[:, p].mean(axis=1).std() / len(hits) ** 0.5) for p in KINDS.values())
        print(f"  {name:12} {figures}  (Monte Carlo error up to {error:.3f})", flush=True)


def _shares(codes: list[np.ndarray]) -> Floats:
    flat = np.ravel_multi_index(codes, SHAPE)
    return np.bincount(flat, minlength=int(np.prod(SHAPE))) / flat.size


def distance(original: pd.DataFrame, made: pd.DataFrame) -> float:
    """Return the mean total variation distance of all two-way tables."""
    distances = []
    for pair in combinations(original.columns, 2):
        one, two = (f.value_counts(list(pair), normalize=True) for f in (original, made))
        both = pd.concat([one, two], axis=1).fillna(0.0)
        distances.append(0.5 * float((both.iloc[:, 0] - both.iloc[:, 1]).abs().sum()))
    return float(np.mean(distances))


def compared(name: str, epsilon: float, peers: Sequence[str], python: str) -> None:
    """Print error and processor time of Marginals and, if asked, of smartnoise's AIM and MST."""
    import veladura as vd

    frame = frame_of(name)
    domain = {column: sorted(frame[column].unique()) for column in frame.columns}
    recipe = vd.Marginals(columns=list(frame.columns), domain=domain, epsilon=epsilon)
    began = time.process_time()
    made = recipe.protect(frame).datasets[0]
    _print(name, epsilon, "Marginals", time.process_time() - began, distance(frame, made))
    for peer in peers:
        made, seconds = smartnoise(peer, frame, epsilon, python)
        _print(name, epsilon, f"smartnoise {peer}", seconds, distance(frame, made))


def _print(name: str, epsilon: float, method: str, seconds: float, error: float) -> None:
    print(
        f"{name:7} epsilon {epsilon:<4g} {method:15} two-way total variation {error:.4f}"
        f"  {seconds:8.1f} s",
        flush=True,
    )


def smartnoise(
    peer: str, frame: pd.DataFrame, epsilon: float, python: str
) -> tuple[pd.DataFrame, float]:
    """Return rows of smartnoise's AIM or MST and its seconds; its neighbours add or remove a row.

    In a process of its own, by the Python that has it installed.
    """
    values = {name: sorted(frame[name].unique()) for name in frame.columns}
    coded = pd.DataFrame(
        {name: pd.Categorical(frame[name], values[name]).codes for name in frame.columns}
    )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "coded.csv", Path(folder) / "made.csv"
        coded.to_csv(source, index=False)
        script = str(Path(__file__).with_name("peer_marginals.py"))
        command = [python, script, peer, str(epsilon), str(source), str(target)]
        environment = {**os.environ, "PYTHONPATH": ""}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        made = pd.read_csv(target)
    rows = {name: np.array(values[name], dtype=object)[made[name].astype(int)] for name in coded}
    return pd.DataFrame(rows), float(done.stdout.split()[-1])


DEMOGRAPHIC = ["AGEP", "SEX", "MSP", "RAC1P", "HISP", "EDU", "PINCP_DECILE", "DVET", "DEYE", "PUMA"]


def k_marginal() -> None:
    """Print NIST's k-marginal score of ten demographic features at epsilon 1, beside subsamples."""
    import veladura as vd

    frame = frame_of("ma2019")[DEMOGRAPHIC]
    domain = {column: sorted(frame[column].unique()) for column in frame.columns}
    release = vd.Marginals(columns=DEMOGRAPHIC, domain=domain, epsilon=1).protect(frame)
    print(f"Marginals at epsilon 1: {_score(frame, release.datasets[0]):.0f}")
    for share in (0.01, 0.05, 0.1, 0.4):
        sample = frame.sample(frac=share, random_state=1)
        print(f"a random sample of {share:.0%}: {_score(frame, sample):.0f}")


def _score(original: pd.DataFrame, made: pd.DataFrame) -> float:
    import veladura as vd

    return float(vd.utility.k_marginal(original, made).score)


if __name__ == "__main__":
    main()
