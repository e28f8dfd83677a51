"""Write what people and DVC read: JSON metrics, CSV and Markdown tables, figures, a summary.

`python -m barograph.pipeline.report` prints the results of the default pipeline.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import pandas as pd

from barograph.runtime.errors import DataError
from barograph.runtime.files import CsvText, whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path("data/reports")
WIDTH = 120  # columns of the terminal that the summary fits into
NEXT = {
    "data/reports/evaluate/table.md": "this table and every metric; table.csv for programs",
    "data/reports/windows/windows.png": "how many later results a verdict needs",
    "data/reports/classify/": "the candidates without a verdict, most likely real first",
    "data/reports/replay/": "what the online detector reports, commit by commit",
    "data/reports/tune/tuning.md": "the settings that were tried",
    "data/release/": "the models that were released, and their cards",
    "make studies": "the papers' experiments and the label audit",
    "params.yaml": "point `load` at your own history and run `make repro` again",
}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with sorted keys and no field that changes from run to run."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a table for programs, with numbers in their shortest exact form."""
    frame.to_csv(text := CsvText(), index=False, lineterminator="\r\n")
    write_text(path, text.getvalue())


def write_parquet(path: Path, frame: pd.DataFrame) -> None:
    """Write a table, with the same bytes for the same content."""
    with whole(path) as draft:
        frame.to_parquet(draft, index=False, compression="zstd")


def write_page(path: Path, title: str, *parts: str | pd.DataFrame) -> None:
    """Write a page for people: texts, and tables in Markdown, below a title."""
    shown = [part if isinstance(part, str) else markdown(part) for part in parts]
    write_text(path, "\n\n".join([f"# {title}", *shown]) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text as it is, whole or not at all."""
    with whole(path) as draft:
        draft.write_bytes(text.encode())


def write_figure(figure: Figure, path: Path) -> None:
    """Write a PNG without a date and without the version of the program: the same bytes."""
    import matplotlib as mpl

    with whole(path) as draft, mpl.rc_context({"savefig.dpi": 120}):
        figure.savefig(draft, format="png", metadata={"Software": None})


def note_figure(text: str, path: Path) -> None:
    """Draw a figure that only says why there is nothing to draw."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1), layout="constrained")
    figure.text(0.02, 0.5, text, wrap=True, va="center")
    write_figure(figure, path)


def markdown(frame: pd.DataFrame) -> str:
    """Render a table in Markdown, with aligned columns."""
    rows = [[str(name) for name in frame.columns], *frame.astype(str).to_numpy().tolist()]
    cells = [[cell.replace("|", r"\|") for cell in row] for row in rows]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def formatted(frame: pd.DataFrame, decimals: str) -> pd.DataFrame:
    """Return a table for people: decimals in a format, and a dash for what is not known."""

    def cell(value: Any) -> str:
        if pd.isna(value):
            return "-"
        return format(value, decimals) if isinstance(value, float) else str(value)

    return pd.DataFrame({name: [cell(value) for value in frame[name]] for name in frame.columns})


def summary() -> str:
    """Return the table of results, and where to look next.

    Raises:
        DataError: The pipeline has not run.
    """
    path = FOLDER / "evaluate" / "table.md"
    if not path.is_file():
        raise DataError(f"{path}: no such file; run `make repro` first")
    first = path.read_text(encoding="utf-8").split("\n## ")[0].rstrip()
    table = "\n".join(row if row.startswith("|") else fill(row, WIDTH) for row in first.split("\n"))
    width = max(map(len, NEXT))
    following = "\n".join(f"  {place.ljust(width)}  {what}" for place, what in NEXT.items())
    return f"{table}\n\nWhere to look next\n{following}\n"


def main() -> None:
    """Print the summary."""
    try:
        sys.stdout.write(summary())
    except (DataError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
