"""Points per second and core of the replay, with a 500-tree forest on the paper's features.

Histories of 28 points, the mean of the MongoDB data set, and the time that its 21.9 million points
would take at this speed. The same with the regime's features and boosted trees, alone and with the
second look; both learn from simulated steps. Everything runs on one core.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from side_by_side import arguments, show
from sklearn.ensemble import RandomForestClassifier

from barograph.detection.online import Scorer, replay_many
from barograph.evaluation.early import Learned, Truth, learn
from barograph.evaluation.marked import Marked
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.models.kinds import flattened
from barograph.models.triage import TriageModel
from barograph.pipeline.replay import CHUNK
from barograph.series import Floats

LENGTH, TREES = 28, 500
ALL_POINTS = 21_913_750  # Bauer et al. 2022, 4.2
LESSON = 12_000


def stepped(count: int, length: int, seed: int) -> tuple[Floats, list[list[int]]]:
    """Return histories of noise, every second one with a step, and where the steps are."""
    generator = np.random.default_rng(seed)
    values = 100.0 + generator.normal(size=(count, length))
    steps: list[list[int]] = []
    for k, row in enumerate(values):
        at = int(generator.integers(6, length - 6))
        if k % 2:
            row[at:] += generator.normal(scale=6.0)
        steps.append([at] if k % 2 else [])
    return values, steps


def forest() -> TriageModel:
    """Learn a forest whose leaves hold one point, on labels with errors: deep trees, as real ones.

    One verdict in five is wrong, or the trees would be stumps.
    """
    values, steps = stepped(LESSON, LENGTH, 1)
    generator = np.random.default_rng(2)
    splits = np.array([one[0] if one else int(generator.integers(6, 22)) for one in steps])
    first = np.arange(LESSON) * LENGTH
    X = feature_matrix(values.ravel(), first, first + splits, first + splits + 1, "bauer8")
    y = np.array([len(one) for one in steps]) ^ (generator.random(LESSON) < 0.2)
    fitted = RandomForestClassifier(TREES, random_state=0, n_jobs=2).fit(X, y)
    return TriageModel("online", "bauer8", FEATURE_SETS["bauer8"], 0.9, flattened(fitted), {})


def learned() -> Learned:
    """Learn both models of the regime's features."""
    values, steps = stepped(400, 200, 3)
    marks = tuple((tuple(one),) for one in steps)
    offsets = np.arange(401) * 200
    return learn(Truth.of(Marked(values.ravel(), offsets, marks, np.arange(400) % 20)))


def measured(
    name: str, run: Callable[[Sequence[Floats]], object], histories: Sequence[Floats]
) -> Any:
    """Time one way over all histories, chunk by chunk as the stage does, after a warm-up."""
    run(histories[:10])
    wall, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(histories), CHUNK):
        run(histories[first : first + CHUNK])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    points = sum(values.size for values in histories)
    return {
        "replay": name,
        "points": points,
        "points/s wall": points / wall,
        "points/s core": points / cpu,
        "all points, 2 cores, min": ALL_POINTS / (points / cpu) / 2 / 60,
    }


def main() -> None:
    """Learn, replay and print."""
    parser: argparse.ArgumentParser = arguments(str(__doc__))
    parser.add_argument("--points", type=int, default=2_000_000)
    options = parser.parse_args()
    values, _ = stepped(options.points // LENGTH, LENGTH, 4)
    paper: Scorer = forest()
    ours = learned()
    ways: dict[str, Callable[[Sequence[Floats]], object]] = {
        f"bauer8, {TREES}-tree forest": lambda some: replay_many(paper, some),
        "online, boosted trees": lambda some: replay_many(ours.online, some),
        "online and confirm": lambda some: replay_many(ours.online, some, ours.confirm),
    }
    rows = [measured(name, run, list(values)) for name, run in ways.items()]
    show("Replay on one core, histories of 28 points", rows, options.output)


if __name__ == "__main__":
    main()
