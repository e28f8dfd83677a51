"""The command line; every import that takes time waits until its command runs."""

import click

from barograph import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Find where benchmark performance changed, and learn from every verdict."""
