"""The survey design that options of a command ask for, on top of what a release declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.inference.survey import Sampling


def asked_sampling(
    release: Release,
    design: Mapping[str, str | None],
    replicates: Sequence[str],
    replication: str | None,
    rho: float | None = None,
) -> Sampling | None:
    """Return the design of an analysis; None for the declared one.

    Parameters
    ----------
    design
        The named columns of weights, strata and clusters. Those of replicate weights go with the
        declared weight where none is named.
    replication, rho
        How replicate weights were made, also declared ones.
    """
    from veladura.inference.survey import Sampling

    declared = Sampling.declared(release.tables[0].table.units.schema)
    made = {"replication": replication, "rho": rho}
    given = {key: value for key, value in made.items() if value is not None}
    if replicates:
        own = {**design, "weights": design.get("weights") or declared.weights}
        return Sampling(**own, replicates=tuple(replicates), **given)  # type: ignore[arg-type]
    if any(design.values()) and not given:
        return Sampling(**design)  # type: ignore[arg-type]
    if not given:
        return None
    if not declared.replicates:
        msg = (
            "--replication says how replicate weights were made, and the release declares"
            " none.\n\nHint: name them with --replicate, once for each column, or leave it out."
        )
        raise PlanError(msg)
    named = {key: value for key, value in design.items() if value is not None}
    scales = declared.scales if replication == declared.replication else ()
    return replace(declared, **named, **given, scales=scales)  # type: ignore[arg-type]
