"""What `barograph gate` says when all series of a job, or some of them, get slower at one commit.

A job is gated at the commit of an event and at the 5 commits after it, with `[gate] machine` off
and with its default. The events put into the history are: none, 8 % and 15 % in all series for one
run, and 8 % that stays in 25, 60 and 100 % of the series. `red` is the share of draws in which the
job fails at the run, within 2 and within 5 commits, `lines` the mean number of series that fail it
within 5 commits, `machine` the share in which the answer at the run is `machine`, and `(common)`
the share in which a change of the common part is found within 2 commits.

Simulated jobs have 40 series with 1 % of noise; those of a lottery get another machine at every
run. Real jobs have at most 100 series of one project, drawn at random, and its last 900 runs; a
draw is a run with results of at least 8 of them that has 60 runs before it, or half of all. Series
of sizes and counts are left out: no machine moves them, so the events would be real changes there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from histories import SHARED
from side_by_side import arguments, is_missing, shares, show

from barograph.cli.answers import JobAnswer, Judging
from barograph.cli.gate import judged_job
from barograph.cli.judged import JobRow, counts_of
from barograph.detection.online import make_judge
from barograph.detection.online.machine import FEWEST
from barograph.models import OnlineModels
from barograph.results.series import Direction, Flags, Floats, Series, SeriesId

JUDGE = make_judge(OnlineModels.default())
BEFORE, AFTER, DELAYS = 60, 5, (0, 2, 5)
MOST, LAST, LEAST = 100, 900, 0.3  # series and runs of a real job, and the share that it has
EVENTS = {  # the size, the share of the series, whether it stays
    "none": (0.0, 0.0, False),
    "+8 % one run": (0.08, 1.0, False),
    "+15 % one run": (0.15, 1.0, False),
    "25 % +8 % stays": (0.08, 0.25, True),
    "60 % +8 % stays": (0.08, 0.6, True),
    "all +8 % stays": (0.08, 1.0, True),
}
# file, columns of series, order of the run, value
REAL = {
    "kokkos": ("histories/kokkos_gxx_openmp_150.parquet", "benchmark", "date", "real_time_ns"),
    "scipy": ("histories/scipy_asv_i7_400.parquet", "benchmark", "date_ms", "value"),
    "avalanchego": ("pool/pool.parquet", "series", "order", "value"),
    "spicedb": ("pool/pool.parquet", "series", "order", "value"),
}


class Job(NamedTuple):
    """The results of a job: a row for each run, a column for each series, and their directions."""

    results: Floats
    directions: list[int]


def simulated(rng: np.random.Generator, lottery: float, runs: int = 150) -> Job:
    """Return a job of 40 series on one host, or on one of many at each run."""
    logs = rng.normal(0.0, 0.01, (runs, 40)) + rng.normal(0.0, lottery, (runs, 1))
    return Job(100.0 * np.exp(logs), [-1] * 40)


def real(name: str) -> Job:
    """Return the job of a project: the last runs, and the series with enough of them."""
    file, key, order, value = REAL[name]
    table = pd.read_parquet(SHARED / file)
    if "project" in table:
        table = table[table["project"].astype(str).str.endswith(f"/{name}")]
        table = table[~table["unit"].isin(["B/op", "allocs/op"])]
    if name == "scipy":
        table = table[~table[key].astype(str).str.contains(r"^[^(]*\.(?:track|peakmem)_")]
    if name == "kokkos":  # has the times of single results: a run ends where a series comes again
        table = table.sort_values(order, kind="stable")
        number, seen, runs = 0, set[str](), []
        for series in table[key]:
            if series in seen:
                number, seen = number + 1, set()
            seen.add(series)
            runs.append(number)
        table[order] = runs
    wide = table.pivot_table(index=order, columns=key, values=value, observed=True)[-LAST:]
    wide = wide.where(wide > 0)
    wide = wide[wide.columns[wide.notna().mean() >= LEAST]]
    if "direction" not in table:
        return Job(wide.to_numpy(np.float64), [-1] * wide.shape[1])
    directions = table.groupby(key, observed=True)["direction"].first()
    return Job(wide.to_numpy(np.float64), [int(directions[column]) for column in wide.columns])


def gated(job: Job, end: int, machine: str) -> JobAnswer:
    """Return the answer of `gate` after the first runs of a job."""
    rows = []
    for column, direction in enumerate(job.directions):
        orders = np.flatnonzero(np.isfinite(job.results[:end, column]))
        if orders.size:
            name, values = SeriesId("", "", "", f"s{column}", ""), job.results[orders, column]
            known = [f"c{order}" for order in orders]
            rows.append(Series(name, orders, values, known, direction=Direction(direction)))
    counts = counts_of(rows)
    found: list[JobRow] = [
        (series, {}, count, 0) for series, count in zip(rows, counts, strict=True)
    ]
    judging = Judging(machine_answer="off" if machine == "off" else "auto")
    return judged_job(judging, found, JUDGE)


def after_event(job: Job, place: int, event: str, machine: str, is_hit: Flags) -> list[float]:
    """Return what the gates of the commits from an event on say."""
    size, _, stays = EVENTS[event]
    values = job.results.copy()
    rows = slice(place, None if stays else place + 1)
    values[rows, is_hit] *= np.exp(-size * np.array(job.directions)[is_hit])
    changed = job._replace(results=values)
    answers = [gated(changed, end, machine) for end in range(place + 1, place + AFTER + 2)]
    red = [answer.exit_code in (2, 4) for answer in answers]
    lines = sum(sum(map(answer.fails, answer.answers)) for answer in answers)
    kinds = ["" if answer.machine is None else answer.machine["answer"] for answer in answers]
    found = [any(red[: delay + 1]) for delay in DELAYS]
    return [*found, lines, kinds[0] == "machine", "change" in kinds[:3]]


def draws_of(name: str, count: int) -> Iterator[tuple[Job, int, Floats]]:
    """Yield jobs, the place of an event, and a number for each series."""
    rng = np.random.default_rng(1)
    whole = real(name) if name in REAL else None
    for _ in range(count):
        job = whole or simulated(rng, float(name.removeprefix("lottery sd ") or 0) / 100)
        chosen = np.sort(rng.permutation(len(job.directions))[:MOST])
        part = Job(job.results[:, chosen], [job.directions[k] for k in chosen])
        voting = np.isfinite(part.results).sum(axis=1) >= FEWEST
        first = min(BEFORE, len(voting) // 2)
        place = int(rng.choice(np.flatnonzero(voting[first:-AFTER]) + first))
        yield part, place, rng.random(chosen.size)


def main() -> None:
    """Run the benchmark."""
    parser = arguments(str(__doc__))
    parser.add_argument("--draws", type=int, default=12, help="Draws of each event.")
    parser.add_argument("names", nargs="*", help="Simulated: '', 'lottery sd 2'; or projects.")
    options = parser.parse_args()
    rows = []
    for name in options.names or ["", "lottery sd 2", *REAL]:
        if name in REAL and is_missing(SHARED / REAL[name][0], name, options.output):
            continue
        draws = [*draws_of(name, options.draws)]
        for event, (_, share, _) in EVENTS.items():
            for machine in ("off", "auto"):
                found = [after_event(*draw[:2], event, machine, draw[2] < share) for draw in draws]
                means = np.mean(found, axis=0)
                row = {"job": name or "steady", "event": event, "machine": machine}
                row |= {"red at 0/2/5, %": shares(means[:3]), "lines": float(means[3])}
                rows.append(row | {"machine, %": 100 * means[4], "(common), %": 100 * means[5]})
    show("everything gets slower", rows, options.output)


if __name__ == "__main__":
    main()
