"""The options of a second look, the same wherever the online detector runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
ALARM_POLICIES = ("early", "even", "steady", "sure")


def second_look_options(*, on: bool) -> Callable[[F], F]:
    """Add --second-look, --setting and --alarms; the command gets them as `again`.

    Args:
        on: Whether there is a second look by default, where the two models can do it.
    """

    def add(function: F) -> F:
        @functools.wraps(function)
        def command(
            *arguments: Any, second_look: bool | None, setting: str, alarms: float, **more: Any
        ) -> Any:
            from barograph.detection.online import SecondLookConfig

            again = None
            if second_look or (second_look is None and on):
                again = SecondLookConfig(setting, alarms, needed=second_look is not None)
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
                type=click.Choice(ALARM_POLICIES),
                default="steady",
                show_default=True,
                help="Whether alarms come rather early, or rather sure.",
            ),
            click.option(
                "--second-look/--no-second-look",
                default=None,
                show_default="on if the models support it" if on else "off",
                help="Judge recent points again as new results arrive.",
            ),
        ):
            options = option(options)
        result: F = options
        return result

    return add
