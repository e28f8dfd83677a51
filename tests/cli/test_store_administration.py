"""Tokens, series and errors of the commands that open a store."""

import json
from pathlib import Path

import pytest

from barograph.runtime.errors import ConfigError
from barograph.server.web.settings import Settings
from tests.cli.store_commands import run, run_json, write

pytestmark = pytest.mark.usefixtures("workplace")


@pytest.mark.parametrize(
    "arguments",
    [("export", "tables"), ("recompute",), ("token", "list"), ("token", "revoke", "ci")],
)
def test_mistyped_store_is_an_error_and_not_created(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = run(capsys, *arguments, "--store", "absent.db")
    assert code == 1
    assert error == (
        "barograph: --store absent.db: no such store; "
        "score, import, serve and token add create one\n"
    )
    assert not Path("absent.db").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "results.csv", "--model", "data/release/label_free.baro"), "label_free"),
        (("score", "results.csv", "--store", "mysql://x/y"), "mysql"),
        (("score", "none.csv"), "none.csv"),
        (("import", "results.csv", "--restore"), "results.csv/store/archive.json is missing"),
        (("score", "results.csv", "--store", "results.csv"), "results.csv: not an SQLite database"),
        (("score", "results.csv", "--store", "."), ".: is a directory; an SQLite store needs a"),
    ],
)
def test_errors_are_printed_in_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    write("results.csv")
    code, _, error = run(capsys, *arguments)
    assert code == 1
    assert message in error
    assert "Traceback" not in error
    assert not list(Path().glob("*-gate"))


def test_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    code, secret, _ = run(capsys, "token", "add", "ci", "--scope", "ingest")
    assert code == 0
    assert secret.startswith("baro_")
    assert run(capsys, "token", "add", "ci", "--scope", "read")[0] == 1
    listed = run_json(capsys, "token", "list")[1]
    assert listed == {"tokens": [{"name": "ci", "scopes": ["ingest"], "revoked": False}]}
    assert run(capsys, "token", "revoke", "ci")[0] == 0
    assert run(capsys, "token", "list")[1] == "ci  ingest  revoked\n"


def test_rate_of_the_command_limits_the_service(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[float, int]] = []

    def created(_store: object, _watch: object, settings: Settings, *_: object) -> None:
        limits.append((settings.rate, settings.burst))
        raise ConfigError("enough")

    monkeypatch.setattr("barograph.server.web.app.create_app", created)
    (tmp_path / "barograph.toml").write_text("[serve]\nrate = 2.5\n")
    code, _, error = run(capsys, "serve", "--store", str(tmp_path / "ci.db"))
    assert (code, "enough" in error) == (1, True)
    assert limits == [(2.5, 25)]  # ten seconds of it may come together


def test_mode_of_a_new_store_must_let_its_owner_use_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BAROGRAPH_STORE_MODE", "999")
    code, _, error = run(capsys, "score", write("results.csv"))
    assert (code, "BAROGRAPH_STORE_MODE: '999' is not a file mode" in error) == (1, True)


def test_serve_needs_a_token_for_other_addresses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, error = run(capsys, "serve", "--host", "0.0.0.0")  # noqa: S104
    assert code == 1
    assert "without a token" in error


def test_series_are_renamed_merged_retired_and_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "score", write("history.csv", by=0.0), "--store", "ci.db")[0] == 0
    store = ("--store", "ci.db")
    assert run(capsys, "series", "list", *store)[1] == "1  db/query/-\n2  db/insert/-\n"
    renamed = run(capsys, "series", "rename", "db/query/-", "--test", "q", "--arg", "n=8", *store)
    assert renamed[:2] == (0, "1  db/q/- n=8\n")
    assert run(capsys, "series", "retire", "2", *store)[0] == 0
    assert "2  db/insert/-  retired" in run(capsys, "series", "list", *store)[1]
    merged = run(capsys, "series", "merge", "2", "db/q/- n=8", *store)
    assert merged[:2] == (0, "30 results moved to series 1\n")
    assert run(capsys, "series", "delete", "2", *store)[2] == "barograph: there is no series 2\n"
    pruned = run(capsys, "prune", "--older-than", "400d", "--format", "json", *store)
    assert json.loads(pruned[1])["points"] == 0
    assert "not a number of days" in run(capsys, "prune", "--older-than", "1y", *store)[2]
    deleted = run(capsys, "series", "delete", "1", "--format", "json", *store)
    assert json.loads(deleted[1]) == {"points": 30, "candidates": 0, "verdicts": 0}
    assert run(capsys, "series", "rename", "1", *store)[0] == 1
    Path("single.csv").write_text("test,order,commit,value\nsingle,1,c1,5\n")
    assert run(capsys, "import", "single.csv", *store)[0] == 0
    deleted = run(capsys, "series", "delete", "single", *store)
    assert deleted[1] == "1 result, 0 candidates and 0 verdicts deleted\n"
