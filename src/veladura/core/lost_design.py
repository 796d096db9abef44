"""The part of a survey's design that a release does not hold: its intervals do not know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.schema import Schema

ROLES = {
    "strata": "strata",
    "cluster": "clusters",
    "replicate weight": "replicate weights",
    "household": "households",
}


def lost_roles(source: Schema, release: Release) -> tuple[str, ...]:
    """Return the roles of the source's design that the release lacks, and whose loss matters.

    Replicate weights tell all of a design, and strata and clusters do without them. A household
    that is not released is part of it: its members are no independent draws; but they lie in one
    cluster, where clusters are released.
    """
    released = release.tables[0].table.units.schema
    has = {role: bool(released.of_role(role)) for role in (*ROLES, "weight")}
    if has["replicate weight"] and has["weight"]:
        return ()
    told_otherwise = {
        "household": has["cluster"],
        "replicate weight": has["strata"] or has["cluster"],
    }
    return tuple(
        role
        for role in ROLES
        if source.of_role(role) and not has[role] and not told_otherwise.get(role, False)
    )


def design_in(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the roles that a manifest says are not released; unknown ones are left out."""
    told = manifest.get("design_not_released", ())
    return tuple(role for role in ROLES if isinstance(told, list) and role in told)


def effect_words(figure: str, effect: float) -> str:
    """Return what an analyst must know of an interval that has a declared design effect.

    Examples
    --------
    >>> effect_words("rent", 13.5)[:46]
    'the clusters of the survey are not released: t'
    """
    return (
        "the clusters of the survey are not released: the sampling part of the variance is"
        f" multiplied by the design effect that the holder declares for {figure!r} ({effect:g});"
        " that of the noise is not."
    )


def design_words(roles: Sequence[str]) -> str:
    """Return what an analyst must know of a design that is not released.

    Examples
    --------
    >>> design_words(["cluster"])[:58]
    'the source is a survey whose clusters are not released: in'
    """
    named = [ROLES[role] for role in roles]
    both = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    if list(roles) == ["strata"]:
        return (
            "the source is a survey whose strata are not released: intervals take all of it for one"
            " stratum. True errors are commonly smaller."
        )
    return (
        f"the source is a survey whose {both} are not released: intervals take rows for"
        " independent draws. Where people of one cluster or household are alike, true errors are"
        " larger, by the square root of the design effect."
    )
