import subprocess
import sys

import pytest

from barograph.runtime.errors import ConfigError
from barograph.sources import open_source
from barograph.sources.mongodump import MongoDump


def test_open_source_opens_a_kind() -> None:
    source = open_source("mongodump", "some/dump", change_points=None)
    assert isinstance(source, MongoDump)
    assert source.name == "some/dump"


def test_open_source_refuses_an_unknown_kind() -> None:
    with pytest.raises(ConfigError, match="no kind 'mongo'; allowed: mongodump"):
        open_source("mongo", "x")


def test_open_source_refuses_an_unknown_option() -> None:
    with pytest.raises(ConfigError, match=r"mongodump: .*'colour'.*time_series"):
        open_source("mongodump", "x", colour="red")
    with pytest.raises(ConfigError, match=r"files: .*'colour'.*delimiter"):
        open_source("files", "x", colour="red")
    with pytest.raises(ConfigError, match="delimiter: '::'; allowed: one ASCII character"):
        open_source("files", "x", delimiter="::")


def test_importing_sources_does_not_import_their_libraries() -> None:
    code = "import sys, barograph.sources; sys.exit(bool({'bson', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
