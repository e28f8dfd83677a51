"""Put the former model back in service: `python -m barograph.pipeline.rollback USE`.

The model that is taken back stays in the registry, marked as withdrawn: the stage `release` does
not promote it again.
"""

import argparse
import sys

from barograph.models.triage import USES
from barograph.pipeline.registry import Index
from barograph.pipeline.stage import run
from barograph.pipeline.tracking import promoted


def rollback(use: str) -> Index:
    """Roll back one use, here and in MLflow."""
    index = Index.read(use).rolled_back()
    promoted(use, str(index.champion))
    return index


def main() -> None:
    """Read the use from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m barograph.pipeline.rollback",
        description="Put the model before the current one back in service.",
        epilog="example: python -m barograph.pipeline.rollback label_free",
    )
    parser.add_argument("use", choices=USES)
    use = parser.parse_args().use
    index = rollback(use)
    sys.stdout.write(
        f"{use}: {index.champion} is in service again, {index.withdrawn[-1]} withdrawn\n"
    )


if __name__ == "__main__":
    run(main)
