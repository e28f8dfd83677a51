"""A `barograph.toml` that was found is used as far as its owner and its folder are trusted."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from barograph.cli import COMMANDS, config, group
from barograph.cli.config import NAME, POWERFUL, find, load_config
from tests.cli.test_commands import code, results

USER = os.geteuid()
STRANGER = 4711
STRONG = '[gate]\nnewest = 3\nrerun = "touch ran; exit 1 # {out}"\n'
WEAK = "[gate]\nnewest = 3\n"
Own = Callable[[Path, int], None]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose benchmark regresses by 20 % at commit c57 of 60; the current folder."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    results(folder, 20)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Own:
    """Return a function that gives a file another owner, for `config`."""
    true, owners = config._owner_and_mode, dict[Path, int]()

    def owner_and_mode(path: Path) -> tuple[int, int]:
        owner, mode = true(path)
        return owners.get(path, owner), mode

    monkeypatch.setattr(config, "_owner_and_mode", owner_and_mode)
    return owners.__setitem__


def ignored() -> str:
    [note] = load_config(COMMANDS).ignored.values()
    return note


def test_file_of_a_stranger_is_ignored_and_fails_a_job(
    repository: Path, own: Own, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository / NAME
    path.write_text(STRONG)
    own(path, STRANGER)
    assert code("gate", "results.csv") == 1
    assert code("score", "results.csv", "--store", "new.db") == 1
    error = (
        f"barograph: {path}: ignored, because the file belongs to user {STRANGER}, who is neither "
        f"you (user {USER}) nor root; --config FILE uses all of a file\n"
    )
    assert capsys.readouterr().err == 2 * error
    assert not Path("new.db").exists()
    assert not Path("ran").exists()
    assert code("detect", "results.csv") == 0
    assert f"{path}: ignored, because" in capsys.readouterr().err
    assert code("--config", NAME, "gate", "results.csv", "--min-change", "50") == 0
    assert code("--config", os.devnull, "gate", "results.csv", "--newest", "3") == 2


def test_file_of_the_owner_of_the_repository_gives_settings_only(
    repository: Path, own: Own, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository / NAME
    path.write_text(WEAK + '[serve]\nhost = "0.0.0.0"\n')
    for place in (path, repository):
        own(place, STRANGER)
    assert code("gate", "results.csv") == 2  # the table of another command is not about this job
    path.write_text(STRONG)
    assert code("gate", "results.csv") == 1
    assert f"{path}: [gate] rerun is ignored, because the file" in capsys.readouterr().err
    path.write_text('[input]\nkind = "otava"\nfiles = ["a.yaml"]\n[detect]\nmodel = "x.baro"\n')
    config = load_config(COMMANDS)
    assert config.commands == {"input": {"files": ["a.yaml"]}, "detect": {}}
    assert sorted(config.ignored) == ["detect", "input"]
    path.write_text("[detect]\nmodel = 'x.baro'\n[patterns]\ncanary = ['db*']\n")
    assert code("detect", "results.csv") == 0
    assert "[detect] model is ignored, because" in capsys.readouterr().err
    assert load_config(COMMANDS).kind_of("db") == "canary"


def test_folder_above_the_repository_is_not_searched(repository: Path) -> None:
    (repository.parent / NAME).write_text(WEAK)
    below = repository / "a" / "b"
    below.mkdir(parents=True)
    assert find(below) is None
    (repository / NAME).write_text(WEAK)
    assert find(below) == repository / NAME
    (below / ".git").write_text("gitdir: elsewhere")  # as in a work tree
    assert find(below) is None


def test_search_ends_at_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "a").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    (tmp_path / NAME).write_text(WEAK)
    assert find(home / "a") == tmp_path / NAME
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert find(home / "a") is None
    (home / NAME).write_text(WEAK)
    assert find(home / "a") == home / NAME


def test_search_ends_at_the_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / NAME).write_text(WEAK)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    assert find(mounted) == tmp_path / NAME
    true = Path.stat

    def another_device(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        status = true(path, follow_symlinks=follow_symlinks)
        return os.stat_result([*status[:2], status.st_dev + (path == mounted), *status[3:]])

    monkeypatch.setattr(Path, "stat", another_device)
    assert find(mounted) is None


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_folder_that_every_user_can_write_to_is_trusted_with_settings_in_a_repository_only(
    repository: Path, mode: int
) -> None:
    (repository / NAME).write_text(STRONG)
    repository.chmod(mode)
    assert ignored() == (f"[gate] rerun is ignored, because every user can write to {repository}")
    (repository / ".git").rmdir()
    assert ignored() == f"ignored, because every user can write to {repository}"


def test_file_that_every_user_can_write_to_gives_no_command(repository: Path) -> None:
    path = repository / NAME
    path.write_text(STRONG)
    path.chmod(0o666)
    assert ignored() == f"[gate] rerun is ignored, because every user can write to {path}"


def test_stranger_in_the_folder_of_another_user_is_ignored(repository: Path, own: Own) -> None:
    path = repository / NAME
    path.write_text(WEAK)
    own(path, STRANGER)
    own(repository, STRANGER + 1)
    assert ignored().startswith("ignored, because the file belongs to user")


def test_link_is_as_trusted_as_its_target_and_as_its_folder(
    repository: Path, own: Own, tmp_path: Path
) -> None:
    target = tmp_path / "settings.toml"
    target.write_text(STRONG)
    path = repository / NAME
    path.symlink_to(target)
    assert not load_config(COMMANDS).ignored
    repository.chmod(0o777)
    assert "every user can write to" in ignored()
    repository.chmod(0o755)
    own(target, STRANGER)
    assert ignored().startswith("ignored, because the file belongs to user")
    own(target, 0)
    own(path, STRANGER)
    assert ignored().startswith("ignored, because the file belongs to user")


def test_file_of_root_counts(repository: Path, own: Own) -> None:
    path = repository / NAME
    path.write_text(STRONG)
    own(path, 0)
    config = load_config(COMMANDS)
    assert "rerun" in config.commands["gate"]
    assert not config.ignored


@pytest.mark.skipif(USER != 0, reason="only root can give a file to another user")
def test_owner_is_the_one_that_the_system_names(repository: Path) -> None:
    path = repository / NAME
    path.write_text(STRONG)
    os.chown(path, STRANGER, -1)
    assert ignored().startswith("ignored, because the file belongs to user 4711")
    os.chown(repository, STRANGER, -1)
    assert ignored().startswith("[gate] rerun is ignored")


def test_command_from_a_file_is_announced(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = repository / NAME
    path.write_text('[gate]\nrerun = "true {out}"\n')
    note = f"--rerun is set by {path}\n"
    assert stat.S_IMODE(repository.stat().st_mode) & stat.S_IWOTH == 0
    code("gate", "results.csv")
    assert note in capsys.readouterr().err
    code("gate", "results.csv", "--rerun", "true {out}")
    assert note not in capsys.readouterr().err


def test_every_model_and_store_needs_trust() -> None:
    named = set()
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        for option in command.params:
            help_text = getattr(option, "help", "") or ""
            if option.envvar == "BAROGRAPH_STORE" or help_text.startswith("Model that"):
                named.add(option.opts[0].removeprefix("--"))
    assert {"model", "store", "label-free"} <= named
    assert named <= set(POWERFUL)
