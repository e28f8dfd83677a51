"""Options that texts name exist, and those of earlier versions say what replaces them."""

import re
from pathlib import Path

import click
import pytest

from barograph.cli import group, main
from barograph.cli.options import OWN, Setting

ROOT = Path(__file__).parents[2]
FORMER = Path(__file__).with_name("former_options.txt").read_text().splitlines()
TEXTS = [
    ROOT / "README.md",
    ROOT / "action.yml",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "src").rglob("*.html")),
]
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*(?![\w-])")
CALL = re.compile(r"\bbarograph ([a-z][^`|&;#\n]*)")
# Options of other programs, which people type beside ours: of Git, gh and pip, of tools for
# benchmarks, and of the pipeline and our scripts.
OTHERS = """
    --batch --cached --detach --field --hard --is-shallow-repository --jq --message --method
    --paginate --quiet --reverse --short --stdin --topo-order --verify
    --benchmark-json --csv --export-json --exporters --headless --json --message-format
    --reporter --summary-export
    --backend-store-uri --columns --draws --force --full --nthreads --rates --relative-scale
    --shipped --train --write
"""


def commands(
    command: click.Command = group, name: str = "", parent: click.Context | None = None
) -> dict[str, click.Command]:
    """Return all commands and subcommands by their names."""
    found = {name: command}
    if isinstance(command, click.Group):
        context = click.Context(command, parent)
        for part in command.list_commands(context):
            inner = command.get_command(context, part)
            assert inner is not None
            found |= commands(inner, f"{name} {part}".strip(), context)
    return found


COMMANDS = commands()


def options(command: click.Command) -> set[str]:
    """Return the options of a command, but not its settings."""
    known = [p for p in command.params if not isinstance(p, Setting)]
    return {"--help", *(name for p in known for name in (*p.opts, *p.secondary_opts))}


def test_every_option_that_a_text_names_exists() -> None:
    known = set(OTHERS.split()).union(*map(options, COMMANDS.values()))
    unknown = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in TEXTS
        for name in OPTION.findall(path.read_text())
        if name not in known
    }
    assert unknown == set()


def test_every_option_of_a_command_that_a_text_calls_is_one_of_it() -> None:
    unknown = set()
    for path in TEXTS:
        for call in CALL.findall(path.read_text().replace("\\\n", " ")):
            name = max((n for n in COMMANDS if f"{call} ".startswith(f"{n} ")), key=len, default="")
            for option in set(OPTION.findall(call)) - options(COMMANDS[name]):
                unknown.add((path.name, name, option))
    assert unknown == set()


@pytest.mark.parametrize("line", FORMER, ids=lambda line: line.partition(":")[0])
def test_former_options_exist_or_say_what_replaces_them(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, _, names = line.partition(": ")
    for option in names.split():
        if f"--{option}" not in options(COMMANDS[name]):
            with pytest.raises(SystemExit):
                main([*name.split(), f"--{option}=1"])
            message = capsys.readouterr().err
            assert f"--{option} is withdrawn: " in message
            key = re.search(r"set `(\S+)` in the table \[", message)
            settings = [p for p in COMMANDS[name].params if isinstance(p, Setting)]
            assert not key or key[1] in {key.removeprefix(OWN) for p in settings for key in p.opts}
