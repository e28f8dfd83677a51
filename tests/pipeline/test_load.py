"""The stage `load` takes its place from params.yaml, and no password from there."""

import json
from pathlib import Path

import numpy as np
import pytest

from barograph.pipeline import load
from barograph.pipeline.load import LoadParams
from barograph.results.history import History
from barograph.runtime.errors import ConfigError
from barograph.server.store import Store
from barograph.server.store.exchange import import_history
from barograph.sources import open_source
from tests.sources.documents import load as load_source
from tests.store.judges import Rule


@pytest.mark.parametrize("location", ["mongodb://baron:hunter2@host/perf", "mongodb+srv://a@b"])
def test_params_refuse_credentials_without_printing_them(location: str) -> None:
    with pytest.raises(ConfigError, match="set BAROGRAPH_MONGODB_URI to the address") as caught:
        LoadParams("mongodb", location, 0.05)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("location", ["perf", "mongodb://host:27017/perf", "data/raw/a@b"])
def test_params_accept_locations_without_credentials(location: str) -> None:
    assert LoadParams("mongodb", location, 0.05).location == location


@pytest.mark.parametrize("kind", ["files", "store"])
def test_load_finds_candidates_where_the_source_has_none(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    values = np.random.default_rng(0).normal(100.0, 1.0, 60)
    values[40:] += 10.0
    rows = [f"query,{k},c{k},{value!r},ms" for k, value in enumerate(values.tolist())]
    Path("r.csv").write_text("\n".join(["test,order,commit,value,unit", *rows, ""]))
    location = "r.csv"
    if kind == "store":
        location = "ci.db"
        load_source(open_source("files", "r.csv"), "tables")
        with Store(location, Rule()) as store:
            import_history(store, History.read("tables"), "test")
    Path("params.yaml").write_text(
        f"profile: tiny\ntiny: {{}}\n"
        f"load: {{kind: {kind}, location: {location}, max_skipped_share: 0}}\n"
    )
    load.main()
    history = History.read(load.FOLDER)
    assert history[0].unit == "ms"
    result = history.candidates
    assert (result.index.tolist(), list(result.commits)) == ([40], ["c40"])
    assert result.verdict.tolist() == ["not_triaged"]
    report = json.loads(Path("data/reports/load.json").read_text())
    assert report["kept"] == {"series": 1, "points": 60, "candidates": 1}
    assert "candidates found, as the source has none" in report["corrected"]


@pytest.mark.parametrize("location", ["", "ci.db"])
def test_load_names_the_store_that_does_not_exist(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BAROGRAPH_STORE", raising=False)
    with pytest.raises(ConfigError, match=f"load.location: '{location}' is no store"):
        load.load_store(location)
