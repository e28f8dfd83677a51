"""Hunter beside Apache Otava 0.8.0: the time of one series, and the same change points.

Otava runs in an environment of its own, which is installed once into a cache folder: it pins other
versions than Barograph. Both sides run in turn on one thread, and CPU time is measured: on a busy
machine, elapsed time would count the waiting of the slower side only. `--write` stores what Otava
finds in 300 random series, which the test of parity reads.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from histories import SHARED, histories
from random_series import random_series
from side_by_side import arguments, is_missing, ratio, seconds, show
from speed import SIZE, steps

from barograph.detection import Hunter
from barograph.results.series import Floats
from barograph.runtime.files import whole

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "tests" / "detection" / "otava_indices.json"
OTAVA = "apache-otava==0.8.0"
RUNS = 5
# Windows, p-values and magnitudes. The test uses all in turn, so that every part is exercised.
DEFAULTS = (50, 0.001, 0.0)
SETTINGS = (DEFAULTS, (50, 0.05, 0.0), (30, 0.01, 0.05), (20, 0.2, 0.0), (7, 0.001, 0.05))


def environment() -> Path:
    """Return the Python of Otava's environment (in BAROGRAPH_CACHE, or the user's cache)."""
    home = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    cache = Path(os.environ.get("BAROGRAPH_CACHE", str(Path(home) / "barograph")))
    folder = cache / "peers" / OTAVA.replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "done").exists():
        print(f"creating an environment for {OTAVA} in {folder}", file=sys.stderr)
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", OTAVA]
        subprocess.run(install, check=True, stdout=sys.stderr)
        (folder / "done").touch()
    return python


def ask(series: Sequence[Floats], settings: Sequence[Any], runs: int = 1) -> list[dict[str, Any]]:
    """Return Otava's indices and CPU seconds for each series."""
    requests = [[v.tolist(), *setting] for v, setting in zip(series, settings, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        question, answers = Path(folder) / "question.json", Path(folder) / "answer.json"
        question.write_text(json.dumps({"requests": requests, "runs": runs}), encoding="utf-8")
        script = str(HERE / "peer_otava.py")
        command = [str(environment()), "-W", "ignore", script, str(question), str(answers)]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run(
            command, check=True, env=threads | {"PATH": os.environ["PATH"]}, stdout=sys.stderr
        )
        result: list[dict[str, Any]] = json.loads(answers.read_text(encoding="utf-8"))
        return result


def row(length: int) -> dict[str, Any]:
    """Time both on a series with a step every `length` points."""
    values, detector = steps(SIZE, length), Hunter(parity=True)
    theirs, ours = [], []
    for _ in range(RUNS):
        theirs.append(ask([values], [DEFAULTS], 11)[0]["seconds"])
        detector.detect(values)
        times = [seconds(lambda: detector.detect(values), time.process_time) for _ in range(50)]
        ours.append(statistics.median(times))
    return {
        "a step every": length,
        "Otava, ms": 1e3 * statistics.median(theirs),
        "Barograph, ms": 1e3 * statistics.median(ours),
        "ratio": ratio(theirs, ours),
    }


def identical(series: list[Floats]) -> str:
    """Compare the change points of many series."""
    detector, same, points = Hunter(parity=True), 0, 0
    for values, answer in zip(series, ask(series, [DEFAULTS] * len(series)), strict=True):
        same += [point.index for point in detector.detect(values)] == answer["indices"]
        points += len(answer["indices"])
    return f"{same} of {len(series)} series, {points} change points"


def write() -> None:
    """Store the settings and Otava's indices for the test."""
    series = random_series(300)
    settings = [SETTINGS[k % len(SETTINGS)] for k in range(len(series))]
    answers = ask(series, settings)
    rows = [[*s, answer["indices"]] for s, answer in zip(settings, answers, strict=True)]
    with whole(TARGET) as draft:
        draft.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")


def main() -> None:
    """Compare and print, or write the expected indices."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name} instead")
    options = parser.parse_args()
    if options.write:
        write()
        return
    same = {"same change points, random series": identical(random_series(300))}
    if not is_missing(SHARED, "Apache Otava on real histories", options.output):
        same["same change points, real histories"] = identical([v for _, v in histories()])
    show(f"Hunter beside {OTAVA}, {SIZE} points", [row(35), row(250)], options.output, **same)


if __name__ == "__main__":
    main()
