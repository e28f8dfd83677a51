"""Stage `load`: read the source into the three tables, and say what was put right or left out."""

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
    """Which source is read, where it is, and how much of it may be unusable."""

    kind: str
    location: str
    max_skipped_share: float
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a password: what stands in params.yaml is copied to dvc.lock and to reports."""
        if re.search("://.*@", self.location):
            raise ConfigError(
                "load.location: holds a user name or a password; put the address into "
                "BAROGRAPH_MONGODB_URI, and only the database's name here"
            )


def main() -> None:
    """Run the stage."""
    params = parameters(LoadParams, "load")
    source = open_source(params.kind, params.location, **params.options)
    found = load(source, FOLDER, max_skipped_share=params.max_skipped_share, progress=tell)
    report.write_json(report.FOLDER / "load.json", found.as_dict())
    sys.stderr.write(f"{found}\n")


def tell(kind: str, count: int) -> None:
    """Say on stderr how far the load has come."""
    sys.stderr.write(f"load: {count:,} {kind}\n")


if __name__ == "__main__":
    run(main)
