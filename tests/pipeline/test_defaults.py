"""Shipped models are compared with new ones, and replaced all or none."""

import shutil
from pathlib import Path

import pytest
import yaml

from barograph.errors import ConfigError
from barograph.models.triage import USES
from barograph.pipeline import characterise, defaults, subseries, train
from barograph.pipeline.params import profile_name


@pytest.fixture
def models(project: Path) -> Path:
    subseries.main()
    characterise.main()
    train.main()
    return project / "data/models"


def test_models_are_compared_before_they_are_replaced(models: Path) -> None:
    shipped = models.parent / "shipped"
    first = defaults.replace_shipped(models, shipped)
    assert [line.split(":")[1].split(",")[0] for line in first[:4]] == [" new"] * 4
    second = defaults.replace_shipped(models, shipped)
    assert all("the same, byte by byte" in line for line in second[:4])
    (shipped / "online.baro").write_bytes(b"old")
    shutil.copy(models / "adaptive.baro", shipped / "label_free.baro")
    third = dict(zip(USES, defaults.replace_shipped(models, shipped), strict=False))
    assert "the shipped one is no use" in third["online"]
    assert "differs, AUC" in third["label_free"]
    assert (shipped / "online.baro").read_bytes() == (models / "online.baro").read_bytes()


def test_models_that_are_too_large_are_not_shipped(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "LARGEST", 1000)
    with pytest.raises(ConfigError, match="allowed are 1000"):
        defaults.replace_shipped(models, models.parent / "shipped")
    assert not (models.parent / "shipped").exists()


def test_the_work_is_done_in_a_place_of_its_own(project: Path) -> None:
    document = yaml.safe_load(Path("params.yaml").read_text()) | {"defaults": {}}
    Path("params.yaml").write_text(yaml.safe_dump(document))
    with defaults.place(Path("data/defaults")):
        assert Path.cwd() == project / "data/defaults"
        assert profile_name() == "defaults"
    assert Path.cwd() == project
    assert profile_name() == "tiny"
