"""The tables of Leznik et al. 2022 on their published points, and our best model beside theirs.

Tables 5 and 7 are rules without training; Table 8 is the mean over ten random 90/10 splits, of the
rows and of the series. Then every project in turn is held back as a whole.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from side_by_side import arguments, show

from barograph.studies import leznik

SHARED = Path(os.environ.get("BAROGRAPH_SHARED", Path(__file__).resolve().parents[2] / "shared"))
PUBLISHED = SHARED / "data" / "mongodb" / "triaged_points.csv"
MODELS = {"stacked": leznik.stacked, "forest over the same inputs": leznik.best}


def main() -> None:
    """Judge every rule and model, and print the tables as one."""
    output = arguments(__doc__ or "").parse_args().output
    rows = leznik.read(PUBLISHED)
    table = [row(name, "all rows", found) for name, found in leznik.rules(rows).items()]
    table += [*trained(rows), *projects(rows)]
    title = f"Leznik et al. 2022, Tables 5, 7 and 8: {rows.truth.size} triaged points"
    show(title, table, output, published_accuracy_to_beat=leznik.PUBLISHED["stacked"][0])


def trained(rows: leznik.Published) -> Iterator[dict[str, Any]]:
    """Judge both models on the same splits."""
    for protocol in leznik.PROTOCOLS:
        for name, make in MODELS.items():
            parts = leznik.splits(rows, protocol)
            found = [leznik.judged(make(k), rows, part) for k, part in enumerate(parts)]
            yield row(name, f"{leznik.REPETITIONS} x 90/10 of the {protocol}", leznik.mean(found))


def projects(rows: leznik.Published) -> Iterator[dict[str, Any]]:
    """Judge both models on each project that they have not seen."""
    for project, part in leznik.without_project(rows):
        for name, make in MODELS.items():
            found = leznik.judged(make(0), rows, part)
            yield row(name, f"without {project} ({part.test.size} points)", found)


def row(name: str, judged_on: str, found: leznik.Rates) -> dict[str, Any]:
    """Return one line of the table; the paper's figures stand where it prints some."""
    there = leznik.PUBLISHED.get(name) if "without" not in judged_on else None
    paper = "/".join(f"{share:.4f}" for share in there) if there else "-"
    rates = {key: "-" if value != value else value for key, value in found._asdict().items()}
    return {"model": name, "judged on": judged_on, **rates, "paper: acc/sens/spec": paper}


if __name__ == "__main__":
    main()
