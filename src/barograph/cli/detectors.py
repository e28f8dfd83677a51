"""Which detection method a command uses, and with which parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import click

from barograph.cli.options import grouped, model_option, pair_of, refuse_given
from barograph.detection import registry

if TYPE_CHECKING:
    from barograph.detection.base import Detector
    from barograph.models import TriageModel

# The methods by the names that people type, with their classes.
DETECTORS = {name.lower(): name for name in registry.DETECTORS}
DEFAULT_DETECTOR = "triaged"
USE = "label_free"  # of the model that scores its candidates
OPTION_PARAMETERS = ("model", "min_probability")  # parameters that only an option sets
CANDIDATES = "candidates"  # the parameter that is a method


@dataclass(frozen=True)
class DetectorChoice:
    """A detection method as the options of a command name it.

    Args:
        name: One of `DETECTORS`.
        parameters: Parameters by name, as text.
        model: The model of `triaged`; the built-in one if there is no such file.
        min_probability: Smallest probability that `triaged` reports; its model's rule if None.
    """

    name: str = DEFAULT_DETECTOR
    parameters: Mapping[str, str] = field(default_factory=dict)
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


class DetectorName(click.Choice[str]):
    """The name of a detection method."""

    def __init__(self) -> None:
        super().__init__(list(DETECTORS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail with the names that are allowed."""
        if value not in DETECTORS:
            from barograph.cli import withdrawn

            if value in withdrawn.DETECTORS:
                self.fail(f"there is no {value!r}: {withdrawn.DETECTORS[value]}", param, ctx)
        return super().convert(value, param, ctx)


def _choice(
    detector: str, min_probability: float | None, model: Path, parameters: Sequence[str]
) -> DetectorChoice:
    if detector != DEFAULT_DETECTOR:
        refuse_given(["model"], f"{detector} has no model; only {DEFAULT_DETECTOR} has")
    pairs = [pair_of(text, "--set", "window=50") for text in parameters]
    chosen = {name.replace("-", "_"): value for name, value in pairs}
    return DetectorChoice(detector, chosen, model, min_probability)


detector_options = grouped(
    "choice",
    _choice,
    click.option(
        "--detector",
        type=DetectorName(),
        default=DEFAULT_DETECTOR,
        show_default=True,
        help="Detection method. `triaged` finds candidates and scores them.",
    ),
    click.option(
        "--min-probability",
        type=click.FloatRange(0.0, 1.0),
        metavar="P",
        help="Minimum probability of a reported change point, from 0 to 1, for --detector "
        f"{DEFAULT_DETECTOR}. By default the rule in the model file decides.",
    ),
    model_option(USE, does="scores the candidates of --detector triaged"),
    click.option(
        "--set",
        "parameters",
        metavar="NAME=VALUE",
        multiple=True,
        help="Parameter of the detection method. Repeatable. A wrong name lists all parameters.",
    ),
)


def make_detector(name: str) -> Detector:
    """Return a detector with its default parameters; see `DetectorChoice`."""
    return DetectorChoice(name).make()


def parsed(name: str, kind: type[Detector], parameter: str, text: str) -> Any:
    """Return the value of a parameter of a detector, converted to the type of its field.

    Args:
        name: The method as the user named it.
        kind: Its class.
        parameter: The name of the parameter.
        text: Its value.

    Raises:
        click.BadParameter: There is no such parameter, or the text is not of its type.
    """
    import msgspec

    known = [entry.name for entry in fields(kind) if entry.name not in OPTION_PARAMETERS]
    if parameter not in known:
        message = f"{name} has no parameter {parameter!r}; allowed are {', '.join(known)}"
        raise click.BadParameter(message, param_hint="--set")
    if parameter == CANDIDATES:
        others = [entry for entry in DETECTORS if entry != name]
        if text in others:
            return make_detector(text)
        expected = " or ".join(others)
    else:
        type_ = get_type_hints(kind)[parameter]
        try:
            return msgspec.convert(None if text == "none" else text, type_, strict=False)
        except msgspec.ValidationError:
            name_of = type_.__name__ if isinstance(type_, type) else str(type_)
            expected = name_of.removeprefix("typing.")
    message = f"{parameter} is {text!r:.60}; it must be {expected}"
    raise click.BadParameter(message, param_hint="--set")
