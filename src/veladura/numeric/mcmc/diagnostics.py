"""R-hat and effective sample size of Markov chains, and a warning when they are poor."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import VeladuraWarning

MOST_RHAT = 1.05
LEAST_ESS = 100.0
SPARE, LONGEST = 1.5, 10


class ChainWarning(VeladuraWarning):
    """The chains disagree (R-hat), or their effective sample size is too small."""


@dataclass(frozen=True)
class Diagnostics:
    """Rank-normalised R-hat and bulk effective sample size (Vehtari et al. 2021).

    Parameters
    ----------
    rhat, ess
        By name of the traced scalar. A scalar that never moves has neither and is left out.
    """

    rhat: dict[str, float]
    ess: dict[str, float]

    @classmethod
    def of(cls, traces: Mapping[str, Floats]) -> Diagnostics:
        """Return the diagnostics of traces of shape (chains, draws)."""
        from arviz_stats.base import array_stats

        moving = {name: trace for name, trace in traces.items() if np.ptp(trace) > 0}
        return cls(
            {name: float(array_stats.rhat(trace)) for name, trace in moving.items()},
            {name: float(array_stats.ess(trace)) for name, trace in moving.items()},
        )

    @property
    def worst_rhat(self) -> float:
        """The largest R-hat; 1 is perfect agreement."""
        return max(self.rhat.values(), default=1.0)

    @property
    def least_ess(self) -> float:
        """The smallest effective sample size."""
        return min(self.ess.values(), default=float("inf"))

    @property
    def poor(self) -> bool:
        """Whether the chains should not be trusted: a limit is exceeded or cannot be computed."""
        return not (self.worst_rhat <= MOST_RHAT and self.least_ess >= LEAST_ESS)

    @property
    def longer(self) -> int:
        """How many times as long poor chains should run: by their effective sample size.

        At least twice, because R-hat says only that they disagree; at most ten times, because
        chains that would need more have another problem.
        """
        wanted = LEAST_ESS / self.least_ess if self.least_ess > 0 else LONGEST
        return int(np.clip(np.ceil(SPARE * wanted), 2, LONGEST)) if np.isfinite(wanted) else LONGEST

    def warn(self, advice: str) -> None:
        """Warn when the chains are poor, with the worst figures and what to do."""
        if self.poor:
            slow = min(self.ess, key=lambda name: self.ess[name])
            apart = max(self.rhat, key=lambda name: self.rhat[name])
            msg = (
                f"the Markov chains have not converged: R-hat is {self.worst_rhat:.2f} for"
                f" {apart!r} (at most {MOST_RHAT} is good), and the effective sample size of"
                f" {slow!r} is {self.least_ess:.0f} (at least {LEAST_ESS:.0f} is good).\n\nHint:"
                f" {advice}"
            )
            warnings.warn(msg, ChainWarning, stacklevel=3)
