"""Which detection method a command uses, with which parameters, and which changes it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import click
import msgspec

from barograph.cli.options import (
    FORMER_DETECTORS,
    LABEL_FREE,
    grouped,
    model_option,
    pair_of,
    parameters_of,
    refuse_given,
    triage_model,
)
from barograph.detection import registry

if TYPE_CHECKING:
    from barograph.detection.base import Detector

# The methods by the names that people type, with their classes.
DETECTORS = {name.lower(): name for name in registry.DETECTORS}
DEFAULT_DETECTOR = "triaged"
OPTION_PARAMETERS = ("model", "min_probability")  # parameters that only an option sets
CANDIDATES = "candidates"  # the parameter that is a method


@dataclass(frozen=True)
class ChangeSearch:
    """A detection method, and which of its changes are reported, as the options of a command say.

    Args:
        name: One of `DETECTORS`.
        parameters: Parameters by name, as text.
        model: The model of `triaged`; the built-in one if there is no such file.
        min_probability: Smallest probability that `triaged` reports; its model's rule if None.
        since: Report only changes since a date (2026-03-01), an age (14d, 2w, 1y), or after a
            commit, or after an order if commits have no names.
        min_change: Minimum change to report, in percent of the level before.
    """

    name: str = DEFAULT_DETECTOR
    parameters: Mapping[str, str] = field(default_factory=dict)
    model: Path | None = None
    min_probability: float | None = None
    since: str | None = None
    min_change: Annotated[float, click.FloatRange(min=0.0)] = 0.0

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
            chosen |= {"model": triage_model(self.model), "min_probability": self.min_probability}
        elif self.min_probability is not None:
            message = f"{self.name} has no probability; only {DEFAULT_DETECTOR} has"
            raise click.BadParameter(message, param_hint="--min-probability")
        detector: Detector = kind(**chosen)
        return detector


class DetectorName(click.Choice[str]):
    """The name of a detection method."""

    def __init__(self) -> None:
        super().__init__(list(DETECTORS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail with the names that are allowed."""
        if value in FORMER_DETECTORS:
            self.fail(f"there is no {value!r}: {FORMER_DETECTORS[value]}", param, ctx)
        return super().convert(value, param, ctx)


def _search(
    detector: str,
    model: Path,
    parameters: Sequence[str],
    min_probability: float | None,
    since: str | None,
    min_change: float,
) -> ChangeSearch:
    if detector != DEFAULT_DETECTOR:
        refuse_given(["model"], f"{detector} has no model; only {DEFAULT_DETECTOR} has")
    pairs = [pair_of(text, "--set", "window=50") for text in parameters]
    chosen = {name.replace("-", "_"): value for name, value in pairs}
    return ChangeSearch(detector, chosen, model, min_probability, since, min_change)


search_options = grouped(
    "search",
    _search,
    *parameters_of(ChangeSearch, "since", "min_change"),
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
    model_option(LABEL_FREE, does="scores the candidates of --detector triaged"),
    click.option(
        "--set",
        "parameters",
        metavar="NAME=VALUE",
        multiple=True,
        help="Parameter of the detection method. Repeatable. A wrong name lists all parameters.",
    ),
)


def make_detector(name: str) -> Detector:
    """Return a detector with its default parameters; see `ChangeSearch`."""
    return ChangeSearch(name).make()


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
    hints = get_type_hints(kind)
    known = [entry.name for entry in fields(kind) if entry.name not in OPTION_PARAMETERS]
    others = [entry for entry in DETECTORS if entry != name]
    if parameter not in known:
        message = f"{name} has no parameter {parameter!r}; allowed are {', '.join(known)}"
    elif parameter == CANDIDATES:
        if text in others:
            return make_detector(text)
        message = f"{parameter} is {text!r:.60}; it must be {' or '.join(others)}"
    else:
        try:
            return msgspec.convert(None if text == "none" else text, hints[parameter], strict=False)
        except msgspec.ValidationError:
            expected = getattr(hints[parameter], "__name__", hints[parameter])
            message = f"{parameter} is {text!r:.60}; it must be {expected}"
    raise click.BadParameter(message, param_hint="--set")
