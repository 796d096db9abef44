"""Sequential synthesis fitted to a table: the trees are grown, the datasets are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.base.expression import Expression
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import Partial, Rule, Single
from veladura.methods.cart.cart import MAX_LEVELS, Cart, check_rows
from veladura.methods.cart.drawing import Drawing
from veladura.methods.cart.models import Model, build, margin
from veladura.methods.cart.order import Unit, by_dependence, check_named, visit
from veladura.methods.cart.plots import compared, tree_texts
from veladura.methods.cart.rules import check_rules, decision_on, read_rules, rules_promise
from veladura.methods.cart.strata import Strata, find_strata
from veladura.numeric.trees.bins import Binning, binning_of
from veladura.numeric.trees.column import Subject, check_levels, subject_of
from veladura.numeric.trees.model import Ground, Where, load_kernels
from veladura.numeric.trees.tree import Predictors, stack
from veladura.table.codes import Codes, Column
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.table.schema import Schema
    from veladura.table.table import Table

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class FittedCart(Fitted[Cart]):
    """Trees with their donors, ready to draw. Holds original values: never released.

    Attributes
    ----------
    models
        For each dataset with trees of its own, or once for all, the model of every unit.
    """

    units: Sequence[Unit]
    subjects: Mapping[str, Subject]
    binnings: Mapping[str, Binning]
    base: Predictors
    strata: Strata
    rules: Mapping[str, Sequence[Expression]]
    models: Sequence[Sequence[Model]]
    margins: Sequence[Model]
    everything: bool

    def draw(self, context: Context) -> Drawn:
        """Draw the m datasets, each from streams of its own."""
        datasets = context.map(
            "drawing datasets", lambda r: self._dataset(r, context), range(self.recipe.m)
        )
        return Drawn(
            datasets=datasets,
            changed=self.changed(),
            rule=self.rule(),
            settings=self.told(),
            promises=self.promises(),
            pictures=lambda _: self.pictures(),
            public_pictures=compared,
        )

    def pictures(self) -> dict[str, bytes | str]:
        """Return the trees of the replaced columns for the custodian's page: splits and leaves show original values."""
        return dict(tree_texts(self))

    def changed(self) -> tuple[str, ...]:
        """Return the replaced columns, in the order of the table."""
        return tuple(name for name in self.table.names if name in self.subjects)

    def rule(self) -> Rule:
        """Return "single" when every column is replaced, "partial" otherwise (Raab et al. 2016; Reiter 2003)."""
        kind = Single if self.everything else Partial
        return kind(rows=self._rows(), original_rows=self.codes.rows.size, proper=True)

    def told(self) -> dict[str, Any]:
        """Return the settings, and what a combining rule needs: rows before and after, and that draws are proper."""
        plain = {
            key: value
            for key, value in self.recipe.settings().items()
            if value not in (None, {}, [])
        }
        open_ = [
            name for name, subject in self.subjects.items() if subject.guarded and not subject.free
        ]
        return {
            **plain,
            "columns": list(self.changed()),
            "rows": self._rows(),
            **({"single_numbers_in": open_} if open_ else {}),
        }

    def promises(self) -> tuple[Promise, ...]:
        """Promise that no single number came out, that the rules hold, and the limits."""
        made = []
        if names := self._guarded():
            claim = (
                f"No number that occurs once in the original {', '.join(names)} occurs there in the"
                " release."
            )
            made.append(Promise("single-numbers", claim, "source", {"columns": names}))
        if rules := read_rules(self.recipe.rules):
            made.append(rules_promise(rules))
        if limits := self.recipe.limits:
            ends = {name: [bound.min, bound.max] for name, bound in limits.items()}
            made.append(
                Promise(
                    "limits",
                    f"The values of {', '.join(limits)} stay within their limits.",
                    "package",
                    {"columns": ends},
                )
            )
        return tuple(made)

    def _guarded(self) -> list[str]:
        return [
            name
            for name in self.changed()
            if self.subjects[name].guarded
            and self.subjects[name].free
            and self.subjects[name].places is not None
        ]

    def _rows(self) -> int:
        return self.codes.rows.size if self.recipe.rows is None else self.recipe.rows

    def _dataset(self, replicate: int, context: Context) -> Draw:
        """Draw one dataset, column by column."""
        size = self._rows()
        bins = (
            np.zeros((size, self.base.bins.shape[1]), dtype=np.uint16)
            if self.everything
            else self.base.bins.copy()
        )
        predictors = self.base._replace(bins=bins)
        drawn: dict[str, Column] = (
            {}
            if self.everything
            else {name: self.codes[name] for name in self.codes if name not in self.subjects}
        )
        place = {name: i for i, name in enumerate(self.binnings)}
        models = self.models[replicate % len(self.models)]
        for unit, model, spare in zip(self.units, models, self.margins, strict=True):
            rng = context.streams("cart", unit.name, replicate)
            where = Where(
                predictors,
                np.arange(size),
                self.strata.roots(drawn, size, unit.columns),
                max(1, context.threads // self.recipe.m),
            )
            for column in Drawing(self, unit, model, spare, drawn).run(rng, where):
                drawn[column.name] = column
                bins[:, place[column.name]] = self.binnings[column.name].codes(
                    column.values, column.missing
                )
        return Draw({name: drawn[name] for name in self.changed()}, linked=not self.everything)


def fit(recipe: Cart, table: Table, context: Context) -> FittedCart:
    """Return the recipe fitted to a prepared table."""
    replaced = recipe.replaced(table.schema)
    kept = _kept(recipe, table.schema, replaced)
    codes = table.codes(
        [name for name in table.names if name in {*replaced, *kept, *_named(recipe, table.schema)}]
    )
    check_rows(codes.rows.size, recipe.min_leaf)
    for column in codes.values():
        check_levels(column, MAX_LEVELS)
    rules = read_rules(recipe.rules)
    check_rules(rules, codes)
    subjects = {name: _subject(recipe, codes[name]) for name in replaced}
    binnings = {
        name: binning_of(column) for name, column in codes.items() if column.field.kind != "text"
    }
    base = stack(
        [binnings[name].codes(codes[name].values, codes[name].missing) for name in binnings],
        list(binnings.values()),
    )
    strata = find_strata(
        recipe.strata,
        codes,
        replaced,
        recipe.min_leaf,
        everything=len(replaced) == len(table.names),
    )
    first = list(strata.drawn) + [
        name for name in _order(recipe, codes, replaced) if name not in strata.drawn
    ]
    groups = (*recipe.groups, *([strata.drawn] if len(strata.drawn) > 1 else []))
    fixed = strata.drawn if isinstance(recipe.order, str) else first
    units = visit(
        first + [name for name in replaced if name not in first],
        kept,
        fixed,
        recipe.predictors,
        groups,
    )
    binding = _binding(rules, units)
    load_kernels(context)
    place = {name: i for i, name in enumerate(binnings)}

    def grown(task: tuple[int, int]) -> Model:
        replicate, number = task
        unit = units[number]
        rows = np.arange(codes.rows.size)
        if recipe.proper:
            rows = np.sort(
                context.streams("cart", "bootstrap", replicate).integers(rows.size, size=rows.size)
            )
        ground = Ground(base, rows, strata.groups(rows, unit.columns))
        ground = ground.where(~_decided(unit, binding, codes)[rows])
        mine = [subjects[name] for name in unit.columns]
        seed = int(context.streams("cart", "seed", unit.name, replicate).integers(2**63))
        return build(recipe, mine, ground, [place[name] for name in unit.given], seed)

    runs = recipe.m if recipe.proper else 1
    tasks = [(r, i) for r in range(runs) for i in range(len(units))]
    found = context.map("growing trees", grown, tasks[::-1])[
        ::-1
    ]  # the last have most predictors: begun first, none is waited for alone
    models = [found[r * len(units) : (r + 1) * len(units)] for r in range(runs)]
    margins = [
        margin(
            recipe,
            [subjects[n] for n in u.columns],
            Ground(base, np.arange(codes.rows.size)),
            bool(binding),
        )
        for u in units
    ]
    return FittedCart(
        recipe,
        table,
        codes,
        units,
        subjects,
        binnings,
        base,
        strata,
        binding,
        models,
        margins,
        len(replaced) == len(table.names),
    )


def _subject(recipe: Cart, column: Column) -> Subject:
    bound = recipe.limits.get(column.name)
    return subject_of(
        column,
        spikes=recipe.spikes.get(column.name),
        smoothing=recipe.smoothing,
        guarded=column.name not in recipe.republish,
        limits=(None, None) if bound is None else (bound.min, bound.max),
    )


def _kept(recipe: Cart, schema: Schema, replaced: Sequence[str]) -> list[str]:
    """Return the columns that stay and may predict."""
    stay = [name for name in schema.names if name not in replaced and schema[name].kind != "text"]
    if recipe.predictors is None:
        return stay
    if isinstance(recipe.predictors, Mapping):
        for name, given in recipe.predictors.items():
            check_named(f"predictors.{name}", given, [*stay, *replaced])
        listed = {name for given in recipe.predictors.values() for name in given}
        return (
            stay
            if set(replaced) - set(recipe.predictors)
            else [name for name in stay if name in listed]
        )
    check_named("predictors", recipe.predictors, [*stay, *replaced])
    return [name for name in stay if name in recipe.predictors]


def _named(recipe: Cart, schema: Schema) -> set[str]:
    """Return the columns that rules and strata name."""
    from veladura.methods.cart.strata import columns_of

    named = {name for rule in read_rules(recipe.rules) for name in rule.columns}
    schema.check("rules", sorted(named))
    return named | columns_of(recipe.strata, schema.names)


def _order(recipe: Cart, codes: Codes, replaced: Sequence[str]) -> Sequence[str]:
    if recipe.order == "dependence":
        return by_dependence(codes, replaced)
    return replaced if isinstance(recipe.order, str) else recipe.order


def _binding(rules: Sequence[Expression], units: Sequence[Unit]) -> dict[str, list[Expression]]:
    """Return the rules by the column that is drawn last among theirs: there they can be kept."""
    drawn = [name for unit in units for name in unit.columns]
    binding: dict[str, list[Expression]] = {}
    for rule in rules:
        own = [name for name in drawn if name in rule.columns]
        if own:
            binding.setdefault(own[-1], []).append(rule)
    return binding


def _decided(unit: Unit, binding: Mapping[str, Sequence[Expression]], codes: Codes) -> Mask:
    """Return the rows whose value a rule decides: they teach a tree nothing."""
    decided = np.zeros(codes.rows.size, dtype=bool)
    if len(unit.columns) > 1:
        return decided
    for rule in binding.get(unit.columns[0], ()):
        if (decision := decision_on(rule, unit.columns[0])) is not None:
            decided |= holds(decision.condition, codes)
    return decided
