"""Print what `dvc repro` made: the table of results, and where to look next."""

import json
import sys
from textwrap import fill
from typing import Any

from barograph.errors import DataError
from barograph.pipeline import report
from barograph.pipeline.stage import run

EVALUATION = report.FOLDER / "evaluate"  # importing the stage itself takes seconds
NEXT = """Where to look next
  data/reports/evaluate/table.md     this table and every metric; table.csv for programs
  data/reports/windows/windows.png   how many later results a verdict needs
  data/reports/classify/             the candidates nobody has triaged, the surest first
  data/reports/replay/               what the online detector would have said, commit by commit
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
    stages = "\n".join(line(stage) for stage in ("simulate", "replay", "classify"))
    sys.stdout.write(f"{table}\n\n{stages}\n\n{NEXT}")


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
