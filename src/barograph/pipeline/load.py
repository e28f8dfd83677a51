"""Stage `load`: read the source into three tables, and report what was corrected or skipped."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barograph.errors import ConfigError
from barograph.pipeline import report
from barograph.pipeline.params import parameters
from barograph.pipeline.stage import run
from barograph.sources import load, open_source

FOLDER = Path("data/interim")


@dataclass(frozen=True)
class LoadParams:
    """Which source is read, where it is, and what share of it may be skipped."""

    kind: str
    location: str
    max_skipped_share: float
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a password: params.yaml is copied to dvc.lock and to reports."""
        if re.search("://.*@", self.location):
            raise ConfigError(
                "load.location: contains a user name or a password; set BAROGRAPH_MONGODB_URI to "
                "the address, and name only the database here"
            )


def main() -> None:
    """Run the stage."""
    params = parameters(LoadParams, "load")
    source = open_source(params.kind, params.location, **params.options)
    loaded = load(
        source, FOLDER, max_skipped_share=params.max_skipped_share, progress=print_progress
    )
    report.write_json(report.FOLDER / "load.json", loaded.as_dict())
    sys.stderr.write(f"{loaded}\n")


def print_progress(kind: str, count: int) -> None:
    """Print on stderr how many rows were read."""
    sys.stderr.write(f"load: {count:,} {kind}\n")


if __name__ == "__main__":
    run(main)
