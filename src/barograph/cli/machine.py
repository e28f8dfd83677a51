"""The machine as an answer of a job: a slow run, or a change of everything.

One machine measures the series of a project and variant, run after run. The common part of their
runs is one more series of the job, `(common)`. If it departs at a run, or nearly all series moved
along there, suspects of that run and alarms about changes that begin there are judged again without
it. Those of which nothing remains are set aside. An alarm that was set aside counts two results
later, if its change still stands and does not belong to a change of the common part.
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
        members: The judged series that take part, by their numbers in the job.
        orders: The orders of the runs.
        commits: Their commits.
        part: The common part of each run.
        common: The decision on the common part at the newest run; None without one.
        departures: Positions in the common part at which it is a suspect, or a change begins.
    """

    name: str
    members: Mapping[int, JudgedSeries]
    orders: Ints
    commits: Sequence[str]
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
            if begin < step.newest < end and not self._is_shared(*runs[[begin, step.newest]]):
                later[step.newest] = end
        return later

    def set_aside(self, judge: OnlineJudge) -> dict[str, Later]:
        """Return when alarms count that the common part explains, by the name of the series."""
        later: dict[str, Later] = {}
        cases = [case for number in self.members for case in self._cases(number)]
        decisions = judge_latest(judge, [case[3] for case in cases], [1] * len(cases))
        for (number, place, is_part, _), decision in zip(cases, decisions, strict=True):
            series = self.members[number].series
            is_quiet = decision.at(place).answer is Answer.QUIET
            if is_quiet and all(step.newest != place for step in _raised(decision.steps)):
                changes = (change for change in changes_of(decision.steps) if change.stands)
                stands = any(change.index >= place - LATER for change in changes)
                end = place + LATER if stands and not is_part else len(series)
                later.setdefault(str(series.id), {})[place] = end
        return later

    def _cases(self, number: int) -> Iterator[tuple[int, int, bool, CommitValues]]:
        """Yield alarms of a series to judge again.

        These are the place, whether it belongs to a change of the common part, and the history
        without the excess of what the alarm is about, up to the result at which it may count.
        """
        member, votes = self.members[number], self.part.voters[:, [*self.members].index(number)]
        series, runs = member.series, np.searchsorted(self.orders, member.series.orders)
        departed = np.flatnonzero(self.part.is_known)[[*self.departures]]
        is_slow = self.part.is_shared[runs] | np.isin(runs, departed)
        is_slow[[*member.runs]] = False
        events = ((k, c) for k, _, c in member.events(None) if c is not None and c.stands)
        alarms = {k: k for k in _suspects(member)} | {k: min(k, c.index) for k, c in events}
        for place, index in ((k, alarms[k]) for k in sorted(alarms.keys() - member.runs.keys())):
            begin = self._change_before(int(runs[place]))
            is_part = is_slow & (np.arange(runs.size) >= index)
            is_part |= False if begin is None else runs >= begin
            if votes[runs[place]] and is_part[: place + 1].any():
                first = int(is_part.argmax())
                excess = np.where(is_part, self.part.excess[runs], 0.0)[first : place + 1]
                values, before = series.values[: place + LATER + 1].copy(), member.decision.values
                start = member.level_start(first, place)
                soft = softened(before[: place + 1], series.direction, excess, start)
                values[first : place + 1] = soft
                earlier = {k: results for k, results in member.runs.items() if k < first}
                yield number, place, begin is not None, (values, earlier)

    def _change_before(self, run: int) -> int | None:
        """Return where the common part changed, at a run or shortly before; None if nowhere."""
        changes = () if self.common is None else self.common.changes
        runs = np.flatnonzero(self.part.is_known)
        begins = (int(runs[change.index]) for change in changes if change.stands)
        return next((k for k in begins if k <= run <= k + REACH and self._is_shared(k, run)), None)

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
        cls,
        judge: OnlineJudge,
        series: Sequence[JudgedSeries],
        others: Sequence[Series],
        judging: Judging,
    ) -> Machines:
        """Return the machines of a job, whose earlier runs measured series without a new result."""
        if judging.machine_answer == "off":
            return cls()
        if len(series) > MOST_SERIES:
            return cls(note=f"the machine is not judged in jobs of over {MOST_SERIES:,} series")
        machines = _machines(judge, series, others, judging.min_history)
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
            aside = facts["explained"]
            would_fail = any(counted.fails(answer) for name in aside for answer in answers[name])
            for name in aside:
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
    for c in changes:
        answer = replace(answer, known=True, begins=c.begins, begins_commit=c.begins_commit)
    return answer


def _raised(steps: Sequence[AlarmStep]) -> list[AlarmStep]:
    """Return the steps that raise an alarm, or make one more certain."""
    return [step for step in steps if step.kind is not StepKind.WITHDRAWN]


def _suspects(member: JudgedSeries) -> set[int]:
    """Return the recent positions at which a series is a suspect."""
    answers = member.decision.columns[ANSWER]
    return {*(np.flatnonzero(answers == SUSPECTED) + member.newest + 1 - answers.size).tolist()}


def _machines(
    judge: OnlineJudge, series: Sequence[JudgedSeries], others: Sequence[Series], least: int
) -> list[Machine]:
    """Return the machines of a job with the common parts that have enough earlier results."""
    grouped: dict[tuple[str, str], dict[int, JudgedSeries]] = {}
    for number, member in enumerate(series):
        members = grouped.setdefault((member.series.id.project, member.series.id.variant), {})
        if takes_part(member.series):
            members[number] = member
    machines = []
    for labels, members in grouped.items():
        name = "/".join(filter(None, (*labels, COMMON))) if len(grouped) > 1 else COMMON
        rest = (s for s in others if (s.id.project, s.id.variant) == labels and takes_part(s))
        machine = _measured(name, members, [*rest] if members else [])
        if machine.part.is_known[-1]:
            _judge_common(judge, machine, SeriesId(*labels, "", COMMON, ""), least)
        machines.append(machine)
    return machines


def _measured(name: str, members: Mapping[int, JudgedSeries], others: Sequence[Series]) -> Machine:
    """Return a machine with the common part of its runs."""
    columns = [(member.series, member.decision.values) for member in members.values()]
    columns += [(series, series.values) for series in others]
    commits: dict[int, str] = {}
    for series, _ in columns:
        commits |= zip(series.orders.tolist(), series.commits, strict=True)
    orders = np.array(sorted(commits)[-ROWS:], dtype=np.int64)
    logs = np.full((max(orders.size, 1), len(columns)), np.nan)
    for column, (series, values) in enumerate(columns):
        is_kept = series.orders >= orders[0]
        runs = np.searchsorted(orders, series.orders[is_kept])
        logs[runs, column] = logarithms(values[is_kept], series.direction)
    return Machine(name, members, orders, [commits[k] for k in orders.tolist()], common_part(logs))


def _judge_common(judge: OnlineJudge, machine: Machine, name: SeriesId, least: int) -> None:
    """Judge the common part of a machine at the newest run, without slow runs that are over."""
    members, runs = machine.members.values(), np.flatnonzero(machine.part.is_known)
    orders, commits = machine.orders[runs], [machine.commits[run] for run in runs.tolist()]
    selected = [member.series.orders[-member.selected] for member in members]
    branch = [member.series.orders[-member.branch] for member in members if member.branch]
    counts = [int((orders >= min(first)).sum()) if first else 0 for first in (selected, branch)]
    excess, level = machine.part.excess[runs], machine.part.level[runs]
    usual, over = level - excess, [-1]
    while over:
        values = 100.0 * np.exp(level)
        series = Series(name, orders, values, commits, direction=Direction.LOWER_IS_BETTER)
        [common] = judge_series(judge, [(series, {}, counts[0], counts[1])])
        if common.decision.baseline_size < least:
            return
        steps = _raised(common.decision.steps)
        begun = {step.newest for step in steps if step.index == step.newest}
        machine.common, machine.departures = common, machine.departures | begun | _suspects(common)
        known = [k for k in machine.departures if k < runs.size - LATER and level[k] != usual[k]]
        # Half of the way is as far as a change may come back.
        over = [k for k in known if sum(excess[k + 1 : k + LATER + 1]) / excess[k] <= LATER / 2.0]
        level[over] = usual[over]
