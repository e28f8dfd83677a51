"""`barograph series`: rename, merge, retire or delete a series of the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.options import (
    echo_json,
    format_option,
    model_option,
    online_models,
    open_existing,
    open_store,
    pair_of,
    store_option,
)
from barograph.results.series import SeriesId, normalize_args
from barograph.results.wording import plural
from barograph.runtime.errors import DataError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from barograph.server.store import Store
    from barograph.server.store.reading import StoredSeries

MOST = 2**31 - 1  # series
WHO = "cli"


@click.group(epilog="Example: barograph series retire db/insert/ops")
def command() -> None:
    """Rename, merge, retire or delete a series; SERIES is its number or its name."""


@command.command(name="list", epilog="Example: barograph series list --format json")
@store_option
@format_option("text", "json")
def list_(url: str, output: str) -> None:
    """List the numbers and names of all series."""
    with open_existing(url) as store:
        rows = _every(store)
    if output == "json":
        listed = [
            {"id": row.id, "name": str(row.name), "retired": row.retired is not None}
            for row in rows
        ]
        echo_json({"series": listed})
        return
    for row in rows:
        click.echo(f"{row.id}  {row.name}{'' if row.retired is None else '  retired'}")


@command.command(epilog="Example: barograph series rename 7 --test insert_v2")
@click.argument("which", metavar="SERIES")
@click.option("--project", help="New project.")
@click.option("--variant", help="New variant.")
@click.option("--task", help="New task.")
@click.option("--test", help="New test.")
@click.option("--measurement", help="New measurement.")
@click.option(
    "--arg",
    "args",
    multiple=True,
    metavar="NAME=VALUE",
    help="New argument; the given ones replace all. Repeatable.",
)
@store_option
def rename(which: str, args: tuple[str, ...], url: str, **labels: str | None) -> None:
    """Rename a series. Labels that are not given stay as they are.

    Results that arrive under its former name go to the renamed series.
    """
    from barograph.server.store import life, reading

    changes = {name: text for name, text in labels.items() if text is not None}
    arguments = normalize_args(dict(pair_of(text, "--arg", "threads=8") for text in args))
    if not (changes or args):
        raise click.UsageError("give a new label, such as --test NAME")
    with open_existing(url) as store:
        number = _number(store, which)

        def work(connection: sa.Connection) -> StoredSeries:
            name = reading.get_series(connection, number).name
            changed = SeriesId(**{**name.labels, **changes}, args=arguments or name.args)
            return life.rename(connection, number, changed, WHO, store.limits)

        renamed = store.change(work)
    click.echo(f"{renamed.id}  {renamed.name}")


@command.command(epilog="Example: barograph series merge 7 8")
@click.argument("which", metavar="SERIES")
@click.argument("into", metavar="INTO")
@store_option
@model_option("online")
def merge(which: str, into: str, url: str, model: Path) -> None:
    """Merge SERIES into INTO, and delete SERIES.

    Its results, candidates and verdicts move to INTO. Where both have a result, the later measured
    value holds. Results that arrive under the former name go to INTO.
    """
    open_existing(url).close()
    with open_store(url, online_models(model)) as store:
        source, target = _number(store, which), _number(store, into)
        moved = store.merge(source, target, WHO)
    click.echo(f"{plural(moved, 'result')} moved to series {target}")


@command.command(epilog="Example: barograph series retire db/insert/ops")
@click.argument("which", metavar="SERIES")
@click.option("--undo", is_flag=True, help="Bring a retired series back.")
@store_option
def retire(which: str, undo: bool, url: str) -> None:
    """Retire a series that is no longer measured.

    Its results and verdicts are kept.
    """
    from barograph.server.store import life

    with open_existing(url) as store:
        number = _number(store, which)
        store.change(lambda c: life.retire(c, number, WHO, retired=not undo))


@command.command(epilog="Example: barograph series delete 7")
@click.argument("which", metavar="SERIES")
@click.option("--with-verdicts", is_flag=True, help="Delete its verdicts, too.")
@store_option
@format_option("text", "json")
def delete(which: str, with_verdicts: bool, url: str, output: str) -> None:
    """Delete a series with its results and candidates.

    The audit trail records it. A series with verdicts, which train models, is refused unless
    --with-verdicts is given.
    """
    from dataclasses import asdict

    from barograph.server.store import life

    with open_existing(url) as store:
        number = _number(store, which)
        deleted = store.change(lambda c: life.delete(c, number, WHO, with_verdicts=with_verdicts))
    if output == "json":
        echo_json(asdict(deleted))
        return
    click.echo(
        f"{plural(deleted.points, 'result')}, {plural(deleted.candidates, 'candidate')} and "
        f"{plural(deleted.verdicts, 'verdict')} deleted"
    )


def _every(store: Store) -> list[StoredSeries]:
    """Return all series of a store."""
    from barograph.server.store import reading

    with store.read() as connection:
        return reading.find_series(connection, limit=MOST)


def _number(store: Store, which: str) -> int:
    """Return the number of a series that is given by its number or its printed name."""
    if which.isdecimal():
        return int(which)
    numbers = [row.id for row in _every(store) if str(row.name) == which]
    if not numbers:
        raise DataError(f"there is no series {which!r:.200}; `barograph series list` lists them")
    return numbers[0]
