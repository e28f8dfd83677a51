from pathlib import Path

import pytest

from barograph.files import published

NAMES = ["a", "b"]


def publish(folder: Path, text: str) -> None:
    with published(folder, NAMES) as draft:
        for name in NAMES:
            (draft / name).write_text(text)


def test_files_appear_together_beside_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "other").write_text("stays")
    publish(tmp_path / "out", "1")
    publish(tmp_path / "out", "2")
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == {
        "a": "2",
        "b": "2",
        "other": "stays",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_changes_nothing(tmp_path: Path) -> None:
    publish(tmp_path / "out", "1")

    def failing() -> None:
        with published(tmp_path / "out", NAMES) as draft:
            (draft / "a").write_text("2")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert (tmp_path / "out" / "a").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_missing_file_changes_nothing(tmp_path: Path) -> None:
    publish(tmp_path / "out", "1")
    with pytest.raises(FileNotFoundError), published(tmp_path / "out", NAMES) as draft:
        (draft / "a").write_text("2")
    assert (tmp_path / "out" / "a").read_text() == "1"


class Killed(BaseException):
    """Stands for a signal that ends the process."""


@pytest.mark.parametrize("step", range(1, 5))
def test_a_kill_at_any_step_never_leaves_a_mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    publish(tmp_path / "out", "old")
    steps = iter(range(1, 100))

    def killing(method: str) -> None:
        original = getattr(Path, method)

        def wrapper(self: Path, *args: object, **kwargs: object) -> object:
            if next(steps) == step:
                raise Killed
            return original(self, *args, **kwargs)

        monkeypatch.setattr(Path, method, wrapper)

    killing("unlink")
    killing("replace")
    with pytest.raises(Killed):
        publish(tmp_path / "out", "new")
    monkeypatch.undo()
    left = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert set(left.values()) != {"old", "new"}
    assert len(left) < len(NAMES) or step == 1
