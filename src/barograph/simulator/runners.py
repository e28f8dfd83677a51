"""What shared CI runners add to a series: machines, slow spans, outliers, jumps, exact counts.

A runner is one of a few machines that differ in speed, and all machines of a platform are slow for
a while. Levels are logarithms. Nothing here is in units of the noise: a pulse of x10 is a pulse of
x10 on a quiet and on a noisy series.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from barograph.results.series import Floats, Ints
from barograph.simulator.noise import log_uniform
from barograph.simulator.profiles import Runners
from barograph.simulator.projects import Event

MACHINES = 3  # of a platform, at most
UNEVEN = 0.4  # the standard deviation of the logarithm of a slow span's factor among series
WORSE = 0.8  # the share of pulses and outliers to the worse side


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines of a platform: which of them ran each commit, and when all were slow.

    Attributes:
        machine: The number of the machine, by order - 1.
        spans: The first order, the order after the last, and the logarithm of the factor of each
            slow span.
    """

    machine: Ints
    spans: tuple[tuple[int, int, float], ...]

    @classmethod
    def draw(cls, runners: Runners, commits: int, rng: np.random.Generator) -> "Fleet":
        """Draw the machines of all commits, and the slow spans."""
        machines = int(rng.integers(2, MACHINES + 1))
        shares = rng.dirichlet(np.full(machines, 2.0))
        machine = rng.choice(machines, commits, p=shares)
        rate = log_uniform(rng, runners.slow_spans_per_100) / 100
        spans = []
        for start in np.sort(rng.integers(1, commits + 1, rng.poisson(rate * commits))):
            length = round(log_uniform(rng, runners.slow_length))
            spans.append((int(start), int(start) + length, log_factor(rng, runners.slow_size)))
        return cls(machine.astype(np.int64), tuple(spans))


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What happened to one series on its runners.

    Attributes:
        events: Shifts of the level, in order.
        offsets: What each value has besides them, as a logarithm.
        exact_cv: The noise over the level of counts (nearly) without noise; 0 for other series.
        spread: The factor on the noise of each value.
    """

    events: tuple[Event, ...]
    offsets: Floats
    exact_cv: float
    spread: Floats

    @classmethod
    def none(cls, length: int) -> "Disturbance":
        """Return the disturbance of a series on a machine of its own."""
        return cls((), np.zeros(length), 0.0, np.ones(length))


def disturb(
    runners: Runners,
    fleet: Fleet,
    orders: Ints,
    worse: int,
    rng: np.random.Generator,
    *,
    canary: bool = False,
) -> Disturbance:
    """Draw what happens to one series.

    Args:
        runners: The rates.
        fleet: The machines of the series' platform.
        orders: The commits that the series ran on.
        worse: 1 if higher values are worse, else -1.
        rng: The series' own generator.
        canary: Whether no commit changes the series, only its machines do.
    """
    n = orders.size
    exact = bool(rng.random() < runners.exact) and not canary
    events = [*_pulses(runners, n, worse, rng)]
    if not canary:
        events += _jumps(runners, n, rng)
    offsets = np.zeros(n)
    if exact:
        # Counts do not depend on the machine.
        events += _tiny_steps(runners, n, rng)
    else:
        events += _slow_spans(fleet, orders, worse, rng)
        modes, shifts = _modes(runners, fleet, orders, rng)
        offsets += modes
        events += shifts
    if rng.random() < runners.first_outliers:  # the benchmark was still being set up
        count, first = int(rng.integers(1, 4)), int(rng.integers(0, 2))
        side = worse if rng.random() < WORSE else -worse
        for place in range(first, min(n, first + count)):
            offsets[place] += side * log_factor(rng, runners.first_size)
    exact_cv, spread = log_uniform(rng, runners.exact_cv) if exact else 0.0, np.ones(n)
    if rng.random() < runners.repeated:  # each value is the mean of several runs
        low, high = (int(bound) for bound in runners.repeats)
        spread = 1.0 / np.sqrt(rng.integers(low, high + 1, n).astype(np.float64))
    ordered = sorted(events, key=lambda event: event.index)
    return Disturbance(tuple(ordered), offsets, exact_cv, spread)


def log_factor(rng: np.random.Generator, span: tuple[float, float]) -> float:
    """Draw the logarithm of a factor above 1, log-uniform in that logarithm."""
    return log_uniform(rng, (float(np.log(span[0])), float(np.log(span[1]))))


def _jumps(runners: Runners, n: int, rng: np.random.Generator) -> Iterator[Event]:
    """Draw jumps of the level by factors; most stay, the larger ones more often."""
    low, high = np.log(runners.jump_size)
    for _ in range(rng.poisson(runners.jumps_per_100 * n / 100)):
        start = int(rng.integers(1, n))
        size = float(rng.uniform(low, high))
        stays = runners.stays_above_10 if size >= np.log(10.0) else runners.stays_above_2
        shift = size * float(rng.choice((-1, 1)))
        lasting = rng.random() < stays
        stop = n if lasting else start + round(log_uniform(rng, runners.jump_length))
        yield from _plateau(start, stop, n, shift)


def _pulses(runners: Runners, n: int, worse: int, rng: np.random.Generator) -> Iterator[Event]:
    """Draw short excursions by a factor, most of a single point."""
    rate = log_uniform(rng, runners.pulses_per_100) / 100
    low, high = (int(bound) for bound in runners.pulse_length)
    for _ in range(rng.poisson(rate * n)):
        start = int(rng.integers(1, n))
        single = rng.random() < runners.pulse_single
        length = 1 if single else int(rng.integers(low, high + 1))
        side = worse if rng.random() < WORSE else -worse
        yield from _plateau(start, start + length, n, side * log_factor(rng, runners.pulse_size))


def _tiny_steps(runners: Runners, n: int, rng: np.random.Generator) -> Iterator[Event]:
    """Draw lasting steps of at most half a percent, which only series without noise show."""
    rate = log_uniform(rng, runners.tiny_per_100) / 100
    for _ in range(rng.poisson(rate * n)):
        shift = log_uniform(rng, runners.tiny_percent) / 100 * float(rng.choice((-1, 1)))
        yield Event(int(rng.integers(1, n)), shift, "step")


def _slow_spans(
    fleet: Fleet, orders: Ints, worse: int, rng: np.random.Generator
) -> Iterator[Event]:
    """Return the slow spans of the platform, each felt by the series in its own measure."""
    for first, after, size in fleet.spans:
        felt = size * float(np.exp(rng.normal(0.0, UNEVEN)))
        start, stop = np.searchsorted(orders, (first, after))
        if 0 < start < stop:
            yield from _plateau(int(start), int(stop), orders.size, worse * felt)


def _plateau(start: int, stop: int, n: int, shift: float) -> Iterator[Event]:
    """Return a shift and its end, if that is inside the series."""
    lasting = stop >= n
    yield Event(start, shift, "step" if lasting else "regressed")
    if not lasting:
        yield Event(stop, -shift, "reverted")


def _modes(
    runners: Runners, fleet: Fleet, orders: Ints, rng: np.random.Generator
) -> tuple[Floats, list[Event]]:
    """Return the offset of each value by its machine, from the start or from a commit on."""
    n = orders.size
    offsets = np.zeros(n)
    if rng.random() >= runners.modes:
        return offsets, []
    machine = fleet.machine[orders - 1]
    for number in range(1, MACHINES):
        offsets[machine == number] = log_factor(rng, runners.mode_size) * rng.choice((-1, 1))
    if rng.random() >= runners.modality_changes / runners.modes:
        return offsets, []
    start = int(rng.integers(1, n))
    gone = slice(0, start) if rng.random() < 0.5 else slice(start, n)
    mean = float(np.median(offsets))
    offsets[gone] = mean
    shift = float(offsets[start:].mean() - offsets[:start].mean())
    return offsets, [Event(start, shift, "slow")]
