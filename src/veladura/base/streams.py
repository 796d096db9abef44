"""Randomness by name: every draw of the library comes from a stream with a path."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from veladura.errors import PlanError

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True)
class Streams:
    """Independent generators addressed by name, so that adding a column moves no other draw.

    The entropy is the seed of a whole run. It never leaves the custodian: with the released
    model it would undo the protection.

    Examples
    --------
    >>> streams = Streams(7)
    >>> float(streams("noise", "income").random()) == float(streams("noise", "income").random())
    True
    """

    entropy: int = field(repr=False)
    path: tuple[str | int, ...] = ()

    def __call__(self, *path: str | int) -> Generator:
        """Return a fresh generator for this path."""
        # JSON keeps ("a", "b") and ("a/b",) apart, which a joined string would not.
        digest = sha256(json.dumps([*self.path, *path]).encode()).digest()
        key = tuple(np.frombuffer(digest, dtype="<u4").tolist())
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=key))

    def within(self, *path: str | int) -> Streams:
        """Return the streams below a path: a step or a dataset draws from its own."""
        return Streams(self.entropy, (*self.path, *path))

    @classmethod
    def of(cls, seed: int | Streams | None) -> Streams:
        """Return streams for a seed; without one, from the system's entropy."""
        if isinstance(seed, Streams):
            return seed
        if seed is None:
            return cls(secrets.randbits(128))
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            msg = f"seed must be a whole number of at least 0, got {type(seed).__name__}."
            raise PlanError(msg)
        return cls(int(seed))
