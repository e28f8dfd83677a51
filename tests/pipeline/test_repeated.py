"""What was judged once is remembered, and nothing is remembered for anything else."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from barograph.evaluation.experiment import repetition
from barograph.evaluation.protocols import random_splits
from barograph.pipeline import repeated
from barograph.pipeline.repeated import Repetition
from barograph.training.tables import Labelled


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Repetition]:
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
    return [Repetition("random_forest", rows, one, k, 3, "f1") for k, one in enumerate(splits)]


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    def judged(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(repeated, "repetition", judged)


def test_a_second_run_reads_what_the_first_one_wrote(
    wanted: list[Repetition], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repeated.repeated(wanted, "test")
    forbid(monkeypatch)
    assert repeated.repeated(wanted[::-1], "test") == first[::-1]


def test_a_killed_run_goes_on_where_it_was(
    wanted: list[Repetition], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    judge = repetition

    def dying(*args: object, **more: object) -> dict[str, float]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(1)
        return judge(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(repeated, "repetition", dying)
    with pytest.raises(KeyboardInterrupt):
        repeated.repeated(wanted, "test")
    assert [one.path.is_file() for one in wanted] == [True, True, False]
    monkeypatch.setattr(repeated, "repetition", judge)
    assert len(repeated.repeated(wanted, "test")) == 3


def test_a_damaged_file_is_computed_again(wanted: list[Repetition]) -> None:
    first = repeated.repeated(wanted, "test")
    wanted[1].path.write_text("{")
    assert repeated.repeated(wanted, "test") == first


def test_whatever_changes_the_numbers_changes_the_name(wanted: list[Repetition]) -> None:
    one = wanted[0]
    other = replace(one.rows, matrix=one.rows.matrix + 1)
    changed = [
        replace(one, classifier="logistic"),
        replace(one, seed=9),
        replace(one, trees=4),
        replace(one, goal="accuracy"),
        replace(one, split=wanted[1].split),
        replace(one, rows=other),
    ]
    assert len({one.path, *(each.path for each in changed)}) == 7
