"""Speed of predictions for one row and for 100,000 rows, compared with the training library.

Every model is trained on 12,000 rows of 16 features with noisy verdicts. The forest has 500 trees
of unlimited depth, about 1.3 million nodes. Both sides run in turn on one core, and CPU time is
measured. The goals for the forest are 150 us for one row, and 40 us per row for many rows.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import arguments, paired, ratio, show

from barograph.features import FEATURE_SETS
from barograph.models import TriageModel
from barograph.models.catalogue import classifier
from barograph.models.kinds import from_fitted
from barograph.models.trees import Forest
from barograph.results.series import Floats

FEATURE_SET = "bauer8"
COLUMNS = FEATURE_SETS[FEATURE_SET]
ROWS, TREES, SEED = 12_000, 500, 1
FLIPPED = 0.02
MANY = {"random_forest": 100_000, "xgboost": 100_000, "svm": 2_000, "logistic": 100_000}
SINGLE_ROWS = {"random_forest": 60, "xgboost": 300, "svm": 300, "logistic": 300}


def main() -> None:
    """Measure every kind of model and print the table."""
    output = arguments(__doc__ or "").parse_args().output
    rows: list[dict[str, Any]] = []
    extra: dict[str, object] = {}
    for name, many in MANY.items():
        model = fitted(name)
        served = saved_and_loaded(model)
        if isinstance(served.classifier, Forest):
            extra["nodes of the forest"] = int(served.classifier.nodes.size)
        fresh, _ = sample(many, SEED + 1)
        rows += [one_row(name, model, served, fresh), many_rows(name, model, served, fresh)]
        if name in ("random_forest", "xgboost"):
            extra[f"reasons of one row, {name}, us"] = reasons(served, fresh)
    show("Predictions, microseconds of one core per row", rows, output, **extra)


def sample(rows: int, seed: int) -> tuple[Floats, Any]:
    """Return rows, and verdicts that depend on some columns; a few are flipped."""
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((rows, len(COLUMNS)))
    score = matrix[:, 0] + matrix[:, 1] * matrix[:, 2] + np.sin(3 * matrix[:, 3])
    truth = (score + 0.5 * generator.standard_normal(rows) > 0).astype(np.int64)
    return matrix, truth ^ (generator.random(rows) < FLIPPED)


def fitted(name: str) -> Any:
    """Fit a classifier to the sample; the forest without the catalogue's limit on its leaves."""
    model = classifier(name, seed=SEED, trees=TREES)
    if name == "random_forest":
        model.set_params(model__min_samples_leaf=1)
    return model.fit(*sample(ROWS, SEED))


def saved_and_loaded(model: Any) -> TriageModel:
    """Return the model after saving and loading it, as the service uses it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.baro"
        TriageModel("online", FEATURE_SET, COLUMNS, 0.5, from_fitted(model)).save(path)
        return TriageModel.load(path)


def one_row(name: str, model: Any, served: TriageModel, fresh: Floats) -> dict[str, Any]:
    """Predict single rows, a different one each time."""
    count = SINGLE_ROWS[name]
    rows = [fresh[k : k + 1] for k in range(count)]
    return compare(
        f"{name}, one row",
        lambda: np.concatenate([model.predict_proba(row) for row in rows]),
        lambda: np.concatenate([served.predict_proba(row) for row in rows]),
        count,
    )


def many_rows(name: str, model: Any, served: TriageModel, fresh: Floats) -> dict[str, Any]:
    """Predict a table in one call."""
    return compare(
        f"{name}, {len(fresh)} rows",
        lambda: model.predict_proba(fresh),
        lambda: served.predict_proba(fresh),
        len(fresh),
    )


def compare(
    label: str, theirs: Callable[[], Any], ours: Callable[[], Any], rows: int
) -> dict[str, Any]:
    """Measure both in turn, and compare their predictions."""
    difference = float(np.abs(theirs() - ours()).max())
    times = paired({"library": theirs, "barograph": ours}, runs=3, clock=time.process_time)
    medians = {side: 1e6 * statistics.median(runs) / rows for side, runs in times.items()}
    return {
        "model": label,
        **medians,
        "times faster": ratio(times["library"], times["barograph"]),
        "largest difference": difference,
    }


def reasons(served: TriageModel, fresh: Floats) -> float:
    """Return the microseconds that the reasons of one row take."""
    rows = [fresh[k : k + 1] for k in range(100)]
    times = paired(
        {"reasons": lambda: [served.reasons(row) for row in rows]}, runs=3, clock=time.process_time
    )
    return 1e6 * statistics.median(times["reasons"]) / len(rows)


if __name__ == "__main__":
    main()
