"""Load a service for minutes, and draw its memory, open files and latency.

Clients send single results at a steady rate, one more sends batches, and one reads the queue. What
grows without end shows here: `python benchmarks/soak.py --minutes 10 --plot soak.png`.
"""

from __future__ import annotations

import itertools
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

import numpy as np
import service
import store as stores
from service import Load, ask, post, result
from side_by_side import Row, arguments, show

CLIENTS, RATE = 8, 100  # clients, and their requests a second together
BATCH, PAUSE = 2000, 4.0  # results of a batch, and seconds between two
SERIES, HISTORY, TREES = 3000, 100, 50  # those beyond BATCH get single results


@dataclass
class Samples:
    """What was measured while the load ran.

    Attributes:
        answers: When an answer came, in seconds since the start, and how many seconds it took.
        states: Seconds since the start, MiB of all processes, and open files of the service.
        failures: Requests that were not answered as they should be.
    """

    answers: list[tuple[float, float]] = field(default_factory=list)
    states: list[tuple[float, float, int]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def table(self) -> list[Row]:
        """Return a row for each tenth of the time."""
        answers, states = np.array(self.answers), np.array(self.states)
        edges = np.linspace(0.0, states[-1, 0], 11)
        rows: list[Row] = []
        for first, last in itertools.pairwise(edges.tolist()):
            took = 1e3 * answers[(answers[:, 0] >= first) & (answers[:, 0] < last), 1]
            now = states[(states[:, 0] >= first) & (states[:, 0] <= last)]
            p50, p99 = np.percentile(took, (50, 99)) if took.size else (np.nan, np.nan)
            rows.append(
                {
                    "until, s": last,
                    "requests": took.size,
                    "p50, ms": p50,
                    "p99, ms": p99,
                    "memory, MiB": now[:, 1].max(),
                    "open files": int(now[:, 2].max()),
                }
            )
        return rows

    def draw(self, path: Path) -> None:
        """Draw the three curves."""
        import matplotlib as mpl

        mpl.use("agg")
        from matplotlib import pyplot as plt

        answers, states = np.array(self.answers), np.array(self.states)
        figure, axes = plt.subplots(3, 1, sharex=True, figsize=(9, 7))
        axes[0].plot(answers[:, 0], 1e3 * answers[:, 1], ".", markersize=1, color="0.4")
        axes[0].set(ylabel="latency, ms", yscale="log")
        for panel, column, label in ((axes[1], 1, "memory, MiB"), (axes[2], 2, "open files")):
            panel.plot(states[:, 0], states[:, column], color="0.1")
            panel.set(ylabel=label, ylim=(0, None))
        axes[2].set(xlabel="seconds")
        figure.tight_layout()
        figure.savefig(path)


def loaded(load: Load, process: int, length: float) -> Samples:
    """Send requests for some seconds, and note what happens."""
    samples, begun = Samples(), time.perf_counter()

    def repeat(pause: float, send: Callable[[int], object]) -> None:
        """Send one request after the other, one in `pause` seconds."""
        for count in itertools.count():
            start = time.perf_counter()
            if start > begun + length:
                return
            try:
                send(count)
            except (OSError, HTTPException, RuntimeError) as error:
                samples.failures.append(str(error)[:200])
            else:
                samples.answers.append((start - begun, time.perf_counter() - start))
            time.sleep(max(0.0, start + pause - time.perf_counter()))

    def single(number: int) -> None:
        connection = load.connect()

        def send(count: int) -> None:
            order = 10**9 + count * CLIENTS + number
            post(connection, [result(BATCH + order % (load.count - BATCH), order)])

        repeat(CLIENTS / RATE, send)

    # The service closes connections that are idle for about as long as the pause.
    def batches() -> None:
        repeat(PAUSE, lambda _: post(load.connect(), load.commit()[:BATCH]))

    def reader() -> None:
        repeat(PAUSE, lambda _: ask(load.connect(), "GET", "/api/v1/queue"))

    threads = [threading.Thread(target=single, args=(number,)) for number in range(CLIENTS)]
    threads += [threading.Thread(target=batches), threading.Thread(target=reader)]
    for thread in threads:
        thread.start()
    for memory, files in states_of(process, threads):
        samples.states.append((time.perf_counter() - begun, memory, files))
    return samples


def states_of(process: int, threads: Sequence[threading.Thread]) -> Iterator[tuple[float, int]]:
    """Yield the memory and the open files of a process every second while threads are alive."""
    while any(thread.is_alive() for thread in threads):
        yield service.memory_of(process), len(list(Path(f"/proc/{process}/fd").iterdir()))
        time.sleep(1.0)


def main() -> None:
    """Fill a store, start the service, load it and print."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--plot", type=Path, help="picture to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores.model(TREES).save(folder / "online.baro")
        url = str(folder / "store.db")
        stores.Bench(url, stores.Silent(), SERIES, HISTORY).store.close()
        with service.serving(folder, url) as (port, process, _):
            load = Load(port, SERIES)
            samples = loaded(load, process.pid, 60 * options.minutes)
    if options.plot is not None:
        samples.draw(options.plot)
    title = f"{options.minutes:g} minutes of {RATE} requests/s, batches of {BATCH}, and the queue"
    show(title, samples.table(), options.output, failures=samples.failures[:5])


if __name__ == "__main__":
    main()
