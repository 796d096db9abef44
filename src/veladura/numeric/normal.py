"""Quantiles of the normal distribution, without loading SciPy: that takes longer than a protect."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.jit import compiled, inner

# Wichura (1988), algorithm AS 241, PPND16: numerators and denominators, highest power first.
_MIDDLE = (
    (
        *(2509.0809287301226727, 33430.575583588128105, 67265.770927008700853),
        *(45921.953931549871457, 13731.693765509461125, 1971.5909503065514427),
        *(133.14166789178437745, 3.3871328727963666080),
    ),
    (
        *(5226.4952788528545610, 28729.085735721942674, 39307.895800092710610),
        *(21213.794301586595867, 5394.1960214247511077, 687.18700749205790830),
        *(42.313330701600911252, 1.0),
    ),
)
_TAIL = (
    (
        *(7.74545014278341407640e-4, 0.0227238449892691845833, 0.241780725177450611770),
        *(1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550),
        *(4.63033784615654529590, 1.42343711074968357734),
    ),
    (
        *(1.05075007164441684324e-9, 5.47593808499534494600e-4, 0.0151986665636164571966),
        *(0.148103976427480074590, 0.689767334985100004550, 1.67638483018380384940),
        *(2.05319162663775882187, 1.0),
    ),
)
_CENTRE, _SPLIT = 0.425, 0.180625
_COEFFICIENTS = (np.array(_MIDDLE), np.array(_TAIL))
MANY = 10_000  # with fewer, machine code is not worth loading
SMALLEST = 2e-11  # the third range of the algorithm is not needed: no table has as many rows


def normal_quantile(share: Floats) -> Floats:
    """Return the points of the normal distribution with some shares below them.

    Algorithm AS 241 (Wichura 1988), correct to about 16 digits; shares nearer to 0 or 1 than 2e-11
    are taken as that.

    Examples
    --------
    >>> normal_quantile(np.array([0.025, 0.5, 0.975])).round(6).tolist()
    [-1.959964, 0.0, 1.959964]
    """
    shares = np.asarray(share, dtype=np.float64)
    if shares.size < MANY:
        return _quantile(shares)
    points = np.empty(shares.size)
    write_quantiles(np.ascontiguousarray(shares).reshape(-1), *_COEFFICIENTS, points)
    return points.reshape(shares.shape)


def _quantile(share: Floats) -> Floats:
    p = np.clip(share, SMALLEST, 1 - SMALLEST)
    q = p - 0.5
    r = _SPLIT - q * q
    points: Floats = q * np.polyval(_MIDDLE[0], r) / np.polyval(_MIDDLE[1], r)
    outside = np.abs(q) > _CENTRE
    away = p[outside]
    far = np.sqrt(-np.log(np.minimum(away, 1 - away))) - 1.6
    tail = np.polyval(_TAIL[0], far) / np.polyval(_TAIL[1], far)
    points[outside] = np.sign(q[outside]) * tail
    return points


@inner("float64(float64[:, ::1], float64)")
def _ratio(of: Floats, x: float) -> float:
    """Return a ratio of two polynomials."""
    over = under = 0.0
    for i in range(of.shape[1]):
        over = over * x + of[0, i]
        under = under * x + of[1, i]
    return over / under


@compiled("void(float64[::1], float64[:, ::1], float64[:, ::1], float64[::1])")
def write_quantiles(share: Floats, middle: Floats, tails: Floats, points: Floats) -> None:
    """Write the points of the normal distribution with some shares below them."""
    for i in range(share.size):
        p = min(max(share[i], SMALLEST), 1 - SMALLEST)
        q = p - 0.5
        if abs(q) <= _CENTRE:
            points[i] = q * _ratio(middle, _SPLIT - q * q)
        else:
            far = np.sqrt(-np.log(min(p, 1 - p))) - 1.6
            points[i] = np.sign(q) * _ratio(tails, far)
