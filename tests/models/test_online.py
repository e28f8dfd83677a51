"""Both models of the online detector share one sealed file."""

import zipfile
from pathlib import Path

import pytest

from barograph.models import OnlineModels, TriageModel
from barograph.runtime.errors import ArtifactError
from tests.service.models import small_model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "online.baro"
    OnlineModels(small_model(0), small_model(1, "confirm")).save(path)
    return path


def test_load_returns_both_models_unchanged(path: Path) -> None:
    models = OnlineModels.load(path)
    assert models.confirm is not None
    assert models.newest.version == small_model(0).version
    assert models.confirm.version == small_model(1, "confirm").version
    models.save(path.with_name("again.baro"))
    assert path.with_name("again.baro").read_bytes() == path.read_bytes()


def test_load_accepts_a_single_online_model(path: Path) -> None:
    small_model().save(path)
    assert OnlineModels.load(path).confirm is None


def test_triage_model_chooses_by_use(path: Path) -> None:
    assert TriageModel.load(path, "confirm").use == "confirm"
    with pytest.raises(ArtifactError, match=r"several uses \(online, confirm\); choose one"):
        TriageModel.load(path)
    with pytest.raises(ArtifactError, match="made for another use: online, confirm, not adaptive"):
        TriageModel.load(path, "adaptive")


def test_load_refuses_a_model_for_another_use(path: Path) -> None:
    small_model(use="label_free").save(path)
    with pytest.raises(ArtifactError, match="made for another use: label_free, not online"):
        OnlineModels.load(path)


def test_load_refuses_a_member_of_another_file(path: Path) -> None:
    other, mixed = path.with_name("other.baro"), path.with_name("mixed.baro")
    OnlineModels(small_model(2), small_model(3, "confirm")).save(other)
    zips = zipfile.ZipFile(path), zipfile.ZipFile(other), zipfile.ZipFile(mixed, "w")
    with zips[0] as ours, zips[1] as theirs, zips[2] as archive:
        for name in ours.namelist():
            source = theirs if name.startswith("confirm/") else ours
            archive.writestr(name, source.read(name))
    with pytest.raises(ArtifactError, match="SHA-256 in the header does not match"):
        OnlineModels.load(mixed)


def test_default_is_shipped_as_one_file() -> None:
    models = OnlineModels.default()
    assert models.confirm is not None
    assert (models.newest.use, models.confirm.use) == ("online", "confirm")
    assert "alarm_thresholds" in models.confirm.card
