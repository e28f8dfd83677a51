"""Print what `dvc repro` made: the table of results, and where to look next."""

import json
import sys
from typing import Any

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


def main() -> None:
    """Print to stdout."""
    page = (EVALUATION / "table.md").read_text(encoding="utf-8")
    table = page.split("\n## ")[0].rstrip() + "\n"
    sys.stdout.write(f"{table}\n{line('simulate')}\n{line('replay')}\n{line('classify')}\n\n{NEXT}")


def line(stage: str) -> str:
    """Return the plain numbers of a stage's metrics in one line."""
    text = (report.FOLDER / f"{stage}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    numbers = [f"{k} {v:.4g}" for k, v in found.items() if isinstance(v, (int, float))]
    return f"{stage}: " + ", ".join(numbers)


if __name__ == "__main__":
    run(main)
