"""DiSCO and TCAP: what an intruder infers about a sensitive column from the known ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject, over_datasets
from veladura.measures.pairing import pair
from veladura.measures.risk.replicated import comparable_columns
from veladura.numeric.coding import common_cells, common_codes, dense, is_recoded
from veladura.table.units import per_person, person_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

GROUPS = 20
MOST_TARGETS = 20


@dataclass(frozen=True)
class Attribution:
    """What can be inferred about a target column from the known columns, through the release.

    Attributes
    ----------
    disco
        Share of people for whom all released rows with their known values have one target value,
        and it is theirs.
    tcap
        Of the people for whom all released rows with their known values have one target value, the
        share for whom it is theirs.
    dcap
        Probability to get a person's target right by taking that of a random released row with the
        same known values; 0 without such a row.
    disclosive
        Share of released rows whose known values have one target value only.
    original
        Share of people whose known values have one target value only in the original itself.
    base
        Base rate: share of people whose target is the commonest one of the release. Who guesses it
        is right so often without knowing anything about a person.
    beyond
        DiSCO without the people whose target is that commonest one.
    """

    disco: Estimate
    tcap: Estimate
    dcap: Estimate
    disclosive: Estimate
    original: Estimate
    base: Estimate
    beyond: Estimate


@renamed(released="release", keys="known")
def attribution(
    original: Any, release: Any, known: Sequence[str], target: str, *, groups: int = GROUPS
) -> Attribution:
    """Return DiSCO, TCAP and DCAP: attribute disclosure of a target column.

    With d_tq original and s_tq released rows of target t and known values q, q is disclosive in the
    release when all its rows have one target: DiSCO = sum of d_tq over those with s_tq = s_.q, over
    all original rows; TCAP is the same over the sum of d_.q of disclosive q; DCAP = sum of d_tq
    s_tq / s_.q over all original rows. The base rate is d_t. of the target t with the largest s_t.,
    over all original rows: most of DiSCO and TCAP is nothing but that where one value is common
    (Raab et al. 2024).

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them: then figures are means over the tables.
    known
        The columns an intruder knows. Missing counts as a value of its own.
    target
        The column that the intruder wants to infer.
    groups
        Numbers and dates with more different values are cut at as many quantiles of the original.
        A value that alone has more rows than a part (often 0) is a class of its own, and the
        others are cut without it.

    Examples
    --------
    >>> import pandas as pd
    >>> before = pd.DataFrame({"zip": [1, 1, 2, 3], "ill": ["yes", "no", "yes", "no"]})
    >>> after = pd.DataFrame({"zip": [1, 2, 2, 3], "ill": ["yes", "yes", "yes", "yes"]})
    >>> risk = attribution(before, after, ["zip"], "ill")
    >>> float(risk.disco), float(risk.tcap), float(risk.dcap)
    (0.5, 0.5, 0.5)

    References
    ----------
    Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
    arXiv:2406.16826.
    Taub, J., Elliot, M., Pampaka, M. and Smith, D. (2018). Differential correct attribution
    probability for synthetic data: an exploration. Privacy in Statistical Databases, 122-137.
    """
    if isinstance(known, str) or not known or target in known:
        msg = (
            "attribution needs a list of at least one column in known, and a target that is not"
            " one of them."
        )
        raise PlanError(msg)
    if groups < 2:  # noqa: PLR2004
        msg = f"groups ({groups}) must be at least 2."
        raise PlanError(msg)
    both = pair(original, release)
    tables = [both.original, *both.released]
    for table in tables:
        table.schema.check("known", [*known, target])
    if both.original.rows == 0:
        msg = "the table has no rows: there is no risk to measure."
        raise DataError(msg)
    cells, number = common_cells(tables, list(known))
    persons = person_numbers(both.original)
    return _attribution(cells, number, *_targets(tables, target, groups), persons)


def _targets(tables: Sequence[Table], name: str, groups: int) -> tuple[list[Ints], int]:
    """Return the target of every table as codes, numbers of many values by quantiles."""
    columns = [table.column(name) for table in tables]
    codes, levels = common_codes(columns)
    if (
        all(column.labels is None for column in columns)
        and np.unique(columns[0].values[~columns[0].missing]).size > groups
    ):
        spikes, cuts = _classes(columns[0], groups)
        last = spikes.size + groups
        grouped = [
            np.where(column.missing, last, _classified(column.values, spikes, cuts))
            for column in columns
        ]
        codes, levels = np.concatenate(grouped), last + 1
    return np.split(codes, np.cumsum([column.size for column in columns])[:-1]), levels


def _classes(column: Column, groups: int) -> tuple[Floats, Floats]:
    """Return the values that are classes of their own, and quantiles of all others."""
    values, size = np.unique(column.values[~column.missing].astype(np.float64), return_counts=True)
    spike = size * groups > size.sum()
    others = np.repeat(values[~spike], size[~spike])
    if not others.size:
        return values[spike], np.zeros(0)
    parts = max(groups - int(spike.sum()), 2)
    return values[spike], np.unique(np.quantile(others, np.arange(1, parts) / parts))


def _classified(values: Floats, spikes: Floats, cuts: Floats) -> Ints:
    """Return the class of each value: its own, or the part of the others that it falls into."""
    numbers = values.astype(np.float64)
    parts = spikes.size + np.searchsorted(cuts, numbers, "right")
    if not spikes.size:
        return parts
    place = np.minimum(np.searchsorted(spikes, numbers), spikes.size - 1)
    return np.where(spikes[place] == numbers, place, parts)


def _attribution(
    cells: list[Ints], number: int, targets: list[Ints], levels: int, persons: Ints
) -> Attribution:
    """Return the figures; a person with several rows counts once, with the worst of them."""
    sizes = [part.size for part in cells]
    flat, pairs = dense(np.concatenate(cells) * levels + np.concatenate(targets), number * levels)
    joint = np.split(flat, np.cumsum(sizes)[:-1])
    rows, people = sizes[0], int(persons.max(initial=-1)) + 1
    before, together = (
        np.bincount(cells[0], minlength=number),
        np.bincount(joint[0], minlength=pairs),
    )
    shares = []
    for cell, both, target in zip(cells[1:], joint[1:], targets[1:], strict=True):
        common = targets[0] == np.bincount(target, minlength=levels).argmax()
        have, same = np.bincount(cell, minlength=number), np.bincount(both, minlength=pairs)
        only = same[both] == have[cell]  # every row with these known values has this target
        single = np.zeros(number, dtype=bool)
        single[cell[only]] = True
        certain = single[cells[0]]
        right = certain & (same[joint[0]] > 0)
        chance = np.divide(
            same[joint[0]], have[cells[0]], out=np.zeros(rows), where=have[cells[0]] > 0
        )
        inferred = int(np.unique(persons[certain]).size)
        correct = int(np.unique(persons[right]).size)
        shares.append(
            (
                correct / people,
                correct / inferred if inferred else 0.0,
                float(per_person(chance, persons).mean()),
                float(only.mean()) if only.size else 0.0,
                np.unique(persons[common]).size / people,
                np.unique(persons[right & ~common]).size / people,
            )
        )
    disco, tcap, dcap, disclosive, base, beyond = (
        over_datasets(values, upper=1.0) for values in zip(*shares, strict=True)
    )
    alone = together[joint[0]] == before[cells[0]]
    own = float(per_person(alone * 1.0, persons).mean())
    return Attribution(disco, tcap, dcap, disclosive, Estimate.exact(own), base, beyond)


def measure(subject: Subject) -> Measured:
    """Measure every replaced column, and report the worst."""
    known = comparable_columns(subject)
    targets = [
        name
        for name in subject.changed
        if not is_recoded(subject.original, subject.tables[0], name)
    ][:MOST_TARGETS]
    others = {name: [column for column in known if column != name] for name in targets}
    risks = {
        name: attribution(subject.original, subject.release, columns, name)
        for name, columns in others.items()
        if columns
    }
    # everybody knows the value of a column that has one: it would hide the others
    risks = {name: r for name, r in risks.items() if float(r.base) < 1} or risks
    if not risks:
        msg = "no replaced column can be inferred from other columns that an intruder may know."
        raise NotApplicable(msg)
    worst = max(risks, key=lambda name: float(risks[name].disco))
    tcap = max(risks, key=lambda name: float(risks[name].tcap))
    beyond = max(risks, key=lambda name: float(risks[name].beyond))
    rows = tuple(
        (
            name,
            *(
                f"{float(figure):.4f}"
                for figure in (r.disco, r.beyond, r.tcap, r.dcap, r.base, r.original)
            ),
        )
        for name, r in risks.items()
    )
    detail = Detail(
        "Attribute disclosure of each replaced column",
        ("Column", "DiSCO", "Beyond guessing", "TCAP", "DCAP", "Base rate", "In the original"),
        rows,
    )
    notes = {
        "disco": f"Column: {worst}. Known: {', '.join(others[worst])}.",
        "tcap": f"Column: {tcap}. Guessing its commonest value is right for"
        f" {100 * float(risks[tcap].base):.3g} % of people.",
        "base": f"Column: {worst}.",
        "beyond": f"Column: {beyond}.",
    }
    figures = {
        "disco": risks[worst].disco,
        "base": risks[worst].base,
        "beyond": risks[beyond].beyond,
        "tcap": risks[tcap].tcap,
    }
    return Measured(figures, notes, detail)


MEASURE = Measure(
    "risk.attribution",
    figures={
        "disco": Meaning(
            "DiSCO: people whose replaced value can be inferred, correctly and with certainty, from"
            " the known columns.",
            unit="people",
            headline=True,
        ),
        "base": Meaning(
            "Base rate: people for whom guessing the commonest released value of that column is"
            " right, without knowing anything about them. DiSCO and TCAP are to be read beside it.",
            "neither",
            unit="people",
            headline=True,
        ),
        "beyond": Meaning(
            "DiSCO beyond guessing: of the people counted by DiSCO, those who do not have the"
            " commonest value.",
            unit="people",
        ),
        "tcap": Meaning(
            "TCAP: share of those certain inferences that are correct.",
            unit="share",
        ),
    },
    function=measure,
)
