"""Which model a command uses: the named one, the released one, or the built-in one."""

from pathlib import Path

import click
import pytest

from barograph.cli import COMMANDS, group
from tests.cli.store_commands import run, write

pytestmark = pytest.mark.usefixtures("workplace")


TAKE_MODELS = [
    (command, option)
    for command, options in (
        (("classify", "results.csv"), ("--model",)),
        (("gate", "results.csv"), ("--model",)),
        (("import", "results.csv"), ("--model",)),
        (("recompute",), ("--model",)),
        (("detect", "results.csv"), ("--model",)),
        (("gate", "results.csv"), ("--model",)),
        (("noise", "results.csv"), ("--model",)),
        (("replay", "results.csv"), ("--model",)),
        (("report", "results.csv"), ("--model",)),
        (("score", "results.csv"), ("--model",)),
        (("serve",), ("--model",)),
    )
    for option in options
]


@pytest.mark.parametrize(("command", "option"), TAKE_MODELS)
def test_missing_model_is_never_replaced(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    option: str,
) -> None:
    import uvicorn

    monkeypatch.setattr(uvicorn, "run", lambda *_arguments, **_more: None)
    write("results.csv")
    code, _, error = run(capsys, *command, option, "typo.baro")
    assert (code, error.count("\n")) == (1, 1)
    assert error.startswith(
        f"barograph: {option} typo.baro: no such file; name an existing model, or "
    )
    assert "built-in" in error
    # The same for the default path, if it is given explicitly.
    released = f"data/release/{option.removeprefix('--').replace('-', '_')}.baro"
    Path(released).unlink(missing_ok=True)
    assert f"{option} {released}: no such file" in run(capsys, *command, option, released)[2]


def test_every_model_option_is_tested() -> None:
    named = {
        (name, option)
        for name in COMMANDS
        for parameter in (group.get_command(click.Context(group), name) or group).params
        for option in parameter.opts
        if option == "--model"
    }
    assert named == {(command[0], option) for command, option in TAKE_MODELS}


def test_built_in_model_is_used_until_one_is_released(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write("results.csv")
    for path in Path("data/release").iterdir():
        path.unlink()
    assert run(capsys, "import", "results.csv", "--store", "s.db")[0] == 0
    assert run(capsys, "recompute", "--store", "s.db")[0] == 0


def test_missing_model_of_the_configuration_is_never_replaced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("barograph.toml").write_text('[serve]\nlabel-free = "typo.baro"\n')
    code, _, error = run(capsys, "serve")
    assert (code, error.startswith("barograph: label-free typo.baro: no such file; ")) == (1, True)
