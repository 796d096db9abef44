"""Privacy models on top of k: what else a group of rows must hold before it may be released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from veladura.errors import PlanError
from veladura.methods.kanonymity.equivalence_classes import ROUNDING, Mask, View
from veladura.methods.kanonymity.presence import DeltaPresence, KMap, is_whole
from veladura.numeric.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, kw_only=True)
class LDiversity:
    """Every group holds at least l well-represented values of a sensitive column.

    Parameters
    ----------
    column
        The sensitive column; it may be no quasi-identifier.
    l
        How many values.
    kind
        "distinct": l different ones. "entropy": their entropy is at least that of l equally
        frequent ones.
        "recursive": the most frequent occurs less than ``c`` times as often as the l-th and all
        rarer ones together.
    c
        The factor of the recursive kind.
    estimator
        How entropy is estimated: from the shares, or with Grassberger's correction for small
        groups.

    Examples
    --------
    >>> LDiversity(column="diagnosis", l=3, kind="recursive", c=4.0).name
    'recursive-l-diversity'

    References
    ----------
    Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007). l-diversity:
    privacy beyond k-anonymity. ACM Transactions on Knowledge Discovery from Data 1(1), 3.
    Stammler, S., Katzenbeisser, S. and Hamacher, K. (2016). Correcting finite sampling issues in
    entropy l-diversity. Privacy in Statistical Databases, 135-146.
    """

    column: str
    l: int  # noqa: E741  # the letter of the model's name
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = None
    estimator: Literal["shannon", "grassberger"] = "shannon"

    def __post_init__(self) -> None:
        _check_column(self)
        if not is_whole(self.l) or self.l < 2:  # noqa: PLR2004
            msg = (
                f"l ({self.l}) must be a whole number of at least 2: with 1 every group is diverse"
                " already."
            )
            raise PlanError(msg)
        if self.kind not in ("distinct", "entropy", "recursive"):
            raise PlanError.unknown(
                "kind of l-diversity", str(self.kind), ("distinct", "entropy", "recursive")
            )
        if (self.kind == "recursive") != (self.c is not None):
            msg = (
                f"c belongs to recursive l-diversity and only to it; got kind = {self.kind!r} and c"
                f" = {self.c}."
            )
            raise PlanError(msg)
        if self.c is not None and not self.c > 0:
            msg = f"c ({self.c}) must be above 0."
            raise PlanError(msg)
        if self.estimator not in ("shannon", "grassberger") or (
            self.estimator != "shannon" and self.kind != "entropy"
        ):
            msg = (
                f'estimator ({self.estimator!r}) must be "shannon", or "grassberger" with kind ='
                ' "entropy".'
            )
            raise PlanError(msg)

    @property
    def name(self) -> str:
        """What the promise is called."""
        return f"{self.kind}-l-diversity"

    @property
    def monotone(self) -> bool:
        """Whether a node above a good one is good even if rows are suppressed."""
        return self.kind == "distinct"

    @property
    def monotone_unsuppressed(self) -> bool:
        """Whether a node above a good one is good if none is suppressed: the correction of entropy is not concave."""
        return self.estimator == "shannon"

    @property
    def smallest(self) -> int:
        """Fewest rows a group can have."""
        return self.l

    def claim(self, names: Sequence[str]) -> str:
        """Say it in one sentence."""
        among = f"Rows that share {', '.join(names)}"
        if self.kind == "entropy":
            return (
                f"{among} hold values of {self.column!r} with an entropy of at least log {self.l}."
            )
        if self.kind == "recursive":
            return (
                f"{among} hold values of {self.column!r} of which the most frequent has less than"
                f" {self.c} times the rows from the {self.l}th on."
            )
        return f"{among} hold at least {self.l} different values of {self.column!r}."

    def fails(self, view: View) -> Mask:
        """Return which groups are not diverse enough."""
        pairs = view.pairs(self.column)
        distinct = np.bincount(pairs.group, minlength=view.sizes.size)
        if self.kind == "distinct":
            return np.asarray(distinct < self.l)
        if self.kind == "recursive":
            top, tail = pairs.top_and_tail(self.l, view.sizes.size)
            return np.asarray((distinct < self.l) | (top >= float(self.c or 0.0) * tail))
        entropy = pairs.entropy(view.sizes, corrected=self.estimator == "grassberger")
        return np.asarray((distinct < self.l) | (entropy < math.log(self.l) - ROUNDING))


@dataclass(frozen=True, kw_only=True)
class TCloseness:
    """In every group a sensitive column is distributed nearly as in the whole table.

    The distance is the earth mover's between the shares in the group and those in the original
    table.

    Parameters
    ----------
    column
        The sensitive column; it may be no quasi-identifier.
    t
        Largest distance, in [0, 1].
    distance
        What moving a share costs: "equal", the same between any two values; "ordered", the
        difference of their ranks; "hierarchical", the height of their closest common ancestor in
        ``hierarchy``.
    hierarchy
        For the hierarchical distance.

    References
    ----------
    Li, N., Li, T. and Venkatasubramanian, S. (2007). t-closeness: privacy beyond k-anonymity and
    l-diversity. ICDE.
    """

    column: str
    t: float
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    hierarchy: Hierarchy | None = None

    monotone = False
    monotone_unsuppressed = True
    smallest = 1
    name = "t-closeness"

    def __post_init__(self) -> None:
        _check_column(self)
        if not 0 <= self.t <= 1:
            msg = f"t ({self.t}) must be between 0 and 1."
            raise PlanError(msg)
        if self.distance not in ("equal", "ordered", "hierarchical"):
            raise PlanError.unknown(
                "distance of t-closeness", str(self.distance), ("equal", "ordered", "hierarchical")
            )
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            msg = (
                "hierarchy belongs to the hierarchical distance and only to it; got distance ="
                f" {self.distance!r}."
            )
            raise PlanError(msg)

    def claim(self, names: Sequence[str]) -> str:
        """Say it in one sentence."""
        return (
            f"Among rows that share {', '.join(names)} the distribution of {self.column!r} is"
            f" within {self.t} of that in the original table ({self.distance} distance)."
        )

    def fails(self, view: View) -> Mask:
        """Return which groups are too far from the whole table."""
        if self.distance == "equal":
            far = view.pairs(self.column).excess(view.reference(self.column), view.sizes)
        elif self.distance == "ordered":
            far = view.ordered(self.column)
        else:
            far = view.hierarchical(self.column)
        return np.asarray(far > self.t + ROUNDING)


Model = LDiversity | TCloseness | KMap | DeltaPresence


def column_of(model: Model) -> str | None:
    """Return the sensitive column of a model, if it has one."""
    return getattr(model, "column", None)


def population_of(models: Sequence[Model]) -> Path | None:
    """Return the one population file that models name, if any."""
    files = sorted(
        {model.population for model in models if isinstance(model, (KMap, DeltaPresence))}
    )
    if len(files) > 1:
        msg = "models name different population files: there is one population."
        raise PlanError(msg)
    return files[0] if files else None


def _check_column(model: LDiversity | TCloseness) -> None:
    if not isinstance(model.column, str) or not model.column:
        msg = f"{type(model).__name__} needs the name of a sensitive column."
        raise PlanError(msg)
