"""A service without compiled kernels decides at once, and as it does with them."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import numpy as np
import pytest

from barograph.compiled import runs_compiled
from barograph.detection.online import (
    OnlineJudge,
    PendingSeries,
    SecondLookConfig,
    cold_start,
    make_judge,
)
from barograph.detection.online.cold_start import ColdStartJudge, JudgeProcess
from barograph.errors import NotReadyError
from barograph.models import OnlineModels
from tests.shared import PATIENCE


@pytest.fixture(scope="module")
def judge() -> OnlineJudge:
    return make_judge(OnlineModels.default(), SecondLookConfig(needed=True))[0]


def pending(size: int = 60) -> list[PendingSeries]:
    values = np.random.default_rng(0).normal(100.0, 1.0, size)
    values[size // 2 :] += 10.0
    runs = {size - 1: np.array([values[-1], values[-1] + 1.0])}
    return [PendingSeries(values, size // 3, 0, runs=runs), PendingSeries(values[:20], 19, 0)]


@pytest.fixture(scope="module")
def interpreter(judge: OnlineJudge) -> Iterator[JudgeProcess]:
    process = JudgeProcess(judge, interprets=True)
    yield process
    process.close()


def test_interpreting_process_gives_the_same_bits(
    judge: OnlineJudge, interpreter: JudgeProcess
) -> None:
    for size in (60, 200):
        expected, got = judge.judge(pending(size)), interpreter.judge(pending(size))
        assert pickle.dumps(got[:-1]) == pickle.dumps(expected[:-1])
        assert list(got.logs) == list(expected.logs)
        assert expected.is_change.any()


class NotedJudge:
    """Counts how often it is pickled."""

    count = 0

    def __reduce__(self) -> tuple[type, tuple[()]]:
        NotedJudge.count += 1
        return NotedJudge, ()


def test_judge_is_pickled_before_other_threads_use_it() -> None:
    judge: Any = NotedJudge()
    process = JudgeProcess(judge, interprets=True)
    try:
        assert NotedJudge.count == 1
        with suppress(EOFError, OSError):
            process.judge(pending())
        assert NotedJudge.count == 1
    finally:
        process.close()


def test_error_of_the_judge_is_raised_and_the_process_goes_on(interpreter: JudgeProcess) -> None:
    values = np.array([1.0, 2.0])
    with pytest.raises(IndexError):
        interpreter.judge([PendingSeries(values, 0, 0, runs={9: values})])
    assert interpreter.judge(pending()).probability.size


def test_files_in_the_current_folder_do_not_stand_in_for_modules(
    judge: OnlineJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('the wrong module')\n")
    monkeypatch.chdir(tmp_path)
    process = JudgeProcess(judge, interprets=True)
    try:
        assert process.judge(pending()).probability.size
    finally:
        process.close()


def test_large_batches_are_refused_until_the_kernels_are_compiled(judge: OnlineJudge) -> None:
    is_compiled = Event()
    cold = ColdStartJudge(judge, [pending()], is_compiled.set)
    many = [PendingSeries(pending()[0].values, 0, 0)] * (cold_start.LARGEST // 60 + 1)
    try:
        with pytest.raises(NotReadyError, match="at most 300 results"):
            cold.judge(many)
        assert cold.judge(pending()).probability.size
        assert is_compiled.wait(PATIENCE)
        got = cold.judge(many)
        assert got.probability.tolist() == judge.judge(many).probability.tolist()
    finally:
        cold.close()


def test_process_is_closed_while_it_judges(judge: OnlineJudge) -> None:
    for pause in (0.0, 0.05, 0.2, 0.5):
        process, errors = JudgeProcess(judge, interprets=True), list[BaseException]()

        def judged(process: JudgeProcess = process, errors: list[Any] = errors) -> None:
            try:
                while True:
                    process.judge(pending(400))
            except BaseException as error:
                errors.append(error)

        thread = Thread(target=judged)
        thread.start()
        sleep(pause)
        process.close()
        thread.join()
        assert isinstance(errors[0], OSError | EOFError | pickle.UnpicklingError)


def test_closed_judge_still_decides(judge: OnlineJudge) -> None:
    is_compiled = Event()
    cold = ColdStartJudge(judge, [pending()], is_compiled.set)
    cold.close()
    assert not is_compiled.is_set()
    assert cold.judge(pending()).answer.tolist() == judge.judge(pending()).answer.tolist()


@pytest.mark.parametrize(("disabled", "expected"), [("0", "True"), ("1", "False")])
def test_start_is_cold_only_if_something_is_to_be_compiled(
    tmp_path: Path, disabled: str, expected: str
) -> None:
    script = """
from barograph.compiled import has_compiled, runs_compiled
from barograph.detection.online import OnlineJudge
from barograph.models import OnlineModels
from tests.detection.online.test_cold_start import pending
judge = OnlineJudge(OnlineModels.default().newest)
print(not runs_compiled(lambda: judge.judge(pending())), has_compiled())
"""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": disabled}
    printed = subprocess.run(  # noqa: S603 - no part of it is input
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed.split() == [expected, "False"]


def test_start_is_warm_once_the_judge_was_used(judge: OnlineJudge) -> None:
    judge.judge(pending())
    assert runs_compiled(lambda: judge.judge(pending()))
