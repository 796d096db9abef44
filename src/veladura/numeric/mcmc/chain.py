"""Running several Markov chains, and choosing the draws to keep."""

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
    """Run each chain on its own stream, in threads; results do not depend on the threads."""
    return context.map(
        label, lambda number: chain(number, context.streams("chain", number)), range(chains)
    )


def check_lengths(*, sweeps: int, burn: int, thin: int, chains: int, m: int) -> None:
    """Refuse chains too short to diagnose, or to keep m draws of."""
    if min(burn, sweeps - burn, thin, chains, m) < 1:
        msg = (
            "sweeps must be above burn, and burn, thin, chains and m at least 1; got"
            f" sweeps={sweeps}, burn={burn}, thin={thin}, chains={chains}, m={m}."
        )
        raise PlanError(msg)
    kept = (sweeps - burn) // thin
    if kept < max(4, -(-m // chains)):
        msg = (
            f"{kept} sweeps of each chain remain after burn-in and thinning: too few for"
            f" diagnostics and {m} draws.\n\nHint: raise sweeps, or lower burn or thin."
        )
        raise PlanError(msg)


def separated(m: int, chains: int, kept: int) -> list[list[int]]:
    """Return which kept sweeps of each chain become draws: m in all, as far apart as possible.

    Draw d comes from chain d modulo ``chains``; the last draw of a chain is its last kept sweep.

    >>> separated(5, 2, 90)
    [[29, 59, 89], [44, 89]]
    """
    shares = [len(range(chain, m, chains)) for chain in range(chains)]
    return [[kept * (number + 1) // share - 1 for number in range(share)] for share in shares]
