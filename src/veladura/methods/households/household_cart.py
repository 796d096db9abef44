"""The recipe of synthesis by household."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from veladura.base.bounds import Bounds, bounds_of
from veladura.base.context import Context
from veladura.base.expression import parse
from veladura.core.gates import NO_OWN_NUMBERS, OUTLIERS, SYNTHETIC
from veladura.core.recipe import Recipe
from veladura.errors import PlanError
from veladura.methods.cart.cart import Cart
from veladura.methods.cart.checks import SmoothingName, check_synthesisable
from veladura.methods.cart.purpose import Purpose
from veladura.methods.households.promises import CHECKS, implied_by
from veladura.methods.households.rules import MemberRules, is_across
from veladura.numeric.transforms import TransformName
from veladura.numeric.trees.leaf import Draws

if TYPE_CHECKING:
    from veladura.core.earlier import Earlier
    from veladura.core.promise import Promise
    from veladura.methods.households.extended import ExtendedHouseholds
    from veladura.methods.households.fitted import FittedHouseholds
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table


@dataclass(frozen=True, kw_only=True)
class HouseholdCart(Recipe):
    """Synthesis by household with CART: artificial households of artificial members.

    The columns that are constant within households are drawn first, then the number of members,
    then the members one after the other: the first given the household, the second given both, and
    every later one given the household, the first, the second and the one before. All are drawn as
    in `Cart`, by trees with at least five *households* in every leaf. A size of household that
    fewer than five have is merged into its neighbour. Where people have several rows (a panel), the
    rows of a person are drawn after the person, each given the ones before.

    A column of role "household" or "person" says which rows belong together; the release has new
    numbers. Without such a column it is `Cart` of all columns.

    Parameters
    ----------
    m
        Number of synthetic datasets.
    purpose
        What the release is for: "analysis", "teaching" or "open-data", as in `Cart`.
    draws
        How donors are drawn: "bayesian" (for intervals from several datasets) or "plain".
    keep
        Columns of households that stay as they are, such as the strata and clusters of a survey:
        there are as many artificial households in each cluster as real ones, and all else is drawn
        given them. The rule is then that of partially synthetic data.
    members
        The columns by which members are put in an order before they are drawn, the most important
        first; by default the one that says who is the head, then an age, or a time for the rows of
        a person.
    relatives
        By name, a condition that at most one member of a household meets, as in
        ``{"head": 'relation == "head"'}``.
    exactly_one
        The relatives that every household has.
    limits
        By column, the smallest and the largest number allowed.
    transform
        By column, a transformation of its numbers that is undone at the end, as in `Cart`.
    smoothing
        Whether numbers that few people share are moved ("local"), or none are ("none").
    min_leaf
        Fewest households in a leaf; 5 by default.
    min_people
        Fewest people who share a number that stays or a category, and fewest households of a size
        or a larger one; 5 by default.
    rules
        Conditions that hold for every member. They may name relatives: ``relation == "child"
        implies age - head.age <= -15``.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> frame = pd.DataFrame({"home": sorted([*range(60)] * 2), "rooms": sorted([2, 3, 4] * 40)})
    >>> people = vd.open(frame.assign(age=range(120)), {"home": {"role": "household"}})
    >>> release = vd.HouseholdCart(m=1).protect(people, seed=7)
    >>> bool((release.datasets[0].groupby("home").rooms.nunique() == 1).all())
    True

    References
    ----------
    Reiter, J. P. (2005). Using CART to generate partially synthetic public use microdata. Journal
    of Official Statistics 21(3), 441-462.
    Alfons, A., Kraft, S., Templ, M. and Filzmoser, P. (2011). Simulation of close-to-reality
    population data for household surveys with application to EU-SILC. Statistical Methods and
    Applications 20(3), 383-407.
    """

    method = "households"
    linked_tables = "draws the rows of the first table, then those below each given the ones before"
    decisive = ("m", "min_leaf", "min_people")
    proposed = ("rules", "relatives", "exactly_one")
    sentence = (
        "Synthesis by household with CART: households and their members were replaced by artificial"
        " ones, drawn from models of the original table."
    )
    checks = CHECKS
    gate = {**SYNTHETIC, **OUTLIERS}
    firm_gate = NO_OWN_NUMBERS
    synthesizes = True
    extends = True

    m: int = 5
    purpose: Purpose | None = None
    draws: Draws | None = None
    keep: Sequence[str] = ()
    members: Sequence[str] = ()
    relatives: Mapping[str, str] = field(default_factory=dict)
    exactly_one: Sequence[str] = ()
    rules: Sequence[str] = ()
    limits: Mapping[str, Bounds] = field(default_factory=dict)
    transform: Mapping[str, TransformName] = field(default_factory=dict, metadata={"private": True})
    smoothing: SmoothingName | Mapping[str, SmoothingName] | None = None
    min_leaf: int | None = None
    min_people: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds = {name: bounds_of(pair, "limits") for name, pair in self.limits.items()}
        object.__setattr__(self, "limits", bounds)
        object.__setattr__(self, "relatives", dict(self.relatives))
        self.cart()  # refuses what it does not take
        for rule in self.rules:
            parse(rule)
        if dotted := [name for name in self.relatives if "." in name]:
            msg = f"relatives: names without a dot are wanted, got {dotted}."
            raise PlanError(msg)
        self.across  # noqa: B018  # refuses relatives that nobody is

    @property
    def across(self) -> MemberRules:
        """The rules across members."""
        return MemberRules.of(self.relatives, self.exactly_one, self.rules)

    @property
    def row_rules(self) -> tuple[str, ...]:
        """The rules that are about one row."""
        return tuple(rule for rule in self.rules if not is_across(parse(rule), self.relatives))

    def cart(
        self,
        columns: Sequence[str] | None = None,
        known: Sequence[str] = (),
        **settings: Any,
    ) -> Cart:
        """Return the synthesis of some columns, with the settings that are about them.

        Parameters
        ----------
        known
            The columns that its rules may name.
        """
        names = None if columns is None else set(columns)

        def about(setting: Any) -> Any:
            if not isinstance(setting, Mapping) or names is None:
                return setting
            return {name: value for name, value in setting.items() if name in names}

        rules = () if names is None else self._rules_of(names, known)
        return Cart(
            columns=columns,
            m=self.m,
            purpose=self.purpose,
            draws=self.draws,
            rules=rules,
            limits=about(self.limits),
            transform=about(self.transform),
            smoothing=about(self.smoothing) or None,
            min_leaf=self.min_leaf,
            min_people=self.min_people,
            **settings,
        )

    def _rules_of(self, names: set[str], known: Sequence[str]) -> tuple[str, ...]:
        """Return the rules of one row that can be kept where some columns are drawn."""
        return tuple(
            rule
            for rule in self.row_rules
            if set(parse(rule).columns) <= set(known) and names & set(parse(rule).columns)
        )

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that are replaced: all but those of the design that stay."""
        return tuple(name for name in names if name not in self.keep)

    def settings(self) -> dict[str, Any]:
        """Return the settings that the recipient may see, with those that follow from others."""
        cart = self.cart()
        return {
            **super().settings(),
            "draws": cart.kind_of_draws,
            "min_leaf": cart.people_in_leaf,
            "min_people": cart.people_in_level,
        }

    def apply(self, table: Table, context: Context) -> FittedHouseholds:
        """Grow the trees of every level."""
        from veladura.methods.households.fit import fit

        check_synthesisable(table.schema, table.names)
        return fit(self, table, context)

    def extended(self, table: Table, earlier: Earlier, context: Context) -> ExtendedHouseholds:
        """Grow the trees of what comes after an earlier release."""
        from veladura.methods.households.extending import fit_extension

        check_synthesisable(table.schema, table.names)
        return fit_extension(self, table, earlier, context)

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises that the settings in a manifest imply."""
        return implied_by(settings)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> HouseholdCart:
        """Suggest the defaults where `Cart` runs."""
        Cart.suggest(schema, facts)
        return cls()

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> HouseholdCart:
        """Suggest also the design to keep, the order of members, and rules of every household."""
        from veladura.methods.households.proposals import propose

        plain = Cart.suggest_for(table, facts)
        suggested = replace(cls(), rules=plain.rules, transform=plain.transform)
        return propose(suggested, table)
