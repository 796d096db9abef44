"""Effects of clusters: what the households of a sampled area share, drawn from their posterior.

A model with a term for every area takes the chance of its few households for the area's own, and
the draws add chance once more: clusters of the release differ too much, and design-based errors are
too large (Andridge 2011, sec. 3). A model without areas loses what they share, and errors are too
small. Here areas have random effects. The effects y of area c, after those of its stratum, are
normal with covariance B, its observed means m_c have those of its n_c households besides, W / n_c:

    y_c | m_c ~ N(L_c m_c, B - L_c B),   L_c = B (B + W / n_c)^-1.

Trees are grown with one draw from this posterior as predictors, and every dataset is drawn with a
draw of its own, as plausible values are used (Mislevy 1991): households and effects then have the
law of the model, and so have the clusters of the release.

What a draw adds to y_c is balanced: it sums to zero in every stratum, and so do its products with
columns that are constant within clusters, such as weights (Deville and Tillé 2004 for samples).
Trees are grown with one draw; if its mean were that of chance, all datasets would be off by it, and
no variance between them would tell.

References
----------
Andridge, R. R. (2011). Quantifying the impact of fixed effects modeling of clusters in multiple
imputation for cluster randomized trials. Biometrical Journal 53(1), 57-74.
Deville, J.-C. and Tillé, Y. (2004). Efficient balanced sampling: the cube method. Biometrika 91(4),
893-912.
Mislevy, R. J. (1991). Randomization-based inference about latent variables from complex samples.
Psychometrika 56(2), 177-196.
Reiter, J. P., Raghunathan, T. E. and Kinney, S. K. (2006). The importance of modeling the sampling
design in multiple imputation for missing data. Survey Methodology 32(2), 143-149.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.numeric.normal import normal_quantile
from veladura.numeric.trees.tree import ranks_of_places
from veladura.table.codes import Column
from veladura.table.schema import Field

EFFECT = "(cluster effect "
FEWEST_CLUSTERS = 10  # beyond the number of strata: with fewer a variance of effects says little
MOST_LEVELS = 3  # levels of a category whose shares may differ between clusters
CONSTANT = 1e-9  # a variance within clusters, over that between them, that is none
STEPS = 2.0**20  # draws are rounded: another processor may give other last digits


@dataclass(frozen=True, eq=False, repr=False)
class ClusterEffects:
    """The posterior of the effects of clusters. Holds what was learnt of the original.

    Attributes
    ----------
    names
        The effects, as predictors: each says on which column it is.
    cluster
        The cluster of every household.
    mean
        The posterior mean, a row for each cluster.
    root
        A root of the posterior covariance of each cluster.
    size
        The root of the number of households of each cluster.
    balance
        Orthogonal columns, a row for each cluster: what draws add, times ``size``, has none of
        them.
    """

    names: tuple[str, ...]
    cluster: Ints
    mean: Floats
    root: Floats
    size: Floats
    balance: Floats

    def drawn(self, rng: Generator) -> dict[str, Column]:
        """Return one draw of all effects, for every household."""
        chance = rng.standard_normal(self.mean.shape)
        effects = self.mean + self._balanced(np.einsum("cij,cj->ci", self.root, chance))
        effects = np.round(effects * STEPS) / STEPS
        none = np.zeros(self.cluster.size, dtype=bool)
        return {
            name: Column(Field(name, "number", pa.float64()), effects[self.cluster, i], none)
            for i, name in enumerate(self.names)
        }

    def _balanced(self, added: Floats) -> Floats:
        """Return what a draw adds without its sums in strata; its variance stays."""
        clusters, sums = self.balance.shape
        scaled = added * self.size[:, None]
        scaled -= self.balance @ (self.balance.T @ scaled)
        left: Floats = scaled / self.size[:, None] * np.sqrt(clusters / (clusters - sums))
        return left


def target_of(name: str) -> str | None:
    """Return the column that an effect is on; None for any other column.

    Examples
    --------
    >>> target_of("(cluster effect 2 on rent)"), target_of("rent")
    ('rent', None)
    """
    return name.split(" on ", 1)[1][:-1] if name.startswith(EFFECT) else None


def fit_effects(
    cluster: Ints, stratum: Ints, columns: Mapping[str, tuple[Column, Ints]]
) -> ClusterEffects | None:
    """Return the effects of clusters on columns, by the moments of their means.

    B is what the covariance of means between clusters of a stratum exceeds W / n by; columns whose
    means differ by no more than chance have no effect. None where clusters are too few.

    Parameters
    ----------
    cluster, stratum
        Of every household, numbered from 0.
    columns
        By name a column that is drawn, of households, members or their rows, and the household of
        each of its rows; in the order of the levels.
    """
    number = int(cluster.max()) + 1
    homes = np.bincount(cluster, minlength=number).astype(np.float64)
    home = np.zeros(number, dtype=np.int64)
    home[cluster] = stratum
    spare = number - np.unique(home).size
    if spare < FEWEST_CLUSTERS or (homes - 1).sum() < number:
        return None
    found: dict[str, tuple[Floats, Floats]] = {}
    before: list[tuple[Floats, Ints]] = []
    for name, (column, household) in columns.items():
        scores = _scores(column)
        known = [_at(score, own, household) for score, own in before]
        for i, score in enumerate(scores, start=1):
            rest = _adjusted(score, known, cluster[household])
            total = np.bincount(household, rest, cluster.size).astype(np.float64)
            rows = np.bincount(household, minlength=cluster.size).astype(np.float64)
            found[f"{EFFECT}{i} on {name})"] = _means(total, rows, cluster, homes)
        before += [(score, household) for score in scores]
    names = tuple(found)
    means = np.column_stack([mean for mean, _ in found.values()])
    rest = np.column_stack([residual for _, residual in found.values()])
    count = np.bincount(home, minlength=int(home.max()) + 1)
    level = np.column_stack([np.bincount(home, column) for column in means.T])
    off = means - (level / np.maximum(count, 1)[:, None])[home]
    between = off.T @ off / spare
    within = rest.T @ rest / (homes - 1).sum()
    kept = np.flatnonzero(np.diag(between) > np.diag(within) * np.mean(1 / homes))
    if not kept.size:
        return None
    pick = np.ix_(kept, kept)
    mean, root = _posterior(between[pick], within[pick], off[:, kept], homes)
    constant = np.flatnonzero(np.diag(within) < CONSTANT * np.diag(between))
    size = np.sqrt(homes)
    balance = _balance(home, off[:, constant[: spare - FEWEST_CLUSTERS]], size)
    return ClusterEffects(tuple(names[i] for i in kept), cluster, mean, root, size, balance)


def _balance(stratum: Ints, constant: Floats, size: Floats) -> Floats:
    """Return an orthogonal basis of strata and of columns that are constant within clusters."""
    strata = (stratum[:, None] == np.unique(stratum)).astype(np.float64)
    values, _ = np.linalg.qr(size[:, None] * strata)
    left = size[:, None] * constant
    left -= values @ (values.T @ left)
    found, sizes, _ = np.linalg.svd(left, full_matrices=False)
    return np.hstack([values, found[:, sizes > CONSTANT * max(1.0, sizes.max(initial=0.0))]])


def _scores(column: Column) -> list[Floats]:
    """Return normal scores of the ranks of numbers, or indicators of the most frequent levels."""
    given = ~column.missing
    if column.labels is not None and column.field.kind != "ordered":
        count = np.bincount(column.values[given], minlength=len(column.labels))
        most = min(MOST_LEVELS, max(int((count > 0).sum()) - 1, 0))
        levels = np.argsort(-count, kind="stable")[:most]
        return [((column.values == level) & given).astype(np.float64) for level in levels]
    scores = np.zeros(column.size)
    if given.any():
        place = np.unique(column.values[given], return_inverse=True)[1].reshape(-1)
        share = ranks_of_places(place) / (2 * place.size) + 0.5
        half = 0.5 / place.size
        scores[given] = normal_quantile(np.clip(share, half, 1 - half))
    return [scores]


def _at(score: Floats, own: Ints, household: Ints) -> Floats:
    """Return a score at rows of households: as it is, or that of the household of each row."""
    if own.size == household.size:
        return score
    by_home = np.zeros(int(max(own.max(), household.max())) + 1)
    by_home[own] = score
    return by_home[household]


def _adjusted(score: Floats, known: Sequence[Floats], cluster: Ints) -> Floats:
    """Return a score less its regression, within clusters, on those of columns drawn before.

    The tree of a column has these as predictors: its effect is on what they leave.
    """
    if not known:
        return score
    x = np.column_stack(known)
    count = np.maximum(np.bincount(cluster), 1)
    means = np.column_stack([np.bincount(cluster, column) / count for column in x.T])
    inside = x - means[cluster]
    mean = np.bincount(cluster, score) / count
    slopes = np.linalg.lstsq(inside, score - mean[cluster], rcond=1e-8)[0]
    rest: Floats = score - x @ slopes
    return rest


def _means(total: Floats, rows: Floats, cluster: Ints, homes: Floats) -> tuple[Floats, Floats]:
    """Return the mean in each cluster, and what each household adds to its error.

    The mean of the members of a cluster is a ratio of sums over its households: a household adds
    (s - n mean) / (mean n) (Lohr 2010, eq. 5.26).
    """
    number = np.maximum(np.bincount(cluster, rows, homes.size), 1.0)
    mean = np.bincount(cluster, total, homes.size) / number
    added = (total - rows * mean[cluster]) / (number / homes)[cluster]
    return mean, added


def _posterior(
    between: Floats, within: Floats, off: Floats, homes: Floats
) -> tuple[Floats, Floats]:
    """Return the posterior mean of each cluster, and a root of its covariance.

    B = between - W mean(1 / n), with its negative directions set to nought.
    """
    scale = np.sqrt(np.diag(between))
    whole = between / np.outer(scale, scale)
    chance = within / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(whole - chance * np.mean(1 / homes))
    effects = (vectors * np.maximum(values, 0.0)) @ vectors.T
    mean, root = np.zeros_like(off), np.zeros((*off.shape, off.shape[1]))
    for size in np.unique(homes):
        at = np.flatnonzero(homes == size)
        spread = effects + chance / size
        weights = np.linalg.lstsq(spread, effects, rcond=1e-10)[0].T
        mean[at] = scale * ((off[at] / scale) @ weights.T)
        left, turned = np.linalg.eigh(effects - weights @ effects)
        root[at] = scale[:, None] * ((turned * np.sqrt(np.maximum(left, 0.0))) @ turned.T)
    return mean, root
