"""`barograph warmup`: compile the kernels before the first command needs them."""

from __future__ import annotations

import io
import math
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import click

from barograph.cli.detectors import DETECTORS, make_detector
from barograph.runtime.compiled import COMPLETE, FORCED, choose, code_folder, make_code_folder
from barograph.runtime.errors import ConfigError

SERIES = (20, 90, 300)  # numbers of commits; long series take other branches of the kernels


@click.command(epilog="Example: NUMBA_CACHE_DIR=.numba barograph warmup")
def command() -> None:
    """Compile the numeric code in advance, and print the folder that holds it.

    Without it, commands interpret the code for up to a few hundred results. With more, the first
    command compiles for 7 to 45 seconds, depending on the machine, and so does the first start of
    the service. The environment variable NUMBA_CACHE_DIR names the folder for compiled code, for
    instance to put it into an image or into the cache of a CI job; it has to be writable when
    commands run.
    """
    if FORCED:
        raise ConfigError("NUMBA_DISABLE_JIT is set, so nothing can be compiled")
    made = make_code_folder()
    if made is None:
        raise ConfigError(f"{code_folder()} cannot be written to; set NUMBA_CACHE_DIR")
    choose(math.inf)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="barograph-") as name:
        folder = Path(name)
        results = folder / "results.csv"
        results.write_text(_results(), encoding="utf-8")
        _run(["detect", str(results), "--all", "--format", "json"])
        _run(["gate", str(results)])
        _run(["score", str(results), "--store", str(folder / "store.db")])
        _run(["report", str(results), "--out", str(folder / "report.html")])
        _run(["classify", str(results)])
    _try_detectors()
    _try_models()
    (made / COMPLETE).touch()
    click.echo(f"compiled in {time.perf_counter() - begun:.1f} s: {made.parent}")


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


def _try_detectors() -> None:
    """Let every detector look for changes."""
    import numpy as np

    random = np.random.default_rng(0)
    for size in SERIES:
        values = random.normal(100.0, 1.0, size)
        values[size // 2 :] += 10.0
        for name in DETECTORS:
            with suppress(ModuleNotFoundError):  # of an extra
                make_detector(name).detect(values)


def _try_models() -> None:
    """Use the built-in models of the service on points that arrive in groups, and one by one."""
    from barograph.detection.online import OnlineDetector

    detector = OnlineDetector()
    detector.update_many([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 4)
    detector.update(40.0)
    detector.repeat(12.0)
