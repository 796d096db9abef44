"""Small worlds for tests of the sampler: graphs with parts and lone cells, joint draws."""

from __future__ import annotations

import numpy as np

from veladura.methods.geography import icar_chain
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph


def lattice(rows, columns):
    """Cells of a full grid that share a side or a corner."""
    index = np.arange(rows * columns).reshape(rows, columns)
    pairs = [
        (index[r, c], index[r + down, c + right])
        for r in range(rows)
        for c in range(columns)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
        if r + down < rows and 0 <= c + right < columns
    ]
    return Graph.of_pairs(rows * columns, pairs)


# Two parts, of three and of two cells, and four cells without neighbours.
BROKEN = Graph.of_pairs(9, [(0, 1), (1, 2), (6, 7)])
CODES = np.array([[0, 0], [0, 1], [1, 0]])


def precision_matrix(graph):
    """The precision of an intrinsic CAR effect, by definition."""
    matrix = np.zeros((graph.cells, graph.cells))
    for i, j in graph.pairs:
        matrix[[i, j], [i, j]] += 1
        matrix[[i, j], [j, i]] -= 1
    return matrix


def draw_scale(rng, shape, rate, pull):
    """Draw a precision: gamma, or such that tau^(-1/2) is exponential."""
    return rng.exponential(1 / pull) ** -2 if pull else rng.gamma(shape, 1 / rate)


class World:
    """Draws parameters from their priors and counts given them."""

    def __init__(self, graph, codes, covariates, priors):
        self.graph, self.priors = graph, priors
        self.offset = np.linspace(-0.5, 0.5, graph.cells)
        self.design = EffectDesign(codes, covariates)
        empty = CellCounts(np.zeros((len(codes), graph.cells), dtype=np.int64), self.offset)
        self.model = icar_chain.lay_out(empty, graph, self.design, priors)
        values, vectors = np.linalg.eigh(precision_matrix(graph))
        self.root = vectors[:, values > 1e-9] / np.sqrt(values[values > 1e-9])

    def draw_effect(self, rng, precision, variance):
        """An ICAR effect with means N(0, variance) by part; lone cells around the first mean."""
        graph = self.graph
        means = rng.normal(0, np.sqrt(variance), graph.parts)
        effect = self.root @ rng.normal(size=self.root.shape[1]) / np.sqrt(precision)
        effect[graph.part < 0] = rng.normal(size=(graph.part < 0).sum()) / np.sqrt(precision)
        return effect + means[np.maximum(graph.part, 0)]

    def draw(self, rng):
        """Return model and state drawn from the joint law of parameters and counts."""
        p, model, slopes = self.priors, self.model, self.model.slopes
        effects = len(model.totals)
        precision = np.array([draw_scale(rng, *row) for row in model.scale_prior])
        effect = np.stack(
            [self.draw_effect(rng, tau, p.intercept_variance) for tau in precision[:-1]]
        )
        for j in range(effects - slopes, effects):
            if p.slope == "normal":
                precision[j] = 1 / p.slope_variance
                effect[j] = rng.normal(0, np.sqrt(p.slope_variance), self.graph.cells)
            else:
                effect[j] = self.draw_effect(rng, precision[j], p.slope_variance)
        eps = rng.normal(size=model.counts.shape) / np.sqrt(precision[-1])
        state = icar_chain.settle(model, self.offset, effect, eps, precision)
        return self.observe(rng.poisson(state.rate * state.boost)), state

    def observe(self, counts):
        """Return the model with these counts, by cell and combination."""
        values = counts.astype(np.float64)
        totals = np.concatenate(
            [
                self.design.dummies @ values.T,
                np.einsum("kbg,gb->kg", self.design.covariates, values),
            ]
        )
        groups = np.eye(self.graph.parts)[self.model.group]
        return self.model._replace(counts=values, totals=totals, group_totals=totals @ groups)
