"""Whole histories with the changes that people saw: what the online models learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from barograph.learning.annotators import Marked
from barograph.learning.limits import Named, Seed, WholeNumber
from barograph.learning.online.hindsight import truth_in_hindsight
from barograph.learning.online.truth import Truth
from barograph.learning.protocols import stable_split
from barograph.results.history import History
from barograph.results.series import FINAL, Flags, Ints, Verdict
from barograph.runtime.errors import NotEnoughDataError
from barograph.simulator.people import ATTENTION, survey
from barograph.simulator.profiles import CI, LONG, SHORT
from barograph.simulator.projects import Stream, commit_hash, stream
from barograph.simulator.world import SimulatedSeries, World

PEOPLE = 5
People = Annotated[str, Named(lambda: ATTENTION)]


@dataclass(frozen=True)
class Histories:
    """Histories, and what names the series and the commit of each point in every data set.

    Attributes:
        truth: All points, and what is a change.
        identities: The identity of the series of each point.
        commits: The commit of each point.
    """

    truth: Truth
    identities: Ints
    commits: npt.NDArray[np.object_]

    def held_out(self, seed: int) -> Flags:
        """Return the points of those series and commits that the candidates are judged on."""
        split = stable_split(self.identities, self.commits, seed)
        result = np.ones(self.commits.size, dtype=np.bool_)
        result[split.train] = result[split.validation] = False
        return result


@dataclass(frozen=True)
class Simulated:
    """Which histories are simulated, with the marks of simulated people."""

    seed: Seed
    long_series: WholeNumber
    short_series: WholeNumber
    ci_series: WholeNumber = 0
    people: People = "varied"

    def series(self) -> Iterator[SimulatedSeries]:
        """Yield the series; the same seed gives those of the stage `simulate`."""
        yield from World(self.seed, LONG).stream(0, self.long_series)
        yield from World(self.seed, SHORT).stream(0, self.short_series)
        yield from World(self.seed, CI).stream(0, self.ci_series)

    def histories(self) -> Histories:
        """Return the series with the marks of simulated people, and their names and commits."""
        series = list(self.series())
        digests = b"".join(member.identity.digest[:8] for member in series)
        identities = np.frombuffer(digests, dtype="<i8").astype(np.int64)
        commits = [
            commit_hash(member.home.name, order)
            for member in series
            for order in member.orders.tolist()
        ]
        truth = Truth.of(self._marked(series))
        return Histories(truth, identities[truth.series], np.array(commits, dtype=object))

    def marked(self) -> Marked:
        """Return the series with the marks of simulated people; those of a project are a group."""
        return self._marked(list(self.series()))

    def _marked(self, series: Sequence[SimulatedSeries]) -> Marked:
        marks, attention = [], ATTENTION[self.people]
        for member in series:
            rng = stream(self.seed, Stream.CROWD, member.home.profile.key, member.number)
            marked = survey(member.values, member.events, PEOPLE, rng, attention)
            marks.append(tuple(tuple(places.tolist()) for places in marked))
        projects = [member.home.name for member in series]
        return Marked(
            np.concatenate([np.empty(0), *(member.values for member in series)]),
            np.cumsum([0, *(member.values.size for member in series)]),
            tuple(marks),
            np.unique(projects, return_inverse=True)[1].astype(np.int64),
        )


def histories_of(history: History, points: int, seed: int, *, hindsight: bool = False) -> Histories:
    """Return a history with its verdicts: a true one is a change at that very point.

    Points near candidates without a verdict are left out; all other points are quiet. Series of one
    test are a group.

    Args:
        history: The series, and people's verdicts on their candidates.
        points: Maximum number of points. Series with verdicts come first.
        seed: Draws the other series.
        hindsight: Label what people did not look at by what became of it.
    """
    owners, verdicts = history.candidates.series, history.candidates.verdict
    decided = np.isin(verdicts, FINAL)
    chosen = _draw_series(history, np.unique(owners[decided]), points, seed)
    lengths = np.diff(history.offsets)[chosen]
    offsets = np.cumsum([0, *lengths])
    places = np.arange(offsets[-1]) + np.repeat(history.offsets[chosen] - offsets[:-1], lengths)
    number = np.full(len(history), -1)
    number[chosen] = np.arange(chosen.size)
    included = number[owners] >= 0
    indices = offsets[number[owners]] + history.candidates.index
    series = history.values[places], offsets, _test_numbers(history)[chosen]
    true = indices[included & (verdicts == Verdict.TRUE_POSITIVE.value)]
    if hindsight:
        unseen = verdicts == Verdict.NOT_TRIAGED.value
        truth = truth_in_hindsight(
            *series,
            true=true,
            false=indices[included & (verdicts == Verdict.FALSE_POSITIVE.value)],
            undecided=indices[included & ~decided & ~unseen],
        )
    else:
        truth = Truth.of_verdicts(*series, true=true, undecided=indices[included & ~decided])
    commits = np.array(history.commit_names(places), dtype=object)
    return Histories(truth, history.identities()[chosen][truth.series], commits)


def _draw_series(history: History, first: Ints, points: int, seed: int) -> Ints:
    """Return as many series as fit into `points` points, those in `first` before any others."""
    order = np.random.default_rng(seed).permutation(len(history))
    order = order[np.argsort(~np.isin(order, first), kind="stable")]
    chosen = order[np.cumsum(np.diff(history.offsets)[order]) <= points]
    if not chosen.size:
        raise NotEnoughDataError(f"no series fits into {points} points")
    return np.sort(chosen)


def _test_numbers(history: History) -> Ints:
    """Return a number for the test of each series, different for tests of different projects."""
    names = [f"{series.project}\0{series.task}\0{series.test}" for series in history.ids]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)
