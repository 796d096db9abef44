"""How close synthetic places come to the original ones, and what an intruder learns of a person's cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.estimate import Estimate
from veladura.measures.measure import (
    Detail,
    Meaning,
    Measured,
    NotApplicable,
    Subject,
    measure,
    open_quietly,
    over_datasets,
)
from veladura.methods.geography.placed import PlacedRelease, placed
from veladura.table.codes import encode

if TYPE_CHECKING:
    from veladura.core.recipe import Release

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LocationRisk:
    """What places give away.

    Attributes
    ----------
    matched_mean, matched_min
        Distance between original and synthetic places of the same combination, matched greedily.
    nearest
        Mean distance from a synthetic place to the nearest original one, whoever's.
    same_cell
        Share of rows whose new place is in their own cell.
    cell_by_attributes
        Mean probability of the true cell for an intruder who knows that a person is in the table,
        and the person's attributes: the share of released rows with these attributes that are in
        that cell.
    cell_by_row
        Share of persons whose true cell is the most frequent one of their row over the datasets,
        for an intruder who finds the row of a person in each of them by the columns that stay.
    cell_by_column
        The same probability for an intruder who knows where people with a value of one kept column
        live: the column that gives most away, a postal code for instance. No new place helps
        against it.
    near_by_attributes
        As ``cell_by_attributes``, for a circle around the true place with a twentieth of the
        region's diagonal as radius: comparable between grids.
    telling
        The column of ``cell_by_column``.
    combinations
        By combination, rows, smallest and mean matched distance.
    """

    matched_mean: Estimate
    matched_min: Estimate
    nearest: Estimate
    same_cell: Estimate
    cell_by_attributes: Estimate
    cell_by_row: Estimate
    cell_by_column: Estimate
    near_by_attributes: Estimate
    telling: str = ""
    combinations: Sequence[tuple[int, float, float]] = field(repr=False, default=())


def location(original: Any, release: Release) -> LocationRisk:
    """Return what the places of a release give away.

    Parameters
    ----------
    original
        The table the release was made of: anything `veladura.open` takes.
    release
        A release of new places whose rows are linked to those of the original.
    """
    return risk_of(placed(Subject(open_quietly(original), release)))


def greedy_distances(before: Floats, after: Floats) -> Floats:
    """Return the distances of greedily matched pairs: the closest pair of all first, then the closest of the rest.

    Two points that are each other's nearest are a pair of the greedy matching whatever else
    happens, so all of them are taken at once, and again among the rest (Nunes 2018, algorithm 1,
    without its n^3 steps).

    Examples
    --------
    >>> greedy_distances(np.array([[0.0, 0.0], [5.0, 0.0]]), np.array([[1.0, 0.0], [4.5, 0.0]])).tolist()
    [0.5, 1.0]
    """
    from scipy.spatial import KDTree

    found: list[Floats] = []
    while len(before) and len(after):
        way, there = KDTree(after).query(before)
        _, back = KDTree(before).query(after)
        mutual = np.flatnonzero(back[there] == np.arange(len(before)))
        if not mutual.size:  # ties in a circle: the closest pair is as good as any
            mutual = np.array([int(np.argmin(way))])
        found.append(way[mutual])
        before, after = np.delete(before, mutual, axis=0), np.delete(after, there[mutual], axis=0)
    return np.sort(np.concatenate(found)) if found else np.empty(0)


def risk_of(release: PlacedRelease) -> LocationRisk:
    """Return what the places of a release give away."""
    from scipy.spatial import KDTree

    links = [dataset.rows for dataset in release.subject.release.tables]
    if any(link is None for link in links):
        msg = "the released rows are not linked to rows of the original."
        raise NotApplicable(msg)
    before, group = release.before, release.group
    matched = [
        _matched(release, scene, group[np.asarray(link)[scene.rows]])
        for scene, link in zip(release.after, links, strict=True)
    ]
    tree = KDTree(before.points)
    nearest = [float(tree.query(scene.points)[0].mean()) for scene in release.after]
    true, drawn = _cells(release, links)
    same = drawn == true
    share, telling = _by_column(release, true)
    return LocationRisk(
        over_datasets([float(np.concatenate(list(one.values())).mean()) for one in matched]),
        over_datasets([float(np.concatenate(list(one.values())).min()) for one in matched]),
        over_datasets(nearest),
        over_datasets(same.mean(axis=1).tolist(), upper=1.0),
        Estimate.exact(_by_attributes(true, drawn, group[before.rows], release.grid.cells)),
        Estimate.exact(_by_row(true, drawn)),
        Estimate.exact(share),
        Estimate.exact(_near(release, links)),
        telling,
        _by_combination(matched),
    )


def _matched(release: PlacedRelease, scene: Any, group: Ints) -> dict[int, Floats]:
    """Return matched distances by combination."""
    mine = release.group[release.before.rows]
    return {
        int(b): greedy_distances(release.before.points[mine == b], scene.points[group == b])
        for b in np.unique(mine)
    }


def _by_combination(matched: Sequence[Mapping[int, Floats]]) -> list[tuple[int, float, float]]:
    return [
        (
            matched[0][b].size,
            min(float(one[b].min()) for one in matched),
            float(np.mean([one[b].mean() for one in matched])),
        )
        for b in matched[0]
        if matched[0][b].size
    ]


def _cells(release: PlacedRelease, links: Sequence[Any]) -> tuple[Ints, Ints]:
    """Return the true cell of each person and, a row a dataset, the cell of that person's released row."""
    before = release.before
    place = np.full(release.subject.original.rows, -1, dtype=np.int64)
    place[before.rows] = np.arange(before.rows.size)
    drawn = np.full((len(links), before.rows.size), -1, dtype=np.int64)
    for number, (scene, link) in enumerate(zip(release.after, links, strict=True)):
        drawn[number, place[np.asarray(link)[scene.rows]]] = scene.cell
    return before.cell, drawn


def _by_attributes(true: Ints, drawn: Ints, group: Ints, cells: int) -> float:
    """Return the mean share of released rows of a person's combination that lie in the person's cell."""
    count = np.zeros((int(group.max()) + 1, cells))
    for one in drawn:
        np.add.at(count, (group[one >= 0], one[one >= 0]), 1.0)
    share = count / np.maximum(count.sum(axis=1, keepdims=True), 1.0)
    return float(share[group, true].mean())


def _by_row(true: Ints, drawn: Ints) -> float:
    """Return how often the most frequent cell of a person's row is the true one; ties are shared."""
    votes = (drawn[:, None, :] == drawn[None, :, :]).sum(axis=0)
    top = votes == votes.max(axis=0)
    distinct = np.where(top, 1.0 / votes, 0.0).sum(axis=0)  # how many cells tie
    hit = (top & (drawn == true)).any(axis=0)
    return float((hit / distinct).mean())


def _by_column(release: PlacedRelease, true: Ints) -> tuple[float, str]:
    """Return the mean share of other rows with the same value that live in a person's cell, for the column where it is largest."""
    original, best = release.subject.original, (0.0, "none")
    for column in original.schema:
        if (
            column.kind not in ("category", "ordered", "integer")
            or column.name in release.subject.changed
        ):
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


def _near(release: PlacedRelease, links: Sequence[Any]) -> float:
    """Return the mean share of released rows of a person's combination within a twentieth of the diagonal of the true place."""
    from scipy.spatial import KDTree

    radius = (
        float(
            np.hypot(
                *np.ptp(
                    np.array(
                        release.plane.forward(*np.array(release.region.bounds).reshape(2, 2).T)
                    ),
                    axis=1,
                )
            )
        )
        / 20
    )
    mine, near = release.group[release.before.rows], np.zeros(release.before.rows.size)
    groups = [
        release.group[np.asarray(link)[scene.rows]]
        for scene, link in zip(release.after, links, strict=True)
    ]
    for b in np.unique(mine).tolist():
        points = np.concatenate(
            [scene.points[group == b] for scene, group in zip(release.after, groups, strict=True)]
        )
        found = KDTree(points).query_ball_point(
            release.before.points[mine == b], radius, return_length=True
        )
        near[mine == b] = found / max(len(points), 1)
    return float(near.mean())


@measure(
    "risk.location",
    figures={
        "matched_mean": Meaning(
            "Mean distance between original and new places of the same attributes, matched closest"
            " first.",
            "high",
            headline=True,
        ),
        "matched_min": Meaning("The smallest of these distances.", "high", public=False),
        "nearest": Meaning(
            "Mean distance from a new place to the nearest original place, whoever's.", "neither"
        ),
        "same_cell": Meaning(
            "Rows whose new place is in the cell of the grid they came from.", unit="share"
        ),
        "cell_by_attributes": Meaning(
            "Mean probability of a person's true cell for someone who knows the person's attributes"
            " and that the person is in the table.",
            unit="share",
        ),
        "cell_by_row": Meaning(
            "Persons whose true cell is found by taking the most frequent cell of their row over"
            " the datasets.",
            unit="share",
        ),
        "cell_by_column": Meaning(
            "Mean probability of a person's true cell for someone who knows where people with a"
            " value of one kept column live.",
            unit="share",
            headline=True,
        ),
        "near_by_attributes": Meaning(
            "Mean probability of a circle around a person's true place, a twentieth of the region"
            " across its diagonal, by the attributes.",
            unit="share",
        ),
    },
)
def measure_location(subject: Subject) -> Measured:
    """Measure a release of new places."""
    release = placed(subject)
    found = risk_of(release)
    figures = {
        f.name: value
        for f in fields(found)
        if isinstance(value := getattr(found, f.name), Estimate)
    }
    unit = (
        "In metres."
        if release.step.settings["coordinates"] == "degrees"
        else "In the unit of the coordinates."
    )
    table = tuple(
        (str(i), str(rows), f"{least:.4g}", f"{mean:.4g}")
        for i, (rows, least, mean) in enumerate(found.combinations, start=1)
    )
    detail = Detail(
        "Distances of matched places by combination",
        ("combination", "rows", "smallest", "mean"),
        table,
    )
    notes = dict.fromkeys(("matched_mean", "matched_min", "nearest"), unit) | {
        "cell_by_column": f"Column: {found.telling}."
    }
    return Measured(figures, notes, detail)
