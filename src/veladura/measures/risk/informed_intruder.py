"""Location disclosure to the strongest intruder: all releases, the model and all others known."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Measured, Subject
from veladura.methods.geography.informed import TARGETS, affordable_sweeps, intruded
from veladura.methods.geography.placed import PlacedRelease, placed
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.core.release import Release


@dataclass(frozen=True)
class InformedIntruder:
    """What the strongest intruder learns about cells.

    Attributes
    ----------
    posterior, prior
        Mean probability of a person's true cell with the releases and, as base rate, without them.
    found, found_base
        Share of people whose true cell is the most probable one, with and without them.
    """

    posterior: Estimate
    prior: Estimate
    found: Estimate
    found_base: Estimate


def informed_intruder(
    original: Any,
    release: Release,
    *,
    targets: int = TARGETS,
    sweeps: int | None = None,
    seed: int = 0,
) -> InformedIntruder:
    """Return what an intruder learns who knows everything but the place of one person.

    That is all m datasets, the model with its priors, and everybody else's place (Paiva et al.
    2014). The base rate is what the same intruder believes without any release. Continuous
    columns, and the step of isolated homes, are left out of what the intruder computes.

    Parameters
    ----------
    original
        The table the release was made from: anything `veladura.open` takes.
    release
        A release of `Geography`.
    targets
        People to attack, drawn at random; each has one number, so that more give narrower
        intervals.
    sweeps
        Sweeps of two Markov chains for each dataset and one more; by default what some seconds
        allow. Where these do not suffice, the figure does not apply until sweeps is given.

    References
    ----------
    Paiva, T., Chakraborty, A., Reiter, J. and Gelfand, A. (2014). Imputation of confidential data
    sets with spatial locations using disease mapping models. Statistics in Medicine 33(11),
    1928-1945.
    """
    subject = Subject(open_quietly(original), release)
    return _intruder(placed(subject.original, release), targets, sweeps, seed)


def _intruder(
    release: PlacedRelease, targets: int, sweeps: int | None, seed: int
) -> InformedIntruder:
    model, streams = intruded(release), Streams(seed)
    sweeps = affordable_sweeps(model) if sweeps is None else sweeps
    if not sweeps:
        combinations, cells = model.counts.values.shape
        msg = (
            f"the strongest intruder would take minutes on {cells} cells and {combinations}"
            " combinations. vd.risk.informed_intruder(original, release, sweeps=2000) computes it."
        )
        raise NotApplicable(msg)
    people = release.before.rows.size
    chosen = np.sort(streams("targets").permutation(people)[:targets])
    group = release.group[release.before.rows][chosen]
    beliefs = model.beliefs(group, release.before.cell[chosen], sweeps, streams)
    return InformedIntruder(
        *(
            _mean(values)
            for values in (
                beliefs.after,
                beliefs.before,
                beliefs.found_after,
                beliefs.found_before,
            )
        )
    )


def _mean(values: Any) -> Estimate:
    """Return the mean over the targets, its interval cut to what a share can be."""
    mean = Estimate.mean(values.tolist())
    return Estimate(mean.value, max(mean.lower, 0.0), min(mean.upper, 1.0), mean.level)


def measure(subject: Subject) -> Measured:
    """Measure a release of places from a model."""
    release = placed(subject.one_row_a_person().original, subject.release)
    risk = _intruder(release, TARGETS, None, 0)
    note = f"On {min(TARGETS, release.before.rows.size)} people drawn at random."
    return Measured({f.name: getattr(risk, f.name) for f in fields(risk)}, {"posterior": note})


MEASURE = Measure(
    "risk.informed_intruder",
    figures={
        "posterior": Meaning(
            "Strongest intruder: mean probability of a person's true cell for one who knows all"
            " datasets, the model and everybody else's place.",
            unit="share",
            headline=True,
        ),
        "prior": Meaning(
            "Strongest intruder, base rate: the same probability without any release.",
            "neither",
            unit="share",
        ),
        "found": Meaning(
            "Strongest intruder: people whose true cell is the most probable one.", unit="share"
        ),
        "found_base": Meaning(
            "Strongest intruder, base rate: people whose true cell is the most probable one"
            " without any release.",
            "neither",
            unit="share",
        ),
    },
    function=measure,
)
