"""plan.toml: what the holder decides, readable by a disclosure committee."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from veladura.base.limits import Limit
from veladura.base.memory import limit_memory
from veladura.core.gates import default_limits
from veladura.core.steps import Steps
from veladura.errors import VeladuraWarning
from veladura.measures.knowledge import Scenario
from veladura.plan.requests import Request
from veladura.plan.sections import (
    BudgetPlan,
    ConfirmedPlan,
    CustodianPlan,
    ReleasePlan,
    RunPlan,
    SourcePlan,
    UtilityPlan,
)
from veladura.table.database.passwords import has_password
from veladura.table.database.scratch import custodian_home, scratch_below
from veladura.table.linked import LinkedTable, open_linked
from veladura.table.schema import Declared
from veladura.table.source import open as open_table

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.methods.private.kept import KeptLedger
    from veladura.table.table import Table

_OPENLY = (
    "the plan holds the password of its database, where everyone who reads the plan sees it. It is"
    " not kept in the record.\n\nHint: delete the password from url and set VELADURA_PASSWORD (or"
    " PGPASSWORD) in the environment."
)


class PasswordWarning(VeladuraWarning):
    """A plan holds the password of a database."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A whole plan. Paths in it are taken from the folder of its file."""

    source: SourcePlan
    tables: tuple[LinkedTable, ...] = ()
    columns: Mapping[str, Declared] = field(default_factory=dict)
    steps: tuple[Recipe, ...] = ()
    release: ReleasePlan = field(default_factory=ReleasePlan)
    custodian: CustodianPlan = field(default_factory=CustodianPlan)
    gate: Mapping[str, Limit] = field(default_factory=dict)
    intruders: tuple[Scenario, ...] = ()
    requests: tuple[Request, ...] = ()
    utility: UtilityPlan = field(default_factory=UtilityPlan)
    budget: BudgetPlan = field(default_factory=BudgetPlan)
    run: RunPlan = field(default_factory=RunPlan)
    unconfirmed: tuple[str, ...] = ()
    confirmed: ConfirmedPlan | None = None
    home: Path = Path()
    text: str = field(default="", repr=False)

    @property
    def recipe(self) -> Recipe:
        """The one recipe, or the chain of them."""
        return self.steps[0] if len(self.steps) == 1 else Steps(self.steps)

    @property
    def default_limits(self) -> dict[str, Limit]:
        """The limits that hold though the plan does not name them."""
        return default_limits(self.steps)

    @property
    def folder(self) -> Path:
        """The release folder."""
        return _tidy(self.home / self.release.folder)

    @property
    def custodian_folder(self) -> Path | None:
        """The custodian folder, if the plan names one."""
        return None if self.custodian.folder is None else _tidy(self.home / self.custodian.folder)

    def open(self) -> Table:
        """Open the source as the plan declares it."""
        source = self.source
        if source.url is not None and has_password(source.url):
            warnings.warn(_OPENLY, PasswordWarning, stacklevel=2)
        where = source.url if source.url is not None else self.home / str(source.path)
        scratch_below(self.custodian_folder)
        limit_memory(self.run.memory)
        if self.tables:
            placed = [replace(one, path=str(self.home / str(one.path))) for one in self.tables]
            return open_linked(*placed, columns=self.columns, name=source.name)
        return open_table(
            where,
            self.columns,
            table=source.table,
            name=source.name,
            dialect=source.dialect(),
            custodian=self.custodian_folder,
            counts=source.counts,
            writable=self.release.table is not None,
        )


def ledger_of(plan: Plan, table: Table) -> KeptLedger | None:
    """Return the ledger that private draws are charged to: in one home, by what the source is."""
    if not (private := [step for step in plan.steps if step.private]):
        return None
    from veladura.methods.private.identity import identity_of
    from veladura.methods.private.kept import KeptLedger, ledger_home
    from veladura.methods.private.ledger import Ledger, allowance

    given = plan.budget
    budget = Ledger(epsilon=given.epsilon, delta=given.delta, rho=given.rho).budget
    older = (plan.custodian_folder or custodian_home()) / "ledger" / f"{table.source.name}.json"
    return KeptLedger(
        ledger_home(),
        identity_of(table, plan.source.data_id),
        budget if budget.limit is not None else None,
        allowance(private),
        older,
    )


def _tidy(path: Path) -> Path:
    """Return a path without ``..`` in its middle, as people would write it."""
    return Path(os.path.normpath(path))
