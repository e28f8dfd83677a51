"""What is documented is what there is: every command, every option, every route."""

from pathlib import Path

import click
import pytest

from barograph.cli import COMMANDS, group
from barograph.service.app import ROUTERS
from barograph.store.tokens import Scope

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROUTES = sorted(
    f"{method} {getattr(route, 'path', '')}"
    for router in ROUTERS
    for route in router.routes
    for method in getattr(route, "methods", ())
)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_its_options_are_documented(name: str) -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert f"## barograph {name}" in text
    section = text.split(f"## barograph {name}\n")[1].split("\n## ")[0]
    command = group.get_command(click.Context(group), name)
    assert command is not None
    options = [
        option
        for one in command.params
        if isinstance(one, click.Option)
        for option in one.opts
        if option.startswith("--")
    ]
    assert [option for option in options if option not in section] == []


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_is_documented(route: str) -> None:
    assert f"`{route}`" in (DOCS / "service.md").read_text(encoding="utf-8")


def test_every_scope_is_documented() -> None:
    text = (DOCS / "service.md").read_text(encoding="utf-8")
    assert all(f"`{scope.value}`" in text for scope in Scope)
