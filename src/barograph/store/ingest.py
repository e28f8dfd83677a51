"""Take a group of measurements into the store: placed, written and judged in one transaction."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from barograph.detection.online import BatchDecisions, Judge, PendingSeries
from barograph.series import Direction, SeriesId
from barograph.store.ahead import judged_ahead, parts_of
from barograph.store.blocks import is_due, write_blocks
from barograph.store.landing import Landing
from barograph.store.loading import load_recent, load_whole
from barograph.store.measurement import Limits, Measurement, fault, series_fault
from barograph.store.registry import Known, Registry
from barograph.store.results import PointResult, Status
from barograph.store.rows import Row
from barograph.store.steps import StepRows, keys_behind, standing_before, standing_of
from barograph.store.tail import Key, Memory, Recent
from barograph.store.upsert import OTHER_DECISION, Changes, Entry, Held, Said, existing, settle


@dataclass(frozen=True)
class _Group:
    """What belongs to one transaction; `outcomes` tells of each measurement what became of it."""

    connection: sa.Connection
    measurements: Sequence[Measurement]
    judge: Judge
    changes: Changes
    outcomes: list[PointResult]

    def value(self, entry: Entry) -> float:
        """What was measured."""
        return float(self.measurements[entry.row].value)

    def row(self, series: int, entry: Entry, said: Said) -> Row:
        """A point at the end of its series, with what was decided of it."""
        return self.changes.row(series, entry, self.measurements[entry.row], said)


class Ingest:
    """Takes measurements in, and remembers what the next ones need.

    Nothing it remembers may outlive a transaction that failed: then `forget`.
    """

    def __init__(self, limits: Limits, room: int) -> None:
        self.limits = limits
        self.registry = Registry()
        self.memory = Memory(room)

    def forget(self) -> None:
        """Read everything from the database again."""
        self.registry.clear()
        self.memory.clear()

    def preload(self, connection: sa.Connection, behind: int, count: int, history: int) -> int:
        """Remember the series that follow a number; return the last of them, 0 where none does."""
        numbers = self.registry.preload(connection, behind, count)
        if not numbers or self.memory.is_full:
            return 0
        self._remember(connection, numbers, history)
        return numbers[-1]

    def take(
        self,
        connection: sa.Connection,
        measurements: Sequence[Measurement],
        judge: Judge,
        model: int,
        at: int,
    ) -> tuple[list[PointResult], list[int]]:
        """Write what is new and judge it, and what comes after it once more.

        Returns:
            What became of each measurement, and the series whose history changed.
        """
        changes, outcomes = Changes(at, model), [PointResult(Status.REJECTED) for _ in measurements]
        group = _Group(connection, measurements, judge, changes, outcomes)
        arrived = self._place(group)
        self._remember(connection, list(arrived), judge.history)
        doubtful = self._doubtful(arrived)
        held = existing(
            connection,
            {(series, one.order) for series in doubtful for one in arrived[series]},
        )
        appended: dict[int, list[Entry]] = {}
        redone: dict[int, Key] = {}
        told: dict[tuple[int, Key], list[PointResult]] = defaultdict(list)
        for series, entries in arrived.items():
            if series not in doubtful:
                taken = self._append(group, series, entries)
                if taken:
                    appended[series] = taken
                continue
            since = self._settle(group, series, entries, held)
            if since is not None:
                redone[series] = since
                for entry in entries:
                    if outcomes[entry.row].status is not Status.REJECTED:
                        told[series, entry.key].append(outcomes[entry.row])
        changes.write(connection)
        self._judge_appended(group, appended)
        self._judge_redone(group, redone, told)
        self.memory.trim()
        return outcomes, [*appended, *redone]

    def _place(self, group: _Group) -> dict[int, list[Entry]]:
        """Find the series and the order of each measurement; refuse those that have none."""
        connection, measurements = group.connection, group.measurements
        outcomes = group.outcomes
        sound = []
        for row, one in enumerate(measurements):
            reason = fault(one, self.limits)
            if reason:
                outcomes[row].reason = reason
            else:
                sound.append(row)
        found, refused = self._numbers(connection, [measurements[row] for row in sound])
        arrived: dict[int, list[Entry]] = {}
        places: dict[tuple[str, str], int] = {}
        lone: list[int] = []
        for row, known in zip(sound, found, strict=True):
            one = measurements[row]
            if known is None:
                outcomes[row].reason = refused[one.series]
                continue
            number, direction = known
            if one.direction and one.direction != direction:
                direction = self._directed(connection, one)
            if one.direction and one.direction != direction:
                reason = f"direction: {int(one.direction)}, but the series has {int(direction)}"
                outcomes[row].reason = reason
            elif one.order is None:
                lone.append(row)
            else:
                entry = Entry(one.order, one.run, row)
                arrived.setdefault(number, []).append(entry)
                if one.commit:
                    places.setdefault((one.series.project, one.commit), one.order)
        self.registry.place(connection, places)
        if lone:
            self._place_by_commit(group, lone, arrived)
        return arrived

    def _numbers(
        self, connection: sa.Connection, measurements: list[Measurement]
    ) -> tuple[list[Known | None], dict[SeriesId, str]]:
        """Return the series of each measurement, made where the store lacks it, or why not."""
        self.registry.trim()
        names = [one.series for one in measurements]
        found = self.registry.known(names)
        if None not in found:
            return found, {}
        unknown = {name: None for name, known in zip(names, found, strict=True) if known is None}
        reasons = {name: series_fault(name, self.limits) for name in unknown}
        refused = {name: reason for name, reason in reasons.items() if reason}
        self.registry.look_up(connection, (name for name in unknown if name not in refused))
        new: dict[SeriesId, Direction] = {}
        for one, known in zip(measurements, self.registry.known(names), strict=True):
            if known is None and one.series not in refused:
                new[one.series] = new.get(one.series) or one.direction
        self.registry.add(connection, new)
        return self.registry.known(names), refused

    def _directed(self, connection: sa.Connection, one: Measurement) -> Direction:
        """Take the direction of a series that has none; return the one that it has now."""
        [known] = self.registry.known([one.series])
        assert known is not None  # noqa: S101 - the caller found it
        if known[1] is not Direction.UNKNOWN:
            return known[1]
        self.registry.direct(connection, one.series, one.direction)
        return one.direction

    def _place_by_commit(
        self, group: _Group, rows: list[int], arrived: dict[int, list[Entry]]
    ) -> None:
        """Give points that name a commit alone its place in the project, or the next one."""
        connection = group.connection
        for row in rows:
            one = group.measurements[row]
            project = one.series.project
            [known] = self.registry.known([one.series])
            assert known is not None  # noqa: S101 - the caller found it
            order = self.registry.order_of(connection, project, one.commit)
            if order is None:
                recent = self._recent(connection, known[0], group.judge.history)
                order = max(
                    self.registry.next_order(connection, project),
                    recent.last[0] + 1 if recent.count else 0,
                    *(entry.order + 1 for entry in arrived.get(known[0], ())),
                )
                self.registry.place(connection, {(project, one.commit): order})
            arrived.setdefault(known[0], []).append(Entry(order, one.run, row))

    def _recent(self, connection: sa.Connection, series: int, history: int) -> Recent:
        self._remember(connection, [series], history)
        return self.memory[series]

    def _remember(self, connection: sa.Connection, wanted: list[int], history: int) -> None:
        missing = [series for series in wanted if not self.memory.use(series)]
        standing = standing_of(connection, missing)
        for series, recent in load_recent(connection, missing, history).items():
            recent.standing = standing.get(series)
            self.memory.put(series, recent)

    def _doubtful(self, arrived: dict[int, list[Entry]]) -> set[int]:
        """The series with places that the store may have already, or that are named twice."""
        doubtful: set[int] = set()
        for series, entries in arrived.items():
            if len(entries) > 1:
                entries.sort()
            if not _rises(entries, self.memory[series].last):
                doubtful.add(series)
        return doubtful

    def _append(self, group: _Group, series: int, entries: list[Entry]) -> list[Entry]:
        """Return what may stand behind the last point; refuse what the series has no room for."""
        room = max(0, self.limits.series_length - self.memory[series].count)
        for entry in entries[room:]:
            group.outcomes[entry.row] = self._too_long()
        taken = entries[:room]
        for order, _, row in taken:
            told = group.outcomes[row]
            told.status, told.series, told.order = Status.WRITTEN, series, order
        return taken

    def _too_long(self) -> PointResult:
        reason = f"series: has {self.limits.series_length} points, and no more are allowed"
        return PointResult(Status.REJECTED, reason)

    def _settle(
        self,
        group: _Group,
        series: int,
        entries: list[Entry],
        held: dict[tuple[int, int, str], Held],
    ) -> Key | None:
        """Settle entries that are late, or there already; return where the history changes."""
        count = self.memory[series].count
        since: Key | None = None
        for entry in entries:
            one = group.measurements[entry.row]
            place = (series, entry.order, entry.run)
            there = held.get(place)
            if there is None and count >= self.limits.series_length:
                group.outcomes[entry.row] = self._too_long()
                continue
            outcome, changed = settle(series, entry, one, there, group.changes)
            if there is None:
                count += 1
                held[place] = Held(one.commit, one.time, float(one.value))
            elif there.decision is not None and outcome.status is not Status.REJECTED:
                outcome.probability, outcome.is_change, outcome.baseline_size = there.decision
                outcome.steps = there.steps
            group.outcomes[entry.row] = outcome
            if changed and since is None:
                since = entry.key
        return since

    def _judge_appended(self, group: _Group, appended: dict[int, list[Entry]]) -> None:
        """Judge and write new points at the end of their series: the way that nearly all take."""
        parts = list(parts_of(appended))
        stretches = ([self._stretch(group, *item) for item in part.items()] for part in parts)
        due: list[int] = []
        for part, judged in zip(
            parts, judged_ahead(group.judge, stretches, len(parts)), strict=True
        ):
            self._write_appended(group, part, judged)
            self._note_steps(group, part, judged)
            due += self._accept(group, part, judged)
        self._keep(group, due)

    def _write_appended(
        self,
        group: _Group,
        appended: dict[int, list[Entry]],
        judged: BatchDecisions,
    ) -> None:
        said = judged.rows
        landing = Landing(group.connection)
        for series, entries in appended.items():
            rows = landing.rows_of(series, self.memory[series].count, len(entries))
            for entry, decision in zip(entries, said, strict=False):
                rows.append(group.row(series, entry, decision))
                told = group.outcomes[entry.row]
                told.probability, told.is_change, told.baseline_size = decision
        landing.write()

    def _accept(
        self, group: _Group, appended: dict[int, list[Entry]], judged: BatchDecisions
    ) -> Iterator[int]:
        """Remember what was written; return the series whose block is due."""
        for start, (series, entries) in zip(judged.starts, appended.items(), strict=True):
            recent = self.memory[series]
            before = recent.room
            recent.accept(len(entries), start, entries[-1].key, group.judge.history)
            self.memory.resized(recent.room - before)
            if is_due(series, recent.count - len(entries), recent.count):
                yield series

    def _keep(self, group: _Group, due: Iterable[int]) -> None:
        """Write the newest values of series as blocks, for the next start."""
        write_blocks(group.connection, ((one, self.memory[one]) for one in due))

    def _note_steps(
        self,
        group: _Group,
        appended: dict[int, list[Entry]],
        judged: BatchDecisions,
    ) -> None:
        """Keep what a second look made certain; `recent.accept` has not been called yet."""
        steps = StepRows(group.connection, group.changes.model, group.changes.at)
        for seen, (series, entries) in zip(judged.logs, appended.items(), strict=False):
            recent = self.memory[series]
            recent.standing = seen.state
            if seen.steps:
                count = recent.count + len(entries)
                noted = steps.add(series, seen, keys_behind(group.connection, series, count))
                for entry in entries:
                    if entry.key in noted:
                        group.outcomes[entry.row].steps = (noted[entry.key],)
        steps.write()

    def _stretch(self, group: _Group, series: int, entries: list[Entry]) -> PendingSeries:
        recent = self.memory[series]
        first, before = recent.values.size, recent.room
        values = recent.extended([group.value(entry) for entry in entries])
        self.memory.resized(recent.room - before)
        return PendingSeries(values, first, recent.start, recent.base, recent.standing)

    def _judge_redone(
        self,
        group: _Group,
        redone: dict[int, Key],
        outcomes: dict[tuple[int, Key], list[PointResult]],
    ) -> None:
        """Judge a series again from the place on where its history changed."""
        for series, since in redone.items():
            whole = load_whole(group.connection, series, since)
            standing = standing_before(group.connection, series, since)
            stretch = PendingSeries(whole.values, whole.first, whole.start, state=standing)
            judged = group.judge.judge([stretch])
            steps = StepRows(group.connection, group.changes.model, group.changes.at)
            noted = steps.add(series, judged.logs[0], whole.keys.__getitem__) if judged.logs else {}
            steps.write()
            rows: list[Row] = []
            for key, decision in zip(whole.keys[whole.first :], judged.rows, strict=True):
                rows.append((series, *key, *group.changes.decision(decision)))
                for told in outcomes.get((series, key), ()):
                    told.probability, told.is_change, told.baseline_size = decision
                    told.steps = (noted[key],) if key in noted else ()
            OTHER_DECISION.into(group.connection, rows)
            [start] = judged.starts
            recent = whole.recent(start, group.judge.history)
            recent.standing = judged.logs[0].state if judged.logs else None
            self.memory.put(series, recent)
        # What their blocks say may hold no longer.
        self._keep(group, redone)


def _rises(entries: list[Entry], last: Key) -> bool:
    """Whether all entries stand behind the last point, and each behind the one before."""
    for order, run, _ in entries:
        if (order, run) <= last:
            return False
        last = (order, run)
    return True
