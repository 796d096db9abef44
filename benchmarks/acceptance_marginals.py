"""Private tables of many columns: coverage of intervals, and error beside other software.

``python -m benchmarks.acceptance_marginals coverage`` draws population, data and noise 400 times
at each of three epsilons (``--runs`` and ``--epsilon`` change that).
``python -m benchmarks.acceptance_marginals error k-marginal`` needs ``VELADURA_DATA``;
``peers`` needs ``smartnoise-synth``, for its AIM and MST, in the Python that ``--peer-python``
names. They take minutes to an hour: their rows are kept in the folder that ``--kept`` names, and
read from there the next time.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.marginal_tables import GENERATED, HELD_OUT, REAL, frame_of
from veladura.base.arrays import Floats

# Epsilons with the people of each run: so few at 3 that its noise matters beside sampling error,
# and an analysis that leaves it out must fail
PEOPLE = {"0.5": 2000, "1": 2000, "3": 800}
SHAPE = (2, 3, 2, 4, 3)  # 144 cells
REPORTED = 50  # runs between two tables of coverage
OURS = {"Marginals": "replace-one", "  add-remove": "add-remove"}
NAMES = [f"c{i}" for i in range(len(SHAPE))]
KINDS = {"means": slice(0, 2), "two-way cells": slice(2, 19), "logistic": slice(19, 22)}


def main() -> None:
    """Run the parts that are named."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("parts", nargs="+", choices=["coverage", "error", "k-marginal", "peers"])
    reader.add_argument("--runs", type=int, default=400)
    few = "people of each run of coverage; 2,000 at epsilons up to 1 and 800 at 3, unless given"
    reader.add_argument("--rows", type=int, help=few)
    reader.add_argument("--seed", type=int, default=20260101)
    reader.add_argument("--epsilon", action="append")
    reader.add_argument("--table", action="append", choices=[*REAL, *GENERATED, *HELD_OUT])
    reader.add_argument("--peer", action="append", choices=["AIM", "MST"])
    reader.add_argument("--peer-python", default=sys.executable)
    reader.add_argument("--peer-limit", type=int, default=3600, help="processor seconds of a peer")
    reader.add_argument("--kept", type=Path, help="folder of the rows that peers have made")
    given = reader.parse_args()
    others = Peers(given.peer_python, given.peer_limit, given.kept)
    if "coverage" in given.parts:
        for epsilon in given.epsilon or PEOPLE:
            people = given.rows or PEOPLE.get(epsilon, PEOPLE["1"])
            coverage(epsilon, given.runs, given.seed, people)
    if "error" in given.parts or "peers" in given.parts:
        for name in given.table or (*REAL, *GENERATED, *HELD_OUT):
            for epsilon in given.epsilon or ("0.3", "1", "3"):
                peers = given.peer or ["MST", "AIM"] if "peers" in given.parts else []
                compared(name, float(epsilon), peers, others)
    if "k-marginal" in given.parts:
        k_marginal(given.peer or [], others)


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
        # where nobody of a group has the answer the matrix is singular: rounding, not a variance
        slopes = np.maximum(np.diag(np.linalg.pinv(hessian, hermitian=True))[1:], 0.0)
        return np.concatenate([means, cells, slopes])


def coverage(epsilon: str, runs: int, seed: int, people: int) -> None:
    """Print the coverage of 95 % intervals: posterior, datasets combined, naive."""
    import veladura as vd
    from veladura.core.rules import NoiseAwareRows
    from veladura.inference.combined import combine_by
    from veladura.table.codes import label_text

    rng, world = np.random.default_rng(seed), Population()
    domain = {name: list(range(size)) for name, size in zip(NAMES, SHAPE, strict=True)}
    recipe = vd.Marginals(columns=NAMES, domain=domain, epsilon=float(epsilon), rounds=10)
    m = NoiseAwareRows.redraws
    inside: dict[str, list[Floats]] = {"posterior": [], f"{m} datasets": [], "naive": []}
    began, poor, wider = time.process_time(), 0, []
    for number in range(1, runs + 1):
        share = world.draw(rng)
        truth = world.quantities(share[None, :])[0]
        rows = rng.choice(share.size, people, p=share)
        frame = pd.DataFrame(dict(zip(NAMES, np.unravel_index(rows, SHAPE), strict=True)))
        release = recipe.protect(frame)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")  # chains that have not converged say so
            posterior = vd.posterior(release)
        poor += bool(said)
        drawn = world.quantities(posterior.table_draws(NAMES))
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        inside["posterior"].append((low <= truth) & (truth <= high))
        tables = [_shares(codes) for codes in posterior.rows(m, people)]
        q = world.quantities(np.array(tables))
        v = np.array([world.variances(table, people) for table in tables])
        combined = combine_by(NoiseAwareRows(), q, v, level=0.95)
        inside[f"{m} datasets"].append((combined.lower <= truth) & (truth <= combined.upper))
        wider.append((combined.upper - combined.lower) / (high - low))
        data = release.datasets[0]
        table = _shares([data[name].map(label_text).astype(int).to_numpy() for name in NAMES])
        half = 1.96 * np.sqrt(world.variances(table, people))
        inside["naive"].append(np.abs(world.quantities(table[None, :])[0] - truth) <= half)
        if number % REPORTED == 0 or number == runs:
            seconds = (time.process_time() - began) / number
            print(
                f"epsilon {epsilon}, {people} people, {number} runs, {poor} with a warning,"
                f" {seconds:.1f} s each"
            )
            _print_coverage(inside)
            each = {k: np.array(wider)[:, place] for k, place in KINDS.items()}
            ratios = "  ".join(f"{k} {np.median(r):.2f} ({r.mean():.2f})" for k, r in each.items())
            print(f"  median (mean) width of {m} datasets over posterior: {ratios}", flush=True)


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


def compared(name: str, epsilon: float, peers: Sequence[str], others: Peers) -> None:
    """Print error and processor time of Marginals and, if asked, of smartnoise's AIM and MST."""
    import veladura as vd

    frame = frame_of(name)
    domain = {column: sorted(frame[column].unique()) for column in frame.columns}
    columns = list(frame.columns)
    for method, neighbours in OURS.items():
        recipe = vd.Marginals(
            columns=columns, domain=domain, epsilon=epsilon, neighbours=neighbours
        )
        began = time.process_time()
        made = recipe.protect(frame).datasets[0]
        _print(name, epsilon, method, time.process_time() - began, distance(frame, made))
    for peer in peers:
        made, seconds = others.rows(name, peer, frame, epsilon)
        if made is None:
            print(
                f"{name:7} epsilon {epsilon:<4g} smartnoise {peer}: stopped after {seconds:.0f} s"
            )
            continue
        _print(name, epsilon, f"smartnoise {peer}", seconds, distance(frame, made))


def _print(name: str, epsilon: float, method: str, seconds: float, error: float) -> None:
    print(
        f"{name:7} epsilon {epsilon:<4g} {method:15} two-way total variation {error:.4f}"
        f"  {seconds:8.1f} s",
        flush=True,
    )


@dataclass(frozen=True)
class Peers:
    """smartnoise's AIM and MST, in processes of their own, by the Python that has it installed.

    Their neighbours add or remove a row. The system ends one after ``limit`` processor seconds.
    """

    python: str
    limit: int
    kept: Path | None = None

    def rows(
        self, name: str, peer: str, frame: pd.DataFrame, epsilon: float
    ) -> tuple[pd.DataFrame | None, float]:
        """Return the rows of a peer and its processor seconds; no rows where it was stopped."""
        values = {name: sorted(frame[name].unique()) for name in frame.columns}
        with tempfile.TemporaryDirectory() as folder:
            place = self.kept or Path(folder)
            place.mkdir(parents=True, exist_ok=True)
            target = place / f"{name}-{peer}-{epsilon:g}.csv"
            spent = target.with_suffix(".seconds")
            if not spent.exists():
                coded = {n: pd.Categorical(frame[n], values[n]).codes for n in frame.columns}
                source = Path(folder) / "coded.csv"
                pd.DataFrame(coded).to_csv(source, index=False)
                spent.write_text(str(self._run(peer, epsilon, source, target)))
            seconds = float(spent.read_text())
            if not target.exists():
                return None, seconds
            made = pd.read_csv(target)
        rows = {n: np.array(v, dtype=object)[made[n].astype(int)] for n, v in values.items()}
        return pd.DataFrame(rows), seconds

    def _run(self, peer: str, epsilon: float, source: Path, target: Path) -> float:
        """Let a peer write its rows, and return its seconds: the limit where it was stopped."""
        script = str(Path(__file__).with_name("peer_marginals.py"))
        try:
            done = subprocess.run(
                [self.python, script, peer, str(epsilon), str(source), str(target)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": ""},
                preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_CPU, (self.limit, self.limit + 60)
                ),
            )
        except subprocess.CalledProcessError as error:
            if error.returncode not in (-signal.SIGXCPU, -signal.SIGKILL):
                raise
            return float(self.limit)
        return float(done.stdout.split()[-1])


DEMOGRAPHIC = ["AGEP", "SEX", "MSP", "RAC1P", "HISP", "EDU", "PINCP_DECILE", "DVET", "DEYE", "PUMA"]


LARGER = 27_253  # rows of NIST's national excerpt, which published scores may be of


def k_marginal(peers: Sequence[str], others: Peers) -> None:
    """Print NIST's k-marginal score of ten demographic features at epsilon 1, beside subsamples."""
    import veladura as vd

    frame = frame_of("ma2019")[DEMOGRAPHIC]
    domain = {column: sorted(frame[column].unique()) for column in frame.columns}
    more = frame.sample(LARGER, replace=True, random_state=1)  # as if more people had been asked
    for people in (frame, more):
        for method, neighbours in OURS.items():
            recipe = vd.Marginals(
                columns=DEMOGRAPHIC, domain=domain, epsilon=1, neighbours=neighbours
            )
            began = time.process_time()
            made = recipe.protect(people).datasets[0]
            seconds = time.process_time() - began
            print(
                f"{method} at epsilon 1, {len(people)} people: {_score(people, made):.0f},"
                f" {seconds:.1f} s",
                flush=True,
            )
    for share in (0.01, 0.05, 0.1, 0.4):
        sample = frame.sample(frac=share, random_state=1)
        print(f"a random sample of {share:.0%}: {_score(frame, sample):.0f}", flush=True)
    for peer in peers:
        made, seconds = others.rows("demographic", peer, frame, 1.0)
        score = "stopped" if made is None else f"{_score(frame, made):.0f}"
        print(f"smartnoise {peer} at epsilon 1: {score}, {seconds:.0f} s")


def _score(original: pd.DataFrame, made: pd.DataFrame) -> float:
    import veladura as vd

    return float(vd.utility.k_marginal(original, made).score)


if __name__ == "__main__":
    main()
