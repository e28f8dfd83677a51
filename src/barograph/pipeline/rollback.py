"""Put the former model back in service: `python -m barograph.pipeline.rollback USE`.

The model that is taken back stays in the registry, marked as withdrawn: the stage `release` does
not promote it again. What was promoted as a pair goes back as a pair.
"""

import argparse
import sys

from barograph.models.triage import USES
from barograph.pipeline.stage import run
from barograph.training.registry import Index
from barograph.training.tracking import promoted


def rollback(use: str) -> list[Index]:
    """Roll back one use, and what is in service as a pair with it, here and in MLflow."""
    every = {one: Index.read(one) for one in USES}
    pair = every[use].pair
    some = [one for one in every.values() if one.use == use or (pair and one.pair == pair)]
    done = [one.rolled_back() for one in some]  # where one of them cannot, none does
    for index in done:
        index.take_effect()
        promoted(index.use, str(index.champion))
    return done


def main() -> None:
    """Read the use from the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m barograph.pipeline.rollback",
        description="Put the model before the current one back in service.",
        epilog="example: python -m barograph.pipeline.rollback label_free",
    )
    parser.add_argument("use", choices=USES)
    for index in rollback(parser.parse_args().use):
        sys.stdout.write(
            f"{index.use}: {index.champion} is in service again, {index.withdrawn[-1]} withdrawn\n"
        )


if __name__ == "__main__":
    run(main)
