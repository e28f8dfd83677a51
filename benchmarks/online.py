"""The online detector: the time of one decision, and the speed of a replay.

A decision is one `update` of a detector that has seen 100 points; the time of its features alone is
printed as well. The replay runs on one core over histories of 28 points, the mean length of the
MongoDB data set, and is extrapolated to its 21.9 million points on two cores. Measured are a
500-tree forest on the paper's features, and boosted trees on the features of the current level,
with and without the second look. All models learn from simulated steps.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from side_by_side import Row, arguments, seconds, show
from sklearn.ensemble import RandomForestClassifier

from barograph.detection.online import OnlineDetector, replay_many
from barograph.features import FEATURE_SETS, feature_matrix
from barograph.learning.annotators import Marked
from barograph.learning.online.learn import Learned, learn
from barograph.learning.online.truth import Truth
from barograph.models.kinds import from_fitted
from barograph.models.triage import TriageModel
from barograph.pipeline.replay import CHUNK
from barograph.results.series import Floats

LENGTH, TREES = 28, 500
AT, DECISIONS = 100, 400
ALL_POINTS = 21_913_750  # Bauer et al. 2022, 4.2
SAMPLES = 12_000


def stepped(count: int, length: int, seed: int) -> tuple[Floats, list[list[int]]]:
    """Return histories of noise, with a step in every second one, and the places of the steps."""
    generator = np.random.default_rng(seed)
    values = 100.0 + generator.normal(size=(count, length))
    steps: list[list[int]] = []
    for k, row in enumerate(values):
        step = int(generator.integers(6, length - 6))
        if k % 2:
            row[step:] += generator.normal(scale=6.0)
        steps.append([step] if k % 2 else [])
    return values, steps


def forest() -> TriageModel:
    """Return a forest of deep trees, like one that learned from real verdicts.

    One verdict in five is wrong; otherwise the trees would be stumps.
    """
    values, steps = stepped(SAMPLES, LENGTH, 1)
    generator = np.random.default_rng(2)
    splits = np.array([places[0] if places else int(generator.integers(6, 22)) for places in steps])
    first = np.arange(SAMPLES) * LENGTH
    X = feature_matrix(values.ravel(), first, first + splits, first + splits + 1, "bauer8")
    y = np.array([len(places) for places in steps]) ^ (generator.random(SAMPLES) < 0.2)
    fitted = RandomForestClassifier(TREES, random_state=0, n_jobs=2).fit(X, y)
    return TriageModel("online", "bauer8", FEATURE_SETS["bauer8"], 0.9, from_fitted(fitted), {})


def learned() -> Learned:
    """Learn both models on the features of the current level."""
    values, steps = stepped(400, 200, 3)
    marks = tuple((tuple(places),) for places in steps)
    offsets = np.arange(401) * 200
    return learn(Truth.of(Marked(values.ravel(), offsets, marks, np.arange(400) % 20)))


def measured(
    name: str, run: Callable[[Sequence[Floats]], object], histories: Sequence[Floats]
) -> Any:
    """Time a replay of all histories, in chunks as in the stage, after a warm-up."""
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


def decisions(name: str, model: TriageModel, confirm: TriageModel | None = None) -> Row:
    """Time the next decision of many detectors."""
    histories = np.random.default_rng(5).normal(100.0, 1.0, (DECISIONS, AT + 1))
    took = []
    for values in histories.tolist():
        detector = OnlineDetector(model, confirm)
        detector.update_many(values[:AT])
        took.append(seconds(partial(detector.update, values[AT])))
    return {
        "decision": name,
        "history": AT,
        "median, us": 1e6 * statistics.median(took),
        "p99, us": 1e6 * float(np.quantile(took, 0.99)),
    }


def main() -> None:
    """Run the benchmark."""
    parser: argparse.ArgumentParser = arguments(str(__doc__))
    parser.add_argument("--points", type=int, default=2_000_000)
    options = parser.parse_args()
    values, _ = stepped(options.points // LENGTH, LENGTH, 4)
    paper = forest()
    ours = learned()
    ways: dict[str, Callable[[Sequence[Floats]], object]] = {
        f"bauer8, {TREES}-tree forest": lambda histories: replay_many(paper, histories),
        "online, boosted trees": lambda histories: replay_many(ours.online, histories),
        "online and confirm": lambda histories: replay_many(ours.online, histories, ours.confirm),
    }
    first = {f"bauer8, {TREES}-tree forest": (paper,), "online, boosted trees": (ours.online,)}
    second = {"online and confirm": (ours.online, ours.confirm)}
    decided = [decisions(name, *models) for name, models in (first | second).items()]
    replayed = [measured(name, run, list(values)) for name, run in ways.items()]
    rows = [decision | replay for decision, replay in zip(decided, replayed, strict=True)]
    title = "Decisions one by one, and the replay of histories of 28 points on one core"
    show(title, rows, options.output)


if __name__ == "__main__":
    main()
