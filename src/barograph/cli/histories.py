"""How commands that read a history take it: any source, loaded as the pipeline loads it."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from barograph.history import History

F = TypeVar("F", bound=Callable[..., Any])
KINDS = ("tabular", "mongodump", "mongodb", "zenodo")


def source_options(function: F) -> F:
    """Add LOCATION and --kind to a command."""
    location = click.argument("location")
    kind = click.option(
        "--kind",
        type=click.Choice(KINDS),
        default="tabular",
        show_default=True,
        help="What LOCATION is: a table or a folder of tables, a dump, a database, a record.",
    )
    return location(kind(function))


def least_option(function: F) -> F:
    """Add --least to a command that fails on regressions."""
    return click.option(
        "--least",
        type=click.FloatRange(min=0.0),
        default=0.0,
        show_default=True,
        help="The smallest change that counts, in per cent of the level before.",
    )(function)


def output_option(function: F) -> F:
    """Add --output to a command."""
    return click.option(
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people, or one JSON object for programs.",
    )(function)


def echo_json(told: dict[str, Any]) -> None:
    """Print one JSON object; a number that is not finite, which JSON lacks, becomes null."""
    click.echo(json.dumps(_writable(told), allow_nan=False))


def _writable(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _writable(one) for name, one in told.items()}
    if isinstance(told, list):
        return [_writable(one) for one in told]
    return None if isinstance(told, float) and not math.isfinite(told) else told


@contextmanager
def loaded_tables(kind: str, location: str) -> Iterator[str]:
    """Load any source into the tables that the pipeline uses, and tell what was left out."""
    from barograph.sources import load, open_source

    with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
        report = load(open_source(kind, location), folder)
        if any(report.skipped_share(name) for name in ("series", "points", "candidates")):
            click.echo(str(report), err=True)
        yield folder


def read_history(kind: str, location: str) -> History:
    """Load any source."""
    from barograph.history import History

    with loaded_tables(kind, location) as folder:
        return History.read(folder)
