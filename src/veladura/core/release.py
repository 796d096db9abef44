"""The release: m datasets with what may be said of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.memory import refuse_to_hold
from veladura.core.linked import CHECKS as LINKED
from veladura.core.promise import Check, Evidence, Promise, Proof, claim_of, prove
from veladura.errors import PlanError, PromiseError, VeladuraWarning
from veladura.table.schema import UNITS

if TYPE_CHECKING:
    from veladura.base.arrays import Ints
    from veladura.base.streams import Streams
    from veladura.core.recipe import Recipe
    from veladura.core.rules import Rule
    from veladura.core.standing import Standing
    from veladura.inference.analysis import Analysis
    from veladura.inference.combined import Combined
    from veladura.inference.survey import Sampling
    from veladura.table.table import Table

Titled = Mapping[str, bytes | str]  # pictures by title: SVG, or text


@dataclass(frozen=True)
class Step:
    """One method as the manifest describes it.

    Attributes
    ----------
    settings
        What the manifest says of it.
    changed
        The columns whose values it replaced.
    recipe
        The class of its recipe; None where this version does not know the method.
    """

    method: str
    settings: Mapping[str, Any]
    changed: tuple[str, ...]
    recipe: type[Recipe] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Dataset:
    """One released table, in the order of the input, and its link to the original rows.

    A table that was recoded where the data lives is lazy: it has neither link nor order.
    """

    table: Table
    rows: Ints | None = field(default=None, repr=False)  # original row of each released row
    order: Ints | None = field(default=None, repr=False)  # released rows in canonical order
    # the released rows, and the original columns beside them, in an order of their own: for proofs
    pair: tuple[Table, Table] | None = field(default=None, repr=False)
    # the largest number of a unit, by its column, that an earlier release gave out
    known: Mapping[str, int] = field(default_factory=dict, repr=False)

    def fetched(self) -> Any:
        """Return the rows, numbers of units included; those of a lazy table are not kept."""
        return self.table.units.read()


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """m released datasets with what may be said of them.

    Attributes
    ----------
    datasets
        The released frames, of the type that came in.
    rows
        Which input row each released row is; None without such a link. Never saved in a package.
    manifest
        What an analyst needs to know, as it is written to ``manifest.json``.
    rule
        The combining rule: how an analyst gets one estimate from the datasets.
    promises
        What the release claims; ``claims`` has the sentences.
    units
        What became of the numbers of people and households, by column.
    """

    tables: tuple[Dataset, ...] = field(repr=False)
    original: Table | None = field(repr=False)
    steps: tuple[Step, ...]
    promises: tuple[Promise, ...]
    rule: Rule
    recipe: Recipe | None = None
    streams: Streams | None = field(default=None, repr=False)
    saved_manifest: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of a package
    pictures: tuple[Callable[[], Titled], ...] = field(default=(), repr=False)
    public_pictures: tuple[Callable[[], Titled], ...] = field(default=(), repr=False)
    standing: Standing | None = None  # what a plan says of it; None without a plan
    units: Mapping[str, str] = field(default_factory=dict, repr=False)
    records: Mapping[str, str] = field(default_factory=dict, repr=False)  # for the custodian only
    lost_design: tuple[str, ...] = ()  # roles of the survey's design whose loss matters

    def __repr__(self) -> str:
        steps = " then ".join(step.method for step in self.steps)
        return (
            f"Release({steps}, datasets={len(self.tables)}, rule={self.rule.name!r},"
            f" promises={len(self.promises)})"
        )

    @cached_property
    def datasets(self) -> list[Any]:
        """The released frames, of the type that came in (pandas for files and databases).

        Rows that stay in files are read; more than fit into the memory are refused.
        """
        from veladura.table.frames.conversion import new_frame, restore

        self.refuse_large()
        changed = {*self.changed, *self.units}
        frame = None if self.original is None else self.original.frame
        if self.rule.statistics:
            return [new_frame(frame, dataset.fetched()) for dataset in self.tables]
        return [
            restore(
                frame,
                dataset.fetched(),
                {name: name in changed for name in dataset.table.units.names},
                dataset.rows,
                self._new_orders(dataset.table),
            )
            for dataset in self.tables
        ]

    def refuse_large(self) -> None:
        """Refuse to read rows that stay in files, where they do not fit into the memory."""
        cells = sum(
            dataset.table.rows * len(dataset.table.units.names)
            for dataset in self.tables
            if not dataset.table.in_memory
        )
        refuse_to_hold(
            cells,
            "the release",
            "release.analyze, survey_mean, survey_total and release.counts go through the files"
            " piece by piece; or allow more with VELADURA_MEMORY.",
        )

    def _new_orders(self, table: Table) -> dict[str, tuple[str, ...]]:
        """Return the columns that a step turned into ordered categories, with their order."""
        if self.original is None:
            return {}
        kinds = {field.name: field.kind for field in self.original.schema}
        return {
            field.name: field.order
            for field in table.schema
            if field.order and field.kind == "ordered" and kinds.get(field.name) != "ordered"
        }

    @property
    def changed(self) -> tuple[str, ...]:
        """The columns whose values a step replaced."""
        return tuple(dict.fromkeys(name for step in self.steps for name in step.changed))

    @property
    def fraction(self) -> float:
        """The share of the source that was drawn at random; 1 where nothing was."""
        return math.prod(
            step.recipe.sampled(step.settings) for step in self.steps if step.recipe is not None
        )

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that a step names as quasi-identifiers."""
        named = (name for step in self.steps for name in _flat(step.settings, "quasi_identifiers"))
        return tuple(dict.fromkeys(named))

    @property
    def exact(self) -> tuple[str, ...]:
        """The columns that are released exactly.

        No step replaced them, and they are not among the quasi-identifiers of k-anonymity. Numbers
        of persons and households are released under new numbers only.
        """
        schema = self.tables[0].table.schema
        accounted = {*self.changed, *self.quasi_identifiers, *schema.of_role(*UNITS)}
        return tuple(name for name in schema.names if name not in accounted)

    @property
    def rows(self) -> Ints | list[Ints] | None:
        """Which input row each released row is: one array, or one per dataset where they differ."""
        links = [dataset.rows for dataset in self.tables if dataset.rows is not None]
        if len(links) < len(self.tables):
            return None
        same = all(np.array_equal(link, links[0]) for link in links)
        return links[0] if same else links

    @property
    def manifest(self) -> dict[str, Any]:
        """What the recipient may know."""
        from veladura.release.manifest import build_manifest

        return dict(self.saved_manifest) or build_manifest(self)

    def counts(self, columns: Sequence[str] | None = None) -> list[Any]:
        """Return every dataset as a table of counts (a contingency table), as pandas frames.

        Parameters
        ----------
        columns
            The columns of the table; all released ones, unless given.

        Returns
        -------
        One row for each combination that occurs, and its number of rows in the column ``n``.
        """
        from veladura.table.frames.conversion import count_frame

        if self.rule.statistics:
            msg = (
                "this release holds statistics and no rows of people: there is nothing to"
                " count.\n\nHint: read value, lower and upper from its data file."
            )
            raise PlanError(msg)
        return [
            count_frame(dataset.table, list(columns or dataset.table.names))
            for dataset in self.tables
        ]

    def estimate(self, function: Callable[[Any], Any], *, level: float = 0.95) -> Combined:
        """Return an analysis of every dataset, combined by the release's combining rule.

        Parameters
        ----------
        function
            Takes a dataset and returns an estimate with its variance, or a fitted model.
        """
        from veladura.inference.pooling import estimate

        return estimate(self, function, level=level)

    def analyze(
        self,
        formula: str,
        *,
        family: str = "gaussian",
        level: float = 0.95,
        weights: str | None = None,
        robust: bool = False,
        sampling: Sampling | None = None,
    ) -> Analysis:
        """Return a model, combined by the release's combining rule.

        What the protection did to the columns of the model comes as warnings, and is kept in
        ``cautions``.

        Parameters
        ----------
        formula
            For example ``log(income) ~ age + C(sex)``.
        sampling
            Weights, strata and clusters; by default those that the roles of the columns declare.
        """
        from veladura.inference.analysis import analyze

        analysis = analyze(
            self,
            formula,
            family=family,
            level=level,
            weights=weights,
            robust=robust,
            sampling=sampling,
        )
        for caution in analysis.cautions:
            warnings.warn(caution, VeladuraWarning, stacklevel=2)
        return analysis

    @property
    def checks(self) -> dict[str, Check]:
        """How the promises are proved: the checks of every step's recipe."""
        own = {
            name: check
            for step in self.steps
            if step.recipe is not None
            for name, check in step.recipe.checks.items()
        }
        return LINKED | own

    @property
    def claims(self) -> tuple[str, ...]:
        """The promises as sentences, each made by its check from the settings."""
        checks = self.checks
        return tuple(claim_of(promise, checks) for promise in self.promises)

    def linked(self, dataset: int = 0) -> dict[str, Any]:
        """Return the linked tables of one dataset by name, as pandas frames.

        Parameters
        ----------
        dataset
            Which of the m datasets, zero-based.
        """
        from veladura.core.linked import split

        return split(self, dataset)

    def evidence(self) -> list[Evidence]:
        """Return each dataset beside the original, for proofs and measures."""
        return [
            Evidence(dataset.table, self.original, dataset.rows)
            if dataset.pair is None
            else Evidence(dataset.pair[0], self.original, before=dataset.pair[1])
            for dataset in self.tables
        ]

    @cached_property
    def proofs(self) -> tuple[Proof, ...]:
        """Every promise proved on every dataset it is about, once."""
        return tuple(
            prove(promise, evidence, self.checks)
            for i, evidence in enumerate(self.evidence())
            for promise in self.promises
            if promise.concerns(i)
        )

    def prove(self) -> list[Proof]:
        """Return the proof of every promise; refuse a release that breaks one."""
        if broken := [proof for proof in self.proofs if proof.status == "broken"]:
            claims = "; ".join(
                f"{proof.claim} ({proof.fault or f'{proof.violations} violations'})"
                for proof in broken
            )
            msg = (
                f"the release does not keep its promise: {claims}\n\nHint: a later step may undo an"
                " earlier one; change their order."
            )
            raise PromiseError(msg)
        return list(self.proofs)

    def save(
        self,
        folder: str | Path,
        custodian: str | Path | None = None,
        *,
        format: str = "parquet",  # noqa: A002
        force: bool = False,
        rows_per_file: int | None = None,
    ) -> Path:
        """Write the package for the recipient and the record for the custodian.

        Parameters
        ----------
        folder
            The release folder; returned. It appears whole or not at all.
        custodian
            Where seed, source and row order are kept. Not inside, around or beside ``folder``.
        format
            "parquet" or "csv".
        force
            Replace a release folder that exists.
        rows_per_file
            A dataset with more rows is written in parts; by default one of more cells (rows times
            columns) than are held in memory.
        """
        from veladura.release.package import save

        return save(
            self,
            Path(folder),
            None if custodian is None else Path(custodian),
            format=format,
            force=force,
            rows_per_file=rows_per_file,
        )


def _flat(settings: Mapping[str, Any], key: str) -> Iterator[str]:
    """Return the names in a setting: one list of them, several, or one for each dataset."""
    for inner in settings.get("datasets") or ():
        yield from _flat(inner, key)
    for item in settings.get(key) or ():
        yield from [item] if isinstance(item, str) else item
