"""How commands judge a whole data set in parts, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from barograph.cli.histories import loaded_tables, output_option, source_options
from barograph.cli.stores import model_option
from barograph.parallel import worker_count

if TYPE_CHECKING:
    import pyarrow as pa

F = TypeVar("F", bound=Callable[..., Any])
SERIES = 200  # of one part: small enough to spread, large enough to be worth a call


def judging_options(use: str) -> Callable[[F], F]:
    """Add what every command takes that judges a whole data set."""

    def add(function: F) -> F:
        return source_options(model_option(use)(spread_options(output_option(function))))

    return add


def spread_options(function: F) -> F:
    """Add --workers, --scheduler and --to to a command."""
    workers = click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=worker_count,
        show_default="one for each core",
        help="Processes of this machine.",
    )
    scheduler = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Run on the workers of a Dask scheduler instead; they must see the same files.",
    )
    to = click.option(
        "--to",
        type=click.Path(file_okay=False, path_type=Path),
        help="A folder for the whole table, as CSV and Parquet.",
    )
    return workers(scheduler(to(function)))


@contextmanager
def tables_at(kind: str, location: str) -> Iterator[str]:
    """The three tables of a source; where LOCATION is a folder of them they are used in place."""
    names = ("series", "points", "candidates")
    if all((Path(location) / f"{name}.parquet").is_file() for name in names):
        yield str(Path(location).resolve())
        return
    with loaded_tables(kind, location) as folder:
        yield folder


def artifact_path(use: str, path: Path) -> str:
    """Check a model here, where errors are told; return what the workers load."""
    from barograph.models import TriageModel

    if not path.exists():
        TriageModel.default(use)
        return ""
    TriageModel.load(path, use)
    return str(path.resolve())


def judged(
    function: Callable[..., Any],
    folder: str,
    *arguments: Any,
    workers: int,
    scheduler: str | None,
) -> pa.Table:
    """Judge every part of a data set and put the answers together, in order."""
    import pyarrow as pa

    from barograph.evaluation.partitions import parts_of
    from barograph.parallel import map_parallel

    calls = [(part, *arguments) for part in parts_of(folder, SERIES)]
    tables = map_parallel(
        function,
        calls,
        workers=workers,
        scheduler=scheduler,
        label="scoring",
        scheduler_name="--scheduler",
    )
    return pa.concat_tables(tables)


def write_tables(table: pa.Table, folder: Path, name: str) -> None:
    """Write a table as CSV and Parquet."""
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from barograph.files import whole

    with whole(folder / f"{name}.csv") as draft:
        pacsv.write_csv(table, str(draft))
    with whole(folder / f"{name}.parquet") as draft:
        pq.write_table(table, draft, compression="zstd")
