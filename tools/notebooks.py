"""Run the notebooks, and keep their outputs.

    python tools/notebooks.py                    # all of them, and write their outputs
    python tools/notebooks.py --check 02 05      # some of them, and write nothing

Outputs that are kept show simulated data only, and hold no path, time or warning. With
`BAROGRAPH_NOTEBOOKS=small` the notebooks use little data; then nothing is written.
"""

from __future__ import annotations

import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
AT_ONCE = 2
TIMEOUT = 600  # seconds of one cell
WARNING = re.compile(r"^.*(Warning|Error)\b.*$", re.MULTILINE)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def executed(path: Path) -> Any:
    """Run a notebook in a kernel of its own; return it with its outputs and no other trace.

    Raises:
        CellExecutionError: A cell failed.
        ValueError: A cell wrote a warning to stderr.
    """
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=TIMEOUT, startup_timeout=TIMEOUT, resources=resources)
    manager = client.create_kernel_manager()
    with TemporaryDirectory(prefix="barograph-kernel-") as folder:
        # Sockets in a folder of the user: no port that others can reach.
        manager.transport, manager.ip = "ipc", f"{folder}/kernel"
        client.execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {}
        cell.id = f"cell-{number}"
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(cleaned, cell.outputs) if output]
    return notebook


def cleaned(output: Any) -> Any:
    """Return an output without metadata; None for what stages report on stderr."""
    if output.output_type != "stream":
        output.metadata = {}
        if len(output.data) > 1:
            del output.data["text/plain"]  # the address of the table or figure in memory
        return output
    if output.name != "stderr":
        return output
    if found := WARNING.search(output.text):
        raise ValueError(f"a cell wrote to stderr: {found[0]}")
    return None


def main(arguments: list[str]) -> None:
    """Run the notebooks that are named, or all; end with 1 if one failed."""
    is_kept = "--check" not in arguments and os.environ.get("BAROGRAPH_NOTEBOOKS") != "small"
    names = tuple(name for name in arguments if name != "--check") or ("",)
    paths = [path for path in sorted(FOLDER.glob("*.ipynb")) if path.name.startswith(names)]
    if is_kept:
        os.environ["BAROGRAPH_SHARED"] = os.devnull  # published rows are not ours to keep

    def work(path: Path) -> bool:
        begin = time.monotonic()
        try:
            notebook = executed(path)
        except (CellExecutionError, ValueError) as error:
            sys.stderr.write(f"{path.name}: {error}\n")
            return False
        if is_kept:
            nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
        sys.stdout.write(f"{path.name}: {time.monotonic() - begin:.0f} s\n")
        return True

    with ThreadPoolExecutor(AT_ONCE) as pool:
        is_done = [*pool.map(work, paths)]
    if not is_done or not all(is_done):
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
