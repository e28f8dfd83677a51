import subprocess
import sys

import pytest

from barograph.errors import ConfigError
from barograph.sources import open_source
from barograph.sources.mongodump import MongoDump


def test_a_kind_opens_its_source() -> None:
    source = open_source("mongodump", "some/dump", change_points=None)
    assert isinstance(source, MongoDump)
    assert source.name == "some/dump"


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no kind 'mongo'; allowed: mongodump"):
        open_source("mongo", "x")


def test_an_unknown_option_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"mongodump: .*'colour'.*time_series"):
        open_source("mongodump", "x", colour="red")


def test_sources_are_imported_when_they_are_opened() -> None:
    code = "import sys, barograph.sources; sys.exit(bool({'bson', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603
