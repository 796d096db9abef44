"""The strongest intruder of Paiva et al. (2014): knows all releases, the model, and all others.

For a target with attributes b, counted in cell t, the intruder compares the cells g that it could
be in. With c the counts and S_1..S_m the released counts, drawn independently given c,

    p(g | S, others) ~ E[r_g | c] prod_d E[r_g | c, S_d] / E[r_g | c],   r_g = lambda_gb / lambda_tb

for p(data with the target in g) / p(data) = E[r_g | data] whatever the data (importance weights
that move one person, Paiva et al. 2014, sec. 4). Both expectations are posterior means of a ratio:
of the model given the counts, and given the counts with those of one release added to them. The
first factor alone is what the intruder believes without any release: the base rate.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.context import Context
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.methods.geography.icar import sample
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.icar_priors import Priors
from veladura.numeric.mcmc.diagnostics import ChainWarning

if TYPE_CHECKING:
    from veladura.methods.geography.placed import PlacedRelease

TARGETS = 200
CHAINS = 2
FEWEST_SWEEPS, MOST_SWEEPS = 600, 3000
WORK = 12_000_000  # cells x combinations x sweeps x chains in all: some ten seconds
MOST_DRAWS = 1000  # that expectations are taken over
MOST_NUMBERS = 20_000_000  # of posterior draws that are held at once


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the intruder believes of each target. Computed from the original: private.

    Attributes
    ----------
    before, after
        Probability of the true cell without and with the releases.
    found_before, found_after
        Whether the true cell is the most probable one; a tie counts its share.
    """

    before: Floats = field(repr=False)
    after: Floats = field(repr=False)
    found_before: Floats = field(repr=False)
    found_after: Floats = field(repr=False)


@dataclass(frozen=True, eq=False)
class Intruded:
    """The model of a release, the counts of the original and those of the datasets."""

    counts: CellCounts
    released: list[Ints] = field(repr=False)
    graph: Graph
    design: EffectDesign
    priors: Priors

    def beliefs(self, group: Ints, cell: Ints, sweeps: int, streams: Streams) -> Beliefs:
        """Return what the intruder believes of targets with these combinations and cells.

        Parameters
        ----------
        sweeps
            Sweeps of each of two chains, a quarter of them burn-in; there are m + 1 such runs.
        """
        base = self._ratios(self.counts, group, cell, sweeps, streams, "counts")
        logs = np.log(base)
        for number, drawn in enumerate(self.released):
            both = CellCounts(self.counts.values + drawn, self.counts.offset + np.log(2.0))
            ratio = self._ratios(both, group, cell, sweeps, streams, number)
            logs += np.log(ratio) - np.log(base)
        before = base / base.sum(axis=1, keepdims=True)
        after = np.exp(logs - logs.max(axis=1, keepdims=True))
        after /= after.sum(axis=1, keepdims=True)
        at = np.arange(cell.size)
        return Beliefs(before[at, cell], after[at, cell], _found(before, cell), _found(after, cell))

    def _ratios(
        self, counts: CellCounts, group: Ints, cell: Ints, sweeps: int, streams: Streams, name: Any
    ) -> Floats:
        """Return E[lambda_gb / lambda_tb] of each target t for every cell g."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ChainWarning)
            draws = sample(
                counts,
                self.graph,
                self.design,
                self.priors,
                m=_draws(sweeps, counts.values.size),
                context=Context(streams).within("informed", name),
                sweeps=sweeps,
                burn=sweeps // 4,
                chains=CHAINS,
            )
        total = np.zeros((cell.size, counts.values.shape[1]))
        for intensity in draws.intensity:
            mine = intensity[group]
            total += mine / mine[np.arange(cell.size), cell][:, None]
        return total / len(draws.intensity)


def _draws(sweeps: int, size: int) -> int:
    """Return how many draws expectations are taken over: all that are kept, if they fit."""
    kept = CHAINS * ((sweeps - sweeps // 4) // 4)
    return max(min(kept, MOST_DRAWS, MOST_NUMBERS // size), CHAINS)


def _found(beliefs: Floats, cell: Ints) -> Floats:
    top = beliefs >= beliefs.max(axis=1, keepdims=True)
    return np.asarray(top[np.arange(cell.size), cell] / top.sum(axis=1))


def intruded(release: PlacedRelease) -> Intruded:
    """Return the model that places of a release were drawn from, with its counts."""
    given = release.step.settings.get("priors")
    if not isinstance(given, dict):
        msg = "the places of this release were not drawn from a model of the map."
        raise NotApplicable(msg)
    priors = Priors(**given)
    grid, groups = release.grid, release.combinations
    shape = (len(groups.levels), grid.cells)
    offset = np.log(grid.area / grid.area.mean())
    counts = _counts(release.group[release.before.rows], release.before.cell, shape)
    drawn = [
        _counts(release.released_group(number)[scene.rows], scene.cell, shape)
        for number, scene in enumerate(release.after)
    ]
    return Intruded(
        CellCounts(counts, offset),
        drawn,
        Graph.of_pairs(grid.cells, grid.pairs),
        EffectDesign(groups.levels),
        priors,
    )


def _counts(group: Ints, cell: Ints, shape: tuple[int, int]) -> Ints:
    known = group >= 0
    flat = group[known] * shape[1] + cell[known]
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)


def affordable_sweeps(intruded: Intruded) -> int:
    """Return how many sweeps each chain may take; 0 where even short ones would take minutes."""
    each = intruded.counts.values.size * CHAINS * (len(intruded.released) + 1)
    sweeps = min(WORK // each, MOST_SWEEPS)
    return sweeps if sweeps >= FEWEST_SWEEPS else 0
