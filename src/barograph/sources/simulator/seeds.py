"""One independent stream of random numbers for every thing that is simulated.

A stream depends on the seed and on what it is for, never on what was drawn before it: series
number 7,000 is the same whether or not the 6,999 before it were made, and in whatever process.
"""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a stream is for; the numbers are part of what a seed means."""

    PROJECT = 0
    PLATFORM = 1
    CHANGES = 2
    SERIES = 3
    CROWD = 4
    COMMIT = 5
    CANDIDATE = 6


def stream(seed: int, use: Stream, *where: int) -> np.random.Generator:
    """Return the generator of one thing, by its use and its coordinates."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(int(use), *where)))
