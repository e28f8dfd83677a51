"""A download survives a bad server, and believes nothing before its checksum."""

import io
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from barograph.errors import SourceError
from barograph.sources.zenodo.download import CHUNK, Patience, RemoteFile, fetch, show_progress
from tests.sources.server import Handler, Server, cut_after, serving, status

NAME = "dump.bin"
DATA = bytes(range(256)) * 4096  # 1 MiB


class Waits(list[float]):
    """Remembers how long somebody wanted to sleep."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        server.files[NAME] = DATA
        yield server


def get(server: Server, folder: Path, waits: Waits | None = None, **lies: str) -> Path:
    """Fetch the one file with a quick patience."""
    entry = server.entry(NAME)
    file = RemoteFile(
        NAME,
        entry["links"]["self"],
        int(lies.get("size", entry["size"])),
        lies.get("md5", entry["checksum"].removeprefix("md5:")),
    )
    patience = Patience(attempts=3, pause=0.5, timeout=5, sleep=Waits() if waits is None else waits)
    with requests.Session() as session:
        return fetch(file, folder / NAME, session, patience, lambda *_: None)


def test_whole_file_arrives_once(server: Server, tmp_path: Path) -> None:
    assert get(server, tmp_path).read_bytes() == DATA
    assert get(server, tmp_path).read_bytes() == DATA
    assert server.count(server.address(NAME)) == 1
    assert list(tmp_path.iterdir()) == [tmp_path / NAME]


def test_broken_answers_are_taken_up_where_they_ended(server: Server, tmp_path: Path) -> None:
    server.tricks[server.address(NAME)] = [cut_after(4 * CHUNK + 9), cut_after(3 * CHUNK + 9)]
    assert get(server, tmp_path).read_bytes() == DATA
    ranges = [wanted for _, wanted in server.asked]
    assert ranges == [None, f"bytes={4 * CHUNK}-", f"bytes={7 * CHUNK}-"]


def test_server_that_ignores_ranges_sends_all_again(server: Server, tmp_path: Path) -> None:
    server.ranges = False
    server.tricks[server.address(NAME)] = [cut_after(CHUNK)]
    assert get(server, tmp_path).read_bytes() == DATA
    assert server.asked[1][1] == f"bytes={CHUNK}-"


def test_part_of_a_killed_process_is_resumed(server: Server, tmp_path: Path) -> None:
    part = tmp_path / f"{NAME}.part"
    part.write_bytes(DATA[:1000])
    assert get(server, tmp_path).read_bytes() == DATA
    assert server.asked == [(server.address(NAME), "bytes=1000-")]
    assert not part.exists()


def test_really_killed_download_leaves_a_part(server: Server, tmp_path: Path) -> None:
    def stall(handler: Handler) -> None:
        handler.deliver(cut=400_000)
        time.sleep(20)

    server.tricks[server.address(NAME)] = [stall]
    entry = server.entry(NAME)
    code = (
        "import requests, pathlib\n"
        "from barograph.sources.zenodo.download import Patience, RemoteFile, fetch\n"
        f"file = RemoteFile({NAME!r}, {entry['links']['self']!r}, {len(DATA)}, 'x')\n"
        f"path = pathlib.Path({str(tmp_path / NAME)!r})\n"
        "fetch(file, path, requests.Session(), Patience(), lambda *_: print('.', flush=True))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)  # noqa: S603
    assert child.stdout is not None
    child.stdout.readline()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    kept = (tmp_path / f"{NAME}.part").stat().st_size
    assert 0 < kept <= 400_000
    assert get(server, tmp_path).read_bytes() == DATA
    assert server.asked[-1][1] == f"bytes={kept}-"


def test_wrong_part_is_fetched_anew_once(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(b"x" * 1000)
    assert get(server, tmp_path).read_bytes() == DATA
    assert [wanted for _, wanted in server.asked] == ["bytes=1000-", None]


def test_part_longer_than_the_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(DATA + b"x")
    assert get(server, tmp_path).read_bytes() == DATA


@pytest.mark.parametrize("start", [b"", b"x" * 1000])
def test_wrong_checksum_is_an_error_and_leaves_nothing(
    server: Server, tmp_path: Path, start: bytes
) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(start)
    with pytest.raises(SourceError, match=r"md5 of what arrived is [0-9a-f]{32}, but .* 0{32}"):
        get(server, tmp_path, md5="0" * 32)
    assert not (tmp_path / NAME).exists()
    assert (tmp_path / f"{NAME}.part").stat().st_size == 0
    assert server.count(server.address(NAME)) == (2 if start else 1)


def test_endless_answer_is_cut(server: Server, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"sends more than the 1000 bytes"):
        get(server, tmp_path, size="1000")


@pytest.mark.parametrize("code", [429, 500, 503])
def test_passing_failures_are_waited_out(server: Server, tmp_path: Path, code: int) -> None:
    waits = Waits()
    server.tricks[server.address(NAME)] = [status(code), status(code, Retry_After="7")]
    assert get(server, tmp_path, waits).read_bytes() == DATA
    assert waits == [0.5, 7.0]


def test_failures_that_do_not_pass_end_the_patience(server: Server, tmp_path: Path) -> None:
    waits = Waits()
    server.tricks[server.address(NAME)] = [cut_after(CHUNK), *[status(500)] * 9]
    with pytest.raises(
        SourceError, match=r"gave up .* 65536 of 1048576 bytes here: HTTP status 500"
    ):
        get(server, tmp_path, waits)
    assert waits == [0.5, 1.0]
    assert (tmp_path / f"{NAME}.part").read_bytes() == DATA[:CHUNK]


@pytest.mark.parametrize("code", [401, 404, 410])
def test_final_failures_are_not_repeated(server: Server, tmp_path: Path, code: int) -> None:
    server.tricks[server.address(NAME)] = [status(code)]
    with pytest.raises(SourceError, match=f"HTTP status {code}"):
        get(server, tmp_path)
    assert len(server.asked) == 1


def test_page_in_place_of_the_file_is_an_error(server: Server, tmp_path: Path) -> None:
    page = status(200, b"<html>down for maintenance</html>")
    server.tricks[server.address(NAME)] = [page] * 9
    with pytest.raises(SourceError, match=r"gave up"):
        get(server, tmp_path)


def test_wrong_range_in_an_answer_starts_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(DATA[:1000])
    wrong = status(206, DATA[:10], Content_Range=f"bytes 0-9/{len(DATA)}")
    server.tricks[server.address(NAME)] = [wrong]
    assert get(server, tmp_path).read_bytes() == DATA
    assert [wanted for _, wanted in server.asked] == ["bytes=1000-", None]


def test_range_that_the_server_refuses_starts_anew(server: Server, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(DATA[:1000])
    server.tricks[server.address(NAME)] = [status(416)]
    assert get(server, tmp_path).read_bytes() == DATA


def test_nobody_there(tmp_path: Path) -> None:
    with serving() as server:
        server.files[NAME] = DATA
    with pytest.raises(SourceError, match=r"gave up after 3 attempts"):
        get(server, tmp_path)


def test_two_processes_do_not_write_one_part(server: Server, tmp_path: Path) -> None:
    def meanwhile(handler: Handler) -> None:
        with pytest.raises(SourceError, match=r"another process is downloading"):
            get(server, tmp_path)
        handler.deliver()

    server.tricks[server.address(NAME)] = [meanwhile]
    assert get(server, tmp_path).read_bytes() == DATA


def test_full_disk_is_told_before(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(SourceError, match=r"1048576 bytes to come, but .* has 10 free"):
        get(server, tmp_path)


def test_progress_tells_ten_times_where_nobody_watches() -> None:
    out = io.StringIO()
    tell = show_progress(out)
    for here in range(0, 1 << 20, 1 << 10):
        tell("a.zip", here + (1 << 10), 1 << 20)
    lines = out.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[-1] == "a.zip: 1.0 of 1.0 MiB"


def test_progress_rewrites_one_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    tell = show_progress(out)
    tell("a.zip", 1 << 19, 1 << 20)
    tell("a.zip", 1 << 20, 1 << 20)
    assert out.getvalue() == "\ra.zip: 0.5 of 1.0 MiB\ra.zip: 1.0 of 1.0 MiB\n"
