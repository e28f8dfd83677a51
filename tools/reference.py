"""Write the tables of options in docs/cli.md from the help texts of the commands.

    python tools/reference.py          # write them
    python tools/reference.py --check  # fail if they are out of date

Each table stands between two comments, `<!-- options of COMMAND -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import click

from barograph.cli import group
from barograph.cli.inputs import READING
from barograph.cli.options import OWN, Setting

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
P = TypeVar("P", bound=click.Parameter)
SAME_AS = {"report": "detect", "score": "gate"}  # their tables leave out what both commands have
TABLE = re.compile(r"(<!-- options of ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page(text: str) -> str:
    """Return the page with the tables that belong into it."""
    return TABLE.sub(lambda match: match[1] + table_of(match[2]) + match[3], text)


def table_of(name: str) -> str:
    """Return the table of a command or subcommand, or of the reading options (`files`)."""
    if name == "files":
        context = click.Context(group)
        return "\n".join((*table(shown(READING), context), "", *keys(READING), ""))
    options, context = options_of(name)
    specific = without(options, READING)
    also = ["[reading files](#reading-files)"] if len(specific) < len(options) else []
    if other := SAME_AS.get(name):
        of_other = without(options_of(other)[0], READING)
        missing = ", ".join(f"`{option.opts[0]}`" for option in without(of_other, specific))
        also.insert(0, f"[`{other}`](#barograph-{other}), except {missing}")
        specific = without(specific, of_other)
    lines = [*table(specific, context)]
    own = without(settings_of(context.command), READING)
    if own:
        lines += ["", f"Keys of the table `[{name}]` of `barograph.toml`:", "", *keys(own)]
    if also:
        lines += ["", f"It also has the options of {', and those of '.join(also)}."]
    return "\n".join((*lines, ""))


def options_of(name: str) -> tuple[list[click.Option], click.Context]:
    """Return the options of a command or subcommand, and its context."""
    command: click.Command = group
    context = click.Context(group, info_name="barograph")
    for word in name.split():
        parent = command
        assert isinstance(parent, click.Group)  # noqa: S101 - for the type checker
        subcommand = parent.get_command(context, word)
        if subcommand is None:
            sys.exit(f"{PAGE.name}: there is no command {name!r}")
        command, context = subcommand, click.Context(subcommand, info_name=word, parent=context)
    return shown(command.params), context


def shown(parameters: Sequence[click.Parameter]) -> list[click.Option]:
    """Return the options among some parameters."""
    options = [option for option in parameters if isinstance(option, click.Option)]
    return [option for option in options if not option.hidden]


def settings_of(command: click.Command) -> list[Setting]:
    """Return the parameters of a command that only `barograph.toml` sets."""
    return [parameter for parameter in command.params if isinstance(parameter, Setting)]


def without(options: Sequence[P], others: Sequence[click.Parameter]) -> list[P]:
    """Return the parameters that are not among others, by name and help text."""
    texts = {option.name: help_of(option) for option in others}
    return [option for option in options if texts.get(option.name) != help_of(option)]


def help_of(parameter: click.Parameter) -> str:
    """Return the help text of a parameter."""
    return str(getattr(parameter, "help", ""))


def keys(settings: Sequence[click.Parameter]) -> Iterator[str]:
    """Yield the keys of a table of `barograph.toml` as a table."""
    yield "| key | default | |"
    yield "|---|---|---|"
    for entry in settings:
        if isinstance(entry, Setting):
            value = entry.default
            is_shown = isinstance(value, (bool, int, float, str, Path)) and value != ""
            text = f"`{str(value).lower() if isinstance(value, bool) else value}`"
            key = entry.opts[0].removeprefix(OWN)
            yield f"| `{key}` | {text if is_shown else ''} | {cell(entry.help or '')} |"


def table(options: Sequence[click.Option], context: click.Context) -> Iterator[str]:
    """Yield options as a table."""
    if not options:
        return
    yield "| option | default | |"
    yield "|---|---|---|"
    for option in options:
        record = option.get_help_record(context)
        text = option.help or (record[1] if record else "")
        value = f" {option.metavar}" if option.metavar else ""  # often a unit, such as MIB
        names = ", ".join(f"`{name}{value}`" for name in (*option.opts, *option.secondary_opts))
        yield f"| {cell(names)} | {default(option, context)} | {cell(text)}{choices(option)} |"


def default(option: click.Option, context: click.Context) -> str:
    """Return the default of an option as its help shows it."""
    if option.required:
        return "required"
    value = option.get_help_extra(context).get("default", "").strip("()")
    return cell(f"`{value}`" if value and " " not in value else value)


def choices(option: click.Option) -> str:
    """Return the allowed values of an option."""
    if not isinstance(option.type, click.Choice):
        return ""
    return " Allowed: " + ", ".join(f"`{choice}`" for choice in option.type.choices) + "."


def cell(text: str) -> str:
    """Return text that cannot end a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the tables, or check them."""
    text = PAGE.read_text(encoding="utf-8")
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(text), encoding="utf-8")
    elif text != page(text):
        sys.exit(f"{PAGE.name} is out of date: run python tools/reference.py")


if __name__ == "__main__":
    main()
