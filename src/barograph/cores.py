"""How many cores this process may use."""

import os


def usable_cores() -> int:
    """Count the cores that the system grants, or those there are where it grants none apart."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
