"""What additive noise promises: noise of the declared scale, numbers of few moved, limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veladura.base import shapes
from veladura.base.bounds import Bounds
from veladura.core.moved_numbers import people_of
from veladura.core.promise import Check, Evidence, Promise, limit_promises, listed
from veladura.core.violations import source_column
from veladura.methods.masks.column_law import ColumnLaw, counted_numbers, spread_of
from veladura.methods.masks.law import law_of, smoothed
from veladura.table.variation import standard_deviation

FALSE_ALARM = 1e-9


def noise_too_small(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the columns whose noise is smaller than chance allows at the declared scale."""
    from scipy.special import gammaincinv  # loading it takes longer than to add the noise

    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    small, least = 0, settings.get("people", 0)
    people = people_of(evidence.original) if least and evidence.before is None else None
    for name in settings["columns"]:
        before, after = evidence.source_column(name), evidence.column(name)
        noisy = ~before.missing & ~after.missing
        if least and evidence.before is not None:  # rows that passed in chunks
            counted = counted_numbers(evidence.original, name)
            passing = ColumnLaw.of(counted, least, before)
            spread = spread_of(passing, counted)
            moves = passing is not None and passing.moves(before)
        else:
            source = source_column(evidence, name)
            law = law_of(source, people, least) if least else None
            spread = standard_deviation(smoothed(law, source))
            moves = law is not None and law.moves[evidence.rows]
        if settings.get("kept"):
            noisy &= moves
        difference = (after.numbers() - before.numbers())[noisy]
        declared = settings["scale"] * spread
        unit = 10.0 ** -(before.decimals if before.decimals is not None else np.inf)
        # Rounding to the unit of the column can hide up to one unit of noise in a row.
        energy = float(np.sum(((np.abs(difference) + unit) / declared) ** 2))
        # The quantile of the chi-squared distribution with one degree of freedom a row.
        lowest = 2 * gammaincinv(difference.size / 2, FALSE_ALARM) if difference.size else 0.0
        small += int(energy < lowest)
    return small


def _scale(settings: Mapping[str, Any]) -> str:
    least = settings.get("people", 0)
    which = f" that fewer than {least} people share" if settings.get("kept") else ""
    apart = ", people who stand out apart" if least else ""
    return (
        f"Additive noise: every value of {listed(settings)}{which} carries random noise with a"
        f" standard deviation of {settings['scale']:g} times that of its column{apart}, rounded as"
        " the column is."
    )


NOISE_SCALE = Check(
    noise_too_small,
    _scale,
    shapes.table(
        {"columns": shapes.names, "scale": shapes.number(0, above=True)},
        {"people": shapes.whole(2), "kept": shapes.flag},
    ),
)


def noise_promises(
    settings: Mapping[str, Any], limits: Mapping[str, Bounds]
) -> tuple[Promise, ...]:
    """Promise noise of the declared scale, numbers of few people moved, and values in limits."""
    scale = {"columns": settings["columns"], "scale": settings["scale"]}
    if settings.get("min_people"):
        scale["people"] = settings["min_people"]
        if settings.get("keep_shared"):
            scale["kept"] = True
    promises = [Promise("noise-scale", "source", scale)]
    if names := settings.get("moved_numbers_in"):
        few = {"columns": list(names), "people": settings["min_people"]}
        promises.append(Promise("moved-numbers", "source", few))
    return (*promises, *limit_promises(limits))
