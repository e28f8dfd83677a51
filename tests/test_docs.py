"""The docs cover every command, option, route and scope, and their Python blocks run."""

import pkgutil
import re
import shutil
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml

from barograph.cli import COMMANDS, group
from barograph.server import store, triage
from barograph.server.store.measurement import Limits
from barograph.server.store.tokens import Scope
from barograph.server.web.app import ROUTERS
from tools import reference, stages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if "```python\n" in page.read_text(encoding="utf-8")
]
ROUTES = sorted(
    f"{method} {getattr(route, 'path', '')}"
    for router in ROUTERS
    for route in router.routes
    if getattr(route, "include_in_schema", True)  # pages and their files are not the API
    for method in getattr(route, "methods", ())
)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_commands_are_documented(name: str) -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    section = text.split(f"## barograph {name}\n")[1].split("\n## ")[0]
    command = group.get_command(click.Context(group), name)
    inner = [f"{name} {item}" for item in getattr(command, "commands", {})] or [name]
    assert sorted(re.findall("<!-- options of (.*) -->", section)) == sorted(inner)


def test_tables_of_options_are_those_of_the_commands() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert reference.page(text) == text, "run python tools/reference.py"


def test_graph_of_the_stages_is_that_of_dvc() -> None:
    text = stages.PAGE.read_text(encoding="utf-8")
    known = yaml.safe_load((stages.ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert stages.page(text, known) == text, "run python tools/stages.py"
    assert "    train --> release\n" in text
    del known["release"]
    assert stages.page(text, known) != text


def test_functions_of_the_store_page_exist() -> None:
    rooms = [
        {module.name: f"{room.__name__}.{module.name}" for module in pkgutil.iter_modules([path])}
        for room in (store, triage)
        for path in room.__path__
    ]
    modules = rooms[1] | rooms[0]
    text = (DOCS / "store.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(\w+)\.(\w+)[`(]", text))
    named = [pair for pair in names if pair[0] in modules and pair[0] != "store"]  # the object
    assert len(named) > 10
    missing = [pair for pair in named if not hasattr(import_module(modules[pair[0]]), pair[1])]
    assert missing == []


@pytest.mark.parametrize("route", ROUTES)
def test_routes_are_documented(route: str) -> None:
    route = route.replace(":path}", "}")  # how it is matched, not how it is called
    assert f"`{route}`" in (DOCS / "service.md").read_text(encoding="utf-8")


def test_scopes_are_documented() -> None:
    text = (DOCS / "service.md").read_text(encoding="utf-8")
    assert all(f"`{scope.value}`" in text for scope in Scope)


def test_limits_of_the_service_page_are_those_of_the_store() -> None:
    text = (DOCS / "service.md").read_text(encoding="utf-8")
    limits = Limits()
    for row in (
        f"results in one request | {limits.batch:,}",
        f"runs of one commit | {limits.runs:,}",
        f"characters of a label or a unit, arguments of a series | {limits.label}, {limits.args}",
    ):
        assert f"| {row} |" in text


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    shutil.copy(DOCS / "results.csv", tmp_path / "docs")
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": page.stem}
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        line = text.count("\n", 0, block.start(1))
        source = compile("\n" * line + block[1], str(page), "exec")
        exec(source, namespace)  # noqa: S102 - our own documentation
