"""How stages write what people and DVC read: JSON metrics, CSV and Markdown tables."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from barograph.files import whole

FOLDER = Path("data/reports")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with sorted keys and no field that changes from run to run."""
    with whole(path) as draft:
        draft.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_csv(path: Path, frame: pd.DataFrame) -> None:
    """Write a table for programs; numbers in their shortest exact form."""
    with whole(path) as draft:
        frame.to_csv(draft, index=False, lineterminator="\n")


def write_parquet(path: Path, frame: pd.DataFrame) -> None:
    """Write a table whole, with the same bytes for the same content."""
    with whole(path) as draft:
        frame.to_parquet(draft, index=False, compression="zstd")


def write_table(path: Path, title: str, frame: pd.DataFrame, notes: Sequence[str]) -> None:
    """Write a table for people, in Markdown, under a title that names the profile."""
    write_text(path, "\n".join([f"# {title}", "", markdown(frame), "", *notes, ""]))


def write_text(path: Path, text: str) -> None:
    """Write a page whole."""
    with whole(path) as draft:
        draft.write_text(text, encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole."""
    with whole(path) as draft:
        draft.write_bytes(content)


def markdown(frame: pd.DataFrame) -> str:
    """Render a table in Markdown, aligned so that it reads well as plain text too."""
    cells = [[str(name) for name in frame.columns], *frame.astype(str).to_numpy().tolist()]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
