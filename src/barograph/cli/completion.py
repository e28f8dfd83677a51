"""`barograph completion`: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(epilog='Example: eval "$(barograph completion bash)"')
@click.argument("shell", type=click.Choice(list(SHELLS)), metavar="SHELL")
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    For bash and zsh, add `eval "$(barograph completion bash)"` (or zsh) to ~/.bashrc (or ~/.zshrc).
    For fish, write the output to ~/.config/fish/completions/barograph.fish.
    """
    completion = SHELLS[shell]
    root = context.find_root().command
    click.echo(completion(root, {}, "barograph", "_BAROGRAPH_COMPLETE").source())
