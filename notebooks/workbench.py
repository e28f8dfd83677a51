"""What the notebooks share: their size, a project to work in, commands, and the look of tables."""

from __future__ import annotations

import atexit
import hashlib
import os
import subprocess
import sys
from collections.abc import Hashable, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import matplotlib as mpl
import yaml

from barograph.results.history import History
from barograph.runtime.compiled import choose

if TYPE_CHECKING:
    import pandas as pd
    from pandas.io.formats.style import Styler

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("BAROGRAPH_SHARED", ROOT.parent / "shared")) / "data"
SMALL = os.environ.get("BAROGRAPH_NOTEBOOKS") == "small"
INK, QUIET, BLUE, RED, GREEN, AMBER = (
    *("#1d1c19", "#8a857a", "#20508f"),
    *("#b3340d", "#0b6b5c", "#c98a14"),
)
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": QUIET,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "figure.constrained_layout.use": True,
    "figure.dpi": 96,
    "figure.figsize": (9.0, 3.2),
    "font.size": 9,
    "grid.color": "#eeebe4",
    "legend.frameon": False,
}
T = TypeVar("T")

sys.path.append(str(ROOT))  # for the package `tools`
choose(float("inf"))  # compile the kernels, however few the points
mpl.rcParams.update(STYLE)


def size(full: T, small: T) -> T:
    """Return one of two sizes: `small` if `BAROGRAPH_NOTEBOOKS` is "small", as in the tests."""
    return small if SMALL else full


def workplace() -> Path:
    """Make a folder that is deleted at the end, and make it the current one."""
    folder = TemporaryDirectory(prefix="barograph-notebook-")
    atexit.register(folder.cleanup)
    os.chdir(folder.name)
    return Path(folder.name)


def project(profile: Mapping[str, Mapping[str, Any]]) -> None:
    """Make a project of its own, with the parameters of the repository and without MLflow.

    Args:
        profile: What differs from params.yaml, by section.
    """
    parameters = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    sections = parameters.pop(parameters["profile"])
    for section, values in profile.items():
        sections[section] = {**sections.get(section, {}), **values}
    parameters |= {"profile": "notebook", "notebook": sections}
    os.environ["BAROGRAPH_MLFLOW"] = "off"
    (workplace() / "params.yaml").write_text(yaml.safe_dump(parameters), encoding="utf-8")


def run(*stages: str, room: str = "pipeline") -> History:
    """Run stages in this process; return the history that they work on.

    Args:
        stages: Their names.
        room: `pipeline`, or `studies` for the papers' experiments.
    """
    for stage in stages:
        import_module(f"barograph.{room}.{stage}").main()
    return History.read("data/interim")


def barograph(*arguments: str, show: bool = True) -> str:
    """Run a command as in a shell, and return what it prints.

    Args:
        arguments: The words of the command.
        show: Whether to print the command with its output and its exit code, if that is not 0.
    """
    command = [sys.executable, "-m", "barograph", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    output = done.stdout + (done.stderr if done.returncode == 1 else "")
    if show:
        print(f"$ barograph {' '.join(arguments)}\n{output}", end="")
        if done.returncode:
            print(f"(exit code {done.returncode})")
    return output


def table(frame: pd.DataFrame, caption: str, formats: dict[str, str] | str = "{:,.3f}") -> Styler:
    """Return a table as notebooks show it.

    Args:
        frame: The rows; the index is not shown.
        caption: The title.
        formats: The format of each column, or of all floats.
    """
    kinds = {str(name): kind.kind for name, kind in frame.dtypes.items()}
    if isinstance(formats, str):
        formats = {name: formats for name, kind in kinds.items() if kind == "f"}
    style = frame.style.hide(axis="index").format({**formats}, na_rep="-", escape="html")
    texts: list[Hashable] = [name for name, kind in kinds.items() if kind not in "fiu"]
    style.set_properties(subset=texts, **{"text-align": "left"})
    style.set_table_styles(
        [
            {"selector": "caption", "props": "text-align: left; font-weight: bold"},
            {"selector": "th", "props": "text-align: left"},
        ]
    )
    return style.set_caption(caption).set_uuid(
        hashlib.blake2b(caption.encode(), digest_size=4).hexdigest()
    )
