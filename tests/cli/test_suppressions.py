"""Suppressions: which answers they accept, when they end, and what is printed about them."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from barograph.cli import COMMANDS
from barograph.cli.answers import JobAnswer, SeriesAnswer, suppress
from barograph.cli.config import Config, Suppression, load_config
from barograph.runtime.errors import ConfigError
from tests.cli.test_commands import code, results

CHANGE = SeriesAnswer(
    series="db/query",
    direction=-1,
    order=59,
    commit="c59",
    answer="change",
    probability=0.9,
    percent=20.0,
    begins=57,
    begins_commit="abcdef57",
)
ORDERS = {"abcdef50": 50, "abcdef57": 57, "abcdef60": 60}


def accepted(table: dict[str, str], answer: SeriesAnswer = CHANGE) -> tuple[str, list[str]]:
    rule = msgspec.convert({"series": "db/*", "reason": "known", **table}, Suppression)
    today = dt.date(2026, 1, 1)
    [marked], notes = suppress([answer], Config(suppress=[rule]), ORDERS.get, today)
    return marked.suppressed, notes


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"series": "db/query"},
        {"commit": "abcdef"},
        {"commit": "abcdef57"},
        {"commit": "57"},
        {"until": "abcdef60"},
        {"commit": "abcdef50", "until": "abcdef57"},
        {"direction": "up"},
        {"expires": "2026-01-01"},
    ],
)
def test_suppression_accepts_a_change_that_it_describes(table: dict[str, str]) -> None:
    assert accepted(table) == ("known", [])


@pytest.mark.parametrize(
    "table",
    [
        {"series": "other/*"},
        {"commit": "abcdef60"},
        {"commit": "abc"},  # too short for the start of a name
        {"until": "abcdef50"},
        {"until": "unknown"},
        {"commit": "abcdef60", "until": "abcdef60"},
        {"direction": "down"},
    ],
)
def test_suppression_that_matches_no_change_is_reported(table: dict[str, str]) -> None:
    reason, [note] = accepted(table)
    assert reason == ""
    assert note.startswith("suppression matches no change: ")


def test_expired_suppression_is_reported_and_accepts_nothing() -> None:
    reason, notes = accepted({"expires": "2025-12-31"})
    assert reason == ""
    assert notes == ["suppression expired on 2025-12-31: db/* (known)"]


def test_known_change_uses_a_suppression_and_a_quiet_series_does_not() -> None:
    known = replace(CHANGE, answer="quiet", known=True)
    assert accepted({}, known)[1] == []
    assert len(accepted({}, replace(CHANGE, answer="quiet"))[1]) == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"reason": "x"}, "missing required field `series`"),
        ({"series": "x"}, "missing required field `reason`"),
        ({"series": "x", "reason": " "}, r"matching regex .* at `\$\[0\]\.reason`"),
        (
            {"series": "x", "reason": "y", "expire": "z"},
            "series and reason, optionally .*: .*unknown field `expire`",
        ),
        ({"series": 3, "reason": "y"}, "Expected `str`, got `int`"),
        ({"series": "x", "reason": "y", "direction": "worse"}, r"\(up or down\).*'worse'"),
        ({"series": "x", "reason": "y", "expires": "soon"}, "a date such as 2027-01-31"),
    ],
)
def test_suppression_that_cannot_be_used_is_refused(
    table: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "barograph.toml"
    path.write_text("\n".join(["[[suppress]]", *(f"{key} = {v!r}" for key, v in table.items())]))
    with pytest.raises(ConfigError, match=message):
        load_config(COMMANDS, path)


def test_informational_series_fail_no_job() -> None:
    config = Config(patterns={"informational": ("db/*",)})
    [marked], _ = suppress([CHANGE], config, ORDERS.get)
    assert JobAnswer([marked]).exit_code == 0
    assert JobAnswer([CHANGE]).exit_code == 2


def test_suppressed_regression_is_printed_with_its_reason_and_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(results(tmp_path, 20))
    rules = tmp_path / "accepted.toml"
    rules.write_text('[[suppress]]\nseries = "db/*"\nreason = "agreed"\ncommit = "c57"\n')
    assert code("gate", path, "--newest", "3") == 2
    capsys.readouterr()
    assert code("--config", str(rules), "gate", path, "--newest", "3") == 0
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("suppressed ")
    assert line.endswith("suppressed: agreed")
