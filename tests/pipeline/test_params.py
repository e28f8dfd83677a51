from dataclasses import dataclass
from pathlib import Path

import pytest

from barograph.errors import ConfigError
from barograph.pipeline import params
from barograph.pipeline.params import parameters, profile_name

TEXT = """
profile: quick
train: {trees: 100, sets: [bauer8, full]}
quick: {train: {share: 1}}
paper: {train: {trees: 500, share: 0.5, depth: 3}}
"""


@dataclass(frozen=True)
class Train:
    trees: int
    share: float
    sets: tuple[str, ...]
    depth: int | None = None


def write(folder: Path, text: str) -> Path:
    path = folder / "params.yaml"
    path.write_text(text)
    return path


def test_profile_adds_to_common_section(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT)
    assert parameters(Train, "train", path) == Train(100, 1.0, ("bauer8", "full"))
    assert profile_name(path) == "quick"


def test_profile_overrides_common_section(tmp_path: Path) -> None:
    path = write(tmp_path, TEXT.replace("profile: quick", "profile: paper"))
    assert parameters(Train, "train", path) == Train(500, 0.5, ("bauer8", "full"), 3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("trees: 100", "trees: many", r"train\.trees: expected int, got 'many'"),
        ("trees: 100", "trees: true", r"train\.trees: expected int, got True"),
        ("trees: 100", "treees: 100", r"train: unknown parameter 'treees'; known: \['depth'"),
        ("{share: 1}", "{}", "parameter 'share' is missing"),
        ("[bauer8, full]", "bauer8", r"train\.sets: expected a list, got 'bauer8'"),
        ("profile: quick", "profile: slow", r"profile is 'slow', .*; profiles are paper, quick$"),
        ("{trees: 100, sets: [bauer8, full]}", "7", "train must be a mapping, got 7"),
    ],
)
def test_parameters_name_the_wrong_one(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError, match=message):
        parameters(Train, "train", write(tmp_path, TEXT.replace(old, new)))


def test_parameters_name_missing_or_broken_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"params\.yaml: no such file"):
        parameters(Train, "train", tmp_path / "params.yaml")
    with pytest.raises(ConfigError, match="not valid YAML"):
        parameters(Train, "train", write(tmp_path, "a: [1"))


def test_params_that_cannot_be_read_are_one_short_line(tmp_path: Path) -> None:
    for content in (b"profile: \xff\xfe\n", b"a: [1,\nb: }", b"[" * 5000, b"- x\n" * 5000):
        (tmp_path / "params.yaml").write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            parameters(Train, "train", tmp_path / "params.yaml")
        text = str(caught.value)
        assert "params.yaml: " in text
        assert "\n" not in text
        assert len(text) <= 300


def test_the_check_before_dvc_names_the_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, TEXT)
    params.main()
    write(tmp_path, TEXT.replace("profile: quick", "profile: quikc"))
    with pytest.raises(SystemExit, match=r"profile is 'quikc', .*; profiles are paper, quick$"):
        params.main()
