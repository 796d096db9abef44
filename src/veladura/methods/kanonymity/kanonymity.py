"""k-anonymity: every combination of quasi-identifiers is shared by at least k people."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from veladura.base.context import Context
from veladura.base.limits import Limit
from veladura.core.gates import GENERALISED, PROSECUTOR
from veladura.core.recipe import Recipe, no_codes
from veladura.errors import PlanError, PromiseError, VeladuraWarning
from veladura.methods.kanonymity.cautions import cautions_of
from veladura.methods.kanonymity.claims import CHECKS, implied_by
from veladura.methods.kanonymity.counting import count_tuples
from veladura.methods.kanonymity.fitted import FittedKAnonymity
from veladura.methods.kanonymity.kept import read_kept
from veladura.methods.kanonymity.people import counted_unit
from veladura.methods.kanonymity.privacy_models import Model, column_of
from veladura.methods.kanonymity.quality import BALANCED, QUALITIES, best_nodes
from veladura.methods.kanonymity.search import BAR_STEPS, at_or_above, find_minimal, watching
from veladura.methods.kanonymity.settings import (
    allowed_rows,
    check_given,
    check_rows,
    check_settings,
    given_vector,
    no_solution,
)
from veladura.numeric.hierarchies.grid import pair_name
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.suggest import suggest_from

if TYPE_CHECKING:
    from pathlib import Path

    from veladura.core.promise import Promise
    from veladura.core.release import Release, Step
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


FEW_VALUES = 20


class BestEffortWarning(VeladuraWarning):
    """The lattice is too large to search whole: there may be a better k-anonymous release."""


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Recipe):
    """k-anonymity: every combination of quasi-identifiers is shared by at least k people (rows).

    Quasi-identifiers are generalised (a birth date to a year, a ZIP code to its first digits), and
    the rows whose combination is still rare are suppressed. All k-minimal generalisations are
    found; ``prefer`` says which of them is released.

    Parameters
    ----------
    quasi_identifiers
        Columns that an outsider may know of a person; or a list of such lists, when different
        outsiders know different columns. Then the promise holds for every list.
    k
        Fewest people (rows) who share a combination. 1 is possible together with ``models``.
    models
        Privacy models that every equivalence class must fulfil besides k: `LDiversity`,
        `TCloseness`, `BetaLikeness`, `KMap`, `DeltaPresence`, `AverageRisk`, `Uniqueness`; in a
        plan ``{model = "beta-likeness", column = "illness", beta = 2.0}``.
    max_suppression
        Rows that may be suppressed: a whole number of rows, or a share (rounded down); with
        ``recoding="local"``, rows that may get coarser values than the others instead.
    pairs
        Pairs of columns that are the coordinates of one place, as in ``[["lon", "lat"]]``. A pair
        is one quasi-identifier and is released as the centre of a cell. In other settings its name
        is ``"lon, lat"``.
    hierarchies
        The generalisation hierarchy of each column, and `Hierarchy.grid` of each pair; by default
        one is suggested from the kind of the column.
    levels
        The generalisation to take: the level of every quasi-identifier, 0 for values as they are.
        Nothing is searched then. It is refused when it does not keep the promise.
    prefer
        Which generalisation to take. "balanced": no column is given up while there is another way,
        and the least loss of information of those that give up as few columns as possible. Or one
        or several of "min-distance", "min-relative-distance", "max-distinct", "min-suppression",
        applied in turn to the k-minimal ones. The first may be a quality model instead: "loss",
        "non-uniform-entropy", "discernibility", "average-class-size". With "balanced" and with a
        quality model the best of all generalisations that keep the promise is taken, k-minimal or
        not. With several quasi-identifiers a list of policies for each may be given, in their
        order: ``[["min-distance"], ["max-distinct"]]``; each decides by its own columns, the first
        one first. `FittedKAnonymity.equally_preferred` has those between which nothing decides,
        `FittedKAnonymity.choose` takes another policy without a new search.
    weights
        What a level of a column costs, when columns matter unequally; applied before ``prefer``, or
        within the quality model.
    suppressed
        What happens to suppressed rows: they are left out ("drop"), kept with ``*`` in every
        quasi-identifier ("star"), or kept with as few cells as possible set to missing ("cells":
        cell suppression).
    recoding
        Full-domain recoding, one vector of levels for all rows ("global"); local recoding, higher
        levels only for rows that would be suppressed ("local"); or ranges and sets cut at medians,
        without hierarchies ("mondrian").
    missing
        How k is counted where values are missing: missing is a value of its own ("category"), it
        matches any value ("wildcard"), or the promise holds both ways ("both").
    counted
        Whom k counts: "people", or "households": people of one household then count once in each
        equivalence class, for an outsider who finds somebody by finding those who live with them.
        Needs a column of role "household".
    whole_households
        Hierarchical suppression: a household that has a suppressed member is left out as a whole,
        again and again until every class has k.
    strata
        Quasi-identifiers, such as the region, that are never generalised: single cells of the
        others are suppressed within each of their combinations (``suppressed="cells"``), so that k
        holds in every stratum.
    preserve_type
        Write a generalised value in the type of its column: a year as its first day, a ZIP code as
        02130, an interval as its lower limit. A level without such a value is written as text; the
        ``*`` of a suppressed row as missing, where the column is not text.

    Examples
    --------
    The twelve rows of Samarati and Sweeney (1998), with no suppression allowed.

    >>> import pandas as pd
    >>> import veladura as vd
    >>> codes = ["02138", "02139", "02141", "02142"]
    >>> rows = [(group, code) for group in ("asian", "black", "white") for code in codes]
    >>> people = pd.DataFrame(rows, columns=["ethnicity", "zip"])
    >>> drop_digits = vd.Hierarchy.explicit([(c, c[:4] + "*", c[:3] + "**") for c in codes])
    >>> settings = {
    ...     "quasi_identifiers": ["ethnicity", "zip"],
    ...     "max_suppression": 0,
    ...     "hierarchies": {"ethnicity": vd.Hierarchy.star(), "zip": drop_digits},
    ... }
    >>> fitted = vd.KAnonymity(k=2, **settings).fit(people)
    >>> [tuple(node.levels.values()) for node in fitted.minimal]
    [(0, 1), (1, 0)]
    >>> fitted = vd.KAnonymity(k=3, **settings).fit(people)
    >>> [tuple(node.levels.values()) for node in fitted.minimal]
    [(0, 2), (1, 0)]

    References
    ----------
    Samarati, P. and Sweeney, L. (1998). Protecting privacy when disclosing information:
    k-anonymity and its enforcement through generalization and suppression.
    """

    method = "k-anonymity"
    decisive = ("k", "max_suppression", "prefer")
    sentence = (
        "k-anonymity: values were generalised (made coarser), and people with rare combinations"
        " generalised further or left out, until every combination of the quasi-identifiers is"
        " shared by several people."
    )
    linked_tables = (
        "keeps the rows of linked tables under new keys that hold within one equivalence class: who"
        " has rows in two classes has two keys, so that a table above has more rows than it had;"
        ' keys of households are released with counted = "households"'
    )
    checks = CHECKS
    coarsens = True
    suppresses = True
    random = False
    inside = True

    quasi_identifiers: Sequence[str] | Sequence[Sequence[str]]
    k: int = 5
    max_suppression: int | float = 0.02
    models: Sequence[Model] = ()
    pairs: Sequence[Sequence[str]] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)
    prefer: Sequence[str] | Sequence[Sequence[str]] = (BALANCED,)
    weights: Mapping[str, float] = field(default_factory=dict)
    suppressed: Literal["drop", "star", "cells"] = "drop"
    preserve_type: bool = False
    recoding: Literal["global", "local", "mondrian"] = "global"
    missing: Literal["category", "wildcard", "both"] = "category"
    counted: Literal["people", "households"] = "people"
    whole_households: bool = False
    strata: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "prefer", _listed_policies(self.prefer))
        if any(not isinstance(names, str) for names in self.quasi_identifiers):
            sets = tuple(
                (names,) if isinstance(names, str) else tuple(names)
                for names in self.quasi_identifiers
            )
            object.__setattr__(self, "quasi_identifiers", sets)
        check_settings(self)
        object.__setattr__(self, "pairs", tuple(map(tuple, self.pairs)))

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The quasi-identifiers, each as its columns."""
        given: Any = self.quasi_identifiers
        return (tuple(given),) if isinstance(given[0], str) else tuple(map(tuple, given))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of all quasi-identifiers, each once."""
        return tuple(dict.fromkeys(name for names in self.sets for name in names))

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the quasi-identifiers: one that stays as it is, is shared by k people too."""
        return self.names

    def counts_households(self) -> bool:
        """Whether k counts households: their numbers prove it."""
        return self.counted == "households"

    def leaves_out_units(self, table: Table) -> tuple[str, ...]:
        """Return the number of the household, which would link people of different classes."""
        return () if self.counts_households() else tuple(table.units.schema.of_role("household"))

    @property
    def attributes(self) -> dict[str, tuple[str, ...]]:
        """What is generalised as one, with its columns: a column by itself, or a pair."""
        pair_of = {name: tuple(pair) for pair in self.pairs for name in pair}
        columns = (pair_of.get(name, (name,)) for name in self.names)
        return {pair_name(names): names for names in columns}

    @property
    def attribute_sets(self) -> tuple[tuple[int, ...], ...]:
        """The quasi-identifiers, each as the places of its attributes."""
        place = {name: i for i, names in enumerate(self.attributes.values()) for name in names}
        return tuple(tuple(dict.fromkeys(place[name] for name in names)) for names in self.sets)

    @property
    def strata_places(self) -> tuple[int, ...]:
        """Where the strata stand among the attributes."""
        names = list(self.attributes)
        return tuple(names.index(name) for name in self.strata)

    @property
    def named_sets(self) -> tuple[tuple[str, ...], ...]:
        """The quasi-identifiers, each as the names of its attributes."""
        names = list(self.attributes)
        return tuple(tuple(names[place] for place in places) for places in self.attribute_sets)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns of the models, each once."""
        columns = map(column_of, self.models)
        return tuple(dict.fromkeys(column for column in columns if column is not None))

    def proposed_gate(self) -> Mapping[str, Limit]:
        """Propose classes of at least k, and limits on what generalisation costs."""
        return {**PROSECUTOR, "risk.classes.smallest": Limit(min=self.k), **GENERALISED}

    @classmethod
    def cautions(
        cls, release: Release, step: Step, columns: Sequence[str], formula: str
    ) -> list[str]:
        """Return what generalisation and suppression do to a model."""
        return list(cautions_of(release, step, columns, formula))

    def apply(self, table: Table, context: Context) -> FittedKAnonymity:
        """Count the tuples where the data lives and find every k-minimal generalisation."""
        return self.fitted_to(table, context)

    def fitted_to(
        self, table: Table, context: Context, kept: Path | None = None
    ) -> FittedKAnonymity:
        """Fit, without a search where a file of the custodian holds the result of the same one."""
        for setting, columns in (("quasi_identifiers", self.names), ("models", self.sensitive)):
            table.schema.check(setting, columns)
        unit = counted_unit(table, self)
        check_rows(
            self, table.rows, table.rows if unit is None else table.units.counts([unit]).size.size
        )
        allowed = allowed_rows(self.max_suppression, table.rows)
        lattice, criteria, coarse = count_tuples(table, self)
        searched = criteria if self.recoding == "global" else criteria.of_k(lattice)
        if self.levels:
            vector = given_vector(self, lattice)
            check_given(self, searched.at(vector).suppressed, allowed)
            return FittedKAnonymity(
                self,
                table,
                no_codes(),
                lattice,
                (vector,),
                complete=True,
                criteria=criteria,
                coarsened=coarse,
            )
        by_home = self.counted == "households" or self.whole_households  # not in the kept key
        result = None if kept is None or by_home else read_kept(kept, self, lattice)
        if result is None:
            label = f"searching {lattice.nodes:,} generalisations"
            with context.progress(label, BAR_STEPS) as advance:
                result = find_minimal(lattice, searched, allowed, watch=watching(advance))
        elif result.complete and (searched.only_k or searched.only_people):
            result = replace(result, good=at_or_above(result.minimal, lattice.heights))
        if self.strata:
            result = result.at_values(self.strata_places)
        if coarse:
            _warn_of_coarsening(coarse)
            result = result.at_least([coarse.get(name, 0) for name in self.attributes])
        if not result.minimal:
            raise no_solution(self)
        if not result.complete:
            warnings.warn(
                f"the generalisation lattice has {lattice.nodes:,} nodes, too many to search whole:"
                f" {len(result.minimal)} k-minimal generalisations were found, there may be better"
                " ones.\n\nHint: name fewer quasi-identifiers, or hierarchies with fewer levels, to"
                " search the whole lattice.",
                BestEffortWarning,
                stacklevel=2,
            )
        best = []
        if self.prefer and self.prefer[0] in QUALITIES:
            best = best_nodes(searched, str(self.prefer[0]), self.weights, lattice, result)
        return FittedKAnonymity(
            self,
            table,
            no_codes(),
            lattice,
            result.minimal,
            result.complete,
            criteria,
            tuple(best),
            coarse,
        )

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:
        """Return the promises of k and of every privacy model, for each quasi-identifier."""
        if any("file" in hierarchy for hierarchy in settings["hierarchies"].values()):
            msg = "a manifest names a file as a hierarchy."
            raise PromiseError(msg)
        return implied_by(settings, person)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> KAnonymity:
        """Suggest the columns that look like quasi-identifiers, else categories of few values."""
        names = schema.of_role("quasi-identifier") or [
            f.name
            for f in schema
            if f.kind in ("category", "ordered") and 1 < facts[f.name].distinct <= FEW_VALUES
        ]
        if not names:
            msg = (
                "no column looks like a quasi-identifier.\n\nHint: declare one:"
                ' role = "quasi-identifier".'
            )
            raise PlanError(msg)
        return cls(quasi_identifiers=tuple(names))

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> KAnonymity:
        """Suggest columns and, so that the holder can see and change them, hierarchies."""
        drafted = cls.suggest(table.schema, facts)
        hierarchies = {}
        for name in drafted.names:
            hierarchies[name] = suggest_from(table.people_counts([name]), drafted.k)
        # keys of linked tables that are households are released only where these are counted
        by_home = bool(table.source.links) and table.units.schema.household is not None
        counted: Literal["people", "households"] = "households" if by_home else "people"
        return replace(drafted, hierarchies=hierarchies, counted=counted)


def _warn_of_coarsening(levels: Mapping[str, int]) -> None:
    told = ", ".join(f"{name} to level {level} of its hierarchy" for name, level in levels.items())
    warnings.warn(
        f"the combinations of quasi-identifiers do not fit into the memory of this run, so columns"
        f" were coarsened before the search: {told}. Nothing finer was looked at.\n\nHint: allow"
        " more with [run] memory, or name fewer quasi-identifiers, to search all generalisations.",
        BestEffortWarning,
        stacklevel=3,
    )


def _listed_policies(given: object) -> Any:
    """Return policies as they stay: a tuple of them, or one tuple for each quasi-identifier."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, (list, tuple)):
        return given
    if any(not isinstance(policy, str) for policy in given):
        return tuple((p,) if isinstance(p, str) else tuple(p) for p in given)
    return tuple(given)
