"""Every notebook runs on little data, and keeps small outputs that say what they show."""

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.shared import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 300_000  # bytes of a notebook
# A path of a machine, a time, or an address in memory.
TRACES = re.compile(r"/home/|/tmp/|/root/|/work/|\d\d:\d\d:\d\d|0x[0-9a-f]{6}|Warning")
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])


def cells_of(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def is_shown(cell: dict[str, Any]) -> bool:
    """Whether a cell shows a table, a picture or the output of a command."""
    return bool(cell.get("outputs"))


def texts_of(cell: dict[str, Any]) -> list[str]:
    """Return the texts that a cell shows."""
    texts = []
    for output in cell.get("outputs", []):
        texts.append("".join(output.get("text", "")))
        data = output.get("data", {})
        texts += ["".join(data[kind]) for kind in data if kind != "image/png"]
    return texts


def test_there_are_six() -> None:
    assert [path.name[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05", "06"]
    page = (ROOT / "notebooks/README.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in page for path in NOTEBOOKS)


def test_all_run_on_little_data() -> None:
    done = subprocess.run(
        [sys.executable, "tools/notebooks.py", "--check"],
        cwd=ROOT,
        env=os.environ | {"BAROGRAPH_NOTEBOOKS": "small", "BAROGRAPH_WORKERS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"^\S+\.ipynb: \d+ s$", done.stdout, re.MULTILINE)) == len(NOTEBOOKS)


@each
def test_outputs_are_kept_and_hold_no_trace_of_a_machine(path: Path) -> None:
    assert path.stat().st_size < LARGEST
    cells = cells_of(path)
    shown = [cell for cell in cells if is_shown(cell)]
    assert len(shown) >= 5
    for cell in shown:
        for text in texts_of(cell):
            assert not TRACES.search(text), text
        assert all(output.get("name") != "stderr" for output in cell["outputs"])
        assert all(output["output_type"] != "error" for output in cell["outputs"])
    assert not any(cell["metadata"] for cell in cells)


@each
def test_kept_outputs_are_of_simulated_data(path: Path) -> None:
    text = "".join(text for cell in cells_of(path) for text in texts_of(cell))
    assert "published rows" not in text


@each
def test_every_table_and_picture_is_followed_by_a_conclusion(path: Path) -> None:
    cells = cells_of(path)
    for cell, following in zip(cells, [*cells[1:], {}], strict=True):
        if is_shown(cell):
            assert following.get("cell_type") == "markdown", cell["source"]
            first = "".join(following["source"]).lstrip()
            assert not first.startswith("#"), f"no conclusion before {first[:40]!r}"


@each
def test_pictures_are_no_larger_than_a_screen(path: Path) -> None:
    for cell in cells_of(path):
        for output in cell.get("outputs", []):
            if picture := output.get("data", {}).get("image/png"):
                header = base64.b64decode("".join(picture))[16:24]
                width, height = (int.from_bytes(header[k : k + 4], "big") for k in (0, 4))
                assert max(width, height) <= 1600
