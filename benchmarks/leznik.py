"""The tables of Leznik et al. 2022 on their published points, with our best model.

Tables 5 and 7 are rules without training. Table 8 is the mean over ten random 90/10 splits, of the
rows and of the series. In addition, each project is held back as a whole.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from histories import TRIAGED
from side_by_side import arguments, is_missing, show
from sklearn.ensemble import RandomForestClassifier

from barograph.models.stacked import StackedTriage
from barograph.runtime.errors import DataError
from barograph.studies import leznik

# Table 5 has sensitivity and specificity the other way round; Table 7 has predictive values.
PUBLISHED = {
    "voting without distance": (0.6962, 0.6056, 0.7721),
    "voting with distance": (0.7797, 0.7476, 0.8065),
    "perfomalist": (0.7124, 0.6711, 0.7470),
    "stacked": (0.8290, 0.7906, 0.8609),
}


def read(path: str | Path) -> leznik.TriagedPoints:
    """Read the published points."""
    frame = pd.read_csv(path)
    columns = ["file", *leznik.FEATURES, "perfomalist", "label"]
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise DataError(f"{path}: missing columns: {missing}")
    names = frame["file"].astype(str)
    return leznik.TriagedPoints(
        features=frame[list(leznik.FEATURES)].to_numpy(dtype=np.float64),
        perfomalist=(frame["perfomalist"] > 0).to_numpy(dtype=bool),
        truth=np.asarray(frame["label"] == "true_positive", dtype=np.int64),
        series=pd.factorize(names)[0].astype(np.int64),
        projects=names.str.split("/").str[0].to_numpy(dtype=object),
    )


def stacked(seed: int) -> StackedTriage:
    """Return their model: its votes use the printed thresholds, which were fitted to all points."""
    return StackedTriage(published=True, random_state=seed)


def best(seed: int, trees: int = 500) -> StackedTriage:
    """Return our best model on the same inputs: a forest, with votes fitted in training."""
    return StackedTriage(RandomForestClassifier(trees, random_state=seed, n_jobs=1))


MODELS = {"stacked": stacked, "forest over the same inputs": best}


def main() -> None:
    """Evaluate every rule and model, and print the tables as one."""
    output = arguments(__doc__ or "").parse_args().output
    if is_missing(TRIAGED, "Leznik et al. 2022, Tables 5, 7 and 8", output):
        return
    points = read(TRIAGED)
    table = [row(name, "all rows", rates) for name, rates in leznik.rule_tables(points).items()]
    table += [*trained(points), *projects(points)]
    title = f"Leznik et al. 2022, Tables 5, 7 and 8: {points.truth.size} triaged points"
    show(title, table, output, published_accuracy_to_beat=PUBLISHED["stacked"][0])


def trained(points: leznik.TriagedPoints) -> Iterator[dict[str, Any]]:
    """Yield the mean rates of both models on the same splits."""
    for protocol in leznik.PROTOCOLS:
        for name, make in MODELS.items():
            splits = leznik.splits(points, protocol)
            rates = [leznik.fit_and_rate(make(k), points, split) for k, split in enumerate(splits)]
            yield row(name, f"{leznik.REPETITIONS} x 90/10 of the {protocol}", mean(rates))


def projects(points: leznik.TriagedPoints) -> Iterator[dict[str, Any]]:
    """Yield the rates of both models on each project that is held back."""
    for project, split in without_project(points):
        for name, make in MODELS.items():
            rates = leznik.fit_and_rate(make(0), points, split)
            yield row(name, f"without {project} ({split.test.size} points)", rates)


def without_project(points: leznik.TriagedPoints) -> Iterator[tuple[str, leznik.TrainTest]]:
    """Yield each project with the split whose test part is the project."""
    for project in np.unique(points.projects.astype(str)):
        inside = points.projects == project
        yield str(project), leznik.TrainTest(np.flatnonzero(~inside), np.flatnonzero(inside))


def mean(rates: list[leznik.Rates]) -> leznik.Rates:
    """Return the mean rates over several splits."""
    return leznik.Rates(*np.mean(np.array(rates), axis=0).tolist())


def row(name: str, rows: str, rates: leznik.Rates) -> dict[str, Any]:
    """Return a row of the table, with the paper's figures where it prints some."""
    published = PUBLISHED.get(name) if "without" not in rows else None
    paper = "/".join(f"{share:.4f}" for share in published) if published else "-"
    cells = {key: "-" if value != value else value for key, value in rates._asdict().items()}
    return {"model": name, "judged on": rows, **cells, "paper: acc/sens/spec": paper}


if __name__ == "__main__":
    main()
