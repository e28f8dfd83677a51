"""Scores of repetitions are cached by everything that they depend on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from barograph.learning.protocols import random_splits
from barograph.learning.tables import Labelled
from barograph.studies import repetitions
from barograph.studies.repetitions import Repetition, repeat, repetition


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Repetition]:
    """Three repetitions of a forest on forty rows, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BAROGRAPH_WORKERS", "1")
    matrix = np.random.default_rng(0).normal(size=(40, 2))
    truth = (matrix[:, 0] > 0).astype(np.int64)
    number = np.arange(40)
    rows = Labelled(
        matrix, truth, number, number, number.astype(str).astype(object), number, number
    )
    splits = random_splits(40, 3, seed=1)
    return [Repetition("random_forest", rows, split, k, 3, "f1") for k, split in enumerate(splits)]


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(repetitions, "repetition", judged)


def test_repeat_reads_cached_scores(
    planned: list[Repetition], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repeat(planned, "test")
    forbid(monkeypatch)
    assert repeat(planned[::-1], "test") == first[::-1]


def test_repeat_continues_after_a_killed_run(
    planned: list[Repetition], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    judge = repetition

    def dying(*args: object, **more: object) -> dict[str, float]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return judge(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(repetitions, "repetition", dying)
    with pytest.raises(KeyboardInterrupt):
        repeat(planned, "test")
    assert [item.path.is_file() for item in planned] == [True, True, False]
    monkeypatch.setattr(repetitions, "repetition", judge)
    assert len(repeat(planned, "test")) == 3


def test_repeat_replaces_a_damaged_file(planned: list[Repetition]) -> None:
    first = repeat(planned, "test")
    planned[1].path.write_text("{")
    assert repeat(planned, "test") == first


def test_path_depends_on_everything_that_scores_depend_on(planned: list[Repetition]) -> None:
    result = planned[0]
    other = replace(result.rows, matrix=result.rows.matrix + 1)
    changed = [
        replace(result, classifier="logistic"),
        replace(result, seed=9),
        replace(result, trees=4),
        replace(result, goal="accuracy"),
        replace(result, split=planned[1].split),
        replace(result, rows=other),
    ]
    assert len({result.path, *(each.path for each in changed)}) == 7
