"""Commands that need no results: `completion`, `formats`, `init` and `warmup`."""

from __future__ import annotations

import io
import math
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from barograph.cli.config import NAME
from barograph.cli.detectors import DETECTORS
from barograph.cli.options import echo, format_option
from barograph.runtime.compiled import COMPLETE, FORCED, choose, code_folder, make_code_folder
from barograph.runtime.errors import ConfigError
from barograph.runtime.files import whole

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
KINDS = {"history": "Histories of many commits", "run": "Results of a single run"}
SERIES = (20, 90, 300)  # numbers of commits; long series take other branches of the kernels
TEMPLATE = """\
# Barograph's configuration, for all folders below. Options on the command line override it.
# docs/cli.md lists all keys.

[input]
# The files that commands read by default: paths, globs, or folders.
# files = ["benchmarks/history.csv"]
# Format of the files, by default recognised by their content. `barograph formats` lists all.
# kind = "pytest-benchmark"
# What columns of your tables are in Barograph.
# map = { name = "test", sha = "commit" }
# Columns with values, if a table has a column for each metric.
# value-columns = ["p50_ms", "p99_ms"]

[direction]
# Which way is better, if neither the file nor its unit states it. The first match counts.
# "*/throughput" = "higher"
# "*" = "lower"

[gate]
# Minimum change that counts, in percent of the level before.
# min-change = 0.5
# What fails a job: regression, suspect or any.
# fail-on = "regression"

[score]
# store = "barograph.db"

[patterns]
# Names of series; * stands for any text. Only the machine moves a canary.
# canary = ["canary/*"]
# Series to look at last.
# low_priority = ["*/startup"]
# Series that are reported, but never fail a job.
# informational = ["experimental/*"]

# An accepted regression.
# [[suppress]]
# series = "db/insert/*"
# reason = "checksums are on since 2.4, agreed on 2026-11-02"
# expires = 2027-01-31
"""


@click.command("completion", epilog='Example: eval "$(barograph completion bash)"')
@click.argument("shell", type=click.Choice(list(SHELLS)), metavar="SHELL")
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    For bash and zsh, add `eval "$(barograph completion bash)"` (or zsh) to ~/.bashrc (or ~/.zshrc).
    For fish, write the output to ~/.config/fish/completions/barograph.fish.
    """
    completion = SHELLS[shell]
    root = context.find_root().command
    click.echo(completion(root, {}, "barograph", "_BAROGRAPH_COMPLETE").source())


@click.command("formats", epilog="Example: barograph formats --format json")
@format_option("text", "json")
def formats(output: str) -> None:
    """List the file formats that commands read.

    The format of a file is recognised by its content; --kind NAME names it instead.
    """
    from barograph.sources.formats.registry import formats as every

    rows = [{"name": entry.name, "kind": entry.kind, "title": entry.title} for entry in every()]
    width = max(len(row["name"]) for row in rows)
    lines = []
    for kind, title in KINDS.items():
        names = (row for row in rows if row["kind"] == kind)
        lines += [f"{title}:", *(f"  {row['name']:<{width}}  {row['title']}" for row in names)]
    echo(output, {"formats": rows}, *lines)


@click.command("init", epilog="Example: barograph init && $EDITOR barograph.toml")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Write a commented barograph.toml to FOLDER, by default the current one."""
    path = folder / NAME
    if path.exists():
        raise ConfigError(f"{path}: exists already; delete it first to replace it")
    folder.mkdir(parents=True, exist_ok=True)
    with whole(path) as draft:
        draft.write_text(TEMPLATE, encoding="utf-8")
    click.echo(f"{path} written")


@click.command("warmup", epilog="Example: NUMBA_CACHE_DIR=.numba barograph warmup")
def warmup() -> None:
    """Compile the numeric code in advance, and print the folder that holds it.

    Without it, commands interpret the code for up to a few hundred results. With more, the first
    command compiles for 7 to 45 seconds, depending on the machine, and so does the first start of
    the service. The environment variable NUMBA_CACHE_DIR names the folder for compiled code, for
    instance to put it into an image or into the cache of a CI job; it has to be writable when
    commands run.
    """
    from barograph.detection.online import OnlineDetector

    if FORCED:
        raise ConfigError("NUMBA_DISABLE_JIT is set, so nothing can be compiled")
    made = make_code_folder()
    if made is None:
        raise ConfigError(f"{code_folder()} cannot be written to; set NUMBA_CACHE_DIR")
    choose(math.inf)
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
        results = f"{folder}/results.csv"
        Path(results).write_text(_results(), encoding="utf-8")
        for name in DETECTORS:
            _run("detect", results, "--detector", name, "--format", "json")
        _run("gate", results)
        _run("score", results, "--store", f"{folder}/store.db")
        _run("report", results, "--out", f"{folder}/report.html")
        _run("classify", results)
    # The built-in models of the service judge points that arrive in groups, and one by one.
    detector = OnlineDetector()
    detector.update_many([10.0, 10.1, 9.9] * 20 + [12.0, 12.1, 11.9] * 4)
    detector.update(40.0)
    detector.repeat(12.0)
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
        runs = [*enumerate(values.tolist()), *((size - 1, values[-1] + run) for run in (2, 3))]
        rows += [f"t{number},{order},{k},{value}" for k, (order, value) in enumerate(runs)]
    return "\n".join([*rows, ""])


def _run(*arguments: str) -> None:
    """Run a command silently, to compile the kernels that it uses."""
    from barograph.cli import group

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(ConfigError):
        group.main(arguments, prog_name="barograph", standalone_mode=False)
