"""Entry point of the command `barograph`, the same as `python -m barograph`."""

import sys


def run() -> None:
    """Run the command line; an interrupt ends it without a traceback, also while it is imported."""
    try:
        from barograph.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
