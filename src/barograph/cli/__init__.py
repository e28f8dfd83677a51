"""The command line: commands are imported when they are called.

Exit codes of every command: 0 clean, 1 a usage or data error, 2 a regression, 3 not enough data,
4 a suspect that is a large regression if a further run of its commit confirms it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import NoReturn

import click

from barograph import __version__
from barograph.runtime.errors import BarographError, ConfigError, NotEnoughDataError
from barograph.runtime.extras import missing

CLEAN, ERROR, REGRESSION, TOO_LITTLE, SUSPECT = range(5)
LONGEST = 300  # characters of a message
INTERRUPTED = 130  # 128 and the number of SIGINT, as shells report it
UNCONFIGURED = ("completion", "formats", "init")  # these work with a broken configuration, too
MODULES = {  # of commands that share a module, or that a keyword cannot name
    "detect": ("detect", "report"),
    "gate": ("gate", "score"),
    "import_": ("append", "import"),
    "models": ("classify", "replay", "retrain"),
    "setup": ("completion", "formats", "init", "warmup"),
    "store_commands": ("export", "prune", "recompute", "series", "token"),
}
# Commands and their help texts.
COMMANDS = {
    "append": "Append the results of a run to a history file.",
    "classify": "Rank candidates by how likely people would call them real.",
    "clusters": "Find steps that many series take at one commit.",
    "completion": "Print the completion script of a shell.",
    "detect": "Find the change points of every series of a source.",
    "export": "Write the contents of the store as tables.",
    "formats": "List the file formats that commands read.",
    "gate": "Fail if the newest results of a source are a regression.",
    "import": "Add the data of a source to the store.",
    "init": "Write a commented barograph.toml.",
    "noise": "Print how small a change is found in each series.",
    "prune": "Delete old results that no verdict needs.",
    "recompute": "Recompute the change points of every series in the store.",
    "replay": "Judge every commit of a source as if it were the newest.",
    "report": "Write a page with the changes of every series.",
    "retrain": "Learn from the verdicts in the store, and release what is better.",
    "score": "Add results to the store, and fail if the newest are a regression.",
    "series": "Rename, merge, retire or delete a series.",
    "serve": "Start the HTTP service.",
    "token": "Create, list and revoke the tokens of the service.",
    "warmup": "Compile all numeric code in advance.",
}


class LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(cmd_name, COMMANDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command {cmd_name!r}; {hint}")
        module = next((m for m, names in MODULES.items() if cmd_name in names), cmd_name)
        attribute = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(import_module(f"{__name__}.{module}"), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and set the defaults of its options from the configuration."""
        name, command, rest = super().resolve_command(ctx, args)
        is_read = name not in UNCONFIGURED and not {"-h", "--help"} & set(rest)
        if name and command and is_read and not ctx.resilient_parsing:
            from barograph.cli.config import configure

            configure(ctx, self, command, name)
        return name, command, rest

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; name what replaces an option, and the extra that is missing."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            from barograph.cli.options import explained

            raise explained(error) from None
        except ModuleNotFoundError as error:
            named = missing(error, ctx.invoked_subcommand or "barograph")
            if named is None:
                raise
            raise named from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version")
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="BAROGRAPH_CONFIG",
    show_envvar=True,
    help="Configuration. Defaults to barograph.toml in the current folder or above, up to the root "
    "of the repository, if its owner is you or root.",
)
@click.pass_context
def group(context: click.Context, config: Path | None) -> None:  # noqa: ARG001 - commands read it
    """Find where benchmark performance changed, and learn from every verdict.

    Exit codes: 0 clean, 1 usage or data error, 2 regression found, 3 not enough data, 4 suspected
    regression.
    """
    if os.environ.get("NO_COLOR"):
        context.color = False


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit with its code; errors are printed as one line on stderr.

    Args:
        arguments: The command and its arguments. Defaults to those of the process, which is then
            at its start, so that it may choose how kernels run.
    """
    try:
        for argument in sys.argv[1:] if arguments is None else arguments:
            if any("\ud800" <= character <= "\udfff" for character in argument):
                raise ConfigError(f"{argument!r:.60}: an argument must be valid UTF-8")
        sys.exit(group.main(arguments, prog_name="barograph", standalone_mode=False))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(ERROR)
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        _print_error(error.format_message(), context.command_path if context else "barograph")
        sys.exit(ERROR)
    except OSError as error:
        reason = str(error.strerror or error).lower()
        _print_error(reason if error.filename is None else f"{error.filename}: {reason}")
        sys.exit(ERROR)
    except BarographError as error:
        _print_error(error)
        sys.exit(TOO_LITTLE if isinstance(error, NotEnoughDataError) else ERROR)


def _print_error(error: object, where: str = "barograph") -> None:
    """Print an error on one line."""
    text = f"{where}: {' '.join(map(str.strip, str(error).splitlines()))}"
    click.echo(text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}...", err=True)
