"""Print what `dvc repro` made: the table of results, and where to look next."""

import json
import sys
from textwrap import fill
from typing import Any

from barograph.errors import DataError
from barograph.pipeline import report
from barograph.pipeline.stage import run
from barograph.sources.report import KINDS

EVALUATION = report.FOLDER / "evaluate"  # importing the stage itself takes seconds
NEXT = """Where to look next
  data/reports/evaluate/table.md     this table and every metric; table.csv for programs
  data/reports/windows/windows.png   how many later results a verdict needs
  data/reports/classify/             the candidates nobody has triaged, the surest first
  data/reports/explain/explain.md    what moves the models, and what speaks for the surest
  data/reports/tune/tuning.md        the settings that were tried before the models learned
  data/reports/audit/suspects.md     verdicts that the models contradict: look at them again
  data/reports/replay/               what the online detector would have said, commit by commit
  data/reports/detectors/            the detectors side by side, on injected changes and on verdicts
  data/reports/statistics/           what tells confirmed change points from false ones
  data/release/                      the models and their cards; `mlflow ui` shows the runs
  params.yaml                        point `load` at your own history and run `make repro` again
"""
WIDTH = 120  # of the terminal that everything is to fit


def main() -> None:
    """Print to stdout."""
    path = EVALUATION / "table.md"
    if not path.is_file():
        raise DataError(f"{path}: no such file; run `make repro` first")
    first = path.read_text(encoding="utf-8").split("\n## ")[0].rstrip()
    table = "\n".join(row if row.startswith("|") else fill(row, WIDTH) for row in first.split("\n"))
    stages = "\n".join([loaded(), *(line(stage) for stage in ("replay", "classify"))])
    sys.stdout.write(f"{table}\n\n{stages}\n\n{NEXT}")


def loaded() -> str:
    """Return which data the table is of, what there is of each kind, and what was left out."""
    found = json.loads((report.FOLDER / "load.json").read_text(encoding="utf-8"))
    told = []
    for kind in KINDS:
        skipped = sum(entry["count"] for entry in found["skipped"][kind].values())
        told.append(
            f"{found['kept'][kind]:,} {kind}" + (f" ({skipped:,} skipped)" if skipped else "")
        )
    return fill(f"data: {found['source']}, {', '.join(told)}", WIDTH, subsequent_indent="  ")


def line(stage: str) -> str:
    """Return the plain numbers of a stage's metrics in one line."""
    text = (report.FOLDER / f"{stage}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    numbers = [f"{k} {plain(v)}" for k, v in found.items() if isinstance(v, (int, float))]
    return fill(f"{stage}: " + ", ".join(numbers), WIDTH, subsequent_indent="  ")


def plain(number: float) -> str:
    """Render a count whole, a share with four digits."""
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


if __name__ == "__main__":
    run(main)
