"""How often a jump at the newest commit is a change or a suspect, and how often a quiet one is.

Each real series is cut after several of its quiet commits, and the newest value is multiplied and
divided by 1.1, 2 and 10. A commit is quiet if the median of the next eight results lies within the
range of the 40 results before it, and EDivisive, which sees all results, finds no change point
within five points. The shipped pair decides as `OnlineDetector` does.

The SAP HANA series are split by group, the other histories by repository: whatever is chosen is
chosen on the choice half, and figures are reported on the other and on the whole. "All, by data
set" is the mean over data sets, "all, by commit" the mean over commits.

`false` counts the quiet commits whose answer is not quiet, in 1,000, of all quiet commits in a
replay of each series (Hunter: of the cuts); `at newest` leaves out alarms about earlier commits.
Reruns are drawn from later quiet results, multiplied if the jump is a step.
`--rates` prints the shares of quiet points that `detection.online.newest` keeps as a table, and how
often quiet points reach a score, in 1,000, beside what the score says.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from histories import MARKED, SHARED, TABLES, is_reported, table_series
from side_by_side import arguments, is_missing, show

from barograph.detection import EDivisive, Hunter
from barograph.detection.online import ANSWERS, AlarmLog, Answer, PendingSeries, make_judge
from barograph.detection.online.newest import BEYOND, COMPARED, departures
from barograph.detection.online.views import HISTORY, compared_from, kept_from
from barograph.models import OnlineModels
from barograph.results.series import Flags, Floats, Ints

FACTORS = (1.1, 2.0, 10.0)
BOTH_WAYS = [factor for up in FACTORS for factor in (up, 1.0 / up)]
FOLLOWING, BEFORE, NEAR = 8, 40, 5  # what makes a commit quiet
LEAD = 16  # points that are judged first, so that standing changes are known
PVALUES = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10)
HUNTER_HISTORY = 100
SIZES, GAUSSIAN = (8.0, 12.0, 20.0), 80
SCORES = (4.0, 4.5, 5.0, 5.6, 6.0, 6.5, 7.0, 7.5, 8.0)
QUIET, SUSPECT, CHANGE = (ANSWERS.index(a) for a in (Answer.QUIET, Answer.SUSPECT, Answer.CHANGE))


@dataclass(frozen=True)
class History:
    """One series: its data set, whether its group is reported on, and its quiet commits."""

    name: str
    reported: bool
    results: Floats
    quiet: Ints


def histories(most: int | None = None) -> Iterator[History]:
    """Yield the series of every data set that have quiet commits, the first `most` of each."""
    meta = pd.read_csv(MARKED / "series_meta.csv")
    groups: dict[Any, Any] = meta.set_index("series_id")["group"].to_dict()
    for path, keys, column in TABLES:
        name = path.removeprefix("histories/").split("_")[0]
        for key, results in islice(table_series(path, keys, column), most):
            group = groups[key[0]] if path.startswith("sap_hana") else path
            values = results[np.isfinite(results)]
            quiet = quiet_commits(values)
            if quiet.size:
                reported = bool(is_reported(np.array([group]))[0])
                yield History(name, reported, values, quiet)


def quiet_commits(values: Floats) -> Ints:
    """Return the commits after which nothing changed."""
    if values.size < BEFORE + FOLLOWING + 2:
        return np.empty(0, dtype=np.int64)
    windows = np.lib.stride_tricks.sliding_window_view
    commits = np.arange(BEFORE, values.size - FOLLOWING)
    later = np.median(windows(values, FOLLOWING), axis=1)[commits + 1]
    before = windows(values, BEFORE)[commits - BEFORE]
    stays = (before.min(axis=1) <= later) & (later <= before.max(axis=1))
    changes = np.array([change.index for change in EDivisive().detect(values)], dtype=np.int64)
    is_far = np.abs(commits[:, None] - changes).min(axis=1, initial=values.size) > NEAR
    quiet: Ints = commits[stays & is_far]
    return quiet


@dataclass
class Cuts:
    """Series, each cut after one of its quiet commits.

    Attributes:
        histories: The series of each cut.
        commits: The newest commit of each.
        states: What stood before it.
    """

    histories: list[History]
    commits: list[int]
    states: list[Any] = field(default_factory=list)

    @classmethod
    def draw(cls, all_series: Sequence[History], count: int, seed: int = 1) -> "Cuts":
        """Draw quiet commits of each series, and find the change that stands before each."""
        rng = np.random.default_rng(seed)
        drawn = [
            (series, commit)
            for series in all_series
            for commit in rng.choice(series.quiet, min(count, series.quiet.size), False).tolist()
        ]
        cuts = cls([series for series, _ in drawn], [commit for _, commit in drawn])
        before = [cuts.pending(k, None, LEAD) for k in range(len(drawn))]
        cuts.states = [log.state for log in decide(before).logs]
        return cuts

    def pending(
        self, k: int, newest: float | None, count: int = 1, runs: Floats | None = None
    ) -> PendingSeries:
        """Return one cut with its last values as new; without a newest value, up to before it."""
        values, commit = self.histories[k].results, self.commits[k]
        base = int(kept_from(max(commit - LEAD, 0), HISTORY))
        before = values[base:commit]
        known = before if newest is None else np.append(before, newest)
        first = max(known.size - count, 0)
        state = self.states[k] if self.states else None
        return PendingSeries(
            known, first, base=base, state=state, runs={} if runs is None else {first: runs}
        )

    def newest(self, factor: float) -> list[float]:
        """Return the newest values, multiplied."""
        pairs = zip(self.histories, self.commits, strict=True)
        return [float(series.results[commit]) * factor for series, commit in pairs]


def decide(pending: Sequence[PendingSeries]) -> Any:
    """Decide with the shipped pair."""
    return make_judge(OnlineModels.default()).judge(pending)


@dataclass(frozen=True)
class Answers:
    """The answers on commits of series, and whether each is about that commit itself."""

    histories: list[History]
    answer: npt.NDArray[np.int8]
    is_newest: Flags

    @classmethod
    def on_jumps(cls, cuts: Cuts, factor: float) -> "Answers":
        """Multiply the newest values and decide on them."""
        newest = cuts.newest(factor)
        done = decide([cuts.pending(k, value) for k, value in enumerate(newest)])
        called = [bool(_called_at_once(log)) for log in done.logs]
        is_newest = (done.answer == SUSPECT) | np.array(called, dtype=np.bool_)
        return cls(cuts.histories, done.answer, is_newest)

    @classmethod
    def on_quiet(cls, all_series: Sequence[History]) -> "Answers":
        """Decide on every quiet commit, in a replay of all commits."""
        done = decide([PendingSeries(series.results, 0, 0) for series in all_series])
        answers, is_newest, end = [], [], 0
        for series, log in zip(all_series, done.logs, strict=True):
            answer = done.answer[end : end + series.results.size]
            end += series.results.size
            about_newest = answer == SUSPECT
            about_newest[_called_at_once(log)] = True
            answers.append(answer[series.quiet])
            is_newest.append(about_newest[series.quiet])
        labels = [series for series in all_series for _ in range(series.quiet.size)]
        return cls(labels, np.concatenate(answers), np.concatenate(is_newest))

    @property
    def is_found(self) -> Flags:
        """Whether the answer is not quiet."""
        not_quiet: Flags = self.answer != QUIET
        return not_quiet

    @property
    def counted(self) -> dict[str, Flags]:
        """The answers on quiet commits that are counted, by the name of the column."""
        suspects = self.answer == SUSPECT
        return {"false": self.is_found, "at newest": self.is_newest, "suspects": suspects}


def _called_at_once(log: AlarmLog) -> list[int]:
    return [
        step.newest for step in log.steps if step.kind == "called" and step.index == step.newest
    ]


def hunter(cuts: Cuts, factor: float, pvalue: float) -> Flags:
    """Return the cuts at whose newest commit Hunter reports a change."""
    pieces = [
        np.append(series.results[max(commit + 1 - HUNTER_HISTORY, 0) : commit], value)
        for series, commit, value in zip(
            cuts.histories, cuts.commits, cuts.newest(factor), strict=True
        )
    ]
    offsets = np.cumsum([0, *(piece.size for piece in pieces)])
    by_piece = Hunter(parity=True, pvalue=pvalue).find_many(np.concatenate(pieces), offsets)
    return np.array(
        [
            any(point.index == piece.size - 1 for point in points)
            for points, piece in zip(by_piece, pieces, strict=True)
        ]
    )


def table(
    method: str,
    cuts: Cuts,
    is_found: Mapping[float, Flags],
    quiet: Sequence[History],
    false: Mapping[str, Flags],
) -> list[dict[str, Any]]:
    """Return a row for each data set in each half, and for all of them.

    Args:
        method: What the rows are about.
        cuts: The cuts whose newest values were multiplied.
        is_found: Whether the answer is not quiet, by factor.
        quiet: The series of each quiet commit.
        false: What is counted of the quiet commits, by the name of the column.
    """

    def row(half: str, data: str, jumps: Flags, commits: Flags) -> dict[str, Any]:
        result: dict[str, Any] = {"method": method, "half": half, "data": data}
        result |= {"cuts": int(jumps.sum()), "quiet": int(commits.sum())}
        for factor in FACTORS:
            both = is_found[factor][jumps].mean() + is_found[1.0 / factor][jumps].mean()
            result[f"x{factor:g}"] = round(50.0 * float(both), 1)
        for name, flags in false.items():
            result[name] = round(1000.0 * float(flags[commits].mean()), 1)
        return result

    names, reported = _labels(cuts.histories)
    quiet_names, quiet_reported = _labels(quiet)
    rows: list[dict[str, Any]] = []
    for half, which in (("choice", [False]), ("reporting", [True]), ("whole", [False, True])):
        jumps, commits = np.isin(reported, which), np.isin(quiet_reported, which)
        sets = [
            row(half, name, jumps & (names == name), commits & (quiet_names == name))
            for name in dict.fromkeys(names[jumps].tolist())
        ]
        pooled = row(half, "all, by commit", jumps, commits)
        measured = [f"x{factor:g}" for factor in FACTORS] + list(false)
        mean = {key: round(float(np.mean([cells[key] for cells in sets])), 1) for key in measured}
        rows += [*sets, pooled, pooled | {"data": "all, by data set"} | mean]
    return rows


def _labels(histories: Sequence[History]) -> tuple[npt.NDArray[np.str_], Flags]:
    names = np.array([series.name for series in histories])
    return names, np.array([series.reported for series in histories], dtype=np.bool_)


def of_hunter(cuts: Cuts, false: float) -> list[dict[str, Any]]:
    """Return the rows of Hunter with the p-value that is as quiet on the choice half."""
    chosen = ~np.array([series.reported for series in cuts.histories])
    for pvalue in PVALUES:
        quiet = hunter(cuts, 1.0, pvalue)
        if 1000.0 * quiet[chosen].mean() <= false:
            break
    is_found = {f: hunter(cuts, f, pvalue) for f in BOTH_WAYS}
    counted = {"false": quiet, "at newest": quiet, "suspects": np.zeros_like(quiet)}
    return table(f"Hunter, p < {pvalue:g}", cuts, is_found, cuts.histories, counted)


def of_reruns(cuts: Cuts, most: int = 3, seed: int = 2) -> list[dict[str, Any]]:
    """Return how often reruns of a suspect make it a change, if it is a step and if a spike."""
    rng = np.random.default_rng(seed)
    rows = []
    for factor in FACTORS:
        for kind, scale in (("step", factor), ("spike", 1.0)):
            newest = cuts.newest(factor)
            first = decide([cuts.pending(k, value) for k, value in enumerate(newest)])
            row: dict[str, Any] = {"jump": f"x{factor:g}", "is": kind}
            suspects = np.flatnonzero(first.answer == SUSPECT).tolist()
            for count in range(1, most + 1):
                pending = []
                for k in suspects:
                    series, commit = cuts.histories[k], cuts.commits[k]
                    later = series.results[series.quiet[series.quiet > commit][:40]]
                    if later.size:
                        runs = np.append(newest[k], rng.choice(later, count) * scale)
                        pending.append(cuts.pending(k, newest[k], 1, runs))
                answer = decide(pending).answer
                row[f"change after {count}"] = round(100.0 * float((answer == CHANGE).mean()), 1)
            rows.append(row | {"suspects": len(suspects)})
    return rows


def of_gaussian(count: int = 500, seed: int = 3) -> list[dict[str, Any]]:
    """Return how often a jump after Gaussian points is a change or a suspect."""
    rng = np.random.default_rng(seed)
    rows = []
    for size in SIZES:
        histories = rng.normal(100.0, 1.0, (count, GAUSSIAN + 1))
        histories[:, -1] = 100.0 + size * rng.choice([-1.0, 1.0], count)
        answer = decide([PendingSeries(values, GAUSSIAN) for values in histories]).answer
        shares = {"found": answer != QUIET, "change": answer == CHANGE}
        rows.append({"sd": size} | {k: 100.0 * float(v.mean()) for k, v in shares.items()})
    return rows


class Departures(NamedTuple):
    """How far many results lie beyond those before them, as in `newest.Departure`."""

    beyond: Floats
    surprise: Floats


def of_quiet(all_series: Sequence[History]) -> dict[str, Departures]:
    """Return how far quiet points depart, by the kind of history, on the choice half."""
    kinds: dict[str, list[Departures]] = {"sap": [], "others": []}
    for series in all_series:
        commits = series.quiet[series.quiet >= COMPARED]
        if not series.reported and commits.size:
            kept = kept_from(commits, HISTORY)
            first = compared_from(series.results, kept, commits)
            departed = Departures(*departures(series.results, first, commits))
            kinds["sap" if series.name == "sap" else "others"].append(departed)
    return {
        kind: Departures(*map(np.concatenate, zip(*parts, strict=True)))
        for kind, parts in kinds.items()
    }


def rates(kinds: Mapping[str, Departures]) -> list[dict[str, Any]]:
    """Return the share of quiet points that lie as far beyond."""
    rows = []
    for least in BEYOND:
        both = {kind: float((far.beyond > least).mean()) for kind, far in kinds.items()}
        rows.append({"beyond": least} | both | {"mean": float(np.mean(list(both.values())))})
    return rows


def scores(kinds: Mapping[str, Departures]) -> list[dict[str, Any]]:
    """Return how many of 1,000 quiet points reach a score, and how many the score says."""
    rows = []
    for score in SCORES:
        both = {k: 1000.0 * float((far.surprise >= score).mean()) for k, far in kinds.items()}
        row = {"score": score, "says": 1000.0 * math.exp(-score)}
        rows.append(row | both | {"mean": float(np.mean(list(both.values())))})
    return rows


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--cuts", type=int, default=10, help="Cuts of each series.")
    parser.add_argument("--series", type=int, help="Most series of each data set.")
    parser.add_argument("--rates", action="store_true", help="Only print the table of shares.")
    options = parser.parse_args()
    title = "Jumps at the newest commit, change or suspect"
    if is_missing(SHARED, title, options.output):
        return
    all_series = list(histories(options.series))
    if options.rates:
        kinds = of_quiet(all_series)
        title = "Share of quiet points beyond the last results"
        show(title, rates(kinds), options.output, scores=scores(kinds))
        return
    cuts = Cuts.draw(all_series, options.cuts)
    quiet = Answers.on_quiet(all_series)
    is_found = {f: Answers.on_jumps(cuts, f).is_found for f in BOTH_WAYS}
    rows = table("shipped pair", cuts, is_found, quiet.histories, quiet.counted)
    chosen = ~_labels(quiet.histories)[1]
    rows += of_hunter(cuts, 1000.0 * float(quiet.is_found[chosen].mean()))
    show(title, rows, options.output, reruns=of_reruns(cuts), gaussian=of_gaussian())


if __name__ == "__main__":
    main()
