"""Cuts of a column for pictures, with their labels: taken from the release, never the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.table.codes import Column, label_texts

MOST_TICKS = 6
LONGEST_LABEL = 18
MISSING = "missing, other"


@dataclass(frozen=True, eq=False)
class Scale:
    """How the values of a column are put into bins.

    Attributes
    ----------
    edges
        Between which values numbers and dates are cut; None for categories.
    labels
        The categories, or the edges, as text.
    """

    edges: Floats | None
    labels: tuple[str, ...]

    @property
    def bins(self) -> int:
        """Number of bins; the last is for missing values, and categories that are not listed."""
        return len(self.labels) + (1 if self.edges is None else 2)

    def place(self, column: Column) -> Ints:
        """Return the bin of each row."""
        if self.edges is not None:
            numbers = np.where(column.missing, 0.0, column.values.astype(np.float64))
            return np.where(column.missing, self.bins - 1, np.searchsorted(self.edges, numbers))
        places = {text: i for i, text in enumerate(self.labels)}
        own = np.array([places.get(text, self.bins - 1) for text in label_texts(column)] or [0])
        return np.where(
            column.missing, self.bins - 1, own[np.where(column.missing, 0, column.values)]
        )

    def ticks(self, *, missing: bool) -> tuple[list[float], list[str]]:
        """Return places and labels of an axis on which every bin has the width 1.

        Edges stand between the bins, categories in their middle; of many only some are labelled.
        """
        first = 0.5 if self.edges is not None else 0.0
        step = max(1, -(-len(self.labels) // (MOST_TICKS if self.edges is not None else 12)))
        shown = range((len(self.labels) - 1) % step // 2, len(self.labels), step)
        places, texts = [i + first for i in shown], [_short(self.labels[i]) for i in shown]
        if missing:
            return [*places, self.bins - 1.0], [
                *texts,
                MISSING if self.edges is None else "missing",
            ]
        return places, texts


def scale_of(released: Sequence[Column], bars: int, fewest: int = 1) -> Scale:
    """Return bins with about the same number of released values, at rounded edges.

    Categories with fewer released rows in every dataset share the last bin.

    The values of the original would be told by its own quantiles. Those of the release are known.
    """
    first = released[0]
    if first.labels is not None:
        return Scale(None, _common(released, fewest))
    numbers = np.concatenate([c.values[~c.missing].astype(np.float64) for c in released])
    if not numbers.size:
        return Scale(np.empty(0), ())
    exact = np.unique(np.quantile(numbers, np.linspace(0, 1, bars + 1)[1:-1]))
    unit = _unit(exact, numbers, whole=first.values.dtype.kind != "f")
    edges = np.unique(np.round(exact / unit) * unit)
    return Scale(edges, tuple(_edge_texts(edges, first, unit)))


def _common(released: Sequence[Column], fewest: int) -> tuple[str, ...]:
    """Return the categories with some rows in a dataset."""
    texts: dict[str, None] = {}
    for column in released:
        count = np.bincount(column.values[~column.missing], minlength=len(label_texts(column)))
        texts |= {t: None for t, n in zip(label_texts(column), count, strict=True) if n >= fewest}
    return tuple(texts)


def _unit(edges: Floats, numbers: Floats, *, whole: bool) -> float:
    """Return the power of ten that edges are rounded to: a tenth of the distance between them."""
    width = float(np.median(np.diff(edges))) if edges.size > 1 else float(np.ptp(numbers))
    unit = 10.0 ** (np.floor(np.log10(width)) - 1) if width > 0 else 1.0
    return float(max(unit, 1.0)) if whole else float(unit)


def _edge_texts(edges: Floats, column: Column, unit: float) -> list[str]:
    if column.field.kind == "date":
        day = pa.types.is_date32(column.field.type)
        moments = edges.astype(np.int64).astype("datetime64[D]" if day else "datetime64[us]")
        return [str(moment) for moment in moments.astype("datetime64[D]")]
    decimals = int(max(0, -np.floor(np.log10(unit))))
    texts = [f"{edge + 0.0:,.{min(decimals, 9)}f}" for edge in edges]
    if decimals and all("." in text for text in texts):  # no zeros that all of them end in
        while all(text.endswith("0") for text in texts):
            texts = [text[:-1] for text in texts]
        texts = [text.removesuffix(".") for text in texts]
    return texts


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_LABEL else f"{text[: LONGEST_LABEL - 1]}…"
