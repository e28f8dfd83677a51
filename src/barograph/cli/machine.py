"""The machine as an answer of a job: a slow run, or a change of everything.

One machine measures the series of a project and variant, run after run. The common part of their
runs is one more series of the job, `(common)`. If it departs at a run, or nearly all series moved
along there, alarms and suspects of that run are judged again without it. Those of which nothing
remains are set aside. An alarm that was set aside counts two results later, if its change still
stands and does not belong to a change of the common part.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from barograph.cli.answers import COMMON, MACHINE, JobAnswer, Judging, SeriesAnswer
from barograph.cli.judged import JudgedSeries, judge_series
from barograph.detection.online import Answer, StepKind
from barograph.detection.online.decide import SUSPECTED
from barograph.detection.online.decision import changes_of
from barograph.detection.online.latest import ANSWER, CommitValues, judge_latest
from barograph.detection.online.machine import (
    FEWEST,
    ROWS,
    CommonPart,
    common_part,
    logarithms,
    softened,
    takes_part,
)
from barograph.detection.online.second_look import REACH
from barograph.results.series import Direction, Ints, Series, SeriesId
from barograph.results.wording import plural

if TYPE_CHECKING:
    from barograph.detection.online import OnlineJudge
    from barograph.detection.online.decision import AlarmStep

MOST_SERIES = 1000  # larger jobs would wait for more than a few seconds
# Results after an alarm that is set aside until it counts: with two, the second look has withdrawn
# what was a spike.
LATER = 2
NOTED = 20  # able series, half of which moved along, are worth a note
RANKS = (MACHINE, "change", "known", "quiet", "too_few")  # JSON has the first of several machines

Later = dict[int, int]  # the place at which the alarms of a place count


@dataclass
class Machine:
    """The series that one machine measures, and the common part of their runs.

    Attributes:
        name: The name of the common part.
        members: The series that take part, by their numbers in the job.
        orders: The orders of the runs.
        part: The common part of each run.
        common: The decision on the common part at the newest run; None without one.
        departures: Positions in the common part at which it is a suspect, or a change begins.
    """

    name: str
    members: Mapping[int, JudgedSeries]
    orders: Ints
    part: CommonPart
    common: JudgedSeries | None = None
    departures: frozenset[int] = frozenset()

    def as_dict(self, changes: Sequence[SeriesAnswer], explained: Container[str]) -> dict[str, Any]:
        """Return plain values for JSON, given changes of the common part, and what is set aside."""
        names = (str(member.series.id) for member in self.members.values())
        kinds = {"known" if change.known else "change" for change in changes}
        change = changes[-1] if changes else None
        return {
            "series": self.name,
            "answer": "too_few" if self.common is None else min(kinds, default="quiet"),
            "percent": 100.0 * float(np.expm1(self.part.excess[-1])),
            "moved": int(self.part.moved[-1]),
            "able": int(self.part.able[-1]),
            "voters": int(self.part.voters[-1].sum()),
            "begins": change and change.begins,
            "begins_commit": change.begins_commit if change else "",
            "explained": [name for name in names if name in explained],
        }

    def line(self, common: JudgedSeries, facts: Mapping[str, Any]) -> SeriesAnswer:
        """Return what is printed about a slow or fast run."""
        way = "slow" if facts["percent"] > 0 else "fast"
        along, voters = int(self.part.along[-1]), facts["voters"]
        reason = f"{along:,} of {voters:,} series {way}er; one {way} run or a change of everything"
        aside = plural(len(facts["explained"]), "answer")
        reason += f": run the job once more; {aside} set aside"
        known = {"answer": MACHINE, "probability": common.decision.probability, "reason": reason}
        line = SeriesAnswer.at(common.series, common.newest, percent=facts["percent"], **known)
        return replace(line, series=self.name)

    def changed(self, answer: SeriesAnswer) -> SeriesAnswer | None:
        """Return an answer on the common part, if it is about a change that series share."""
        if answer.begins is None:
            return None
        begin, newest = np.searchsorted(self.orders, [answer.begins, answer.order]).tolist()
        along, voters = int(self.part.along[begin]), int(self.part.voters[begin].sum())
        reason = f"{along:,} of {voters:,} series moved along"
        return replace(answer, reason=reason) if self._is_shared(begin, newest) else None

    def postponed(self, common: JudgedSeries) -> Later:
        """Return when alarms of the common part count: not where a change begins, nor alone."""
        runs = np.flatnonzero(self.part.is_known)
        later = {place: place + LATER for place in self.departures}
        for step in _raised(common.decision.steps):
            begin, end = step.index, step.index + LATER
            is_shared = self._is_shared(int(runs[begin]), int(runs[step.newest]))
            if step.newest == begin:  # half of the way is as far as a change may come back
                first, *after = self.part.excess[runs[begin : end + 1]].tolist()
                lasts = 2.0 * sum(after) * first > LATER * first**2
                later[begin] = end if lasts else len(common.series)
            elif step.newest < end and not is_shared:
                later[step.newest] = end
        return later

    def set_aside(self, judge: OnlineJudge) -> dict[str, Later]:
        """Return when alarms count that the common part explains, by the name of the series."""
        later: dict[str, Later] = {}
        cases = [case for number in self.members for case in self._cases(number)]
        decisions = judge_latest(judge, [case[3] for case in cases], [1] * len(cases))
        for (number, place, is_part, _), decision in zip(cases, decisions, strict=True):
            series = self.members[number].series
            size = len(series)
            is_suspect = place == size - 1 and decision.answer is not Answer.QUIET
            if not is_suspect and all(step.newest != place for step in _raised(decision.steps)):
                changes = (change for change in changes_of(decision.steps) if change.stands)
                stands = any(change.index >= place - LATER for change in changes)
                end = place + LATER if stands and not is_part else size
                later.setdefault(str(series.id), {})[place] = end
        return later

    def _cases(self, number: int) -> Iterator[tuple[int, int, bool, CommitValues]]:
        """Yield alarms of a series to judge again.

        These are the place, whether it belongs to a change of the common part, and the history
        without the excess, up to the result at which the alarm may count.
        """
        member, votes = self.members[number], self.part.voters[:, [*self.members].index(number)]
        series, events = member.series, member.events(None)
        places = {place for place, _, change in events if change is None or change.stands}
        runs = np.searchsorted(self.orders, series.orders)
        departed = np.flatnonzero(self.part.is_known)[[*self.departures]]
        for place in sorted(places - member.runs.keys()):
            run = int(runs[place])
            begin = self._change_before(run)
            if series.orders[place] < self.orders[0] or not votes[run]:
                continue
            if self.part.together[run] or run in departed or begin is not None:
                first = int(np.searchsorted(runs, run if begin is None else begin))
                values, excess = series.values[: place + LATER + 1].copy(), self.part.excess[runs]
                before = member.decision.values[: place + 1]
                start = member.level_start(first, place)
                soft = softened(before, series.direction, excess[first : place + 1], start)
                values[first : place + 1] = soft
                earlier = {k: results for k, results in member.runs.items() if k < first}
                yield number, place, begin is not None, (values, earlier)

    def _change_before(self, run: int) -> int | None:
        """Return where the common part changed, at a run or shortly before; None if nowhere."""
        changes = () if self.common is None else self.common.changes
        runs = np.flatnonzero(self.part.is_known)
        begins = (int(runs[change.index]) for change in changes if change.stands)
        near = (k for k in begins if k <= run <= k + REACH and self._is_shared(k, run))
        return next(near, None)

    def _is_shared(self, begin: int, newest: int) -> bool:
        """Return whether nearly all series moved along with a change that begins at a run."""
        return bool(self.part.is_shared[begin : min(begin + LATER, newest) + 1].any())


@dataclass
class Machines:
    """The machines of a job.

    Attributes:
        machines: The machines; none if they are not judged.
        later: When alarms count that do not count where they are, by the name of the series.
        explained: The names of the series whose newest answers are set aside.
        note: Why they are not judged, for people; empty otherwise.
    """

    machines: Sequence[Machine] = ()
    later: dict[str, Later] = field(default_factory=dict)
    explained: frozenset[str] = frozenset()
    note: str = ""

    @classmethod
    def found(
        cls, judge: OnlineJudge, series: Sequence[JudgedSeries], judging: Judging
    ) -> Machines:
        """Return the machines that measured the series of a job."""
        if judging.machine_answer == "off":
            return cls()
        if len(series) > MOST_SERIES:
            return cls(note=f"the machine is not judged in jobs of over {MOST_SERIES:,} series")
        machines = _machines(judge, series, judging.min_history)
        later: dict[str, Later] = {}
        for machine in machines:
            if machine.common is not None:
                later |= machine.set_aside(judge)
                later[str(machine.common.series.id)] = machine.postponed(machine.common)
        newest = {str(member.series.id): member.newest for member in series}
        explained = frozenset(name for name in newest if newest[name] in later.get(name, {}))
        return cls(machines, later, explained)

    @property
    def commons(self) -> list[JudgedSeries]:
        """The common parts."""
        return [machine.common for machine in self.machines if machine.common is not None]

    def shared(self, answers: Iterable[SeriesAnswer]) -> list[SeriesAnswer]:
        """Return answers without those on the common parts that are not about a shared change."""
        by_name = {str(m.common.series.id): m for m in self.machines if m.common is not None}
        pairs = ((answer, by_name.get(answer.series)) for answer in answers)
        kept = (answer if machine is None else machine.changed(answer) for answer, machine in pairs)
        return [*filter(None, kept)]

    def concluded(self, job: JobAnswer, counted: JobAnswer) -> JobAnswer:
        """Return the answer of a job with what it says about the machines.

        A machine is named if its common part departs, or if an answer that is set aside would have
        failed the job.

        Args:
            job: The answer on the series.
            counted: The same with the answers that are set aside.
        """
        notes, plain = [*job.notes, *filter(None, [self.note])], []
        answers = _by_series(counted)
        answers |= {
            name: known for name, known in _by_series(job).items() if name not in self.explained
        }
        for machine in self.machines:
            common = machine.common
            changes = [] if common is None else answers.pop(str(common.series.id), [])
            facts = machine.as_dict(changes, self.explained)
            would_fail = False
            for name in facts["explained"]:
                would_fail |= any(map(counted.fails, answers[name]))
                answers[name] = [_explained(answer, changes[-1:]) for answer in answers[name]]
            named = [replace(change, series=machine.name) for change in changes]
            if facts["answer"] == "quiet" and common is not None:
                moved, able = facts["moved"], facts["able"]
                if common.newest in machine.departures or would_fail:
                    facts["answer"] = MACHINE
                    named = [machine.line(common, facts)]
                elif able >= NOTED and 2 * moved >= able and any(map(job.fails, job.answers)):
                    text = f"{moved:,} of {able:,} series moved together: a rerun tells a machine"
                    notes.append(f"{text} from a change")
            answers[machine.name] = named
            plain.append(facts)
        plain.sort(key=lambda facts: RANKS.index(facts["answer"]))
        every = [answer for known in answers.values() for answer in known]
        return replace(job, answers=every, notes=notes, machine=plain[0] if plain else None)


def _by_series(job: JobAnswer) -> dict[str, list[SeriesAnswer]]:
    by_series: dict[str, list[SeriesAnswer]] = {}
    for answer in job.answers:
        by_series.setdefault(answer.series, []).append(answer)
    return by_series


def _explained(answer: SeriesAnswer, changes: Sequence[SeriesAnswer]) -> SeriesAnswer:
    """Return an answer that is set aside; it belongs to a change of the common part, if any."""
    answer = replace(answer, explained=answer.answer in (Answer.CHANGE, Answer.SUSPECT))
    for change in changes:
        begins, commit = change.begins, change.begins_commit
        answer = replace(answer, known=True, begins=begins, begins_commit=commit)
    return answer


def _raised(steps: Sequence[AlarmStep]) -> list[AlarmStep]:
    """Return the steps that raise an alarm, or make one more certain."""
    return [step for step in steps if step.kind is not StepKind.WITHDRAWN]


def _machines(judge: OnlineJudge, series: Sequence[JudgedSeries], least: int) -> list[Machine]:
    """Return the machines of a job with the common parts that have enough earlier results."""
    grouped: dict[tuple[str, str], dict[int, JudgedSeries]] = {}
    for number, member in enumerate(series):
        members = grouped.setdefault((member.series.id.project, member.series.id.variant), {})
        if takes_part(member.series):
            members[number] = member
    machines = []
    for labels, members in grouped.items():
        name = "/".join(filter(None, (*labels, COMMON))) if len(grouped) > 1 else COMMON
        machine = _measured(name, members if len(members) >= FEWEST else {})
        if machine.part.is_known[-1]:
            _judge_common(judge, machine, SeriesId(*labels, "", COMMON, ""), least)
        machines.append(machine)
    return machines


def _measured(name: str, members: Mapping[int, JudgedSeries]) -> Machine:
    """Return a machine with the common part of its runs."""
    every = [member.series.orders[-ROWS:] for member in members.values()]
    orders = np.unique(np.concatenate([np.empty(0, np.int64), *every]))[-ROWS:]
    logs = np.full((max(orders.size, 1), len(members)), np.nan)
    for column, member in enumerate(members.values()):
        is_kept = member.series.orders >= orders[0]
        runs = np.searchsorted(orders, member.series.orders[is_kept])
        logs[runs, column] = logarithms(member.decision.values[is_kept], member.series.direction)
    return Machine(name, members, orders, common_part(logs))


def _judge_common(judge: OnlineJudge, machine: Machine, name: SeriesId, least: int) -> None:
    """Judge the common part of a machine at the newest run."""
    members, is_known = machine.members.values(), machine.part.is_known
    orders, commits = machine.orders[is_known], dict[int, str]()
    for member in members:
        commits |= zip(member.series.orders.tolist(), member.series.commits, strict=True)
    values = 100.0 * np.exp(machine.part.level[is_known])
    names = [commits[order] for order in orders.tolist()]
    series = Series(name, orders, values, names, direction=Direction.LOWER_IS_BETTER)
    selected = [member.series.orders[-member.selected] for member in members]
    branch = [member.series.orders[-member.branch] for member in members if member.branch]
    counts = [int((orders >= min(first)).sum()) if first else 0 for first in (selected, branch)]
    [common] = judge_series(judge, [(series, {}, counts[0], counts[1])])
    if common.decision.baseline_size >= least:
        steps = _raised(common.decision.steps)
        begun = {step.newest for step in steps if step.index == step.newest}
        answers = common.decision.columns[ANSWER]
        suspects = np.flatnonzero(answers == SUSPECTED) + values.size - answers.size
        machine.common, machine.departures = common, frozenset(begun.union(suspects.tolist()))
