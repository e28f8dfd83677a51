"""How commands find the embedded store and the models, with no configuration at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from barograph.errors import ConfigError, DataError

if TYPE_CHECKING:
    from barograph.detection.online import SecondLookConfig
    from barograph.models import OnlineModels
    from barograph.store import Store
    from barograph.store.exchange import Filled

F = TypeVar("F", bound=Callable[..., Any])
SHOWN = 3  # reasons
RELEASED = Path("data/release")  # where the pipeline releases models of one's own


def default_store() -> str:
    """Where the store is unless somebody says otherwise."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return str(Path(home) / "barograph" / "barograph.db")


def store_option(function: F) -> F:
    """Add --store to a command."""
    return click.option(
        "--store",
        "url",
        envvar="BAROGRAPH_STORE",
        default=default_store,
        show_default="barograph/barograph.db in your data folder",
        help="A file, or the URL of a PostgreSQL database; also BAROGRAPH_STORE.",
    )(function)


def model_option(use: str, name: str = "--model", does: str = "Decides") -> Callable[[F], F]:
    """Add an option that names a model to a command."""
    return click.option(
        name,
        type=click.Path(path_type=Path),
        callback=_named,
        default=RELEASED / f"{use}.baro",
        show_default=True,
        help=f"{does}; without this option the shipped one does while there is no such file.",
    )


def _named(context: click.Context, option: click.Parameter, path: Path) -> Path:
    if context.get_parameter_source(str(option.name)) is not ParameterSource.DEFAULT:
        check_there(
            option.opts[0], path, f"leave the option out ({option.default}, else the shipped one)"
        )
    return path


def check_there(option: str, path: Path, otherwise: str) -> None:
    """Refuse a model that somebody named where there is none; no other takes its place.

    Raises:
        ConfigError: there is no such file.
    """
    if not path.exists():
        raise ConfigError(f"{option} {path}: no such file; name that of a model, or {otherwise}")


def online_models(path: Path) -> OnlineModels:
    """Load the online models of a path, or the shipped ones where nothing is released there yet."""
    from barograph.models import OnlineModels

    return OnlineModels.load(path) if path.exists() else OnlineModels.default()


def open_store(
    url: str, models: OnlineModels | None = None, again: SecondLookConfig | None = None
) -> Store:
    """Open the store; without a model nothing new can be taken in."""
    from barograph.detection.online import make_judge
    from barograph.store import Store
    from barograph.store.nobody import Nobody

    judge, reason = (Nobody(), "") if models is None else make_judge(models, again)
    if reason:
        click.echo(reason, err=True)
    make_folder(url)
    return Store(url, judge)


def open_existing(url: str) -> Store:
    """Open a store to give something back of it; a mistyped name makes no empty one.

    Raises:
        ConfigError: there is no such file.
    """
    if "://" not in url and not Path(url).exists():
        raise ConfigError(f"--store {url}: no such store; score, import and serve make one")
    return open_store(url)


def make_folder(url: str) -> None:
    """Make the folder of the store, where it is a file."""
    if "://" not in url:
        Path(url).parent.mkdir(parents=True, exist_ok=True)


def tell_rejected(filled: Filled) -> None:
    """Say on stderr how many points were not taken, and why.

    Raises:
        DataError: none of them was.
    """
    count = filled.points["rejected"]
    if not count:
        return
    told = [f"{reason} ({number} times)" for reason, number in filled.reasons.items()]
    more = "" if len(told) <= SHOWN else f"; {len(told) - SHOWN} more reasons"
    text = f"{count} points were rejected: {'; '.join(told[:SHOWN])}{more}"
    if count == sum(filled.points.values()):
        raise DataError(text)
    click.echo(text, err=True)
