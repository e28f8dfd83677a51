"""How fast a model answers one row and 100,000 rows, beside the library that trained it.

Every model learns 12,000 rows of 16 features with noisy verdicts; the forest has 500 trees without
a limit, about 1.3 million nodes. Both sides run on one core, in turn, and only its own time counts.
The goals for the forest are 150 us for one row and 40 us a row for many.
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
from barograph.models.flat import FlatForest, flatten
from barograph.series import Floats

FEATURE_SET = "bauer8"
COLUMNS = FEATURE_SETS[FEATURE_SET]
ROWS, TREES, SEED = 12_000, 500, 1
FLIPPED = 0.02
MANY = {"random_forest": 100_000, "xgboost": 100_000, "svm": 2_000, "logistic": 100_000}
ONE = {"random_forest": 60, "xgboost": 300, "svm": 300, "logistic": 300}


def main() -> None:
    """Measure every kind and print the table."""
    output = arguments(__doc__ or "").parse_args().output
    rows: list[dict[str, Any]] = []
    extra: dict[str, object] = {}
    for name, many in MANY.items():
        model = fitted(name)
        served = through_a_file(model)
        if isinstance(served.flat, FlatForest):
            extra["nodes of the forest"] = int(served.flat.trees.nodes.size)
        fresh, _ = sample(many, SEED + 1)
        rows += [one_row(name, model, served, fresh), many_rows(name, model, served, fresh)]
        if name != "svm":
            extra[f"reasons of one row, {name}, us"] = reasons(served, fresh)
    show("Serving a model, microseconds of one core a row", rows, output, **extra)


def sample(rows: int, seed: int) -> tuple[Floats, Any]:
    """Make rows whose verdicts follow a few of the columns, some turned round."""
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((rows, len(COLUMNS)))
    score = matrix[:, 0] + matrix[:, 1] * matrix[:, 2] + np.sin(3 * matrix[:, 3])
    truth = (score + 0.5 * generator.standard_normal(rows) > 0).astype(np.int64)
    return matrix, truth ^ (generator.random(rows) < FLIPPED)


def fitted(name: str) -> Any:
    """Learn the sample; the forest without the catalogue's limit on its leaves."""
    model = classifier(name, seed=SEED, trees=TREES)
    if name == "random_forest":
        model.set_params(model__min_samples_leaf=1)
    return model.fit(*sample(ROWS, SEED))


def through_a_file(model: Any) -> TriageModel:
    """Return the model as a service has it, loaded from its artifact."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.baro"
        TriageModel("online", FEATURE_SET, COLUMNS, 0.5, flatten(model)).save(path)
        return TriageModel.load(path)


def one_row(name: str, model: Any, served: TriageModel, fresh: Floats) -> dict[str, Any]:
    """Answer single rows, another one each time as in life."""
    count = ONE[name]
    rows = [fresh[k : k + 1] for k in range(count)]
    return compared(
        f"{name}, one row",
        lambda: np.concatenate([model.predict_proba(row) for row in rows]),
        lambda: np.concatenate([served.predict_proba(row) for row in rows]),
        count,
    )


def many_rows(name: str, model: Any, served: TriageModel, fresh: Floats) -> dict[str, Any]:
    """Answer a table in one call."""
    return compared(
        f"{name}, {len(fresh)} rows",
        lambda: model.predict_proba(fresh),
        lambda: served.predict_proba(fresh),
        len(fresh),
    )


def compared(
    what: str, theirs: Callable[[], Any], ours: Callable[[], Any], rows: int
) -> dict[str, Any]:
    """Time both in turn, and say how far their answers are apart."""
    apart = float(np.abs(theirs() - ours()).max())
    times = paired({"library": theirs, "barograph": ours}, runs=3, clock=time.process_time)
    medians = {side: 1e6 * statistics.median(found) / rows for side, found in times.items()}
    return {
        "model": what,
        **medians,
        "times faster": ratio(times["library"], times["barograph"]),
        "largest difference": apart,
    }


def reasons(served: TriageModel, fresh: Floats) -> float:
    """Return how long the reasons of one row take."""
    rows = [fresh[k : k + 1] for k in range(100)]
    times = paired(
        {"reasons": lambda: [served.reasons(row) for row in rows]}, runs=3, clock=time.process_time
    )
    return 1e6 * statistics.median(times["reasons"]) / len(rows)


if __name__ == "__main__":
    main()
