"""Whole histories with the changes that people saw: what the online models learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from barograph.learning.limits import Named, Seed, WholeNumber
from barograph.learning.online.hindsight import truth_in_hindsight
from barograph.learning.online.truth import Marked, Truth
from barograph.learning.protocols import numbered, stable_split
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

    def series(self) -> list[SimulatedSeries]:
        """Return the series; the same seed gives those of the stage `simulate`."""
        counts = ((LONG, self.long_series), (SHORT, self.short_series), (CI, self.ci_series))
        return [s for profile, n in counts for s in World(self.seed, profile).stream(0, n)]

    def histories(self) -> Histories:
        """Return the series with the marks of simulated people, and their names and commits."""
        series = self.series()
        digests = b"".join(member.identity.digest[:8] for member in series)
        identities = np.frombuffer(digests, dtype="<i8").astype(np.int64)
        commits = [commit_hash(s.home.name, order) for s in series for order in s.orders.tolist()]
        truth = Truth.of(self.marked(series))
        return Histories(truth, identities[truth.series], np.array(commits, dtype=object))

    def marked(self, series: Sequence[SimulatedSeries] | None = None) -> Marked:
        """Return the series with the marks of simulated people; those of a project are a group.

        Args:
            series: What `series` returns, where it is known.
        """
        series = self.series() if series is None else series
        marks, attention = [], ATTENTION[self.people]
        for member in series:
            rng = stream(self.seed, Stream.CROWD, member.home.profile.key, member.number)
            marked = survey(member.values, member.events, PEOPLE, rng, attention)
            marks.append(tuple(tuple(places.tolist()) for places in marked))
        values = [np.empty(0), *(member.values for member in series)]
        offsets = np.cumsum([one.size for one in values])
        projects = numbered([member.home.name for member in series])
        return Marked(np.concatenate(values), offsets, tuple(marks), projects)


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
    # As many series as fit, those with verdicts before any others.
    order = np.random.default_rng(seed).permutation(len(history))
    order = order[np.argsort(~np.isin(order, owners[decided]), kind="stable")]
    chosen = np.sort(order[np.cumsum(np.diff(history.offsets)[order]) <= points])
    if not chosen.size:
        raise NotEnoughDataError(f"no series fits into {points} points")
    lengths = np.diff(history.offsets)[chosen]
    offsets = np.cumsum([0, *lengths])
    places = np.arange(offsets[-1]) + np.repeat(history.offsets[chosen] - offsets[:-1], lengths)
    number = np.full(len(history), -1)
    number[chosen] = np.arange(chosen.size)
    included = number[owners] >= 0
    indices = offsets[number[owners]] + history.candidates.index
    tests = numbered([f"{id_.project}\0{id_.task}\0{id_.test}" for id_ in history.ids])
    series = history.values[places], offsets, tests[chosen]
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
