"""Options, keys and detectors of earlier versions, and what replaces each of them."""

from __future__ import annotations

import click

from barograph.cli.options import Setting

JUDGES = "gate score import replay serve series"
SEARCHES = "detect report"
READS = "input append classify clusters detect gate import replay report score"
# What replaces an option of some commands, which is also a key of their tables.
SUCCESSORS = {
    "alarm-policy": (JUDGES, "`steady` is the only policy; --false-red of `gate` is the budget"),
    "detector": ("recompute serve", "change points are found by triaged, the default method"),
    "detector-option": (SEARCHES, "use --set NAME=VALUE, or `set` in barograph.toml"),
    "false-discoveries": (SEARCHES, "use multipletests of statsmodels on the p-values, in Python"),
    "false-alarms-per-1000": ("series", "the merged series is judged with the default of 3"),
    "last": (SEARCHES, "use --since with a date, an age, a commit or an order"),
    "max-line": (READS, "a line may be as long as the file: `max-size` in [input] limits that"),
    "min-magnitude": (SEARCHES, "use --set min_magnitude=SHARE"),
    "min-probability": ("recompute", "the rule in the model file decides, as in the service"),
    "no-second-look": (JUDGES, "results are judged again whenever the models support it"),
    "profile": ("retrain", "set `profile` in the file of --params"),
    "pvalue": (SEARCHES, "use --set pvalue=P"),
    "out": ("classify", "use --format json, with a --limit that is large enough"),
    "plot": ("detect", "use `barograph report`, or barograph.plot in Python"),
    "scheduler": ("classify replay", "set the environment variable BAROGRAPH_SCHEDULER"),
    "second-look": (JUDGES, "results are judged again whenever the models support it"),
    "time": (READS, "give the results a column or field `time`"),
    "title": ("report", "every page is titled Barograph report"),
    "seed": ("retrain", "set `seed` in the section `train` of the file of --params"),
    "store-mode": ("serve", "set the environment variable BAROGRAPH_STORE_MODE"),
    "suppressions": ("gate score", "write the tables [[suppress]] in barograph.toml"),
    "window": (SEARCHES, "use --set window=N"),
    "workers": ("classify recompute replay", "set the environment variable BAROGRAPH_WORKERS"),
}
# Detectors, of which `threshold` had a table of its own.
DETECTORS = {
    "threshold": "a fixed percentage is no longer a method; use another one, with --min-change for "
    "the smallest change in percent",
    "tau_kappa": "use hunter, which searches for the best pair (tau, kappa)",
}


def successor(command: str, name: str) -> str:
    """Return what replaces an option or a key; empty if there was none of this name.

    Args:
        command: The command or the table that had it.
        name: The option without dashes, or the key.

    Example:
        >>> successor("detect", "pvalue")
        'use --set pvalue=P'
    """
    commands, text = SUCCESSORS.get(name, ("", ""))
    return text if command in commands.split() else ""


def explained(error: click.NoSuchOption) -> click.UsageError:
    """Return the error that names what replaces an option, or the error itself."""
    if (context := error.ctx) is None:
        return error
    name = error.option_name.removeprefix("--")
    _, command, *_ = context.command_path.split()
    text = successor(command, name)
    for param in context.command.params:
        if isinstance(param, Setting) and name in param.opts:
            table = param.table or command
            text = f"set `{name}` in the table [{table}] of barograph.toml"
    return click.UsageError(f"--{name} is withdrawn: {text}", context) if text else error
