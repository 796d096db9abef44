"""Tables that are looked up, for tests: hospitals of visits."""

from __future__ import annotations

import numpy as np
import pandas as pd


def hospitals_of(
    visits: pd.DataFrame, number: int = 30, seed: int = 1
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return visits with the hospital of each, and the hospitals."""
    rng = np.random.default_rng(seed)
    hospitals = pd.DataFrame(
        {
            "hospital": 900 + rng.permutation(number),
            "beds": 50 * rng.integers(1, 9, number),
            "kind": rng.choice(["public", "private"], number),
        }
    )
    at = np.append(np.arange(number), rng.integers(0, number, len(visits) - number))
    return visits.assign(hospital=hospitals.hospital.to_numpy()[at]), hospitals
