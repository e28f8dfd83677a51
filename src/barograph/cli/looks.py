"""The options of a second look, the same wherever the online detector runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from barograph.cli.stores import RELEASED, check_there

if TYPE_CHECKING:
    from barograph.detection.online.confirming import SecondLookWanted

F = TypeVar("F", bound=Callable[..., Any])
SETTINGS = ("early", "even", "steady", "sure")
NONE, DEFAULT = "none", "default"
PATH = RELEASED / "confirm.baro"


def second_look_options(default: str) -> Callable[[F], F]:
    """Add --confirm, --setting and --alarms; the command gets them as `again`."""

    def add(function: F) -> F:
        @functools.wraps(function)
        def command(*arguments: Any, confirm: str, setting: str, alarms: float, **more: Any) -> Any:
            again = wanted(confirm, setting, alarms)
            return function(*arguments, again=again, **more)

        options: Any = command
        for option in (
            click.option(
                "--alarms",
                type=click.FloatRange(1.0, 10.0),
                default=3.0,
                show_default=True,
                metavar="RATE",
                help="False alarms that a thousand points may raise, all windows together.",
            ),
            click.option(
                "--setting",
                type=click.Choice(SETTINGS),
                default="steady",
                show_default=True,
                help="Whether alarms come rather early, or rather sure.",
            ),
            click.option(
                "--confirm",
                default=default,
                show_default=True,
                metavar="MODEL",
                help="Looks again as points follow: a file; 'default' for the one released to "
                "data/release or shipped, where the two models can; 'none'.",
            ),
        ):
            options = option(options)
        result: F = options
        return result

    return add


def wanted(confirm: str, setting: str, alarms: float) -> SecondLookWanted | None:
    """Return how the second look is wanted, if it is at all."""
    from barograph.detection.online.confirming import SecondLookWanted

    if confirm == NONE:
        return None
    if confirm == DEFAULT:
        return SecondLookWanted(PATH, setting, alarms)
    check_there(
        "--confirm", Path(confirm), f"{DEFAULT!r} ({PATH}, else the shipped one), or {NONE!r}"
    )
    return SecondLookWanted(Path(confirm), setting, alarms, needed=True)
