"""A formula fitted to every dataset: rows that are held at once, others as they stream by."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from veladura.inference.design import Design, build_design
from veladura.inference.design_remarks import refuse_one_cluster
from veladura.inference.model import BINARY, Fit, check_columns, check_family, fit
from veladura.inference.sampled_rows import sampled_rows
from veladura.inference.streamed_design import Lost, StreamedDesign, needs_all_rows, open_stream
from veladura.inference.streamed_fit import first_pass, fit_stream
from veladura.inference.survey import Sampling, check_sampling

if TYPE_CHECKING:
    from veladura.table.table import Table

Fitted = tuple[Design, tuple[Fit, ...]]


def streams(tables: Sequence[Table], formula: str, sampling: Sampling) -> bool:
    """Whether a model is fitted to rows that stream by.

    Centres, knots, strata and clusters need all rows at once.
    """
    held = all(table.in_memory for table in tables)
    return not held and not sampling.is_complex and not needs_all_rows(formula)


def fitted(
    tables: Sequence[Table],
    formula: str,
    family: str,
    *,
    sampling: Sampling,
    robust: bool,
    suppressed: Sequence[str] = (),
) -> Fitted:
    """Return the design of a formula and its fit to each of some datasets.

    Parameters
    ----------
    suppressed
        Columns in which ``*`` stands for a suppressed value.
    """
    check_family(family)
    check_sampling(sampling, tables[0].names)
    how = _by_pieces if streams(tables, formula, sampling) else _at_once
    return how(tables, formula, family, sampling, suppressed, robust=robust)


def _at_once(
    tables: Sequence[Table],
    formula: str,
    family: str,
    sampling: Sampling,
    suppressed: Sequence[str],
    *,
    robust: bool,
) -> Fitted:
    rows = [table.units.read() for table in tables]
    design = build_design(
        formula,
        list(zip(tables, rows, strict=True)),
        binary=family in BINARY,
        weights=sampling.weights,
        suppressed=suppressed,
    )
    check_columns(design.x, design.names)
    loads = design.weights or [None] * len(tables)
    designs = [sampled_rows(own, sampling) if sampling.is_complex else None for own in rows]
    for sampled in designs:
        if sampled is not None:
            refuse_one_cluster(sampling, sampled)
    parts = zip(design.y, design.x, loads, designs, design.places, strict=True)
    return design, tuple(
        fit(family, y, x, load, robust=robust, number=i, sampled=sampled, places=places)
        for i, (y, x, load, sampled, places) in enumerate(parts, 1)
    )


def _by_pieces(
    tables: Sequence[Table],
    formula: str,
    family: str,
    sampling: Sampling,
    suppressed: Sequence[str],
    *,
    robust: bool,
) -> Fitted:
    stream = open_stream(
        formula, tables, binary=family in BINARY, weights=sampling.weights, suppressed=suppressed
    )
    lost, fits, rows = Lost(), [], []
    for number, table in enumerate(tables, 1):
        moments = first_pass(partial(stream.pieces, table, lost), stream.names, number)
        rows.append(moments.rows)
        fits.append(
            fit_stream(
                family,
                partial(stream.pieces, table),
                moments,
                weighted=sampling.weights is not None,
                robust=robust,
                number=number,
            )
        )
    design = StreamedDesign(
        response=stream.response,
        names=stream.names,
        terms=stream.terms,
        columns=stream.columns,
        y=(),
        x=(),
        weights=None,
        places=(),
        missing=lost.missing,
        undefined=lost.undefined,
        starred=lost.starred,
        used=tuple(rows),
    )
    return design, tuple(fits)
