"""The recipe of sequential synthesis: which columns, in which order, by which model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

from veladura.base.bounds import Bounds
from veladura.base.checks import check_choice, check_columns, check_named, is_number
from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.core.gates import NO_OWN_NUMBERS, OUTLIERS, SYNTHETIC
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.methods.cart.checks import (
    ModelName,
    OrderName,
    SmoothingName,
    check_counts,
    check_smoothing,
    check_synthesisable,
    freeze,
)
from veladura.methods.cart.growing import (
    CriterionName,
    check_criterion,
    check_kinds_of_settings,
    check_transform,
    check_variance,
)
from veladura.methods.cart.harm import (
    cluster_cautions,
    warn_of_clusters,
    warn_of_harm,
    warn_of_households,
)
from veladura.methods.cart.promises import CHECKS, implied_by
from veladura.methods.cart.purpose import PRESETS, Preset, Purpose
from veladura.methods.cart.rules import find_rules
from veladura.methods.cart.skewed import propose_transforms
from veladura.numeric.transforms import TransformName
from veladura.numeric.trees.leaf import Draws
from veladura.numeric.trees.variable import Smoothing, check_levels
from veladura.table.schema import UNITS

if TYPE_CHECKING:
    from veladura.core.chunks import FittedChunks
    from veladura.core.promise import Promise
    from veladura.core.release import Release, Step
    from veladura.methods.cart.fitted import FittedCart
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class Cart(Recipe):
    """Sequential synthesis with CART: replace columns by artificial values drawn from trees.

    Columns are synthesised one after the other. The tree of a column is grown on the original; its
    predictors are the columns that stay and those synthesised before. Each synthetic row falls down
    the tree to a leaf, and a donor of that leaf is drawn. A category is copied from the donor, and
    so is a number that at least five people share. Any other number is moved at random, by at least
    the way to five other people; the outermost numbers come from a fitted tail. Categories that
    fewer than five people hold are merged into others first.

    With some columns replaced the release is *partially synthetic*: each row is still a person of
    the original. With every column replaced it is fully artificial: no row belongs to anyone.

    Parameters
    ----------
    columns
        The columns to replace; all of them by default.
    m
        Number of synthetic datasets. With some columns replaced, standard errors need at least 2.
    purpose
        What the release is for: "analysis" (Bayesian draws), "teaching" (plain draws: one table
        close to the original) or "open-data" (Bayesian draws, at least 10 people in a leaf and in a
        level). It sets ``draws``, ``min_leaf`` and ``min_people`` where they are not given.
    order
        The order of synthesis: "late" (that of the table, categories with more than eight levels
        last), "given" (that of the table), "dependence" (harmful for inference: strongly associated
        columns first, which attenuates slopes), or a list of names.
    predictors
        Columns that may predict, or the predictors of each column by its name; by default all that
        stay and all that were synthesised before.
    groups
        Lists of columns that are drawn together, from one donor.
    strata
        Columns or conditions: each combination is synthesised separately.
    rows
        Number of rows of each dataset, when every column is replaced; that of the original by
        default.
    fit_rows
        Most rows that trees are grown on, a random sample of a larger table. Its rows are then
        never all held: they pass, or new ones are drawn, chunk by chunk. By default all rows, or
        those that a quarter of ``[run] memory`` holds where they do not fit.
    proper
        Proper synthesis of the trees too: each dataset has trees of its own, grown on a bootstrap
        sample.
    draws
        How donors are drawn: by the Bayesian bootstrap ("bayesian", for intervals from several
        datasets) or with equal weights ("plain", for one table as close as it can be). By default
        Bayesian for several datasets and plain for one.
    model
        What values are drawn from: one tree ("cart"), several trees ("bagging", "forest"), a
        regression ("parametric"), or the column without predictors ("sample").
    models
        Another model for some columns, by name.
    trees
        Number of trees of "bagging" and "forest".
    smoothing
        Whether numbers that few people share are moved ("local"), or none are ("none": numbers of
        one person come out as they are); one for all columns, or by column. Codes written as
        numbers are never moved.
    bandwidth
        Factor on the least step within a leaf.
    republish
        Deprecated and without effect: set ``smoothing`` by column.
    spikes
        By column, values that many rows share and that are released as they are; detected by
        default.
    rules
        Conditions that hold in every row, such as ``smoke == "NO" implies nociga == -8``.
    limits
        By column, the smallest and the largest number allowed.
    transform
        By column, a transformation of its numbers that is undone before they are rounded: "log",
        "log1p" (log(1 + x), for numbers from zero), "sqrt", or "asinh" (for any sign). For numbers
        with a long tail: quantiles between people and the outermost numbers are then taken on that
        scale. Spikes, such as many zeros, are not transformed.
    criterion
        What a split lowers. For numbers the squares of ranks ("ranks", the default: no tail can
        stretch them) or of values, after their transformation ("values"). For categories the Gini
        impurity ("gini", the default), "deviance" (entropy) or "misclassification". One name, one
        for each kind, or one by column.
    linear_scores
        Whether the linear predictor of a regression of the column on its predictors is one more
        predictor of its tree, where it explains more than chance. Without it, slopes on many
        columns and effects of rare groups are attenuated.
    calibrated
        Whether draws are calibrated: some rows take another donor of their leaf, so that
        regressions of a column on those before it have no bias. Needs ``linear_scores``.
    unbiased_splits
        Whether a tree compares columns by what their best split gains above chance. Without it, as
        in Breiman et al. (1984), columns with many values take splits from those that matter.
    min_leaf
        Fewest people in a leaf; 5 by default. A leaf of one person would copy it.
    min_people
        A number that at least so many people share stays as it is, and a category that fewer hold
        is merged into another; 5 by default.
    min_distinct
        Smallest number of distinct values in a leaf.
    min_variance
        Smallest variance of numbers in a leaf, after their transformation: a split that would leave
        less is not made. One for all columns of numbers, or by column.
    complexity
        Harmful for inference, weak effects are lost: share of the root's impurity that every split
        must remove; 0 by default.
    prune
        Harmful for inference, effects that a pruned tree does not show are lost: number of folds of
        the cross-validation that prunes the trees; 0 for no pruning.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "income": range(1000, 1700, 7)})
    >>> release = vd.Cart(columns=["income"], m=2).protect(people, seed=7)
    >>> len(release.datasets), release.rule.name
    (2, 'partial')

    References
    ----------
    Reiter, J. P. (2005). Using CART to generate partially synthetic public use microdata. Journal
    of Official Statistics 21(3), 441-462.
    Drechsler, J. and Reiter, J. P. (2011). An empirical evaluation of easily implemented,
    nonparametric methods for generating synthetic datasets. Computational Statistics and Data
    Analysis 55(12), 3232-3243.
    """

    method = "cart"
    linked_tables = (
        "draws new rows without keys where every column is replaced; else it keeps the rows of"
        " linked tables under new keys and draws its columns row by row, which those of a table"
        " with others below it do not allow"
    )
    by_row = True
    decisive = ("m", "purpose", "draws", "min_leaf", "min_people")
    sentence = (
        "Sequential synthesis with CART: values were replaced by artificial ones, drawn from models"
        " of the original table."
    )
    checks = CHECKS
    gate = {**SYNTHETIC, **OUTLIERS}
    firm_gate = NO_OWN_NUMBERS
    synthesizes = True
    chunked = True

    columns: Sequence[str] | None = None
    m: int = 5
    purpose: Purpose | None = None
    order: OrderName | Sequence[str] = "late"
    predictors: Sequence[str] | Mapping[str, Sequence[str]] | None = None
    groups: Sequence[Sequence[str]] = ()
    strata: Sequence[str] = ()
    rows: int | None = None
    fit_rows: int | None = None
    proper: bool = False
    draws: Draws | None = None
    model: ModelName = "cart"
    models: Mapping[str, ModelName] = field(default_factory=dict)
    trees: int = 10
    smoothing: SmoothingName | Mapping[str, SmoothingName] | None = None
    bandwidth: float = 1.0
    republish: Sequence[str] = ()
    spikes: Mapping[str, Sequence[float]] = field(default_factory=dict, metadata={"private": True})
    rules: Sequence[str] = ()
    limits: Mapping[str, Bounds] = field(default_factory=dict)
    transform: Mapping[str, TransformName] = field(default_factory=dict, metadata={"private": True})
    criterion: CriterionName | Sequence[CriterionName] | Mapping[str, CriterionName] = ()
    linear_scores: bool = True
    calibrated: bool = True
    unbiased_splits: bool = True
    min_leaf: int | None = None
    min_people: int | None = None
    min_distinct: int = 1
    min_variance: float | Mapping[str, float] = 0.0
    complexity: float = 0.0
    prune: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze(self)
        if self.columns is not None:
            check_columns(self.columns, "the columns to replace, or leave columns out for all")
        check_counts(self)
        if not is_number(self.bandwidth) or self.bandwidth <= 0:
            msg = f"bandwidth ({self.bandwidth}) must be above 0."
            raise PlanError(msg)
        if not is_number(self.complexity) or not 0 <= self.complexity < 1:
            msg = f"complexity ({self.complexity}) must be a share: at least 0 and below 1."
            raise PlanError(msg)
        check_choice("model", self.model, get_args(ModelName))
        if self.draws is not None:
            check_choice("draws", self.draws, get_args(Draws))
        if self.purpose is not None:
            check_choice("purpose", self.purpose, get_args(Purpose))
        check_smoothing(self.smoothing)
        check_criterion(self.criterion)
        check_transform(self.transform)
        check_variance(self.min_variance)
        for name, model in self.models.items():
            check_choice(f"models.{name}: model", model, get_args(ModelName))
        if isinstance(self.order, str):
            check_choice("order", self.order, get_args(OrderName))
        named = [name for group in self.groups for name in set(group)]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            msg = (
                f"groups: columns that are in two groups: {twice}.\n\nHint: merge the groups, or"
                " leave the columns out of one."
            )
            raise PlanError(msg)
        for rule in self.rules:
            parse(rule)  # refuses what cannot be read

    @property
    def preset(self) -> Preset:
        """The settings of its purpose."""
        return PRESETS[self.purpose]

    @property
    def kind_of_draws(self) -> Draws:
        """How donors are drawn: as asked, else Bayesian for several datasets and plain for one."""
        return self.draws or self.preset.draws or ("bayesian" if self.m > 1 else "plain")

    @property
    def people_in_leaf(self) -> int:
        """Fewest people in a leaf."""
        return self.preset.min_leaf if self.min_leaf is None else self.min_leaf

    @property
    def people_in_level(self) -> int:
        """Fewest people who share a number that stays, or a category."""
        return self.preset.min_people if self.min_people is None else self.min_people

    def smoothing_of(self, column: str) -> Smoothing:
        """Return whether the numbers of a column move."""
        given = self.smoothing
        if isinstance(given, Mapping):
            given = given.get(column)
        return "none" if given == "none" else self.preset.smoothing if given is None else "local"

    def settings(self) -> dict[str, Any]:
        """Return the settings that the recipient may see, with those that follow from others."""
        return {
            **super().settings(),
            "draws": self.kind_of_draws,
            "min_leaf": self.people_in_leaf,
            "min_people": self.people_in_level,
        }

    @classmethod
    def cautions(
        cls,
        release: Release,
        step: Step,
        columns: Sequence[str],
        formula: str,  # noqa: ARG003
    ) -> list[str]:
        """Return that rows drawn one by one lose what clusters have in common."""
        return cluster_cautions(release, columns, step.changed)

    def leaves_out_units(self, table: Table) -> tuple[str, ...]:
        """Return every number of people and households where every column is replaced."""
        everything = self.columns is None or {*table.names} <= {*self.columns}
        return tuple(table.units.schema.of_role(*UNITS)) if everything else ()

    def apply(self, table: Table, context: Context) -> FittedCart:
        """Grow the trees."""
        from veladura.methods.cart.fit import fit
        from veladura.methods.cart.rare import warn_of_rare

        warn_of_harm(self)
        warn_of_households(self, table)
        warn_of_clusters(self, table)
        fitted = fit(self, table, context)
        warn_of_rare(table, fitted.merged, self.people_in_level)
        return fitted

    def apply_to_sample(self, table: Table, number: int, context: Context) -> FittedChunks[Cart]:
        """Grow the trees on a sample; what few people of all rows hold is counted there."""
        from veladura.core.chunks import FittedChunks, fit_to_sample
        from veladura.methods.cart.fit import fit

        warn_of_harm(self)
        self.replaced(table.schema)  # refuses what cannot be done before anything is read
        near, sample, whole = fit_to_sample(self, table, number, context, table.names)
        return FittedChunks.of(self, near, fit(self, sample, context, whole))

    def replaced(self, schema: Schema) -> list[str]:
        """Return the columns to replace, in the order of the table."""
        if self.columns is not None:
            schema.check("columns", self.columns)
        names = [name for name in schema.names if self.columns is None or name in self.columns]
        check_synthesisable(schema, names)
        if self.rows is not None and set(names) != set(schema.names):
            msg = (
                f"rows ({self.rows}) can be set only when every column is replaced.\n\nHint: leave"
                " out rows, or leave out columns."
            )
            raise PlanError(msg)
        for setting, named in (
            ("groups", [name for group in self.groups for name in group]),
            ("models", list(self.models)),
            ("limits", list(self.limits)),
            ("transform", list(self.transform)),
            ("criterion", list(self.criterion) if isinstance(self.criterion, Mapping) else []),
            (
                "min_variance",
                list(self.min_variance) if isinstance(self.min_variance, Mapping) else [],
            ),
            ("spikes", list(self.spikes)),
            ("republish", list(self.republish)),
            ("smoothing", list(self.smoothing) if isinstance(self.smoothing, Mapping) else []),
            ("order", [] if isinstance(self.order, str) else list(self.order)),
            ("predictors", list(self.predictors) if isinstance(self.predictors, Mapping) else []),
        ):
            if named:
                check_named(setting, named, names)
        check_kinds_of_settings(self, schema)
        return names

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises of the rules and limits that were declared."""
        return implied_by(settings)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Cart:
        """Suggest that every column but those of a survey's design be replaced, weights first."""
        check_synthesisable(schema, schema.names)
        rows = max((fact.rows for fact in facts.values()), default=0)
        if not any(fact.present for fact in facts.values()) or rows < Preset.min_leaf:
            msg = (
                f"the table has {rows} rows, fewer than a leaf needs ({Preset.min_leaf}), or no"
                " values at all: there is nothing to draw from."
            )
            raise PlanError(msg)
        weights = schema.of_role("weight")
        kept = design_columns(schema)
        names = tuple(name for name in schema.names if name not in (*weights, *kept))
        if not kept:
            return cls(order=(*weights, *names)) if weights else cls()
        drawn = (*(name for name in weights if name not in kept), *names)
        return cls(columns=drawn, order=drawn, draws="plain")

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Cart:
        """Suggest also rules that the table seems to follow, and logarithms of long tails."""
        suggested = cls.suggest(table.schema, facts)
        codes = table.codes(table.names)
        for column in codes.values():
            check_levels(column)
        return replace(
            suggested, rules=find_rules(codes), transform=propose_transforms(codes.columns)
        )


def design_columns(schema: Schema) -> tuple[str, ...]:
    """Return the columns of the sampling design that a suggested synthesis keeps.

    Strata and clusters say how people were sampled, not who they are: everything else is drawn
    given them, so that the variance between clusters, and with it the design-based error of every
    estimate, is that of the survey. Weights are drawn too, since nonresponse and calibration make
    them depend on the person, and first: what is drawn given them keeps its weighted mean, while a
    weight that is drawn last is that of its area only as far as one tree of many predictors finds
    it. Replicate weights make sense beside their own weights only, and keep them.
    """
    kept = schema.of_role("strata", "cluster", "replicate weight")
    if schema.of_role("replicate weight"):
        kept = schema.of_role("strata", "cluster", "replicate weight", "weight")
    everything = [name for name in schema.names if name not in kept]
    return tuple(kept) if everything else ()


__all__ = ["Bounds", "Cart"]
