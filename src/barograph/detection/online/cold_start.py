"""Judging while the kernels are compiled: by an interpreting process, until another compiled them.

Numba needs 15 seconds of processor time for the kernels of the online judge. A service cannot wait
that long, and threads of its own would compete with its requests.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any

from barograph.detection.online.batch import BatchDecisions
from barograph.detection.online.judge import OnlineJudge
from barograph.detection.online.pending import PendingSeries
from barograph.errors import NotReadyError

LARGEST = 300  # results that are judged interpreted, in about a second
# -P: files in the current folder must not stand in for modules.
COMMAND = (sys.executable, "-P", "-c", f"from {__name__} import serve; serve()")


class JudgeProcess:
    """A judge in another process, which ends with this one.

    Args:
        judge: The judge.
        interprets: Whether the process leaves kernels to the interpreter; else it compiles them.
    """

    def __init__(self, judge: OnlineJudge, *, interprets: bool) -> None:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": str(int(interprets))}
        self._process = subprocess.Popen(  # noqa: S603 - no part of it is input
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches the service only, which closes the pipes
        )
        # At once: while it is pickled, no other thread may use it, which could add to its caches.
        self._pickled: bytes | None = pickle.dumps(judge)
        self._is_closed = False
        self._lock = threading.Lock()

    def judge(self, pending: Sequence[PendingSeries]) -> BatchDecisions:
        """Decide on the new points of every series.

        Raises:
            OSError, EOFError: The process ended, or was closed.
        """
        # A mapping proxy cannot be pickled.
        sent = [series._replace(runs=dict(series.runs)) for series in pending]
        requests, replies = _pipe(self._process.stdin), _pipe(self._process.stdout)
        with self._lock:
            if self._is_closed:
                raise EOFError
            if self._pickled is not None:
                requests.write(self._pickled)
                self._pickled = None
            pickle.dump(sent, requests)
            requests.flush()
            reply = pickle.load(replies)  # noqa: S301 - from our own process
        if isinstance(reply, Exception):
            raise reply
        decisions: BatchDecisions = reply
        return decisions

    def close(self) -> None:
        """End the process, and the call that waits for it."""
        self._process.kill()
        self._process.wait()
        with self._lock:  # a pipe must not be closed while it is read
            self._is_closed = True
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):  # what was not sent yet is of no use
                    _pipe(pipe).close()


class ColdStartJudge:
    """A judge that another process interprets until a third has compiled the kernels.

    The decisions are those of the judge. Large batches are refused until then: the caller may
    hold a transaction that others wait for.

    Args:
        judge: The judge.
        trials: Batches of series whose judgement needs every kernel.
        on_compiled: Called once this process uses compiled kernels.
    """

    def __init__(
        self,
        judge: OnlineJudge,
        trials: Sequence[Sequence[PendingSeries]],
        on_compiled: Callable[[], None],
    ) -> None:
        self._judge, self._trials, self._on_compiled = judge, trials, on_compiled
        self._is_compiled, self._is_closed = threading.Event(), threading.Event()
        self._interpreter = JudgeProcess(judge, interprets=True)
        self._compiler = JudgeProcess(judge, interprets=False)
        self._compiling = threading.Thread(
            target=self._compile, name="barograph-compile", daemon=True
        )
        self._compiling.start()
        self.version, self.threshold, self.history = judge.version, judge.threshold, judge.history

    def judge(self, pending: Sequence[PendingSeries]) -> BatchDecisions:
        """Decide on the new points of every series.

        Raises:
            NotReadyError: The kernels are not compiled yet, and there are too many of them.
        """
        if self._is_compiled.is_set():
            return self._judge.judge(pending)
        if sum(len(series.values) - series.first for series in pending) > LARGEST:
            raise NotReadyError(
                f"the model is being compiled: at most {LARGEST} results are judged at once until "
                "then; send these again in some seconds"
            )
        try:
            return self._interpreter.judge(pending)
        except (OSError, EOFError, pickle.UnpicklingError):
            if not self._is_compiled.is_set():  # then it was not closed, but failed
                raise NotReadyError(
                    "the model is being compiled; try again in some seconds"
                ) from None
            return self._judge.judge(pending)

    def close(self) -> None:
        """End both processes; whatever is not compiled yet, this process compiles."""
        self._is_closed.set()
        self._compiler.close()
        self._compiling.join()

    def _compile(self) -> None:
        with suppress(Exception):  # if the process fails, this one compiles
            for trial in self._trials:
                self._compiler.judge(trial)
        self._compiler.close()
        # To load compiled kernels takes 0.4 s, for which the first request would wait.
        with suppress(Exception):  # a request raises what is wrong
            for trial in self._trials:
                if not self._is_closed.is_set():
                    self._judge.judge(trial)
        self._is_compiled.set()
        self._interpreter.close()
        if not self._is_closed.is_set():
            self._on_compiled()


def serve() -> None:
    """Judge what arrives on standard input until it is closed."""
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # replies have the pipe to themselves
    with suppress(EOFError, BrokenPipeError):
        judge: OnlineJudge = pickle.load(requests)  # noqa: S301 - from the process that started us
        while True:
            reply: Any
            try:
                reply = judge.judge(pickle.load(requests))  # noqa: S301
            except EOFError:
                raise
            except Exception as error:
                reply = error
            pickle.dump(reply, replies)
            replies.flush()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - the process was started with pipes
    return pipe
