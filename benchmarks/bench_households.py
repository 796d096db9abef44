"""Synthesis by household beside the same rows without structure, in one run, in processor time.

BENCH_PEOPLE chooses the number of people; 100,000 by default.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from tests.generators.households import EXACTLY_ONE, RELATIVES, ROLES, RULES, households

import veladura as vd

PEOPLE = int(os.environ.get("BENCH_PEOPLE", "100000"))
AIM, TIMES = 2.0, 3


def seconds(function: Callable[[], Any]) -> float:
    """Return the least processor time of a few runs."""
    found = []
    for _ in range(TIMES):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def within(frame: pd.DataFrame) -> dict[str, float]:
    """Return what members of a household have in common."""
    head, partner = (frame[frame.relation == r].set_index("home") for r in ("head", "partner"))
    head = head.loc[partner.index]
    gap = partner.age - head.age
    children = (frame.relation == "child").groupby(frame.home).sum()
    incomes = np.log(head.income + 1), np.log(partner.income + 1)
    return {
        "age of partners, difference": gap.mean(),
        "its standard deviation": gap.std(),
        "children a household": children.mean(),
        "members a household": frame.groupby("home").size().mean(),
        "income of partners, correlation": np.corrcoef(*incomes)[0, 1],
        "education of partners, correlation": np.corrcoef(head.education, partner.education)[0, 1],
    }


def compare() -> None:
    """Print figures within 20,000 households beside another sample of the same population."""
    frame = households(20_000)
    ruled = {"relatives": RELATIVES, "exactly_one": EXACTLY_ONE, "rules": RULES}
    release = vd.HouseholdCart(m=2, **ruled).protect(vd.open(frame, ROLES), seed=3)
    drawn = release.datasets
    tables = {"original": frame, "other sample": households(20_000, 2)}
    tables |= {"synthetic 1": drawn[0], "synthetic 2": drawn[1]}
    print(
        pd.DataFrame({name: within(table) for name, table in tables.items()}).round(3).to_string()
    )


def main() -> None:
    """Print seconds and their ratio, with and without rules across members, then figures."""
    frame = households(round(PEOPLE / 2.41))
    table = vd.open(frame, ROLES)
    rows = frame.drop(columns="home")
    ruled = {"relatives": RELATIVES, "exactly_one": EXACTLY_ONE, "rules": RULES}
    vd.HouseholdCart(m=1).protect(vd.open(households(300), ROLES), seed=1)  # compiles
    plain = seconds(lambda: vd.Cart(m=1).protect(rows, seed=1))
    print(f"{len(frame):,} people, {len(rows.columns)} columns, m = 1, fit and draw and proofs")
    print(f"cart, rows without structure        {plain:6.2f} s")
    for label, settings in (("households", {}), ("households, five rules", ruled)):
        recipe = vd.HouseholdCart(m=1, **settings)
        own = seconds(lambda recipe=recipe: recipe.protect(table, seed=1))
        verdict = "within the aim" if own <= AIM * plain else "above the aim"
        print(f"{label:<35} {own:6.2f} s   {own / plain:.2f} times ({verdict}: {AIM:g})")
    compare()


if __name__ == "__main__":
    main()
