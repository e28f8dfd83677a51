"""Commands that look after a store: `export`, `prune`, `recompute`, `series` and `token`."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from barograph.cli.detectors import DEFAULT_DETECTOR, DETECTORS, make_detector
from barograph.cli.options import (
    LABEL_FREE,
    echo,
    format_option,
    model_option,
    online_models,
    open_existing,
    open_store,
    pair_of,
    store_option,
    triage_model,
    with_parameters,
)
from barograph.results.series import LABELS, SeriesId, normalize_args
from barograph.results.wording import plural
from barograph.runtime.errors import DataError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from barograph.server.store import Store
    from barograph.server.store.reading import StoredSeries

AGE = re.compile(r"(\d+(?:\.\d+)?)d")
MOST = 2**31 - 1  # series
SCOPES = ("ingest", "read", "triage", "admin")
WHO = "cli"


@click.command("export", epilog="Example: barograph export data/raw/export")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@store_option
@format_option("text", "json")
def export(folder: Path, url: str, output: str) -> None:
    """Write series, points and candidates to FOLDER, as tables that the pipeline loads.

    The subfolder `store` gets every table of the store, for `barograph import --restore`.
    """
    from barograph.server.store.export import archive, export_tables

    # One read transaction: results that arrive meanwhile are in neither part.
    with open_existing(url) as store, store.read() as connection:
        counts = export_tables(connection, folder)
        archive(connection, folder)
    echo(output, counts, ", ".join(f"{count:,} {name}" for name, count in counts.items()))


def read_age(_context: click.Context, _option: click.Parameter, text: str) -> float:
    """Return the days of an age such as 400d."""
    match = AGE.fullmatch(text)
    if match is None:
        raise click.BadParameter(f"{text!r:.40} is not a number of days, such as 400d")
    return float(match[1])


@click.command("prune", epilog="Example: barograph prune --older-than 400d --dry-run")
@click.option(
    "--older-than",
    "days",
    callback=read_age,
    metavar="AGE",
    required=True,
    help="Delete results that are older than this, in days, such as 400d.",
)
@click.option("--dry-run", is_flag=True, help="Count, but delete nothing.")
@store_option
@format_option("text", "json")
def prune(days: float, dry_run: bool, url: str, output: str) -> None:
    """Delete old results, with the candidates among them.

    Verdicts are never deleted. A series with a verdict or a ticket keeps all its results; of other
    series that are not retired, the newest 500 stay.
    """
    from barograph.server.store import retention

    with open_existing(url) as store:
        result = retention.prune(store, days, WHO, dry_run=dry_run)
    verb = "would be deleted" if dry_run else "deleted"
    echo(
        output,
        {**asdict(result), "dry_run": dry_run},
        f"{plural(result.points, 'result')} and {plural(result.candidates, 'candidate')} "
        f"of {result.series:,} series {verb}; "
        f"{result.kept:,} series kept for a verdict or a ticket",
    )


@click.command("recompute", epilog="Example: barograph recompute --store ci.db")
@model_option(LABEL_FREE, does="scores candidates")
@store_option
@format_option("text", "json")
def recompute(model: Path, url: str, output: str) -> None:
    """Recompute the change points of every series in the store.

    A candidate that moved keeps its identity and its verdict, and one with a verdict that is no
    longer found is kept.
    """
    from barograph.server.triage.refresh import CandidateRefresher

    method, name = make_detector(DEFAULT_DETECTOR), DETECTORS[DEFAULT_DETECTOR]
    refresher = CandidateRefresher(method, name, triage_model(model))
    with open_existing(url) as store:
        result = refresher.recompute(store)
    echo(
        output,
        asdict(result) | {"projects": sorted(result.projects)},
        f"{result.series:,} series: {plural(result.added, 'candidate')} added, "
        f"{result.moved:,} moved, {result.withdrawn:,} withdrawn, {result.returned:,} found again",
        f"of those with a verdict: {result.processed_moved:,} moved, "
        f"{result.processed_withdrawn:,} withdrawn, {result.processed_returned:,} found again",
    )


@click.group("series", epilog="Example: barograph series retire db/insert/ops")
def series() -> None:
    """Rename, merge, retire or delete a series; SERIES is its number or its name."""


@series.command(name="list", epilog="Example: barograph series list --format json")
@store_option
@format_option("text", "json")
def list_series(url: str, output: str) -> None:
    """List the numbers and names of all series."""
    with open_existing(url) as store:
        rows = _every(store)
    known = [{"id": r.id, "name": str(r.name), "retired": r.retired is not None} for r in rows]
    texts = (f"{r.id}  {r.name}{'' if r.retired is None else '  retired'}" for r in rows)
    echo(output, {"series": known}, *texts)


@series.command(epilog="Example: barograph series rename 7 --test insert_v2")
@click.argument("which", metavar="SERIES")
@with_parameters(click.option(f"--{label}", help=f"New {label}.") for label in LABELS)
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

        renamed = store.write(work)
    click.echo(f"{renamed.id}  {renamed.name}")


@series.command(epilog="Example: barograph series merge 7 8")
@click.argument("which", metavar="SERIES")
@click.argument("into", metavar="INTO")
@store_option
@model_option("online")
def merge(which: str, into: str, url: str, model: Path) -> None:
    """Merge SERIES into INTO, and delete SERIES.

    Its results, candidates and verdicts move to INTO. Where both have a result, the later measured
    value holds. Results that arrive under the former name go to INTO.
    """
    with open_existing(url, online_models(model)) as store:
        source, target = _number(store, which), _number(store, into)
        moved = store.merge(source, target, WHO)
    click.echo(f"{plural(moved, 'result')} moved to series {target}")


@series.command(epilog="Example: barograph series retire db/insert/ops")
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
        store.write(lambda c: life.retire(c, number, WHO, retired=not undo))


@series.command(epilog="Example: barograph series delete 7")
@click.argument("which", metavar="SERIES")
@click.option("--with-verdicts", is_flag=True, help="Delete its verdicts, too.")
@store_option
@format_option("text", "json")
def delete(which: str, with_verdicts: bool, url: str, output: str) -> None:
    """Delete a series with its results and candidates.

    The audit trail records it. A series with verdicts, which train models, is refused unless
    --with-verdicts is given.
    """
    from barograph.server.store import life

    with open_existing(url) as store:
        number = _number(store, which)
        deleted = store.write(lambda c: life.delete(c, number, WHO, with_verdicts=with_verdicts))
    echo(
        output,
        asdict(deleted),
        f"{plural(deleted.points, 'result')}, {plural(deleted.candidates, 'candidate')} and "
        f"{plural(deleted.verdicts, 'verdict')} deleted",
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


@click.group("token", epilog="Example: barograph token add ci --scope ingest")
def token() -> None:
    """Create, list and revoke tokens; without tokens the service serves this machine only."""


@token.command(epilog="Example: barograph token add ci --scope ingest --scope read")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(SCOPES),
    multiple=True,
    required=True,
    help="Permission of the token. Repeatable.",
)
@store_option
def add(name: str, scopes: tuple[str, ...], url: str) -> None:
    """Create the token NAME and print it; it is shown only once."""
    from barograph.server.store import tokens
    from barograph.server.store.tokens import Scope

    with open_store(url) as store:
        allowed = [Scope(scope) for scope in scopes]
        click.echo(store.write(lambda connection: tokens.create(connection, name, allowed, WHO)))


@token.command(epilog="Example: barograph token revoke ci")
@click.argument("name")
@store_option
def revoke(name: str, url: str) -> None:
    """Revoke the token NAME."""
    from barograph.server.store import tokens

    with open_existing(url) as store:
        store.write(lambda connection: tokens.revoke(connection, name, WHO))


@token.command(name="list", epilog="Example: barograph token list")
@store_option
@format_option("text", "json")
def list_tokens(url: str, output: str) -> None:
    """List the names and scopes of all tokens.

    Their secrets are not stored.
    """
    from barograph.server.store import tokens

    with open_existing(url) as store, store.read() as connection:
        every = tokens.every(connection)
    rows = [(token.name, sorted(token.scopes), token.revoked is not None) for token in every]
    echo(
        output,
        {"tokens": [dict(zip(("name", "scopes", "revoked"), row, strict=True)) for row in rows]},
        *(f"{name}  {' '.join(scopes)}{'  revoked' * gone}" for name, scopes, gone in rows),
    )
