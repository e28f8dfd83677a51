"""Children that ingest until they are killed; run as a program by test_reliability.

One process imports everything and forks them, for that takes longer than all of their lives.
"""

import json
import os
import random
import signal
import sys
import time

from barograph.server.store import Measurement, Store
from tests.store.judges import Rule
from tests.store.samples import series

WIDE = 40  # points of one batch
FAR = 100_000  # orders of one child


def ingest(url: str, number: int, pipe: int) -> None:
    """Write batch after batch; name each one only once it was acknowledged."""
    with Store(url, Rule()) as store:
        os.write(pipe, b"ready\n")
        for order in range(number * FAR, (number + 1) * FAR):
            values = (float(order * k % 17) for k in range(WIDE))
            store.ingest([Measurement(series(f"s{k}"), v, order) for k, v in enumerate(values)], "")
            os.write(pipe, f"{order}\n".encode())


def killed(url: str, number: int, rng: random.Random) -> list[int]:
    """Run one child, kill it at a random moment, and return what it was told is kept.

    It may be killed before its first answer, but the slowest machine gives some of them time for
    up to three.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        ingest(url, number, writing)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        assert lines.readline() == "ready\n"
        heard = [lines.readline() for _ in range(rng.randint(0, 3))]
        time.sleep(rng.uniform(0.0, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return [int(line) for line in (*heard, *lines) if line.endswith("\n")]


def main() -> None:
    url, rounds, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    kept = [order for number in range(rounds) for order in killed(url, number, rng)]
    sys.stdout.write(json.dumps(kept))


if __name__ == "__main__":
    main()
