"""k-anonymity: every combination of quasi-identifiers that occurs, occurs at least k times."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from veladura.base.context import Context
from veladura.base.limits import Limit
from veladura.core.gates import GENERALISED, PROSECUTOR
from veladura.core.recipe import Recipe, no_codes
from veladura.errors import PlanError
from veladura.methods.kanonymity.cautions import cautions_of
from veladura.methods.kanonymity.claims import CHECKS
from veladura.methods.kanonymity.counting import Question, distinct_of, gather
from veladura.methods.kanonymity.fitted import FittedKAnonymity
from veladura.methods.kanonymity.lattice import allowed_rows
from veladura.methods.kanonymity.privacy_models import Model
from veladura.methods.kanonymity.quality import QUALITIES, measure
from veladura.methods.kanonymity.settings import check_rows, check_settings, no_solution
from veladura.methods.kanonymity.watch import STEPS, watching
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.suggest import suggest_hierarchy

if TYPE_CHECKING:
    from veladura.core.release import Release, Step
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


FEW_VALUES = 20


class BestEffortWarning(UserWarning):
    """A lattice was too large to be decided whole: the answer is right, but may not be the best."""


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Recipe):
    """Generalise quasi-identifiers and suppress rows until every combination occurs k times.

    Parameters
    ----------
    quasi_identifiers
        Columns that an outsider may know of a person; or a list of such lists, when different
        outsiders know different columns. Every one of them is then protected, whatever is
        suppressed for the others.
    k
        Fewest rows that share a combination. 1 where ``models`` say all that is asked.
    models
        What else every group must hold: `LDiversity`, `TCloseness`, `KMap`, `DeltaPresence`, alone
        or together.
    max_suppression
        Rows that may be left out: a whole number of them, or a share (rounded down).
    hierarchies
        How each column becomes coarser; by default one is suggested from its kind.
    prefer
        Which of the k-minimal generalisations to take: one or several of "min-distance",
        "min-relative-distance", "max-distinct", "min-suppression", applied in turn. Or first a
        quality model: "loss", "non-uniform-entropy", "discernibility", "average-class-size"; then
        the best of all generalisations that keep the promise is taken, k-minimal or not.
    weights
        What a level of a column costs, when columns matter unequally; applied before ``prefer``, or
        within the quality model.
    suppressed
        Leave suppressed rows out ("drop"), keep them with ``*`` in every quasi-identifier ("star"),
        or keep them with as few cells as possible set to missing ("cells").
    recoding
        One vector of levels for all rows ("global"); higher levels of their own for rows that would
        be suppressed ("local"); or ranges and sets cut at medians, without levels ("mondrian").
    missing
        How k is counted where values are missing: as a value of its own ("category"), as matching
        anything ("wildcard"), or as the promise that both hold ("both").
    preserve_type
        Write a generalised value in the type of its column: a year as its first day, a ZIP as
        02130, an interval as its lower limit. A level without such a value is written as text; the
        ``*`` of a suppressed row as missing, where the column is not text.

    Examples
    --------
    The twelve rows of Samarati and Sweeney (1998), with no suppression allowed.

    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame([(e, z) for e in ("asian", "black", "white") for z in ("02138", "02139", "02141", "02142")], columns=["ethnicity", "zip"])
    >>> drop_digits = [("02138", "0213*", "021**"), ("02139", "0213*", "021**"), ("02141", "0214*", "021**"), ("02142", "0214*", "021**")]
    >>> hierarchies = {"ethnicity": vd.Hierarchy.star(), "zip": vd.Hierarchy.explicit(drop_digits)}
    >>> fitted = vd.KAnonymity(quasi_identifiers=["ethnicity", "zip"], k=2, max_suppression=0, hierarchies=hierarchies).fit(people)
    >>> [tuple(node.levels.values()) for node in fitted.minimal]
    [(0, 1), (1, 0)]
    >>> fitted = vd.KAnonymity(quasi_identifiers=["ethnicity", "zip"], k=3, max_suppression=0, hierarchies=hierarchies).fit(people)
    >>> [tuple(node.levels.values()) for node in fitted.minimal]
    [(0, 2), (1, 0)]

    References
    ----------
    Samarati, P. and Sweeney, L. (1998). Protecting privacy when disclosing information:
    k-anonymity and its enforcement through generalization and suppression.
    """

    method = "k-anonymity"
    sentence = (
        "Values were made coarser, and some rows left out, until every combination is shared "
        "by several rows."
    )
    checks = CHECKS
    suppresses = True
    random = False
    inside = True

    quasi_identifiers: tuple[str, ...] | tuple[tuple[str, ...], ...]
    k: int = 5
    max_suppression: int | float = 0.02
    models: tuple[Model, ...] = ()
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    prefer: tuple[str, ...] = ("min-relative-distance", "min-suppression")
    weights: Mapping[str, float] = field(default_factory=dict)
    suppressed: Literal["drop", "star", "cells"] = "drop"
    preserve_type: bool = False
    recoding: Literal["global", "local", "mondrian"] = "global"
    missing: Literal["category", "wildcard", "both"] = "category"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.prefer, str):
            object.__setattr__(self, "prefer", (self.prefer,))
        if any(not isinstance(one, str) for one in self.quasi_identifiers):
            sets = tuple(
                (one,) if isinstance(one, str) else tuple(one) for one in self.quasi_identifiers
            )
            object.__setattr__(self, "quasi_identifiers", sets)
        check_settings(self)

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The quasi-identifiers, each as its columns."""
        given = self.quasi_identifiers
        return (given,) if isinstance(given[0], str) else given

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of all quasi-identifiers, each once."""
        return tuple(dict.fromkeys(name for names in self.sets for name in names))

    def proposed_gate(self) -> Mapping[str, Limit]:
        """Propose that no class is smaller than k, and limits on what generalisation costs."""
        return {**PROSECUTOR, "risk.classes.smallest": Limit(min=self.k), **GENERALISED}

    @classmethod
    def cautions(
        cls, release: Release, step: Step, columns: Sequence[str], formula: str
    ) -> list[str]:
        """Return what generalisation and suppression do to a model."""
        return list(cautions_of(release, step, columns, formula))

    def apply(self, table: Table, context: Context) -> FittedKAnonymity:
        """Count the tuples where the data lives and find every k-minimal generalisation."""
        from veladura.methods.kanonymity.search import best_by, find

        question = Question(self.names, self.sets, self.k, self.models, self.hierarchies)
        table.schema.check("quasi_identifiers", question.names)
        table.schema.check("models", question.sensitive)
        check_rows(self, table.rows)
        lattice, judge = gather(table, question)
        with context.progress(f"searching {lattice.nodes:,} generalisations", STEPS) as advance:
            found = find(
                lattice,
                judge,
                allowed_rows(self.max_suppression, table.rows),
                watch=watching(advance),
            )
        if not found.minimal:
            raise no_solution(self)
        if not found.complete:
            warnings.warn(
                f"the lattice has {lattice.nodes:,} nodes: {len(found.minimal)} k-minimal"
                " generalisations were found, there may be better ones.",
                BestEffortWarning,
                stacklevel=2,
            )
        first = self.prefer[0] if self.prefer else ""
        best = (
            best_by(judge, measure(first, lattice, self.weights), found)
            if first in QUALITIES
            else ()
        )
        return FittedKAnonymity(
            self, table, no_codes(), lattice, found.minimal, found.complete, judge, tuple(best)
        )

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> KAnonymity:
        """Suggest the columns that look like quasi-identifiers, else the categories with few values."""
        names = schema.of_role("quasi-identifier") or [
            f.name
            for f in schema
            if f.kind in ("category", "ordered") and 1 < facts[f.name].distinct <= FEW_VALUES
        ]
        if not names:
            msg = (
                "no column looks like a quasi-identifier.\n\nHint: declare one: role ="
                ' "quasi-identifier".'
            )
            raise PlanError(msg)
        return cls(quasi_identifiers=tuple(names))

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> KAnonymity:
        """Suggest columns and, so that the holder can see and change them, hierarchies with round limits."""
        drafted = cls.suggest(table.schema, facts)
        return replace(
            drafted,
            hierarchies={
                name: suggest_hierarchy(distinct_of(table, name)) for name in drafted.names
            },
        )
