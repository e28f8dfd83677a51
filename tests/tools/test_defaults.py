"""`make defaults`: shipped models are compared with new ones, and replaced all or none."""

import shutil
from pathlib import Path

import pytest
import yaml

from barograph.models.triage import USES
from barograph.pipeline.params import in_folder, profile_name
from barograph.runtime.errors import ConfigError
from tools import defaults


@pytest.fixture
def models(trained: Path) -> Path:
    return trained / "data/models"


def test_replace_shipped_reports_differences(models: Path) -> None:
    shipped = models.parent / "shipped"
    first = defaults.replace_shipped(models, shipped)
    assert [line.split(":")[1].split(",")[0] for line in first[:4]] == [" new"] * 4
    second = defaults.replace_shipped(models, shipped)
    assert all("unchanged, byte by byte" in line for line in second[:4])
    (shipped / "online.baro").write_bytes(b"old")
    shutil.copy(models / "adaptive.baro", shipped / "label_free.baro")
    third = dict(zip(USES, defaults.replace_shipped(models, shipped), strict=False))
    assert "the shipped one cannot be read" in third["online"]
    assert "differs, AUC" in third["label_free"]
    assert (shipped / "online.baro").read_bytes() == (models / "online.baro").read_bytes()


def test_replace_shipped_refuses_large_models(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "MAX_BYTES", 1000)
    with pytest.raises(ConfigError, match="allowed are 1000"):
        defaults.replace_shipped(models, models.parent / "shipped")
    assert not (models.parent / "shipped").exists()


def test_in_folder_restores_the_working_folder(project: Path) -> None:
    document = yaml.safe_load(Path("params.yaml").read_text()) | {"defaults": {}}
    Path("params.yaml").write_text(yaml.safe_dump(document))
    with in_folder(Path("data/defaults"), "defaults"):
        assert Path.cwd() == project / "data/defaults"
        assert profile_name() == "defaults"
    assert Path.cwd() == project
    assert profile_name() == "tiny"
