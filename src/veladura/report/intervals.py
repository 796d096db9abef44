"""Standard estimates with 95 % confidence intervals: means, proportions, a few coefficients.

For the custodian every interval is drawn in standard errors of the original, so that the interval
of the original is the same band in every row. For the recipient everything comes from the released
tables: the original is not read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Mask
from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.inference.known_replicates import known_replicates
from veladura.inference.sampled_rows import SampledRows, sampled_rows
from veladura.inference.survey import Sampling
from veladura.measures.pairing import Pairing, pair
from veladura.measures.utility.linear import fit_all, propose
from veladura.measures.utility.overlap import NORMAL, combiner, interval_overlap
from veladura.measures.weights import weighted_mean
from veladura.report.marks import Mark, Term, alone, beside
from veladura.report.tally import SPREAD, Tally, tally_of
from veladura.report.words import number
from veladura.table.codes import label_text
from veladura.table.profiles import LARGEST
from veladura.table.schema import WEIGHTS

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.measures.measure import Unit
    from veladura.table.table import Table

MOST_MEANS, MOST_COLUMNS, MOST_SHARES, MOST_SLOPES = 8, 5, 3, 10
FEWEST_ROWS = 10


@dataclass(frozen=True)
class IntervalFacts:
    """One estimate as it is printed and drawn."""

    name: str
    released: str
    original: str
    overlap: str
    in_words: str  # for readers who do not see the picture
    term: Term = field(repr=False)
    mark: Mark | None = field(default=None, repr=False)


@dataclass(frozen=True)
class IntervalGroup:
    """Estimates of one sort."""

    title: str
    scale: str
    rows: tuple[IntervalFacts, ...]
    unit: Unit = "number"


def interval_facts(release: Release, original: Table | None) -> tuple[IntervalGroup, ...]:
    """Return standard estimates of a release and, where it is given, of the original.

    A differentially private release has an exact posterior instead, or no valid interval at all.
    """
    if release.rule.private:
        return (
            _posteriors(release, original)
            if release.rule.posterior and original is not None
            else ()
        )
    tables = [dataset.table for dataset in release.tables]
    pairing = pair(tables[0], tables) if original is None else pair(original, release)
    changed = release.changed
    combined = combiner(release)
    both = original is not None
    by = "" if pairing.weights() is None else f", weighted by {pairing.weight}"
    if (design := _sampling(pairing)) is not None:
        by += f", errors of the design ({design})"
    means = list(_means(pairing, changed, combined, original))
    shares = list(_shares(pairing, changed, combined, both=both))
    groups = (
        interval_group(f"Means{by}", means, "number"),
        interval_group(f"Proportions{by}", shares, "share"),
        _slopes(pairing, changed, combined, both=both),
    )
    return tuple(group for group in groups if group is not None)


Combiner = Callable[[Floats, Floats], tuple[Floats, Floats, Floats]]


def _term(
    name: str, q: Sequence[float], v: Sequence[float], combined: Combiner, *, both: bool
) -> Term:
    """Return a quantity from its estimates and variances: the original first, then each dataset."""
    value, lower, upper = (
        float(end[0]) for end in combined(np.array(q[1:])[:, None], np.array(v[1:])[:, None])
    )
    half = NORMAL * math.sqrt(v[0])
    return Term(
        name,
        Estimate(value, lower, upper),
        Estimate(q[0], q[0] - half, q[0] + half) if both else None,
    )


def _ordered(pairing: Pairing, changed: Sequence[str], form: str) -> list[str]:
    schema = pairing.original.schema
    fitting = [
        name
        for name, own_form in pairing.forms.items()
        if own_form == form and schema[name].role not in WEIGHTS and schema[name].kind != "text"
    ]
    return sorted(fitting, key=lambda name: (name not in changed, schema[name].role != "sensitive"))


def _means(
    pairing: Pairing, changed: Sequence[str], combined: Combiner, original: Table | None
) -> Iterator[Term]:
    """Yield means; those of the original are of its exact numbers, not of the middles of cells."""
    weights, both, designs = _loads(pairing), original is not None, _designs(pairing)
    first = pairing.original if original is None else original
    for name in _ordered(pairing, changed, "numbers")[:MOST_MEANS]:
        tallies = [tally_of(table, name) for table in (first, *pairing.released)]
        moments = [tally.moments() for tally in tallies]
        if min(rows for rows, _, _ in moments) < FEWEST_ROWS:
            continue
        q, v = [mean for _, mean, _ in moments], [spread / rows for rows, _, spread in moments]
        if weights is not None:
            q, v = _weighted_means(tallies, weights, designs)
        term = _term(name, q, v, combined, both=both)
        if not both:
            _, low, high, _ = map(float, tallies[1].quantiles(SPREAD))
            term = replace(term, axis=(low, high))
        yield term


def _weighted_means(
    tallies: Sequence[Tally], weights: Sequence[Floats], designs: Sequence[SampledRows | None]
) -> tuple[list[float], list[float]]:
    """Return the weighted mean of a column in each table, and its variance."""
    means = []
    for tally, part, design in zip(tallies, weights, designs, strict=True):
        values = np.where(tally.column.missing, np.nan, tally.column.values.astype(np.float64))
        given = np.abs(values) < LARGEST
        means.append(_mean_of(values[given], part[given], given, design))
    return [mean for mean, _ in means], [variance for _, variance in means]


def _sampling(pairing: Pairing) -> Sampling | None:
    """Return the design of both tables; None where a weight is all there is.

    Members of a household, and rows of a person, are a cluster where no other is declared.
    Replicate weights count where it is known how they were made.
    """
    tables = [table.units for table in (pairing.original, *pairing.released)]
    declared = Sampling.declared(tables[-1].schema)
    if pairing.weights() is None:
        declared = replace(declared, weights=None, replicates=(), replication=None, scales=())
    if not all(t.in_memory and set(declared.columns) <= {*t.names} for t in tables):
        return None
    declared, _ = known_replicates(declared, tables[-1].arrow)
    if declared.is_complex and np.ptp(sampled_rows(tables[-1].arrow, declared).unit) == 0:
        return None  # all rows are of one cluster, which shows no variance
    return declared if declared.is_complex else None


def _loads(pairing: Pairing) -> list[Floats] | None:
    """Return the weights of the rows of each table; equal ones for a design without weights."""
    if (weights := pairing.weights()) is not None or _sampling(pairing) is None:
        return weights
    return [np.ones(table.rows) for table in (pairing.original, *pairing.released)]


def _designs(pairing: Pairing) -> list[SampledRows | None]:
    """Return the design of the rows of the original, and of each released table."""
    declared = _sampling(pairing)
    tables = (pairing.original, *pairing.released)
    return [None if declared is None else sampled_rows(t.units.arrow, declared) for t in tables]


def _mean_of(
    values: Floats, weights: Floats, given: Mask, design: SampledRows | None
) -> tuple[float, float]:
    """Return a weighted mean and its variance: by replicates or clusters, if there are any."""
    mean, variance = weighted_mean(values, weights)
    if design is None:
        return mean, variance
    if design.replicates.shape[1]:
        found = design.replicated(
            lambda own: np.array([own[given] @ values / own[given].sum()]), np.array([mean])
        )
        return mean, float(found[0, 0])
    scores = np.zeros(given.size)
    scores[given] = weights * (values - mean) / weights.sum()
    return mean, float(design.variance(scores[:, None])[0, 0])


def _shares(
    pairing: Pairing, changed: Sequence[str], combined: Combiner, *, both: bool
) -> Iterator[Term]:
    weights, designs = _loads(pairing), _designs(pairing)
    for name in _ordered(pairing, changed, "labels")[:MOST_COLUMNS]:
        tallies = [tally_of(table, name) for table in (pairing.original, *pairing.released)]
        sizes = [tally.label_sizes() for tally in tallies]
        rows = [sum(table.values()) for table in sizes]
        if min(rows) < FEWEST_ROWS:
            continue
        labels = sorted(sizes[0], key=lambda label: -sizes[0][label])
        most = min(len(labels) - 1, MOST_SHARES)  # the last proportion follows from the others
        for label in labels[:most]:
            q = [table.get(label, 0) / n for table, n in zip(sizes, rows, strict=True)]
            v = [p * (1 - p) / n for p, n in zip(q, rows, strict=True)]
            if weights is not None:
                q, v = _weighted_shares(tallies, label, weights, designs)
            yield _cut(_term(f"{name}: {label}", q, v, combined, both=both))


def _weighted_shares(
    tallies: Sequence[Tally],
    label: str,
    weights: Sequence[Floats],
    designs: Sequence[SampledRows | None],
) -> tuple[list[float], list[float]]:
    """Return the weighted share of a category in each table, and its variance."""
    shares = []
    for tally, part, design in zip(tallies, weights, designs, strict=True):
        given = ~tally.column.missing
        labels = np.array([str(text) == label for text in tally.labels.to_pylist()])
        held = labels[tally.column.values[given]].astype(np.float64)
        shares.append(_mean_of(held, part[given], given, design))
    return [share for share, _ in shares], [variance for _, variance in shares]


def _cut(term: Term) -> Term:
    """Return a proportion with its intervals cut at 0 and 1."""
    ends = [
        None if e is None else Estimate(e.value, max(e.lower, 0.0), min(e.upper, 1.0))
        for e in (term.released, term.original)
    ]
    assert ends[0] is not None  # noqa: S101  # a term always has the release
    return Term(term.name, ends[0], ends[1])


def _slopes(
    pairing: Pairing, changed: Sequence[str], combined: Combiner, *, both: bool
) -> IntervalGroup | None:
    """Return the coefficients of a linear model that suits the table; None where there is none."""
    if not all(table.in_memory for table in (pairing.original, *pairing.released)):
        return None  # a model needs the rows, and these stay in the database
    try:
        model = propose(pairing, changed)
        fits = fit_all(pairing, model)
    except NotApplicable:
        return None
    q, v = fits.estimates, fits.variances
    terms = [
        _term(name, q[:, j].tolist(), v[:, j].tolist(), combined, both=both)
        for j, name in enumerate(fits.terms[:MOST_SLOPES])
    ]
    more = (
        f", the first {MOST_SLOPES} of {len(fits.terms)}" if len(fits.terms) > MOST_SLOPES else ""
    )
    return interval_group(
        f"Regression coefficients of {model}{more}",
        terms,
        "number",
        note="Numeric columns are in standard deviations.",
    )


def _posteriors(release: Release, original: Table) -> tuple[IntervalGroup, ...]:
    """Return the marginal posteriors of a private release beside proportions of the original."""
    from veladura.inference.posterior.compare import column_table
    from veladura.inference.posterior.pictures import MOST_CELLS_SHOWN
    from veladura.inference.posterior.posterior import posterior
    from veladura.inference.posterior.reading import model_of

    if model_of(release).domain.cells > MOST_CELLS_SHOWN:
        return ()
    shares, terms = posterior(release), []
    # the original has other values in columns that an earlier step recoded
    recoded = {name for step in release.steps[:-1] for name in step.changed}
    comparable = (n for n in shares.domain.names if n in original.names and n not in recoded)
    for name in islice(comparable, MOST_COLUMNS):
        counts, rows = original.counts([name]), original.rows
        sizes = {
            label_text(value): int(size)
            for value, size in zip(
                counts.columns[0].to_arrow().to_pylist(), counts.size, strict=True
            )
        }
        values = list(column_table(shares, name).itertuples(index=False, name=None))
        most = min(len(values) - 1, MOST_SHARES)
        for label, share, lower, upper in sorted(values, key=lambda row: -row[1])[:most]:
            p = sizes.get(label_text(label), 0) / max(rows, 1)
            half = NORMAL * math.sqrt(p * (1 - p) / max(rows, 1))
            terms.append(
                _cut(
                    Term(
                        f"{name}: {label}",
                        Estimate(share, lower, upper),
                        Estimate(p, p - half, p + half),
                    )
                )
            )
    group = interval_group("Proportions, from the exact posterior", terms, "share")
    return () if group is None else (group,)


def interval_group(
    title: str, terms: Sequence[Term], unit: Unit, note: str = ""
) -> IntervalGroup | None:
    """Return estimates of one sort, each with its small picture; None without any."""
    if not terms:
        return None
    marks, scale = beside(terms) if terms[0].original is not None else alone(terms, unit)
    return IntervalGroup(
        title,
        f"{scale} {note}".strip(),
        tuple(interval_of(term, mark, unit) for term, mark in zip(terms, marks, strict=True)),
        unit,
    )


def interval_of(term: Term, mark: Mark | None, unit: Unit) -> IntervalFacts:
    """Return an estimate as it is printed and drawn."""
    released = written(term.released, unit)
    if term.original is None:
        told = f"{term.name}: release {released}"
        return IntervalFacts(term.name, released, "", "", told, term, mark)
    original = written(term.original, unit)
    ends = [
        tuple(np.array([end]) for end in (e.value, e.lower, e.upper))
        for e in (term.original, term.released)
    ]
    shared = interval_overlap(ends[0], ends[1])[0]  # type: ignore[arg-type]
    overlap = number(float(shared), "share")
    return IntervalFacts(
        term.name,
        released,
        original,
        overlap,
        f"{term.name}: original {original}; release {released}; overlap {overlap}",
        term,
        mark,
    )


def written(estimate: Estimate, unit: Unit) -> str:
    """Return an estimate with its interval, to two digits of half its length.

    Examples
    --------
    >>> written(Estimate(0.5, 0.4, 0.6), "share")
    '50 % (40 to 60)'
    >>> written(Estimate(35213.2, 34105.9, 36320.5), "number")
    '35,200 (34,100 to 36,300)'
    """
    half = (estimate.upper - estimate.lower) / 2 * (100 if unit == "share" else 1)
    if not half > 0 or not math.isfinite(half):
        return number(estimate.value, unit)
    decimals = 1 - int(f"{half:.1e}".partition("e")[2])
    value, lower, upper = (
        f"{round(end * (100 if unit == 'share' else 1), decimals):,.{max(decimals, 0)}f}"
        for end in (estimate.value, estimate.lower, estimate.upper)
    )
    return f"{value}{' %' if unit == 'share' else ''} ({lower} to {upper})"
