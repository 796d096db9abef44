"""Membership inference: who is in the data, judged by the nearest released row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.measures.risk.evaluation import ATTEMPTS, Attack, drawn, enter, judge
from veladura.numeric.points import nearest_rows
from veladura.numeric.proportions import LEVEL

CLAIMS = 0.05  # share of one half of the control group that sets the distance


@dataclass(frozen=True)
class Membership(Attack):
    """How well membership inference works.

    Attributes
    ----------
    auc
        Area under the ROC curve: probability that a person of the original is nearer to the release
        than a person of the control group. 1/2 is ideal.
    """

    auc: Estimate


@renamed(released="release", columns="known")
def membership(
    original: Any,
    release: Any,
    control: Any,
    *,
    known: Sequence[str] | None = None,
    attempts: int = ATTEMPTS,
    level: float = LEVEL,
    seed: int = 0,
) -> Membership:
    """Return how much more often members are recognised than people of the control group.

    A person is claimed to be a member when a released row is very near: as near as the nearest
    five per cent of one half of the control group are. The attack succeeds when a person is
    claimed; on the other half of the control group every claim is wrong.

    Parameters
    ----------
    original, release, control, known, attempts, level, seed
        As for `singling_out`.

    References
    ----------
    Hayes, J., Melis, L., Danezis, G. and De Cristofaro, E. (2019). LOGAN: membership inference
    attacks against generative models. Proceedings on Privacy Enhancing Technologies 2019(1),
    133-152.
    Hanley, J. A. and McNeil, B. J. (1982). The meaning and use of the area under a receiver
    operating characteristic (ROC) curve. Radiology 143(1), 29-36.
    """
    arena = enter(original, release, control, known, 2 * attempts, seed)
    members, others = arena.sides()
    mixed = arena.streams("half").permutation(len(others))
    stacked = arena.stacked
    inside = nearest_rows(
        members[drawn(arena.streams("members"), len(members), attempts)], stacked
    ).distance
    outside = nearest_rows(others[mixed], stacked).distance
    tuning, held = outside[: len(outside) // 2], outside[len(outside) // 2 :]
    near = float(np.quantile(tuning, CLAIMS, method="lower"))
    claimed = [int(np.count_nonzero(distance <= near)) for distance in (inside, held)]
    attack = judge(claimed[0], inside.size, claimed[1], held.size, level)
    return Membership(
        attack.success,
        attack.control,
        attack.risk,
        attack.p_value,
        attack.attempts,
        _auc(inside, outside, level),
    )


def _auc(inside: Floats, outside: Floats, level: float) -> Estimate:
    """Return the probability that one distance is below another; ties count half.

    The interval is that of Hanley and McNeil (1982).
    """
    from scipy.special import ndtri

    ordered = np.sort(outside)
    above = ordered.size - np.searchsorted(ordered, inside, "right")
    equal = np.searchsorted(ordered, inside, "right") - np.searchsorted(ordered, inside, "left")
    area = float(np.mean((above + equal / 2) / ordered.size))
    first, second = area / (2 - area), 2 * area * area / (1 + area)
    variance = (
        area * (1 - area)
        + (inside.size - 1) * (first - area * area)
        + (outside.size - 1) * (second - area * area)
    )
    half = float(ndtri((1 + level) / 2)) * float(
        np.sqrt(max(variance, 0.0) / (inside.size * outside.size))
    )
    return Estimate(area, max(area - half, 0.0), min(area + half, 1.0), level)
