"""The command line: one module per command, imported when the command is called.

Exit codes of every command: 0 clean, 1 a usage or data error, 2 a regression, 3 not enough data,
4 a suspect that is a large regression if a further run of its commit confirms it.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click

from barograph import __version__
from barograph.runtime.errors import BarographError, ConfigError, NotEnoughDataError
from barograph.runtime.extras import missing

CLEAN, ERROR, REGRESSION, TOO_LITTLE, SUSPECT = range(5)
LONGEST = 300  # characters of a message
GARBAGE = 200_000  # objects between collections; most of a command's are modules, which stay
INTERRUPTED = 130  # 128 and the number of SIGINT, as shells report it
UNCONFIGURED = ("completion", "formats", "init")  # these work with a broken configuration, too
# Commands and their help texts; each is in the module of the same name.
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
        module = "import_" if cmd_name == "import" else cmd_name  # a keyword cannot name a module
        command: click.Command = import_module(f"{__name__}.{module}").command
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
            from barograph.cli.withdrawn import explained

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
    if arguments is None:
        gc.set_threshold(GARBAGE)
        # The process ends, so its memory need not be searched for garbage.
        atexit.register(gc.freeze)
    try:
        _require_text(sys.argv[1:] if arguments is None else arguments)
        sys.exit(group.main(arguments, prog_name="barograph", standalone_mode=False))
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(ERROR)
    except click.ClickException as error:
        _print_error(_one_line(error), _path_of(error))
        sys.exit(ERROR)
    except NotEnoughDataError as error:
        _print_error(error)
        sys.exit(TOO_LITTLE)
    except OSError as error:
        reason = str(error.strerror or error).lower()
        _print_error(reason if error.filename is None else f"{error.filename}: {reason}")
        sys.exit(ERROR)
    except BarographError as error:
        _print_error(error)
        sys.exit(ERROR)


def _require_text(arguments: Sequence[str]) -> None:
    """Refuse arguments that no output could show.

    Raises:
        ConfigError: The bytes of one are not valid.
    """
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise ConfigError(f"{argument!r:.60}: an argument must be valid UTF-8")


def _one_line(error: click.ClickException) -> str:
    """Return the message of click, which may have several lines, as one line."""
    return " ".join(line.strip() for line in error.format_message().splitlines())


def _path_of(error: click.ClickException) -> str:
    """Return the command with the wrong usage, including its parent commands."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    return "barograph" if context is None else context.command_path


def _print_error(error: object, where: str = "barograph") -> None:
    text = " ".join(f"{where}: {error}".split("\n"))
    click.echo(text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}...", err=True)
