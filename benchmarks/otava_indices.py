"""Write what Apache Otava 0.8.0 finds in 300 random series: the test of parity reads it."""

import argparse
import json
from pathlib import Path

from peers import OTAVA, ask
from random_series import random_series

from barograph.runtime.files import whole

TARGET = Path(__file__).resolve().parent.parent / "tests" / "detection" / "otava_indices.json"
# Windows, p-values and magnitudes in turn, so that every part of the method is exercised.
SETTINGS = [(50, 0.001, 0.0), (50, 0.05, 0.0), (30, 0.01, 0.05), (20, 0.2, 0.0), (7, 0.001, 0.05)]


def main() -> None:
    """Ask the peer, and store the parameters beside the indices."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    series = random_series(300)
    settings = [SETTINGS[k % len(SETTINGS)] for k in range(len(series))]
    requests = [[v.tolist(), *setting] for v, setting in zip(series, settings, strict=True)]
    answers = ask(OTAVA, "peer_otava.py", {"requests": requests})
    rows = [[*s, answer["indices"]] for s, answer in zip(settings, answers, strict=True)]
    with whole(TARGET) as draft:
        draft.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    print(f"{len(rows)} series, {sum(len(row[-1]) for row in rows)} change points: {TARGET}")


if __name__ == "__main__":
    main()
