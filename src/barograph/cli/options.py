"""The options that commands share or had, and how commands open models and stores."""

from __future__ import annotations

import csv
import functools
import inspect
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from barograph.runtime.errors import ConfigError

if TYPE_CHECKING:
    from barograph.models import OnlineModels, TriageModel
    from barograph.server.store import Store

F = TypeVar("F", bound=Callable[..., Any])
# What --format offers, and what its help says about it; a command takes some of them.
FORMATS = {
    "text": "for people",
    "json": "one JSON object",
    "csv": "a header and one row each",
    "markdown": "a comment for a pull request",
    "junit": "JUnit XML, one test case per series",
    "github": "annotations and the job summary of GitHub Actions",
}
FORMULA = re.compile(r"[=@\t\r]|[+-](?!/)")  # names of series without a project begin with -/
STORE_MODE = "BAROGRAPH_STORE_MODE"  # the environment variable
DEFAULT_MODE = "600"
RELEASED = Path("data/release")  # where the pipeline releases models
LABEL_FREE = "label_free"  # the use of the model that scores candidates
# Options, keys and detectors of earlier versions, and what replaces each of them.
JUDGES = "gate score import replay serve series"
SEARCHES = "detect report"
READS = "input append classify clusters detect gate import replay report score"
# What replaces an option of some commands, which is also a key of their tables.
FORMER = {
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
FORMER_DETECTORS = {
    "threshold": "a fixed percentage is no longer a method; use another one, with --min-change for "
    "the smallest change in percent",
    "tau_kappa": "use hunter, which searches for the best pair (tau, kappa)",
}


OWN = "."  # before a key of a command's own table that [input] has, too


class Setting(click.Parameter):
    """A parameter of a command that `barograph.toml` sets, and no option.

    Args:
        param_decls: The key, and the name of the parameter if it differs.
        help: What it does, for the documentation.
        table: The table, if it is not that of the command.
        **attributes: Those of an option: its type, its default and so on.
    """

    param_type_name = "key"

    def __init__(
        self,
        param_decls: Sequence[str],
        help: str = "",  # noqa: A002 - as in click
        table: str = "",
        **attributes: Any,
    ) -> None:
        super().__init__(param_decls, **attributes)
        self.help, self.table = help, table

    def _parse_decls(self, decls: Sequence[str], _: bool) -> tuple[str, list[str], list[str]]:
        key, *names = decls
        return names[0] if names else key.replace("-", "_"), [key], []

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Leave the command line alone."""


def setting(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Return a decorator that adds a `Setting` to a command; see its arguments."""
    return click.option(*names, cls=Setting, **attributes)  # type: ignore[arg-type]


def with_parameters(parameters: Iterable[Callable[[Any], Any]]) -> Callable[[F], F]:
    """Return a decorator that adds parameters to a command, in the order that `--help` has."""

    def add(function: F) -> F:
        decorated: Any = function
        for parameter in reversed([*parameters]):
            decorated = parameter(decorated)
        result: F = decorated
        return result

    return add


def grouped(
    name: str, make: Callable[..., Any], *options: Callable[[Any], Any], names: Iterable[str] = ()
) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, which gets them as one parameter.

    Args:
        name: The parameter.
        make: Returns its value from those of the options.
        options: The options, in the order in which `--help` lists them.
        names: The names of their parameters. Defaults to those of `make`.
    """
    used = [*(names or inspect.signature(make).parameters)]

    def add(function: F) -> F:
        @functools.wraps(function)
        def command(*arguments: Any, **values: Any) -> Any:
            value = make(**{key: values.pop(key) for key in used})
            return function(*arguments, **{name: value}, **values)

        result: F = with_parameters(options)(command)  # type: ignore[assignment]
        return result

    return add


def format_option(*formats: str) -> Callable[[F], F]:
    """Add --format to a command, which gets it as `output`; the first format is the default."""
    known = "; ".join(f"{name}: {FORMATS[name]}" for name in formats)
    return click.option(
        "--format",
        "output",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help=f"Output format. {known}.",
    )


def store_option(function: F) -> F:
    """Add --store to a command, which gets it as `url`."""
    return click.option(
        "--store",
        "url",
        envvar="BAROGRAPH_STORE",
        show_envvar=True,
        default=_default_store,
        show_default="barograph/barograph.db in your data folder",
        help="Store: an SQLite file, or the URL of a PostgreSQL database.",
    )(function)


def _default_store() -> str:
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return str(home / "barograph" / "barograph.db")


def model_option(use: str, does: str = "scores new results") -> Callable[[F], F]:
    """Add --model to a command."""
    return click.option(
        "--model",
        type=click.Path(path_type=Path),
        callback=require_named_model,
        default=RELEASED / f"{use}.baro",
        show_default=f"{RELEASED / use}.baro if it exists, else the built-in model",
        help=f"Model that {does}.",
    )


def require_named_model(context: click.Context, option: click.Parameter, path: Path) -> Path:
    """Refuse a model that the user named and that does not exist: nothing replaces it.

    Raises:
        ConfigError: There is no such file.
    """
    named = context.get_parameter_source(str(option.name)) is not ParameterSource.DEFAULT
    if named and not path.exists():
        raise ConfigError(
            f"{option.opts[0]} {path}: no such file; name an existing model, or leave the option "
            f"out to use {option.default} or the built-in model"
        )
    return path


def refuse_given(names: Iterable[str], reason: str) -> None:
    """Refuse options of the command line, by the names of their parameters, that have no effect.

    Raises:
        click.BadParameter: The command line gives such an option.
    """
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
        if given and option.name in names:
            raise click.BadParameter(reason, param_hint=option.opts[0])


def parameters_of(
    record: type, *names: str, table: str | None = None
) -> list[Callable[[Any], Any]]:
    """Return parameters for fields of a record, which has their types, defaults and descriptions.

    Args:
        record: A dataclass with a docstring that describes its fields. The annotation of a field
            may name a type of click.
        names: The fields.
        table: None for options; else the parameters are settings of this table, which is that of
            the command if empty.
    """
    text = inspect.getdoc(record) or ""
    described = dict(re.findall(r"^    (\w+): (.+(?:\n {8}.+)*)$", text, re.MULTILINE))
    hints = get_type_hints(record, include_extras=True)
    defaults = {entry.name: entry.default for entry in fields(record)}
    parameters = []
    for name in names:
        key, hint, default = name.replace("_", "-"), hints[name], defaults[name]
        known: dict[str, Any] = {"help": " ".join(described[name].split())}
        if get_origin(hint) is tuple:
            known |= {"multiple": True, "callback": _split}
        else:
            known |= {"type": _click_type(hint), "default": default}
        if table is None:
            parameters.append(
                click.option(f"--{key}", show_default=default not in (None, ""), **known)
            )
        else:
            parameters.append(setting(key, table=table, **known))
    return parameters


def _click_type(hint: Any) -> Any:
    """Return the type of click for the values of a field."""
    if get_origin(hint) is Literal:
        return click.Choice(get_args(hint))
    named = getattr(hint, "__metadata__", (hint, *get_args(hint)))
    return next(kind for kind in named if not isinstance(kind, UnionType))


def _split(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> Any:
    """Return names that may be separated by commas."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


false_alarms_setting = setting(
    "false-alarms-per-1000",
    type=click.FloatRange(1.0, 10.0),
    default=3.0,
    help="False alarms allowed per 1,000 points of a series, from 1 to 10.",
)


def pair_of(text: str, option: str, example: str) -> tuple[str, str]:
    """Return the name and the value of an option that takes NAME=VALUE.

    Raises:
        click.BadParameter: The text has no name or no `=`.
    """
    name, equals, value = text.partition("=")
    if not (name and equals):
        message = f"{text!r:.80}: expected NAME=VALUE, such as {example}"
        raise click.BadParameter(message, param_hint=option)
    return name.strip(), value.strip()


def echo(output: str, content: dict[str, Any], *lines: str) -> None:
    """Print a JSON object if that is the output format of a command, else lines for people."""
    if output == "json":
        echo_json(content)
    elif lines:
        click.echo("\n".join(lines))


def echo_json(content: dict[str, Any]) -> None:
    """Print one JSON object; numbers that are not finite become null."""
    plain = json.loads(json.dumps(content), parse_constant=lambda _number: None)
    click.echo(json.dumps(plain))


def echo_csv(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print a header and rows as CSV; texts that a spreadsheet would compute begin with `'`."""
    from barograph.runtime.files import CsvText

    csv.writer(text := CsvText()).writerows([header, *([*map(_cell, row)] for row in rows)])
    click.echo(text.getvalue(), nl=False)


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def online_models(path: Path) -> OnlineModels:
    """Load the online models of a file, or the built-in ones if there is no such file."""
    from barograph.models import OnlineModels

    return OnlineModels.load(path) if path.exists() else OnlineModels.default()


def triage_model(path: Path | None) -> TriageModel:
    """Load the label-free model of a file, or the built-in one if there is no such file."""
    from barograph.models import TriageModel

    if path is None or not path.exists():
        return TriageModel.default(LABEL_FREE)
    return TriageModel.load(path, LABEL_FREE)


def open_store(
    url: str, models: OnlineModels | None = None, false_alarms_per_1000: float = 3.0
) -> Store:
    """Open a store, and create it if there is none; without models it accepts no results.

    Args:
        url: A file or the URL of a database.
        models: The models of its judge.
        false_alarms_per_1000: False alarms allowed per 1,000 points of a series.
    """
    from barograph.detection.online import make_judge
    from barograph.server.store import Store

    judge = None if models is None else make_judge(models, false_alarms_per_1000)
    mode = os.environ.get(STORE_MODE) or DEFAULT_MODE
    if not re.fullmatch("0?[67][0-7]{2}", mode):
        raise ConfigError(
            f"{STORE_MODE}: {mode!r:.40} is not a file mode for a store; "
            "allowed: octal digits such as 600, 640 or 660 that let the owner read and write"
        )
    if "://" not in url:
        Path(url).parent.mkdir(parents=True, exist_ok=True)
    return Store(url, judge, mode=int(mode, 8))


def open_existing(url: str, models: OnlineModels | None = None) -> Store:
    """Open a store that exists; see `open_store`.

    Raises:
        ConfigError: There is no such file; a mistyped name must not create an empty store.
    """
    if "://" not in url and not Path(url).exists():
        raise ConfigError(
            f"--store {url}: no such store; score, import, serve and token add create one"
        )
    return open_store(url, models)


def successor(command: str, name: str) -> str:
    """Return what replaces an option or a key; empty if there was none of this name.

    Args:
        command: The command or the table that had it.
        name: The option without dashes, or the key.

    Example:
        >>> successor("detect", "pvalue")
        'use --set pvalue=P'
    """
    commands, text = FORMER.get(name, ("", ""))
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
