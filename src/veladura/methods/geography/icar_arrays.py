"""The arrays of the sweeps of the disease-mapping model, and their compiled types."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numba import types
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints


class Model(NamedTuple):
    """What stays fixed while a chain runs.

    G cells, B combinations, P parts, F effects, the last K of which are slopes of covariates.
    """

    counts: Floats  # G x B
    start: Ints  # neighbours of each cell, in compressed rows
    neighbour: Ints
    part: Ints  # -1: no neighbours
    group: Ints  # the part whose mean a cell shares: its own, or the first without neighbours
    size: Floats  # P + 1: cells of each part, then those without neighbours
    first: Ints  # combinations of each effect, in compressed rows; none for slopes
    member: Ints
    totals: Floats  # F x G: counts of an effect's combinations, each times its covariate for slopes
    group_totals: Floats  # F x P: their sums
    # K G + 1: combinations with a covariate other than 0, by covariate and cell (compressed rows)
    slope_first: Ints
    slope_member: Ints
    covariate: Floats
    slopes: int  # K
    mean_precision: Floats  # F: prior precision of an effect's mean over a part; below 0: mean 0
    smooth: Ints  # F: 1 for intrinsic CAR, 0 for independent normals of fixed precision
    # F + 1 x 3: p(tau) ~ tau^(a - 1) exp(-b tau - c tau^(-1/2)) of the effects, then of eps
    scale_prior: Floats


class State(NamedTuple):
    """The state of a chain."""

    effect: Floats  # F x G
    mean: Floats  # F x P: of the effect over each part
    apart: Floats  # F: sum over cells without neighbours of their distance to the first part's mean
    precision: Floats  # F + 1: of the effects, then of eps
    eps: Floats  # G x B
    rate: Floats  # G x B
    boost: Floats  # G x B
    step: Floats  # F + 1: random-walk steps of the log precisions, tuned in burn-in
    trial: Floats  # G x B: work space
    work: Floats  # 4 x G: work space, by row
    chosen: Ints  # G: work space


BEFORE, AFTER, SHIFT, FACTOR = range(4)  # rows of the work space
INT, REAL, BOOL, NONE, RNG = types.int64, types.float64, types.boolean, types.void, types.npy_rng
INTS, FLOATS, TABLE = types.int64[::1], types.float64[::1], types.float64[:, ::1]
MODEL = types.NamedTuple(
    (
        TABLE,
        INTS,
        INTS,
        INTS,
        INTS,
        FLOATS,
        INTS,
        INTS,
        TABLE,
        TABLE,
        INTS,
        INTS,
        FLOATS,
        INT,
        FLOATS,
        INTS,
        TABLE,
    ),
    Model,
)
STATE = types.NamedTuple(
    (TABLE, TABLE, FLOATS, FLOATS, TABLE, TABLE, TABLE, FLOATS, TABLE, TABLE, INTS), State
)

Draw = Callable[[Generator, Model, State, int], None]
Weigh = Callable[[Model, State, int, float], float]
Widen = Callable[[Model, State, int, float], None]
DRAW = NONE(RNG, MODEL, STATE, INT)  # gives effect j new values
# the gain of log likelihood from widening effect j by a step of its log precision
WEIGH = REAL(MODEL, STATE, INT, REAL)
WIDEN = NONE(MODEL, STATE, INT, REAL)  # widens it so
