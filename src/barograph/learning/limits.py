"""What values the parameters of the pipeline may have: annotations of the fields of dataclasses.

`barograph.pipeline.params` checks them before the first stage and when a stage reads its section.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated

from barograph.features import FEATURE_SETS
from barograph.features.subseries import Policy
from barograph.learning.learners import BEST, learner_names
from barograph.models.calibration import budget_of
from barograph.models.catalogue import CLASSIFIERS
from barograph.models.triage import USES
from barograph.runtime.errors import ConfigError


@dataclass(frozen=True)
class Range:
    """Numbers from `least` to `most`; an open range holds neither of the two."""

    least: float
    most: float = math.inf
    is_open: bool = False

    def refusal(self, value: float) -> str:
        """Return what is allowed, or "" if the value is."""
        is_end = self.is_open and value in (self.least, self.most)
        if self.least <= value <= self.most and math.isfinite(value) and not is_end:
            return ""
        if math.isinf(self.most):
            return f"allowed: {'more than' if self.is_open else 'at least'} {self.least}"
        return f"allowed: {self.least} to {self.most}{', without the ends' if self.is_open else ''}"


@dataclass(frozen=True)
class Named:
    """Some names; the function imports them only when a value is checked."""

    names: Callable[[], Iterable[str]]

    def refusal(self, value: str) -> str:
        """Return what is allowed, or "" if the value is."""
        allowed = [*self.names()]
        return "" if value in allowed else suggestion(value, allowed)


@dataclass(frozen=True)
class Parsed:
    """Texts that a function accepts."""

    parse: Callable[[str], object]

    def refusal(self, value: str) -> str:
        """Return what is allowed, or "" if the value is."""
        try:
            self.parse(value)
        except ConfigError as error:
            return str(error)
        return ""


def suggestion(name: object, allowed: Iterable[str]) -> str:
    """Return the allowed name that is nearest to another name, if one is near, and all of them.

    Example:
        >>> suggestion("xgb", ["svm", "xgboost"])
        "did you mean 'xgboost'? allowed: svm, xgboost"
    """
    names = [*allowed]
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    return f"{f'did you mean {near[0]!r}? ' if near else ''}allowed: {', '.join(names)}"


Seed = Annotated[int, Range(0, 2**32 - 1)]
Count = Annotated[int, Range(1)]
WholeNumber = Annotated[int, Range(0)]
Folds = Annotated[int, Range(2)]
Fraction = Annotated[float, Range(0, 1)]
OpenFraction = Annotated[float, Range(0, 1, is_open=True)]
NotNegative = Annotated[float, Range(0)]
Use = Annotated[str, Named(lambda: USES)]
FeatureSet = Annotated[str, Named(lambda: FEATURE_SETS)]
Classifier = Annotated[str, Named(lambda: CLASSIFIERS)]
LearnerName = Annotated[str, Named(learner_names)]
ReleasedName = Annotated[str, Named(lambda: (BEST, *learner_names()))]
Bounds = Annotated[str, Parsed(Policy.named)]
Goal = Annotated[str, Parsed(budget_of)]
