"""Several chains at a time, and where in them the draws that are kept stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from numpy.random import Generator

from veladura.base.context import Context
from veladura.errors import PlanError

Result = TypeVar("Result")


def run_chains(
    label: str, chain: Callable[[int, Generator], Result], chains: int, context: Context
) -> list[Result]:
    """Run each chain on its own stream, in threads; the number of chains never depends on the number of cores."""
    return context.map(
        label, lambda number: chain(number, context.streams("chain", number)), range(chains)
    )


def check_lengths(*, sweeps: int, burn: int, thin: int, chains: int, m: int) -> None:
    """Refuse chains that leave too little to judge or to keep."""
    if min(burn, sweeps - burn, thin, chains, m) < 1:
        msg = (
            "sweeps above burn, and burn, thin, chains and m of at least 1 are needed, got"
            f" {sweeps}, {burn}, {thin}, {chains} and {m}."
        )
        raise PlanError(msg)
    kept = (sweeps - burn) // thin
    if kept < max(4, -(-m // chains)):
        msg = (
            f"{kept} sweeps of each chain are kept: too few to judge it and to keep {m}"
            " draws.\n\nHint: raise sweeps, or lower burn or thin."
        )
        raise PlanError(msg)


def separated(m: int, chains: int, kept: int) -> list[list[int]]:
    """Return which kept sweeps of each chain become draws: m in all, as far from each other as they can be.

    Draw d comes from chain d modulo ``chains``; the last draw of a chain is its last kept sweep.

    >>> separated(5, 2, 90)
    [[29, 59, 89], [44, 89]]
    """
    shares = [len(range(chain, m, chains)) for chain in range(chains)]
    return [[kept * (number + 1) // share - 1 for number in range(share)] for share in shares]
