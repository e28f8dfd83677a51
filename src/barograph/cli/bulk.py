"""Score a whole data set in parts, on this machine or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from barograph.cli.inputs import input_options
from barograph.cli.options import F, format_option, model_option, with_options
from barograph.runtime.parallel import worker_count

if TYPE_CHECKING:
    import pyarrow as pa

SERIES = 200  # of one part: small enough to spread, large enough to be worth a call


def bulk_options(use: str, does: str) -> Callable[[F], F]:
    """Add the options of a command that scores a whole data set."""
    workers = click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=worker_count,
        show_default="BAROGRAPH_WORKERS, else one per core",
        help="Number of processes on this machine.",
    )
    scheduler = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Address of a Dask scheduler to run on; its workers must see the same files.",
    )
    out = click.option(
        "--out",
        metavar="FOLDER",
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder to write the complete table to, as CSV and Parquet.",
    )
    text_or_json = format_option("text", "json")
    options = [input_options, model_option(use, does=does), workers, scheduler, out, text_or_json]
    return lambda function: with_options(function, options)


def artifact_path(use: str, path: Path) -> str:
    """Return the path that workers load a model from; check it here, so errors come early."""
    from barograph.models import TriageModel

    if not path.exists():
        TriageModel.default(use)
        return ""
    TriageModel.load(path, use)
    return str(path.resolve())


def score_parts(
    function: Callable[..., Any],
    folder: str,
    *arguments: Any,
    workers: int,
    scheduler: str | None,
) -> pa.Table:
    """Call a function for every part of a data set, and join the tables in order."""
    import pyarrow as pa

    from barograph.detection.bulk import history_parts
    from barograph.runtime.parallel import map_parallel

    calls = [(part, *arguments) for part in history_parts(folder, SERIES)]
    tables = map_parallel(
        function,
        calls,
        "scoring",
        workers=workers,
        scheduler=scheduler,
        scheduler_name="--scheduler",
    )
    return pa.concat_tables(tables)
