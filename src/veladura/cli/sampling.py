"""The survey design that options of a command ask for, on top of what a release declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.inference.survey import Sampling


def asked_sampling(
    release: Release,
    named: Mapping[str, str | None],
    replicates: Sequence[str],
    replication: str | None,
    rho: float | None = None,
    *,
    design: bool = True,
) -> Sampling | None:
    """Return the design of an analysis; None for the declared one.

    Parameters
    ----------
    named
        Columns of weights, strata, clusters and sampled fractions, each in place of the declared
        one. Replicate weights go with the declared weight where none is named.
    replication, rho
        How replicate weights were made, also declared ones.
    design
        Whether what is declared counts; else only what is named does.
    """
    from veladura.inference.survey import Sampling

    declared = Sampling()
    if design:
        declared = Sampling.declared(release.tables[0].table.units.schema)
    own: dict[str, Any] = {key: name for key, name in named.items() if name is not None}
    made: dict[str, Any] = {"replication": replication, "rho": rho}
    given = {key: value for key, value in made.items() if value is not None}
    if replicates:
        return replace(declared.linearised(), **own, replicates=tuple(replicates), **given)
    if given:
        _refuse_without_replicates(declared)
        scales = declared.scales if replication == declared.replication else ()
        return replace(declared, **own, **given, scales=scales)
    if not own:
        return None if design else declared
    asked = declared.weighted_by(own.pop("weights", None) or declared.weights)
    if own:  # strata, clusters and fractions are for linearised variances
        asked = asked.linearised()
    return replace(asked, **own)


def _refuse_without_replicates(declared: Sampling) -> None:
    if not declared.replicates:
        msg = (
            "--replication says how replicate weights were made, and the release declares"
            " none.\n\nHint: name them with --replicate, once for each column, or leave it out."
        )
        raise PlanError(msg)
