"""Which detection method a command uses, and with which parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click

from barograph.cli.options import F, NumberRange, grouped, model_option, pair_of, refuse_given
from barograph.detection import registry

if TYPE_CHECKING:
    from barograph.detection.base import Detector
    from barograph.models import TriageModel
    from barograph.results.series import Ints

# The methods by the names that people type, with their classes.
DETECTORS = {name.lower(): name for name in registry.DETECTORS}
DEFAULT_DETECTOR = "triaged"
USE = "label_free"  # of the model that scores its candidates
WITH_PVALUE = ("hunter", "edivisive", "gesd")
SHORTCUTS = ("pvalue", "window", "min_magnitude")  # parameters with an option of their own
OPTION_PARAMETERS = ("model", "min_probability")  # parameters that only an option sets
# What people should know before they trust a method, unless they set the parameter themselves.
CAVEATS = {
    "stepfit": (
        "threshold",
        "has a default threshold of 150, which is meant for means of many traces; a single series "
        "reaches it only with a step of about 17 noise units: lower it with --detector-option "
        "threshold=X",
    ),
    "dynp": (
        "changes",
        "reports 6 change points in every series, whether it has them or not: set the number with "
        "--detector-option changes=N",
    ),
    "gesd": (
        "share",
        "reports single outliers and short runs, and no change that lasts longer than a tenth of "
        "the series",
    ),
    "nothing": ("", "is the baseline that reports no change"),
}
# Methods of earlier versions, and what to do instead.
WITHDRAWN = {
    "threshold": "a fixed percentage is no longer a method; use another one, with --min-change for "
    "the smallest change in percent",
    "tau_kappa": "use hunter, which searches for the best pair (tau, kappa)",
}
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class DetectorChoice:
    """A detection method as the options of a command name it.

    Args:
        name: One of `DETECTORS`.
        parameters: Parameters by name, as text or as values.
        model: The model of `triaged`; the built-in one if there is no such file.
        min_probability: Smallest probability that `triaged` reports; its model's rule if None.
    """

    name: str = DEFAULT_DETECTOR
    parameters: Mapping[str, Any] = field(default_factory=dict)
    model: Path | None = None
    min_probability: float | None = None

    def make(self) -> Detector:
        """Return the detector.

        Raises:
            click.BadParameter: The method has no such parameter, or the value has another type.
            ConfigError: A value is out of its range.
        """
        from barograph import detection

        kind = getattr(detection, DETECTORS[self.name])
        chosen = {key: parsed(self.name, kind, key, v) for key, v in self.parameters.items()}
        if self.name == DEFAULT_DETECTOR:
            chosen |= {"model": self.triage_model(), "min_probability": self.min_probability}
        elif self.min_probability is not None:
            message = f"{self.name} has no probability; only {DEFAULT_DETECTOR} has"
            raise click.BadParameter(message, param_hint="--min-probability")
        detector: Detector = kind(**chosen)
        return detector

    def triage_model(self) -> TriageModel:
        """Return the model that scores and explains candidates."""
        from barograph.models import TriageModel

        if self.model is None or not self.model.exists():
            return TriageModel.default(USE)
        return TriageModel.load(self.model, USE)

    def notes(self, shortest: int, lengths: Ints) -> list[str]:
        """Return what a user should know about this choice for series of these lengths.

        Args:
            shortest: Fewest points that the detector needs.
            lengths: The number of points of each series.
        """
        parameter, caveat = CAVEATS.get(self.name, ("", ""))
        notes = [f"{self.name} {caveat}"] if caveat and parameter not in self.parameters else []
        short = int((lengths < shortest).sum())
        if short:
            which = f"{short:,} of {lengths.size:,} series" if lengths.size > 1 else "the series"
            have = "has" if short == 1 or lengths.size == 1 else "have"
            notes.append(
                f"{which} {have} fewer than the {shortest} points that {self.name} needs, and "
                f"{'was' if have == 'has' else 'were'} not searched"
            )
        return notes


class DetectorName(click.Choice[str]):
    """The name of a detection method."""

    def __init__(self) -> None:
        super().__init__(list(DETECTORS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail with the names that are allowed."""
        if value in WITHDRAWN:
            self.fail(f"there is no {value!r}: {WITHDRAWN[value]}", param, ctx)
        return super().convert(value, param, ctx)


def detector_option(text: str) -> Callable[[F], F]:
    """Add --detector to a command."""
    return click.option(
        "--detector",
        type=DetectorName(),
        default=DEFAULT_DETECTOR,
        show_default=True,
        help=text,
    )


def min_probability_option(function: F) -> F:
    """Add --min-probability to a command that finds change points."""
    return click.option(
        "--min-probability",
        type=NumberRange(0.0, 1.0),
        metavar="P",
        help="Minimum probability of a reported change point, from 0 to 1, for --detector "
        f"{DEFAULT_DETECTOR}. By default the rule in the model file decides.",
    )(function)


def _choice(
    detector: str,
    min_probability: float | None,
    model: Path,
    pvalue: float | None,
    window: int | None,
    min_magnitude: float | None,
    detector_option: Sequence[str],
) -> DetectorChoice:
    if detector != DEFAULT_DETECTOR:
        refuse_given(["model"], f"{detector} has no model; only {DEFAULT_DETECTOR} has")
    pairs = [pair_of(text, "--detector-option", "window=50") for text in detector_option]
    parameters: dict[str, Any] = {name.replace("-", "_"): value for name, value in pairs}
    shortcuts = zip(SHORTCUTS, (pvalue, window, min_magnitude), strict=True)
    parameters |= {name: value for name, value in shortcuts if value is not None}
    return DetectorChoice(detector, parameters, model, min_probability)


detector_options = grouped(
    "choice",
    _choice,
    detector_option("Detection method. `triaged` finds candidates and scores them."),
    min_probability_option,
    model_option(USE, does="scores the candidates of --detector triaged"),
    click.option(
        "--pvalue",
        type=NumberRange(0, 1, min_open=True, max_open=True),
        metavar="P",
        help="Maximum p-value of a change, for hunter and edivisive.",
    ),
    click.option(
        "--window",
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of points of a window, for hunter and stepfit.",
    ),
    click.option(
        "--min-magnitude",
        type=NumberRange(min=0),
        metavar="SHARE",
        help="Minimum relative change, such as 0.05 for 5 %, for hunter.",
    ),
    click.option(
        "--detector-option",
        metavar="NAME=VALUE",
        multiple=True,
        help="Parameter of the detection method. Repeatable. A wrong name lists all parameters.",
    ),
)


def make_detector(name: str, min_probability: float | None = None) -> Detector:
    """Return a detector with its default parameters; see `DetectorChoice`."""
    return DetectorChoice(name, min_probability=min_probability).make()


def parsed(name: str, kind: type[Detector], parameter: str, value: Any) -> Any:
    """Return the value of a parameter of a detector, converted to the type of its field.

    Args:
        name: The method as the user named it.
        kind: Its class.
        parameter: The name of the parameter.
        value: Text, or a value that an option has converted.

    Raises:
        click.BadParameter: There is no such parameter, or the text is not of its type.
    """
    known = [entry.name for entry in fields(kind) if entry.name not in OPTION_PARAMETERS]
    if parameter not in known:
        hint = f"--{parameter.replace('_', '-')}" if parameter in SHORTCUTS else "--detector-option"
        message = f"{name} has no parameter {parameter!r}; allowed are {', '.join(known)}"
        raise click.BadParameter(message, param_hint=hint)
    if not isinstance(value, str):
        return value
    expected = get_type_hints(kind)[parameter]
    try:
        return _converted(value, expected)
    except ValueError:
        message = f"{parameter} is {value!r:.60}; it must be {_described(expected)}"
        raise click.BadParameter(message, param_hint="--detector-option") from None


def _converted(text: str, expected: Any) -> Any:
    """Convert text to a type; raise a ValueError if it is none of that type."""
    if get_origin(expected) is Literal:
        if text not in get_args(expected):
            raise ValueError
        return text
    if NoneType in get_args(expected):
        others = [kind for kind in get_args(expected) if kind is not NoneType]
        return None if text.lower() == "none" else _converted(text, others[0])
    if expected is bool:
        if text.lower() not in (*TRUE, *FALSE):
            raise ValueError
        return text.lower() in TRUE
    if expected in (int, float):
        return expected(text)
    if text not in DETECTORS or text == DEFAULT_DETECTOR:  # the detector of candidates
        raise ValueError
    return make_detector(text)


def _described(expected: Any) -> str:
    """Return what values of a type look like."""
    if get_origin(expected) is Literal:
        return " or ".join(get_args(expected))
    if NoneType in get_args(expected):
        return f"{_described(get_args(expected)[0])} or none"
    names = {bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(expected) or " or ".join(n for n in DETECTORS if n != DEFAULT_DETECTOR)
