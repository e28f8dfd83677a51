"""A damaged dump either loads or raises a DataError, whatever the damage."""

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path

import bson
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.results.history import History
from barograph.runtime.errors import DataError
from barograph.sources.mongodump import MongoDump
from tests.sources.archives import archive
from tests.sources.documents import change_point, load, series

SERIES = [series("a", count=3), series("b", count=2, data=[{"order": 1, "value": 2}])]
CHANGE_POINTS = [change_point("a", order=10), change_point("a", order=20)]
FILES = {
    "time_series.bson": b"".join(map(bson.encode, SERIES)),
    "change_points.bson": b"".join(map(bson.encode, CHANGE_POINTS)),
    "dump.archive": archive(SERIES, CHANGE_POINTS),
}

Damage = Callable[[bytes], bytes]


def cut(share: float) -> Damage:
    return lambda data: data[: int(share * len(data))]


def flip(places: list[tuple[float, int]]) -> Damage:
    def damage(data: bytes) -> bytes:
        changed = bytearray(data)
        for share, byte in places:
            changed[int(share * len(data))] ^= byte
        return bytes(changed)

    return damage


def overwrite(share: float, number: int) -> Damage:
    def damage(data: bytes) -> bytes:
        start = int(share * len(data))
        return data[:start] + number.to_bytes(4, "little", signed=True) + data[start + 4 :]

    return damage


SHARES = st.floats(0, 1, exclude_max=True)
LENGTHS = st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-8, 400))
DAMAGES = st.one_of(
    SHARES.map(cut),
    st.lists(st.tuples(SHARES, st.integers(1, 255)), min_size=1, max_size=4).map(flip),
    st.builds(overwrite, SHARES, LENGTHS),
)


def loaded_or_refused(location: Path, out: Path) -> None:
    try:
        report = load(MongoDump(str(location)), out, max_skipped_share=1.0)
    except DataError as error:
        assert str(location) in str(error)  # noqa: PT017
        assert not out.exists()
    else:
        assert len(History.read(out)) == report.kept["series"] > 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.sampled_from(["time_series.bson", "change_points.bson"]), DAMAGES, st.booleans())
def test_damaged_directory_is_loaded_or_refused(name: str, damage: Damage, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "dump"
        dump.mkdir()
        for file, data in FILES.items():
            changed = damage(data) if file == name else data
            if file != "dump.archive":
                (dump / file).write_bytes(gzip.compress(changed) if packed else changed)
        loaded_or_refused(dump, Path(folder) / "out")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(DAMAGES, st.booleans(), DAMAGES)
def test_damaged_archive_is_loaded_or_refused(damage: Damage, packed: bool, outer: Damage) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dump.archive"
        data = damage(FILES["dump.archive"])
        path.write_bytes(outer(gzip.compress(data)) if packed else data)
        loaded_or_refused(path, Path(folder) / "out")
