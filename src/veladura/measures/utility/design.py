"""Design matrices of stacked tables: main effects and pairs, as many as the rows allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.sampling import read
from veladura.table.codes import label_text

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

CAPS = (40, 20, 10, 6, 4, 3, 2)
ROWS_A_SLOPE, MOST_SLOPES, FEWEST_ROWS = 10, 500, 10
RANK = 1e-8


@dataclass(frozen=True, eq=False)
class Raw:
    """One column of the stacked rows: numbers, or codes of categories by frequency."""

    numbers: Floats | None = field(repr=False)
    codes: Ints | None = field(repr=False)
    missing: Mask = field(repr=False)


@dataclass(frozen=True, eq=False)
class Design:
    """A matrix of full rank with an intercept; the slopes that involve a replaced column.

    Attributes
    ----------
    cross
        The product of the matrix with itself.
    """

    matrix: Floats = field(repr=False)
    cross: Floats = field(repr=False)
    slopes: int
    note: str = ""


def read_columns(
    original: Table, released: Table, names: Sequence[str], rows: Sequence[Ints]
) -> dict[str, Raw]:
    """Return the columns of two tables stacked, original first."""
    return {name: _raw(original, released, name, rows) for name in names}


def _raw(original: Table, released: Table, name: str, rows: Sequence[Ints]) -> Raw:
    parts = [
        read(table, name, taken) for table, taken in zip((original, released), rows, strict=True)
    ]
    missing = np.concatenate([part.missing for part in parts])
    if parts[0].labels is None:
        values = np.concatenate([part.values.astype(np.float64) for part in parts])
        return Raw(np.where(np.isfinite(values), values, 0.0), None, missing | ~np.isfinite(values))
    return Raw(None, np.concatenate(shared_codes(parts)), missing)


def shared_codes(parts: Sequence[Column]) -> list[Ints]:
    """Return columns of categories in common codes, by frequency: 0 is the most frequent."""
    return shared_labels(parts)[0]


def shared_labels(parts: Sequence[Column]) -> tuple[list[Ints], list[str]]:
    """Return the shared codes, and the label of each."""
    texts = [
        [label_text(label) for label in part.labels.to_pylist()] if part.labels is not None else []
        for part in parts
    ]
    every = sorted({text for listed in texts for text in listed})
    place = {text: i for i, text in enumerate(every)}
    codes = [
        _at([place[text] for text in listed], part)
        for part, listed in zip(parts, texts, strict=True)
    ]
    count = np.zeros(len(every), dtype=np.int64)
    for part, code in zip(parts, codes, strict=True):
        count += np.bincount(code[~part.missing], minlength=len(every))
    order = np.argsort(-count, kind="stable")
    rank = np.empty(len(every), dtype=np.int64)
    rank[order] = np.arange(len(every))
    ranked = [
        np.where(part.missing, 0, rank[code] if len(every) else code)
        for part, code in zip(parts, codes, strict=True)
    ]
    return ranked, [every[i] for i in order]


def _at(places: Sequence[int], part: Column) -> Ints:
    return (
        np.array(places, dtype=np.int64)[part.values]
        if places
        else np.zeros(part.size, dtype=np.int64)
    )


def design_of(columns: Mapping[str, Raw], replaced: Sequence[str], *, pairs: bool) -> Design:
    """Return the largest model with ten rows for every slope.

    Rare categories are lumped first, then pairs are left out.
    """
    rows = next(iter(columns.values())).missing.size
    budget = max(min(rows // ROWS_A_SLOPE, MOST_SLOPES), 1)
    note, chosen = "", dict[str, Floats]()
    for cap in CAPS:
        chosen = {name: main for name, raw in columns.items() if (main := _main(raw, cap)).shape[1]}
        if _terms(chosen, pairs=pairs) <= budget:
            break
        note = f"Categories beyond the {cap} most frequent of a column were lumped."
    if not pairs:
        return _full_rank(chosen, [], replaced, note)
    every = [(a, b) for i, a in enumerate(chosen) for b in list(chosen)[:i]]
    kept, left = list[tuple[str, str]](), budget - sum(main.shape[1] for main in chosen.values())
    for a, b in _spaced(every, left, chosen):
        kept.append((a, b))
    if len(kept) < len(every):
        note = f"{note} {len(kept)} of {len(every)} pairs are in the model.".strip()
    return _full_rank(chosen, kept, replaced, note)


def main_effects(columns: Mapping[str, Raw], cap: int = CAPS[1]) -> Floats:
    """Return standardised numbers and indicators, rare categories lumped, without intercept."""
    parts = [main for raw in columns.values() if (main := _main(raw, cap)).shape[1]]
    rows = next(iter(columns.values())).missing.size
    return np.column_stack(parts) if parts else np.empty((rows, 0))


def _spaced(
    every: Sequence[tuple[str, str]], budget: int, chosen: Mapping[str, Floats]
) -> list[tuple[str, str]]:
    """Return all pairs, or as many as fit, evenly spaced."""
    cost = [chosen[a].shape[1] * chosen[b].shape[1] for a, b in every]
    if sum(cost) <= budget:
        return list(every)
    wanted = max(int(len(every) * budget / sum(cost)), 0)
    return (
        [every[i] for i in np.unique(np.linspace(0, len(every) - 1, wanted).astype(int))]
        if wanted
        else []
    )


def _terms(chosen: Mapping[str, Floats], *, pairs: bool) -> int:
    sizes = [int(main.shape[1]) for main in chosen.values()]
    products = (sum(sizes) * sum(sizes) - sum(size * size for size in sizes)) // 2
    return sum(sizes) + (products if pairs else 0)


def _main(raw: Raw, cap: int) -> Floats:
    """Return the terms of one column: numbers, or indicators of categories; and missing."""
    parts = []
    if raw.numbers is not None:
        given = raw.numbers[~raw.missing]
        spread = float(given.std()) if given.size else 0.0
        if spread > 0 and np.isfinite(spread):
            parts.append(np.where(raw.missing, 0.0, (raw.numbers - given.mean()) / spread))
    else:
        assert raw.codes is not None  # noqa: S101  # one of the two
        lumped = np.minimum(raw.codes, cap - 1)
        parts += [
            ((lumped == level) & ~raw.missing).astype(np.float64)
            for level in range(1, int(lumped.max(initial=0)) + 1)
        ]
    parts.append(raw.missing.astype(np.float64))
    kept = [
        part
        for part in parts
        if min(np.count_nonzero(part), np.count_nonzero(part != 1.0)) >= FEWEST_ROWS
    ]
    return np.column_stack(kept) if kept else np.empty((raw.missing.size, 0))


def _full_rank(
    chosen: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    replaced: Sequence[str],
    note: str,
) -> Design:
    """Return intercept, main effects and products, without linearly dependent columns."""
    terms: list[tuple[tuple[str, ...], Floats]] = [((name,), main) for name, main in chosen.items()]
    terms += [((a, b), _products(chosen[a], chosen[b])) for a, b in pairs]
    rows = next(iter(chosen.values())).shape[0] if chosen else 0
    still = [term for names, term in terms if not set(names) & set(replaced)]
    moved = [term for names, term in terms if set(names) & set(replaced)]
    whole = np.column_stack([np.ones(rows), *still, *moved]) if rows else np.ones((0, 1))
    first = 1 + sum(term.shape[1] for term in still)
    cross = whole.T @ whole
    basis = independent(cross)
    slopes = basis.size - independent(cross[:first, :first]).size
    if basis.size < whole.shape[1]:
        kept = np.sort(basis)
        whole, cross = whole[:, kept], cross[np.ix_(kept, kept)]
    return Design(whole, cross, int(slopes), note)


def _products(a: Floats, b: Floats) -> Floats:
    product = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
    return product[:, np.count_nonzero(product, axis=0) >= FEWEST_ROWS]


def independent(cross: Floats) -> Ints:
    """Return linearly independent columns, intercept first, by a pivoted Cholesky factor."""
    from scipy.linalg import lapack  # a tenth of a second

    scale = np.sqrt(np.maximum(np.diag(cross), 1e-300))
    scaled = cross / scale / scale[:, None]
    scaled[0] *= 1e3  # the intercept is taken first
    scaled[:, 0] *= 1e3
    _, pivots, rank, _ = lapack.dpstrf(scaled, tol=RANK, lower=0)
    return np.asarray(pivots[:rank], dtype=np.int64) - 1
