"""Run inside the environment of Apache Otava: change points and times of the series asked about."""

import json
import statistics
import sys
import time
from pathlib import Path

from otava.analysis import compute_change_points  # type: ignore[import-not-found]


def main(question_file: str, answer_file: str) -> None:
    """Answer every request [values, window, pvalue, magnitude] with the indices and CPU seconds."""
    question = json.loads(Path(question_file).read_text(encoding="utf-8"))
    answer = []
    for values, window, pvalue, magnitude in question["requests"]:
        times = []
        for _ in range(question.get("runs", 1)):
            start = time.process_time()
            points, _weak = compute_change_points(
                values, window_len=window, max_pvalue=pvalue, min_magnitude=magnitude
            )
            times.append(time.process_time() - start)
        indices = [int(point.index) for point in points]
        answer.append({"indices": indices, "seconds": statistics.median(times)})
    Path(answer_file).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
