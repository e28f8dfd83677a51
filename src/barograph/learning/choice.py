"""The choice among the models of a use, by their AUC on validation rows.

No model has learned from these rows, and the rows that models are judged and compared with the
champion on have no part in the choice. Of the models within one standard error of the highest AUC,
the first is chosen (Breiman et al. 1984): between them the rows cannot tell, and their order says
which is preferred. Intervals and errors come from a paired bootstrap over series.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from barograph.learning.candidates import Judged, Trained
from barograph.learning.comparison import INTERVAL, bootstrapped
from barograph.results.series import Floats

CHOICE = "choice"  # the entry of a card that says what the model was chosen by
DRAWS = 500
# What is estimated of each model, each with the ends of its interval.
ESTIMATES = VALIDATION, BELOW, HELD_OUT = "validation AUC", "below the highest", "held-out AUC"
Models = Mapping[str, Trained]  # of one use, by the names of their learners; the preferred first


class Choice(NamedTuple):
    """The models of a use, of which one is chosen.

    Attributes:
        name: The name of the chosen one.
        models: The models, with cards that say why it is chosen.
        table: A row for each of several models: how it does beside the others.
        why: Why it is chosen, in a sentence; empty for a single model.
    """

    name: str
    models: Models
    table: tuple[Mapping[str, Any], ...] = ()
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
    names = [*models]
    if len(names) == 1:
        return Choice(names[0], models)
    auc, draws = _aucs([each.validation for each in models.values()])
    held_out, held_out_draws = _aucs([each.test for each in models.values()])
    best = int(auc.argmax())
    below, below_draws = auc[best] - auc, draws[:, [best]] - draws
    errors = below_draws.std(axis=0)
    first = int(np.argmax(below <= errors))
    count = f"{models[names[best]].validation.truth.size:,} validation rows"
    why = f"{names[best]} has the highest AUC on the {count}, {auc[best]:.3f}"
    if first != best:
        why = (
            f"{names[first]} is listed before {names[best]}, whose AUC on the {count} is higher by "
            f"{below[first]:.3f}, within the standard error of {errors[first]:.3f}"
        )
    table = tuple(
        {"model": name, "features": each.model.feature_set}
        | _with_ends(VALIDATION, auc[k], draws[:, k])
        | _with_ends(BELOW, below[k], below_draws[:, k])
        | _with_ends(HELD_OUT, held_out[k], held_out_draws[:, k])
        | {measure: each.model.metrics[measure] for measure in ("accuracy", "brier")}
        | {"chosen": "yes" if k == first else ""}
        for k, (name, each) in enumerate(models.items())
    )
    listed = ", ".join(f"{name} {auc[k]:.3f}" for k, name in enumerate(names))
    described = {k: each.with_entry({CHOICE: f"{why} ({listed})"}) for k, each in models.items()}
    return Choice(names[first], described, table, why)


def _aucs(judged: list[Judged]) -> tuple[Floats, Floats]:
    """Return what `bootstrapped` does for models on the same rows."""
    scores = np.stack([each.probability for each in judged])
    return bootstrapped(judged[0].truth, scores, judged[0].series, draws=DRAWS)


def _with_ends(title: str, value: float, draws: Floats) -> dict[str, float]:
    """Return an estimate and the ends of its 90 % interval, by column."""
    low, high = np.quantile(draws, INTERVAL)
    return {title: float(value), f"{title} low": float(low), f"{title} high": float(high)}


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
