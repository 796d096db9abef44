"""Random streams by name: every draw of the library comes from a stream with a path."""

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
    """Independent random generators by name, so that adding a column changes no other draw.

    The entropy is the seed of a whole run. It must stay with the custodian: together with the
    released model it would undo the protection.

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
        # JSON tells ("a", "b") from ("a/b",); a joined string would not.
        digest = sha256(json.dumps([*self.path, *path]).encode()).digest()
        key = tuple(np.frombuffer(digest, dtype="<u4").tolist())
        return np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=key))

    def within(self, *path: str | int) -> Streams:
        """Return the streams below a path: each step and each dataset has its own."""
        return Streams(self.entropy, (*self.path, *path))

    @classmethod
    def of(cls, seed: int | Streams | None) -> Streams:
        """Return the streams of a seed; without a seed, of the system's entropy."""
        if isinstance(seed, Streams):
            return seed
        if seed is None:
            return cls(secrets.randbits(128))
        whole = isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
        if not whole or seed < 0:
            got = "a negative number" if whole else type(seed).__name__
            msg = f"seed must be a whole number of at least 0, got {got}."
            raise PlanError(msg)
        return cls(int(seed))


@dataclass(frozen=True)
class ChunkStream:
    """The random streams of one dataset, or of a chunk of its rows.

    Attributes
    ----------
    whole
        What all chunks share, such as the weights of the Bayesian bootstrap.
    dataset
        Which of the m datasets, zero-based.
    chunk
        The number or name of the chunk; empty where all rows are drawn at once.
    """

    whole: Streams
    dataset: int = 0
    chunk: tuple[int | str, ...] = ()

    def __call__(self, *path: str | int) -> Generator:
        """Return a fresh generator of this chunk for a path."""
        return self.whole(*path, *self.chunk)
