"""Entry point of `python -m barograph`, the same as the command `barograph`."""

from barograph.cli import main

main()
