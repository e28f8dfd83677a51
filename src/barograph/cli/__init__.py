"""The command line: one file a command, and nothing big imported before it runs.

Exit codes, the same for every command: 0 clean, 1 a usage or data error, 2 a regression found,
3 not enough data to say.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from barograph import __version__
from barograph.errors import BarographError, NotEnoughDataError

CLEAN, ERROR, REGRESSION, TOO_LITTLE = range(4)
# What `--help` lists; the module of the same name is imported when the command is called.
COMMANDS = {
    "classify": "Say which candidates of a source people would call real.",
    "detect": "Find the change points of a history.",
    "export": "Write everything that the store holds as tables.",
    "gate": "Fail when the newest results are a regression.",
    "import": "Fill the store from a source.",
    "recompute": "Find the change points of every series of the store anew.",
    "replay": "Run the online detector over every commit of a source.",
    "score": "Put results into the store, and fail when the newest are a regression.",
    "serve": "Start the service.",
    "token": "Make, list and revoke the tokens of the service.",
}


class Lazy(click.Group):
    """A group that knows its commands by name, and imports the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            ctx.fail(f"there is no command {cmd_name!r}; there are {', '.join(COMMANDS)}")
        # `import` is a word of the language: no module can have that name.
        module = "fill" if cmd_name == "import" else cmd_name
        command: click.Command = import_module(f"{__name__}.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def group() -> None:
    """Find where benchmark performance changed, and learn from every verdict.

    Exit codes: 0 clean, 1 usage or data error, 2 regression found, 3 not enough data.
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and leave with its exit code; an error is one line on stderr."""
    try:
        sys.exit(group.main(arguments, prog_name="barograph", standalone_mode=False))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        sys.exit(ERROR)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(ERROR)
    except click.ClickException as error:
        _tell(_one_line(error), _path_of(error))
        sys.exit(ERROR)
    except NotEnoughDataError as error:
        _tell(error)
        sys.exit(TOO_LITTLE)
    except (BarographError, OSError) as error:
        _tell(error)
        sys.exit(ERROR)


def _one_line(error: click.ClickException) -> str:
    """What is wrong; click lists what is allowed in lines of its own."""
    return " ".join(line.strip() for line in error.format_message().splitlines())


def _path_of(error: click.ClickException) -> str:
    """The command whose usage is wrong, with the names of those above it."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    return "barograph" if context is None else context.command_path


def _tell(error: object, where: str = "barograph") -> None:
    click.echo(f"{where}: {error}", err=True)
