"""`barograph warmup`: compile the kernels before the first command needs them."""

from __future__ import annotations

import io
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import click

from barograph.compiled import cache_folder, compile_always, is_interpreted
from barograph.errors import ConfigError

SERIES = (20, 90, 300)  # numbers of commits; long series take other branches of the kernels


@click.command(epilog="Example: NUMBA_CACHE_DIR=.numba barograph warmup")
def command() -> None:
    """Compile the numeric code in advance, and print the folder that holds it.

    Without it, the first command with more than a few hundred results compiles for 7 to 45
    seconds, depending on the machine, and so does the first start of the service. The environment
    variable NUMBA_CACHE_DIR names the folder for compiled code, for instance to put it into an
    image or into the cache of a CI job; it has to be writable when commands run.
    """
    if is_interpreted():
        raise ConfigError("NUMBA_DISABLE_JIT is set, so nothing can be compiled")
    compile_always()
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="barograph-") as name:
        folder = Path(name)
        results = folder / "results.csv"
        results.write_text(_results(), encoding="utf-8")
        _run(["detect", str(results), "--all", "--format", "json"])
        _run(["gate", str(results)])
        _run(["score", str(results), "--store", str(folder / "store.db")])
        _run(["report", str(results), "--out", str(folder / "report.html")])
    _try_models()
    click.echo(f"compiled in {time.perf_counter() - begun:.1f} s: {cache_folder()}")


def _results() -> str:
    """Return a history as CSV: steps, spikes, and several runs of the newest commit."""
    import numpy as np

    random = np.random.default_rng(0)
    rows = ["test,order,run,value"]
    for number, size in enumerate(SERIES):
        values = random.normal(100.0, 1.0, size)
        values[size // 2 :] += 10.0
        values[size // 4] += 30.0
        values[-1] += 20.0 * (number % 2)
        rows += [f"t{number},{order},1,{value}" for order, value in enumerate(values.tolist())]
        rows += [f"t{number},{size - 1},{run},{values[-1] + run}" for run in (2, 3)]
    return "\n".join([*rows, ""])


def _run(arguments: list[str]) -> None:
    """Run a command without its output; whatever it finds, what it needs is compiled then."""
    from barograph.cli import group

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        group.main(arguments, prog_name="barograph", standalone_mode=False)


def _try_models() -> None:
    """Use the built-in models of the service on points that arrive in groups, and one by one."""
    from barograph.detection.online import OnlineDetector

    detector = OnlineDetector()
    detector.update_many([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 4)
    detector.update(40.0)
    detector.repeat(12.0)
