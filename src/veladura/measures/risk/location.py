"""Location disclosure: distances between original and new places, and probable cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.estimate import Estimate
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.methods.geography.matching import matched_distances, near_by_attributes
from veladura.methods.geography.nearest import nearest_places
from veladura.methods.geography.placed import PlacedRelease, placed
from veladura.table.codes import encode
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Release


@dataclass(frozen=True)
class LocationRisk:
    """What new places disclose about the original ones.

    Attributes
    ----------
    matched_mean, matched_min
        Distance between original and new places of the same attributes, matched greedily.
    nearest
        Mean distance from a new place to the nearest original one, of anybody.
    same_cell
        Share of people whose new place is in their own cell.
    cell_by_attributes
        Mean probability of the true cell for an intruder who knows that a person is in the table,
        and the person's attributes: the share of released rows with these attributes that are in
        that cell.
    cell_by_row
        Share of people whose true cell is the most frequent one of their row over the datasets, for
        an intruder who recognises the row of a person in each of them by the unchanged columns.
    cell_by_column
        The same probability for an intruder who knows where people with a value of one unchanged
        column live: the most disclosive column, a postal code for instance. New places do not
        protect against it.
    near_by_attributes
        As ``cell_by_attributes``, for a circle around the true place with a twentieth of the
        region's diagonal as radius: comparable between grids.
    nearest_own, nearest_neighbour
        Share of people for whom the released place nearest to their home is their own and, as base
        rate, for whom it is that of the person with the nearest other home.
    isolated_own, isolated_neighbour
        The same among the most isolated people: the hundredth, at least 20, whose fifth nearest
        other home is furthest away.
    telling
        The column of ``cell_by_column``.
    combinations
        By name of the combination of attributes: people, smallest and mean matched distance.
    """

    matched_mean: Estimate
    matched_min: Estimate
    nearest: Estimate
    same_cell: Estimate
    cell_by_attributes: Estimate
    cell_by_row: Estimate
    cell_by_column: Estimate
    near_by_attributes: Estimate
    nearest_own: Estimate
    nearest_neighbour: Estimate
    isolated_own: Estimate
    isolated_neighbour: Estimate
    telling: str = ""
    combinations: Mapping[str, tuple[int, float, float]] = field(repr=False, default_factory=dict)


def location(original: Any, release: Release) -> LocationRisk:
    """Return what the new places of a release disclose about the original ones.

    Parameters
    ----------
    original
        The table the release was made from: anything `veladura.open` takes.
    release
        A release of new places whose rows are linked to those of the original.
    """
    subject = Subject(open_quietly(original), release)
    return risk_of(placed(subject.original, release))


def risk_of(release: PlacedRelease) -> LocationRisk:
    """Return what the new places of an opened release disclose."""
    from scipy.spatial import KDTree

    matched = matched_distances(release)
    before, group = release.before, release.group
    tree = KDTree(before.points)
    nearest = [float(tree.query(scene.points)[0].mean()) for scene in release.after]
    true, drawn = _cells(release)
    same = drawn == true
    share, telling = _by_column(release, true)
    attack = nearest_places(release)
    return LocationRisk(
        over_datasets([float(np.concatenate(list(each.values())).mean()) for each in matched]),
        over_datasets([float(np.concatenate(list(each.values())).min()) for each in matched]),
        over_datasets(nearest),
        over_datasets(same.mean(axis=1).tolist(), upper=1.0),
        Estimate.exact(_by_attributes(true, drawn, group[before.rows], release.grid.cells)),
        Estimate.exact(_by_row(true, drawn)),
        Estimate.exact(share),
        Estimate.exact(near_by_attributes(release)),
        over_datasets(attack.own, upper=1.0),
        over_datasets(attack.neighbour, upper=1.0),
        over_datasets(attack.isolated_own, upper=1.0),
        over_datasets(attack.isolated_neighbour, upper=1.0),
        telling,
        _by_combination(matched, release.combinations.names),
    )


def _by_combination(
    matched: Sequence[Mapping[int, Floats]], names: Sequence[str]
) -> dict[str, tuple[int, float, float]]:
    return {
        names[b]: (
            matched[0][b].size,
            min(float(each[b].min()) for each in matched),
            float(np.mean([each[b].mean() for each in matched])),
        )
        for b in matched[0]
        if matched[0][b].size
    }


def _cells(release: PlacedRelease) -> tuple[Ints, Ints]:
    """Return the true cell of each person, and the cells of the released rows by dataset."""
    before = release.before
    drawn = np.full((len(release.after), before.rows.size), -1, dtype=np.int64)
    for number, (scene, person) in enumerate(zip(release.after, release.people, strict=True)):
        drawn[number, person] = scene.cell
    return before.cell, drawn


def _by_attributes(true: Ints, drawn: Ints, group: Ints, cells: int) -> float:
    """Return the mean share of released rows of a person's combination in the person's cell."""
    count = np.zeros((int(group.max()) + 1, cells))
    for cell in drawn:
        np.add.at(count, (group[cell >= 0], cell[cell >= 0]), 1.0)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    return float(share[group, true].mean())


def _by_row(true: Ints, drawn: Ints) -> float:
    """Return how often the most frequent cell of a person's row is the true one."""
    votes = (drawn[:, None, :] == drawn[None, :, :]).sum(axis=0)
    top = votes == votes.max(axis=0)
    distinct = np.where(top, 1.0 / votes, 0.0).sum(axis=0)  # how many cells tie: they share
    hit = (top & (drawn == true)).any(axis=0)
    return float((hit / distinct).mean())


def _by_column(release: PlacedRelease, true: Ints) -> tuple[float, str]:
    """Return the most disclosive column, and the mean share of its people in one cell.

    For each person: the share of other people with the same value who live in the same cell.
    """
    original, best = release.original, (0.0, "none")
    for column in original.schema:
        if column.kind not in ("category", "ordered", "integer") or column.name in release.changed:
            continue
        value = encode(original.arrow.column(column.name), column)
        code = np.unique(
            np.where(value.missing, -1, value.values)[release.before.rows], return_inverse=True
        )[1]
        _, both, together = np.unique(
            code * release.grid.cells + true, return_inverse=True, return_counts=True
        )
        others = np.bincount(code)[code] - 1
        share = float(
            np.mean(np.where(others > 0, (together[both] - 1) / np.maximum(others, 1), 0.0))
        )
        best = max(best, (share, column.name))
    return best


def measure(subject: Subject) -> Measured:
    """Measure a release of new places."""
    release = placed(subject.original, subject.release)
    risk = risk_of(release)
    figures = {
        f.name: value for f in fields(risk) if isinstance(value := getattr(risk, f.name), Estimate)
    }
    unit = (
        "In metres."
        if release.step.settings["coordinates"] == "degrees"
        else "In the unit of the coordinates."
    )
    table = tuple(
        (name, str(rows), f"{least:.4g}", f"{mean:.4g}")
        for name, (rows, least, mean) in risk.combinations.items()
    )
    detail = Detail(
        "Distances of matched places by combination of attributes",
        ("combination", "people", "smallest", "mean"),
        table,
    )
    notes = dict.fromkeys(("matched_mean", "matched_min", "nearest"), unit) | {
        "cell_by_column": f"Column: {risk.telling}."
    }
    return Measured(figures, notes, detail)


MEASURE = Measure(
    "risk.location",
    figures={
        "matched_mean": Meaning(
            "Matched distance: mean distance between original and new places of the same"
            " attributes, matched closest first.",
            "high",
            headline=True,
        ),
        "matched_min": Meaning(
            "Matched distance: the smallest of these distances.", "high", public=False
        ),
        "nearest": Meaning(
            "Nearest place: mean distance from a new place to the nearest original one.",
            "neither",
        ),
        "same_cell": Meaning(
            "Same cell: people whose new place is in their own cell of the grid.", unit="share"
        ),
        "cell_by_attributes": Meaning(
            "True cell by attributes: mean probability of a person's cell for an intruder who knows"
            " the attributes and that the person is in the table.",
            unit="share",
        ),
        "cell_by_row": Meaning(
            "True cell by row: people whose cell is the most frequent one of their row over the"
            " datasets.",
            unit="share",
        ),
        "cell_by_column": Meaning(
            "True cell by column: mean probability of a person's cell for an intruder who knows"
            " where people with the same value of an unchanged column live.",
            unit="share",
            headline=True,
        ),
        "near_by_attributes": Meaning(
            "Near by attributes: mean probability of a circle around a person's true place, its"
            " radius a twentieth of the region's diagonal.",
            unit="share",
        ),
        "nearest_own": Meaning(
            "Nearest place: people for whom the released place nearest to their home is their own.",
            unit="people",
            headline=True,
        ),
        "nearest_neighbour": Meaning(
            "Nearest place, base rate: people for whom it is the one of the person with the nearest"
            " other home.",
            "neither",
            unit="people",
        ),
        "isolated_own": Meaning(
            "Nearest place, isolated homes: share of the most isolated people for whom the released"
            " place nearest to their home is their own.",
            unit="share",
        ),
        "isolated_neighbour": Meaning(
            "Nearest place, isolated homes, base rate: share of the most isolated people for whom"
            " it is the one of the person with the nearest other home.",
            "neither",
            unit="share",
        ),
    },
    function=measure,
)
