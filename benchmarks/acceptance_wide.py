"""Private tables of twelve columns: coverage of intervals where tables are chosen by the data.

``python -m benchmarks.acceptance_wide --runs 200 --epsilon 1`` draws population, people and noise
anew each time. The domain is too large for Markov chains over its cells, and nobody names the
tables: ``Marginals`` chooses them at its defaults. What is asked is what an analyst may ask without
a warning: shares of one column, cells and log odds ratios of two columns measured together.
``--skewed`` makes most values of a column rare, so that noise often leaves nobody in a cell.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

import veladura as vd
from veladura.base.arrays import Floats
from veladura.inference.posterior.from_draws import estimate, half_width
from veladura.table.codes import label_text

SIZES = (2, 5, 3, 2, 8, 4, 2, 6, 3, 10, 2, 4)
NAMES = [f"c{i}" for i in range(len(SIZES))]
CLASSES = 5
ASKED = 4  # measured pairs asked about in a run
KINDS = ("one-way shares", "two-way cells", "log odds ratios")
WAYS = ("posterior", "datasets", "naive")
Z = 1.96


class Population:
    """Columns that are independent in each of some classes: tables of two in closed form."""

    def __init__(self, rng: np.random.Generator, *, skewed: bool) -> None:
        self.shares = rng.dirichlet(np.full(CLASSES, 3.0))
        weights = [1.5 / np.arange(1, s + 1) if skewed else np.full(s, 1.2) for s in SIZES]
        self.laws = [rng.dirichlet(weight, CLASSES) for weight in weights]

    def table(self, columns: tuple[int, ...]) -> Floats:
        """Return the shares of a table of one or two columns."""
        if len(columns) == 1:
            return self.shares @ self.laws[columns[0]]
        one, two = (self.laws[column] for column in columns)
        return np.einsum("c,ci,cj->ij", self.shares, one, two).ravel()

    def people(self, rng: np.random.Generator, rows: int) -> pd.DataFrame:
        """Return people drawn from the population, as whole numbers."""
        classes = rng.choice(CLASSES, rows, p=self.shares)
        ends = [np.cumsum(law, axis=1)[classes] for law in self.laws]
        codes = [(rng.random(rows)[:, None] > end[:, :-1]).sum(axis=1) for end in ends]
        return pd.DataFrame(dict(zip(NAMES, codes, strict=True)))


def log_odds(table: Floats, shape: tuple[int, int]) -> Floats:
    """Return the log odds ratios of neighbouring values of two columns; tables in rows."""
    logs = np.log(np.maximum(table, 1e-300)).reshape(-1, *shape)
    ratios = logs[:, 1:, 1:] + logs[:, :-1, :-1] - logs[:, 1:, :-1] - logs[:, :-1, 1:]
    return ratios.reshape(len(logs), -1)


def questions(world: Population, pairs: list[tuple[int, ...]]) -> Iterator[tuple]:
    """Give the kind, the columns, the truth and the function of a table of every question."""
    for column in range(len(SIZES)):
        yield KINDS[0], (column,), world.table((column,)), lambda table: table
    for pair in pairs:
        shape = SIZES[pair[0]], SIZES[pair[1]]
        truth = world.table(pair)
        yield KINDS[1], pair, truth, lambda table: table
        ratios = log_odds(truth[None, :], shape)[0]
        yield KINDS[2], pair, ratios, lambda table, shape=shape: log_odds(table, shape)


def naive_error(kind: str, table: Floats, shape: tuple[int, ...], rows: int) -> Floats:
    """Return the standard errors that the released rows have if they are taken for people."""
    if kind != KINDS[2]:
        return np.sqrt(table * (1 - table) / rows)
    inverse = 1 / np.maximum(table * rows, 0.5).reshape(shape)
    return np.sqrt(
        inverse[1:, 1:] + inverse[:-1, :-1] + inverse[1:, :-1] + inverse[:-1, 1:]
    ).ravel()


def counted(rows: list[np.ndarray], columns: tuple[int, ...]) -> Floats:
    """Return the shares of a table of released rows, given as codes by column."""
    sizes = [SIZES[c] for c in columns]
    flat = np.ravel_multi_index([rows[c] for c in columns], sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes))) / flat.size


def inside(draws: Floats, truth: Floats, *, t_only: bool = False) -> list[bool]:
    """Tell which truths are in the 95 % intervals of draws."""
    hits = []
    for column, value in zip(draws.T, truth, strict=True):
        if t_only:
            hits.append(abs(column.mean() - value) <= half_width(column, 0.95))
        else:
            found = estimate(column, 0.95)
            hits.append(found.lower <= value <= found.upper)
    return hits


def one_run(
    rng: np.random.Generator, world: Population, epsilon: float, people: int
) -> dict[str, dict[str, float]]:
    """Return by way and kind the share of the truths that are inside their intervals."""
    frame = world.people(rng, people)
    domain = {name: list(range(size)) for name, size in zip(NAMES, SIZES, strict=True)}
    release = vd.Marginals(columns=NAMES, domain=domain, epsilon=epsilon).protect(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = vd.posterior(release)
        drawn = posterior.rows(50, people)
    measured = [t.columns for t in posterior.model.tables if len(t.columns) == 2]
    pairs = sorted(set(measured))
    rng.shuffle(pairs)
    data = release.datasets[0]
    codes = [data[name].map(label_text).astype(int).to_numpy() for name in NAMES]
    hits: dict[str, dict[str, list[bool]]] = {way: {k: [] for k in KINDS} for way in WAYS}
    for kind, columns, truth, asked in questions(world, pairs[:ASKED]):
        draws = asked(posterior.table_draws([NAMES[c] for c in columns]))
        hits["posterior"][kind] += inside(draws, truth)
        datasets = asked(np.array([counted(list(rows), columns) for rows in drawn]))
        hits["datasets"][kind] += inside(datasets, truth, t_only=True)
        table = counted(codes, columns)
        error = naive_error(kind, table, tuple(SIZES[c] for c in columns), people)
        hits["naive"][kind] += list(np.abs(asked(table[None, :])[0] - truth) <= Z * error)
    return {
        w: {k: float(np.mean(v)) if v else np.nan for k, v in h.items()} for w, h in hits.items()
    }


def _figure(kind: str, shares: Floats) -> str:
    """Return mean and twice its Monte Carlo error."""
    return f"{kind} {shares.mean():.3f} ({2 * shares.std() / shares.size**0.5:.3f})"


def main() -> None:
    """Print the coverage of 95 % intervals after every fifty runs."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--runs", type=int, default=200)
    reader.add_argument("--people", type=int, default=5000)
    reader.add_argument("--epsilon", type=float, default=1.0)
    reader.add_argument("--seed", type=int, default=20261117)
    reader.add_argument("--skewed", action="store_true")
    given = reader.parse_args()
    rng, began = np.random.default_rng(given.seed), time.process_time()
    runs = []
    for number in range(1, given.runs + 1):
        world = Population(rng, skewed=given.skewed)
        runs.append(one_run(rng, world, given.epsilon, given.people))
        if number % 50 == 0 or number == given.runs:
            seconds = (time.process_time() - began) / number
            print(f"epsilon {given.epsilon:g}, {number} runs, {seconds:.1f} s each")
            for way in WAYS:
                each = {k: np.array([run[way][k] for run in runs]) for k in KINDS}
                figures = "  ".join(_figure(k, v[np.isfinite(v)]) for k, v in each.items())
                print(f"  {way:10} {figures}", flush=True)


if __name__ == "__main__":
    main()
