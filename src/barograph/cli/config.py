"""`barograph.toml`: defaults of options, suppressions, and patterns that sort series by name.

A table named after a command sets the defaults of its options and what has no option, `[input]` how
files are read, in every command. Options on the command line override both.

Whoever can write to a folder above a job could otherwise run commands as the user of the job. So
only as much of a file that is found is used as its owner is trusted with.
"""

from __future__ import annotations

import datetime as dt
import os
import stat
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import msgspec

from barograph.cli.options import FORMER_DETECTORS, OWN, successor
from barograph.results.patterns import matches
from barograph.runtime.errors import ConfigError

NAME = "barograph.toml"
GIT = ".git"  # a folder, or a file in a work tree
ROOT = 0  # the user number of the administrator
INPUT = "input"
# What a pattern can make of a series: a machine check that should never move, one that is looked at
# last, and one that is shown but fails no job.
PATTERN_KINDS = ("canary", "low_priority", "informational")
BETTER = {"lower": -1, "higher": 1}
READER = "import"  # a command with all parameters that say how files are read
# Keys that run a command, or name a model, a store or a host.
POWERFUL = (
    *("rerun", "model", "label-free", "release-to", "store"),
    *("host", "allowed-host", "trusted-proxy"),
)
CONTACTS = ("kind", "otava")  # files of this kind name hosts
JOBS = ("gate", "score")  # in a job, nobody reads notes

Words = Annotated[str, msgspec.Meta(pattern=r"\S")]


class Suppression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change that is known and accepted.

    Attributes:
        series: A pattern of names of series; `*` stands for any text.
        reason: Why the change is accepted.
        commit: The commit at which the change begins; with `until` the first of several. Empty for
            any.
        until: The last commit at which the change begins. Empty for any.
        direction: `up` or `down`; empty for both.
        expires: The last day of the suppression; None if it does not end.
    """

    series: Words
    reason: Words
    commit: str = ""
    until: str = ""
    direction: Literal["", "up", "down"] = ""
    expires: dt.date | None = None

    def __str__(self) -> str:
        commits = "..".join(name for name in (self.commit, self.until) if name)
        return f"{self.series}{f' at {commits}' if commits else ''} ({self.reason})"


RULES: dict[str, tuple[Any, str]] = {  # the tables about series: what they are, and in words
    "patterns": (
        dict[Literal["canary", "low_priority", "informational"], list[str]],
        "lists of patterns named canary, low_priority or informational",
    ),
    "direction": (dict[str, Literal["lower", "higher"]], "patterns that are `lower` or `higher`"),
    "suppress": (
        list[Suppression],
        "tables [[suppress]] with series and reason, optionally commit, until, direction (up or "
        "down), expires (a date such as 2027-01-31)",
    ),
}


@dataclass(frozen=True)
class Config:
    """The contents of a `barograph.toml`; empty without a file.

    Args:
        path: The file; None without one.
        commands: The options of each command by their long names without dashes.
        patterns: Patterns of series names by kind, which is one of `PATTERN_KINDS`.
        directions: `lower` or `higher`, by pattern of series names.
        suppress: The changes that are accepted.
        ignored: What of the file is not used, with the reason, by table; "" for the whole file.
    """

    path: Path | None = None
    commands: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    patterns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    suppress: Sequence[Suppression] = ()
    ignored: Mapping[str, str] = field(default_factory=dict)

    def kind_of(self, series: str) -> str:
        """Return the first kind with a pattern that matches the name of a series, or ""."""
        for kind in PATTERN_KINDS:
            if any(matches(pattern, series) for pattern in self.patterns.get(kind, ())):
                return kind
        return ""

    def direction_of(self, series: str) -> int:
        """Return the direction of the first pattern that matches the name of a series, or 0."""
        found = (better for name, better in self.directions.items() if matches(name, series))
        return BETTER.get(next(found, ""), 0)

    def unmatched(self, series: Iterable[object]) -> Iterator[str]:
        """Yield a note about each pattern that matches the name of none of some series."""
        rules = [(f"[patterns] {kind}", self.patterns.get(kind, ())) for kind in PATTERN_KINDS]
        rules.append(("[direction]", [*self.directions]))
        names = [*map(str, series)] if any(patterns for _, patterns in rules) else []
        for table, patterns in rules:
            for pattern in patterns:
                if not any(matches(pattern, name) for name in names):
                    yield f"{self.path}: {table}: no series matches {pattern!r}"


def find(start: Path) -> Path | None:
    """Return the nearest `barograph.toml` in a folder or above, or None.

    The search ends at the root of the repository, the home folder and the root of the file system.

    Args:
        start: The folder, as an absolute path.
    """
    return next((folder / NAME for folder in _searched(start) if (folder / NAME).is_file()), None)


def distrust(path: Path) -> tuple[str, bool]:
    """Return why a file that was found is not trusted; empty if it is.

    Args:
        path: The file, as an absolute path.

    Returns:
        The reason, and whether the file belongs to the owner of the repository, so that it may
        give settings.
    """
    if not hasattr(os, "geteuid"):
        return "", True  # Windows has no user numbers
    user, target = os.geteuid(), path.resolve()
    owners = {_owner_and_mode(place)[0] for place in (path, target)}
    places = (path.parent, target.parent, target)
    is_open = [place for place in places if _owner_and_mode(place)[1] & stat.S_IWOTH]
    if strangers := owners - {user, ROOT}:
        owner = f"user {min(strangers)}, who is neither you (user {user}) nor root"
        reason = f"the file belongs to {owner}"
    elif is_open:
        reason = f"every user can write to {is_open[0]}"
    else:
        return "", True
    *_, last = _searched(path.parent)
    return reason, (last / GIT).exists() and owners == {_owner_and_mode(last)[0]}


def _searched(start: Path) -> Iterator[Path]:
    home = Path(os.environ.get("HOME") or os.sep).resolve()
    for folder in (start, *start.parents):
        if folder.stat().st_dev != start.stat().st_dev:
            return
        yield folder
        if folder == home or (folder / GIT).exists():
            return


def _owner_and_mode(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_uid, status.st_mode


def load_config(commands: Collection[str], path: Path | None = None) -> Config:
    """Read the configuration.

    Args:
        commands: The names of all commands, whose defaults it may set.
        path: The file, which is trusted. Defaults to the first `barograph.toml` in the current
            folder or above, of which only as much is used as its owner is trusted with.

    Raises:
        ConfigError: The named file does not exist, or its contents cannot be used.
    """
    if path is not None:
        return _read(commands, path)
    path = find(Path.cwd())
    if path is None:
        return Config()
    reason, is_usable = distrust(path)
    if not is_usable:
        return Config(path, ignored={"": f"ignored, because {reason}"})
    config = _read(commands, path)
    return _weakened(config, reason) if reason else config


def _read(commands: Collection[str], path: Path) -> Config:
    """Return the configuration; its tables have the right types."""
    try:
        content = tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; barograph init writes one") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    if not content.get("threshold", True):  # files of earlier versions have an empty table
        del content["threshold"]
    known = (INPUT, *RULES, *commands)
    for name, table in content.items():
        if name in FORMER_DETECTORS:
            raise ConfigError(f"{path}: remove the table [{name}]: {FORMER_DETECTORS[name]}")
        if name not in known:
            raise ConfigError(f"{path}: there is no table [{name}]; allowed: {', '.join(known)}")
        shape, allowed = RULES.get(name, (dict[str, Any], f"a table [{name}]"))
        try:
            content[name] = msgspec.convert(table, shape)
        except msgspec.ValidationError as error:
            raise ConfigError(f"{path}: {name} must be {allowed}: {error}") from None
    patterns, directions = content.pop("patterns", {}), content.pop("direction", {})
    suppress = content.pop("suppress", ())
    return Config(path, content, patterns, directions, suppress)


def _weakened(config: Config, reason: str) -> Config:
    """Return a configuration without commands, models, stores and hosts."""
    kept, ignored = {}, {}
    for table, options in config.commands.items():
        strong = [
            key for key, value in options.items() if key in POWERFUL or (key, value) == CONTACTS
        ]
        kept[table] = {key: value for key, value in options.items() if key not in strong}
        if strong:
            verb = "is" if len(strong) == 1 else "are"
            ignored[table] = f"[{table}] {', '.join(strong)} {verb} ignored, because {reason}"
    return replace(config, commands=kept, ignored=ignored)


def current_config() -> Config:
    """Return the configuration of the running command; empty outside of a command."""
    context = click.get_current_context(silent=True)
    return (context.find_object(Config) if context else None) or Config()


def configure(
    context: click.Context, group: click.Group, command: click.Command, name: str
) -> None:
    """Read the configuration, and set the defaults of a command's options from it.

    Args:
        context: The context of the group, with the value of `--config`.
        group: The group of all commands.
        command: The command that will run.
        name: Its name on the command line.

    Raises:
        ConfigError: The configuration cannot be used, or a job would run without a part of it.
    """
    config = load_config(group.list_commands(context), context.params.get("config"))
    for note in (config.ignored[table] for table in ("", INPUT, name) if table in config.ignored):
        text = f"{config.path}: {note}; --config FILE uses all of a file"
        if name in JOBS:
            raise ConfigError(text)
        click.echo(text, err=True)
    if INPUT in config.commands and (reader := group.get_command(context, READER)):
        _refuse_unknown(config, INPUT, config.commands[INPUT], dict(_options(reader)))
    context.obj = config
    context.default_map = {name: option_defaults(config, command, name)}


def option_defaults(config: Config, command: click.Command, name: str) -> dict[str, Any]:
    """Return the defaults of a command's parameters, by the names of the parameters.

    Args:
        config: The configuration.
        command: The command.
        name: Its name on the command line.

    Raises:
        ConfigError: An option does not exist, or has a value that is not allowed.
    """
    every = [*_options(command)]
    parameters = dict(every)
    reading = {key: option for key, option in every if getattr(option, "table", "") == INPUT}
    own, shared = (config.commands.get(table, {}) for table in (name, INPUT))
    _refuse_unknown(config, name, own, parameters)
    defaults = {}
    for key in (*(key for key in shared if key in parameters), *own):
        table, value = (name, own[key]) if key in own else (INPUT, shared[key])
        parameter = (reading if table == INPUT else parameters).get(key, parameters[key])
        argument = _as_argument(parameter, value)
        try:
            parameter.type_cast_value(click.Context(command), argument)
        except (click.BadParameter, TypeError, ValueError) as error:
            message = error.message if isinstance(error, click.BadParameter) else str(error)
            raise ConfigError(f"{config.path}: [{table}] {key}: {message}") from None
        defaults[str(parameter.name)] = argument
    return defaults


def _options(command: click.Command) -> Iterator[tuple[str, click.Parameter]]:
    """Yield the parameters of a command by the name in the file: options without dashes."""
    for parameter in command.params:
        for option in (*parameter.opts, *parameter.secondary_opts):
            name = option.removeprefix("--").removeprefix(OWN)
            if isinstance(parameter, click.Argument):
                name = "files" if parameter.nargs == -1 else option
            yield name, parameter


def _refuse_unknown(
    config: Config, table: str, keys: Iterable[str], allowed: Mapping[str, object]
) -> None:
    for key in keys:
        if key not in allowed:
            if text := successor(table, key):
                raise ConfigError(f"{config.path}: [{table}] {key} is withdrawn: {text}")
            names = sorted(name for name in allowed if not name.startswith("-"))
            # The list may be too long for one line of an error.
            shown = ", ".join(dict.fromkeys(get_close_matches(key, names, n=3) + names))
            raise ConfigError(f"{config.path}: [{table}] has no {key!r}; allowed: {shown}")


def _as_argument(parameter: click.Parameter, value: Any) -> Any:
    """Return a value as click expects it: a list for several values, `a=b` for a table."""
    if isinstance(value, Mapping):
        return [f"{key}={inner}" for key, inner in value.items()]
    is_several = parameter.multiple or parameter.nargs == -1
    if is_several and not isinstance(value, list):
        return [value]
    return ",".join(map(str, value)) if isinstance(value, list) and not is_several else value
