"""What tests of several rooms share: the place of the real data, and waiting for a condition."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("BAROGRAPH_SHARED", ROOT.parent / "shared"))

needs_shared = pytest.mark.skipif(
    not (SHARED / "data").is_dir(), reason="the shared data folder is not beside the checkout"
)


# Seconds until a test gives up. Only a failing test takes that long, on however busy a machine.
PATIENCE = 600.0


def wait_for(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("the condition did not become true")
        time.sleep(0.01)


def local_cluster(workers: int) -> Any:
    """Start a Dask scheduler with workers of one thread each."""
    from distributed import LocalCluster

    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",  # not a port that another cluster may have
        silence_logs=50,
    )
