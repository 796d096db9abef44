"""Membership: telling who is in the data from how near the release comes to a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.measures.risk.evaluation import ATTEMPTS, Attack, Floats, drawn, enter, judge
from veladura.numeric.points import nearest_rows
from veladura.numeric.proportions import LEVEL

CLAIMS = 0.05  # share of the control that is claimed, when the distance is set


@dataclass(frozen=True)
class Membership(Attack):
    """What telling members from others achieved.

    Attributes
    ----------
    auc
        The chance that someone of the original is nearer to the release than someone of the
        control: 1/2 is ideal.
    """

    auc: Estimate


def membership(
    original: Any,
    released: Any,
    control: Any,
    *,
    columns: Sequence[str] | None = None,
    attempts: int = ATTEMPTS,
    level: float = LEVEL,
    seed: int = 0,
) -> Membership:
    """Claim that a person is in the data when a released row is very near, and see whether members are claimed more often.

    Half of the control is used to set how near: as near as its nearest five per cent are. The
    attack works when a person is claimed to be a member; on the other half of the control every
    claim is wrong.

    Parameters
    ----------
    original, released, control, columns, attempts, level, seed
        As for `singling_out`.

    References
    ----------
    Hayes, J., Melis, L., Danezis, G. and De Cristofaro, E. (2019). LOGAN: membership inference
    attacks against generative models. Proceedings on Privacy Enhancing Technologies 2019(1),
    133-152.
    Hanley, J. A. and McNeil, B. J. (1982). The meaning and use of the area under a receiver
    operating characteristic (ROC) curve. Radiology 143(1), 29-36.
    """
    arena = enter(original, released, control, columns, 2 * attempts, seed)
    members, others = arena.sides()
    mixed = arena.streams("half").permutation(len(others))
    stacked = arena.stacked
    inside = nearest_rows(
        members[drawn(arena.streams("members"), len(members), attempts)], stacked
    ).distance
    outside = nearest_rows(others[mixed], stacked).distance
    tuning, held = outside[: len(outside) // 2], outside[len(outside) // 2 :]
    near = float(np.quantile(tuning, CLAIMS, method="lower"))
    worked = [int(np.count_nonzero(one <= near)) for one in (inside, held)]
    found = judge(worked[0], inside.size, worked[1], held.size, level)
    return Membership(
        found.success,
        found.control,
        found.risk,
        found.p_value,
        found.attempts,
        _auc(inside, outside, level),
    )


def _auc(inside: Floats, outside: Floats, level: float) -> Estimate:
    """Return the chance that one distance is below another, as near counts half, with the interval of Hanley and McNeil (1982)."""
    from scipy.special import ndtri

    ordered = np.sort(outside)
    above = ordered.size - np.searchsorted(ordered, inside, "right")
    equal = np.searchsorted(ordered, inside, "right") - np.searchsorted(ordered, inside, "left")
    area = float(np.mean((above + equal / 2) / ordered.size))
    one, two = area / (2 - area), 2 * area * area / (1 + area)
    variance = (
        area * (1 - area)
        + (inside.size - 1) * (one - area * area)
        + (outside.size - 1) * (two - area * area)
    )
    half = float(ndtri((1 + level) / 2)) * float(
        np.sqrt(max(variance, 0.0) / (inside.size * outside.size))
    )
    return Estimate(area, max(area - half, 0.0), min(area + half, 1.0), level)
