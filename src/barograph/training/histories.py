"""Whole histories, with what people saw there: what the two online models learn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from barograph.errors import NotEnoughDataError
from barograph.evaluation.marked import Marked
from barograph.evaluation.protocols import lasting_split
from barograph.history import History
from barograph.pipeline.characterise import identities
from barograph.series import FINAL, Ints, Verdict
from barograph.sources.simulator import (
    LONG,
    SHORT,
    SimulatedSeries,
    Stream,
    World,
    commit_hash,
    stream,
    survey,
)
from barograph.training.online import Truth

Flags = npt.NDArray[np.bool_]
PEOPLE = 5


@dataclass(frozen=True)
class Histories:
    """Histories with their truth, and what each point is called in every data set."""

    truth: Truth
    identities: Ints  # of the series of each point
    commits: npt.NDArray[np.object_]

    def apart(self, draw: int) -> Flags:
        """Return the points of those series and commits that the candidates are judged on."""
        split = lasting_split(self.identities, self.commits, draw)
        result = np.ones(self.commits.size, dtype=np.bool_)
        result[split.train] = result[split.validation] = False
        return result


@dataclass(frozen=True)
class Simulated:
    """Which simulated histories people are asked about."""

    seed: int
    long_series: int
    short_series: int

    def series(self) -> Iterator[SimulatedSeries]:
        """Make them: with the same seed the same as those of the stage `simulate`."""
        yield from World(self.seed, LONG).stream(0, self.long_series)
        yield from World(self.seed, SHORT).stream(0, self.short_series)

    def histories(self) -> Histories:
        """Let simulated people mark what they see; the series of one project are related."""
        made = list(self.series())
        marks = []
        for one in made:
            rng = stream(self.seed, Stream.CROWD, one.home.profile.key, one.number)
            crowd = survey(one.values, one.events, PEOPLE, rng)
            marks.append(tuple(tuple(places.tolist()) for places in crowd.marks))
        projects = [one.home.name for one in made]
        marked = Marked(
            np.concatenate([np.empty(0), *(one.values for one in made)]),
            np.cumsum([0, *(one.values.size for one in made)]),
            tuple(marks),
            np.unique(projects, return_inverse=True)[1].astype(np.int64),
        )
        digests = b"".join(one.identity.digest[:8] for one in made)
        names = np.frombuffer(digests, dtype="<i8").astype(np.int64)
        commits = [
            commit_hash(one.home.name, order) for one in made for order in one.orders.tolist()
        ]
        truth = Truth.of(marked)
        return Histories(truth, names[truth.series], np.array(commits, dtype=object))


def own(history: History, most: int, seed: int) -> Histories:
    """Read the verdicts of a history: a true one is a change at its very point.

    Candidates that nobody decided on are left out with what is near; all other points are calm.
    Series of one test are related.

    Args:
        history: the series, and people's verdicts on their candidates.
        most: how many points are learned from; series with verdicts come first.
        seed: draws the others.
    """
    owners = history.candidates.column("series").to_numpy()
    verdicts = np.array(history.candidates.column("verdict").to_pylist(), dtype=object)
    decided = np.isin(verdicts, FINAL)
    chosen = _drawn(history, np.unique(owners[decided]), most, seed)
    lengths = np.diff(history.offsets)[chosen]
    offsets = np.cumsum([0, *lengths])
    places = np.arange(offsets[-1]) + np.repeat(history.offsets[chosen] - offsets[:-1], lengths)
    number = np.full(len(history), -1)
    number[chosen] = np.arange(chosen.size)
    here = number[owners] >= 0
    at = offsets[number[owners]] + history.candidates.column("index").to_numpy()
    truth = Truth.of_verdicts(
        history.values[places],
        offsets,
        _tests(history)[chosen],
        true=at[here & (verdicts == Verdict.TRUE_POSITIVE.value)],
        undecided=at[here & ~decided],
    )
    commits = history.commits.take(places).to_numpy(zero_copy_only=False)
    return Histories(truth, identities(history)[chosen][truth.series], commits)


def _drawn(history: History, first: Ints, most: int, seed: int) -> Ints:
    """Return as many series as fit, those given first before any others."""
    order = np.random.default_rng(seed).permutation(len(history))
    order = order[np.argsort(~np.isin(order, first), kind="stable")]
    chosen = order[np.cumsum(np.diff(history.offsets)[order]) <= most]
    if not chosen.size:
        raise NotEnoughDataError(f"no series fits into {most} points")
    return np.sort(chosen)


def _tests(history: History) -> Ints:
    """Number the tests of all projects."""
    columns = [history.series.column(name).to_pylist() for name in ("project", "task", "test")]
    names = ["\0".join(row) for row in zip(*columns, strict=True)]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)
