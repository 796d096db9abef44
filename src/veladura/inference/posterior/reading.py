"""The model of a private release, read from its manifest and data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.errors import DataError, PlanError, PromiseError
from veladura.methods.private.domain import Domain

if TYPE_CHECKING:
    from veladura.core.release import Release

NEEDED = {
    "dirichlet-multinomial": ("domain", "n", "alpha", "size", "m"),
    "noisy-counts": ("domain", "n", "scale", "noisy"),
}


@dataclass(frozen=True, eq=False)
class Model:
    """What the posterior needs to know: all of it is public."""

    domain: Domain
    n: int
    released: NDArray[np.float64]  # datasets in rows, cells in columns
    alpha: Fraction | None = None
    scale: float | None = None


def model_of(release: Release) -> Model:
    """Return the model of a release, or say what its manifest lacks."""
    step = release.steps[-1]
    method = "dirichlet-multinomial" if step.method == "beta-binomial" else step.method
    if not release.rule.posterior or method not in NEEDED:
        msg = (
            f"a release by {step.method} has no exact posterior.\n\nHint: it is for"
            " dirichlet-multinomial, beta-binomial and noisy-counts."
        )
        raise PlanError(msg)
    told = release.steps[-1].settings
    if lacking := [key for key in NEEDED[method] if told.get(key) is None]:
        msg = (
            f"the manifest lacks {lacking}: without them nothing can be inferred from the release."
        )
        raise PromiseError(msg)
    try:
        return _read(release, dict(told), method)
    except (ValueError, TypeError, KeyError, ZeroDivisionError, AttributeError):
        msg = "the manifest's settings of the private step cannot be read."
        raise PromiseError(msg) from None
    except DataError:
        msg = "the released rows do not fit the domain that the manifest tells."
        raise PromiseError(msg) from None


def _read(release: Release, told: dict[str, Any], method: str) -> Model:
    domain = Domain.from_json(
        {**told, "domain": {name: told["domain"][name] for name in told["columns"]}}
    )
    n = int(told["n"])
    if n < 1:
        raise ValueError
    if method == "noisy-counts":
        noisy = np.zeros(domain.cells)
        noisy[domain.possible] = np.asarray(told["noisy"], dtype=np.float64)
        return Model(domain, n, noisy[None, :], scale=float(Fraction(told["scale"])))
    released = np.array(
        [domain.count(dataset.table) for dataset in release.tables], dtype=np.float64
    )
    alpha = Fraction(told["alpha"])
    if alpha <= 0:
        raise ValueError
    return Model(domain, n, released, alpha=alpha)
