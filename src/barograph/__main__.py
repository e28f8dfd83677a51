"""`python -m barograph` is `barograph`."""

from barograph.cli import main

main()
