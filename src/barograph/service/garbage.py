"""The collector of garbage and a process that lasts."""

import gc

MANY = 200_000  # objects of a batch that come and go before one looks for cycles among them


def settle() -> None:
    """Let what is there by now stay: no collection looks through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MANY)
