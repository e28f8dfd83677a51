"""The choice among the models of a use, by their AUC on validation rows.

No model has learned from these rows, and the rows that models are judged and compared with the
champion on have no part in the choice. Of the models within one standard error of the highest AUC,
the first is chosen (Breiman et al. 1984): between them the rows cannot tell, and their order says
which is preferred. Intervals and errors come from a paired bootstrap over series.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from barograph.learning.candidates import Judged, Trained
from barograph.learning.comparison import INTERVAL, bootstrapped
from barograph.results.series import Floats

CHOICE = "choice"  # the entry of a card that says what the model was chosen by
DRAWS = 500
Models = Mapping[str, Trained]  # of one use, by the names of their learners; the preferred first


class Estimate(NamedTuple):
    """A measure with its 90 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, draws: Floats) -> Self:
        """Return an estimate from a value and its bootstrap draws."""
        low, high = np.quantile(draws, INTERVAL)
        return cls(float(value), float(low), float(high))

    def text(self, sign: str = "") -> str:
        """Return the value and its interval, for people.

        Example:
            >>> Estimate(0.9, 0.85, 0.95).text()
            '0.900 [0.850; 0.950]'
        """
        value, low, high = (format(part, f"{sign}.3f") for part in self)
        return f"{value} [{low}; {high}]"


class Standing(NamedTuple):
    """A model among those of its use.

    Attributes:
        name: The name of its learner.
        model: The model.
        validation: Its AUC on the validation rows.
        behind: The highest AUC there minus its own.
        error: The standard error of that difference.
        test: Its AUC on the held-out rows.
    """

    name: str
    model: Trained
    validation: Estimate
    behind: Estimate
    error: float
    test: Estimate


class Choice(NamedTuple):
    """The models of a use, of which one is chosen.

    Attributes:
        name: The name of the chosen one.
        models: The models, with cards that say why it is chosen.
        standings: How each of several models does, in their order.
        why: Why it is chosen, in a sentence; empty for a single model.
    """

    name: str
    models: Models
    standings: tuple[Standing, ...] = ()
    why: str = ""

    @property
    def chosen(self) -> Trained:
        """The chosen model."""
        return self.models[self.name]


def choose(models: Models) -> Choice:
    """Choose a model of a use.

    Args:
        models: One model, or several that were learned from the same rows.
    """
    if len(models) == 1:
        return Choice(next(iter(models)), models)
    rows = _standings(models)
    first = next(row for row in rows if row.behind.value <= row.error)
    best = max(rows, key=lambda row: row.validation.value)
    count = f"{best.model.validation.truth.size:,} validation rows"
    why = f"{best.name} has the highest AUC on the {count}, {best.validation.value:.3f}"
    if first is not best:
        why = (
            f"{first.name} comes before {best.name}, whose AUC on the {count} is higher by "
            f"{first.behind.value:.3f}, less than the standard error of {first.error:.3f}"
        )
    listed = ", ".join(f"{row.name} {row.validation.value:.3f}" for row in rows)
    return Choice(first.name, _described(models, f"{why} ({listed})"), rows, why)


def _standings(models: Models) -> tuple[Standing, ...]:
    """Return how the models do, in their order."""
    values, drawn = _aucs([each.validation for each in models.values()])
    tested, tests = _aucs([each.test for each in models.values()])
    best = int(values.argmax())
    gaps, drawn_gaps = values[best] - values, drawn[:, [best]] - drawn
    return tuple(
        Standing(
            name,
            model,
            Estimate.of(values[k], drawn[:, k]),
            Estimate.of(gaps[k], drawn_gaps[:, k]),
            float(drawn_gaps[:, k].std()),
            Estimate.of(tested[k], tests[:, k]),
        )
        for k, (name, model) in enumerate(models.items())
    )


def _aucs(judged: list[Judged]) -> tuple[Floats, Floats]:
    """Return what `bootstrapped` does for models on the same rows."""
    scores = np.stack([each.probability for each in judged])
    return bootstrapped(judged[0].truth, scores, judged[0].series, draws=DRAWS)


def _described(models: Models, text: str) -> Models:
    """Return models whose cards say how one of them was chosen."""
    result = {}
    for name, each in models.items():
        model, twin = (replace(m, card={**m.card, CHOICE: text}) for m in (each.model, each.twin))
        result[name] = replace(each, model=model, twin=twin)
    return result


def path_of(folder: Path, name: str, classifier: str) -> Path:
    """Return the path of a trained model file.

    Args:
        folder: The folder of the models, or that of their twins.
        name: One of `FILES`.
        classifier: The value of release.classifier. Models that it was not trained for, such as
            the online pair, are those of `best`.
    """
    named = folder / classifier / f"{name}.baro"
    return named if named.is_file() else folder / f"{name}.baro"
