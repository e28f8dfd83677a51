"""The stage `load` takes its place from params.yaml, and no password from there."""

import pytest

from barograph.errors import ConfigError
from barograph.pipeline.load import LoadParams


@pytest.mark.parametrize("location", ["mongodb://baron:hunter2@host/perf", "mongodb+srv://a@b"])
def test_params_refuse_credentials_without_printing_them(location: str) -> None:
    with pytest.raises(ConfigError, match="set BAROGRAPH_MONGODB_URI to the address") as caught:
        LoadParams("mongodb", location, 0.05)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("location", ["perf", "mongodb://host:27017/perf", "data/raw/a@b"])
def test_params_accept_locations_without_credentials(location: str) -> None:
    assert LoadParams("mongodb", location, 0.05).location == location
