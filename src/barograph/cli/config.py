"""`barograph.toml`: defaults of options, suppressions, and patterns that sort series by name.

A table named after a command sets the defaults of its options and what has no option, `[input]` how
files are read, in every command. Options on the command line override both.

Whoever can write to a folder above a job could otherwise run commands as the user of the job. So
only as much of a file that is found is used as its owner is trusted with.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import click

from barograph.runtime.errors import ConfigError

NAME = "barograph.toml"
GIT = ".git"  # a folder, or a file in a work tree
ROOT = 0  # the user number of the administrator
INPUT, SUPPRESS, PATTERNS = "input", "suppress", "patterns"
DIRECTIONS = "direction"
RULES = (PATTERNS, DIRECTIONS, SUPPRESS)  # tables about series
# What a pattern can make of a series: a machine check that should never move, one that is looked at
# last, and one that is shown but fails no job.
PATTERN_KINDS = ("canary", "low_priority", "informational")
BETTER = {"lower": -1, "higher": 1}
SHAPES = {  # what these tables are, and in words
    PATTERNS: (
        dict[Literal["canary", "low_priority", "informational"], list[str]],
        "lists of patterns named canary, low_priority or informational",
    ),
    DIRECTIONS: (dict[str, Literal["lower", "higher"]], "patterns that are `lower` or `higher`"),
    SUPPRESS: (list[dict[str, Any]], f"tables [[{SUPPRESS}]]"),
}
READER = "import"  # a command with all parameters that say how files are read
# Keys that run a command, or name a model, a store or a host.
POWERFUL = (
    *("rerun", "model", "label-free", "release-to", "store"),
    *("host", "allowed-host", "trusted-proxy"),
)
CONTACTS = ("kind", "otava")  # files of this kind name hosts
JOBS = ("gate", "score")  # in a job, nobody reads notes


@dataclass(frozen=True)
class Config:
    """The contents of a `barograph.toml`; empty without a file.

    Args:
        path: The file; None without one.
        commands: The options of each command by their long names without dashes.
        patterns: Patterns of series names by kind, which is one of `PATTERN_KINDS`.
        directions: `lower` or `higher`, by pattern of series names.
        suppress: The tables `[[suppress]]`, as written.
        ignored: What of the file is not used, with the reason, by table; "" for the whole file.
    """

    path: Path | None = None
    commands: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    suppress: tuple[Mapping[str, Any], ...] = ()
    ignored: Mapping[str, str] = field(default_factory=dict)

    def kind_of(self, series: str) -> str:
        """Return the first kind with a pattern that matches the name of a series, or ""."""
        for kind, patterns in self.patterns.items():
            if any(_is_of(series, pattern) for pattern in patterns):
                return kind
        return ""

    def direction_of(self, series: str) -> int:
        """Return the direction of the first pattern that matches the name of a series, or 0."""
        found = (better for name, better in self.directions.items() if _is_of(series, name))
        return BETTER.get(next(found, ""), 0)

    def unmatched(self, series: Iterable[object]) -> Iterator[str]:
        """Yield a note about each pattern that matches the name of none of some series."""
        rules = [(f"[{PATTERNS}] {kind}", names) for kind, names in self.patterns.items()]
        rules += [(f"[{DIRECTIONS}]", (*self.directions,))]
        names = [*map(str, series)] if any(patterns for _, patterns in rules) else []
        for table, patterns in rules:
            for pattern in patterns:
                if not any(_is_of(name, pattern) for name in names):
                    yield f"{self.path}: {table}: no series matches {pattern!r}"


def _is_of(series: str, pattern: str) -> bool:
    """Return whether the name of a series matches a pattern."""
    from barograph.results.patterns import matches

    return matches(pattern, series)


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
    is_open = (
        place
        for place in (path.parent, target.parent, target)
        if _owner_and_mode(place)[1] & stat.S_IWOTH
    )
    if strangers := owners - {user, ROOT}:
        stranger = min(strangers)
        reason = f"the file belongs to user {stranger}, who is neither you (user {user}) nor root"
    elif (place := next(is_open, None)) is not None:
        reason = f"every user can write to {place}"
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
        return _checked(commands, path, _content(path))
    path = find(Path.cwd())
    if path is None:
        return Config()
    reason, is_usable = distrust(path)
    if not is_usable:
        return Config(path, ignored={"": f"ignored, because {reason}"})
    config = _checked(commands, path, _content(path))
    return _weakened(config, reason) if reason else config


def _content(path: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; barograph init writes one") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


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
    config = None if context is None else context.find_object(Config)
    return Config() if config is None else config


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
    parameters = dict(_options(command))
    options, shared = config.commands.get(name, {}), config.commands.get(INPUT, {})
    _refuse_unknown(config, name, options, parameters)
    values = {key: (INPUT, value) for key, value in shared.items() if key in parameters}
    values |= {key: (name, value) for key, value in options.items()}
    defaults = {}
    for key, (table, value) in values.items():
        parameter = parameters[key]
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
            name = option.removeprefix("--")
            if isinstance(parameter, click.Argument):
                name = "files" if parameter.nargs == -1 else option
            yield name, parameter


def _refuse_unknown(
    config: Config, table: str, keys: Iterable[str], allowed: Mapping[str, object]
) -> None:
    for key in keys:
        if key not in allowed:
            from difflib import get_close_matches

            from barograph.cli.withdrawn import successor

            if text := successor(table, key):
                raise ConfigError(f"{config.path}: [{table}] {key} is withdrawn: {text}")
            names = sorted(name for name in allowed if not name.startswith("-"))
            # The list may be too long for one line of an error.
            names = get_close_matches(key, names, n=3) + names
            shown = ", ".join(dict.fromkeys(names))
            raise ConfigError(f"{config.path}: [{table}] has no {key!r}; allowed: {shown}")


def _as_argument(parameter: click.Parameter, value: Any) -> Any:
    """Return a value as click expects it: a list for several values, `a=b` for a table."""
    if isinstance(value, Mapping):
        return [f"{key}={inner}" for key, inner in value.items()]
    is_several = parameter.multiple or parameter.nargs == -1
    if is_several and not isinstance(value, list):
        return [value]
    return ",".join(map(str, value)) if isinstance(value, list) and not is_several else value


def _checked(commands: Collection[str], path: Path, content: Mapping[str, Any]) -> Config:
    """Return the configuration; its tables have the right types."""
    # Files of earlier versions have an empty table [threshold].
    content = {name: table for name, table in content.items() if table or name != "threshold"}
    tables = [name for name in content if name not in RULES]
    for name in tables:
        if name not in (INPUT, *commands):
            from barograph.cli.withdrawn import DETECTORS

            if name in DETECTORS:
                raise ConfigError(f"{path}: remove the table [{name}]: {DETECTORS[name]}")
            allowed = ", ".join((INPUT, *RULES, *commands))
            raise ConfigError(f"{path}: there is no table [{name}]; allowed: {allowed}")
    shaped = {name: _shaped(path, name, table) for name, table in content.items()}
    patterns = shaped.get(PATTERNS, {})
    return Config(
        path,
        {name: shaped[name] for name in tables},
        {kind: tuple(patterns[kind]) for kind in PATTERN_KINDS if kind in patterns},
        shaped.get(DIRECTIONS, {}),
        tuple(shaped.get(SUPPRESS, ())),
    )


def _shaped(path: Path, name: str, table: Any) -> Any:
    """Return a table after a check of its types."""
    import msgspec

    shape, allowed = SHAPES.get(name, (dict[str, Any], f"a table [{name}]"))
    try:
        return msgspec.convert(table, shape)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {name} must be {allowed}: {error}") from None
