"""Where the real data lies that tests may read, and the mark that skips them without it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("BAROGRAPH_SHARED", ROOT.parent / "shared"))

needs_shared = pytest.mark.skipif(
    not (SHARED / "data").is_dir(), reason="the shared data folder is not beside the checkout"
)
