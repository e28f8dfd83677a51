"""The scan against the general reader, which is the simple version of it."""

import math
import operator
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import bson
import numpy as np
from bson.datetime_ms import DatetimeMS
from hypothesis import given, settings
from hypothesis import strategies as st

from barograph.sources import Document, LoadReport, Skip
from barograph.sources.contract import SeriesColumns
from barograph.sources.documents.columns import columns, decoded
from barograph.sources.documents.frames import Frames
from barograph.sources.documents.scan import scan
from barograph.sources.points import read_series
from tests.sources.documents import identity, point, series


def frames_of(documents: list[dict[str, Any]]) -> Frames:
    encoded = [bson.encode(document) for document in documents]
    starts = np.cumsum([0, *map(len, encoded)]).tolist()
    return Frames(b"".join(encoded), starts, 1)


def told(items: Iterable[SeriesColumns | Document | Skip]) -> tuple[list[Any], dict[str, Any]]:
    """Everything that a stream says, series by series, and what the reader counted on the way."""
    report, found = LoadReport("x"), []
    for item in items:
        if isinstance(item, Skip):
            report.skip("series", item)
            continue
        batch = read_series(item, report) if isinstance(item, Document) else item
        if batch is None:
            continue
        if isinstance(item, SeriesColumns):
            report.read["points"] += batch.values.size
        ends = np.cumsum([0, *batch.counts])
        for place, one in enumerate(batch.ids):
            part = slice(ends[place], ends[place + 1])
            fields = (batch.orders, batch.times, batch.values)
            lists = [array[part].tolist() for array in fields]
            commits = batch.commits[part].to_pylist()
            found.append((batch.first + place, one, batch.directions[place], *lists, commits))
    return found, report.as_dict()


EXTRA = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.integers(-(2**63), 2**63 - 1),
    st.lists(st.integers(0, 9), max_size=3),
    st.builds(bson.ObjectId, st.binary(min_size=12, max_size=12)),
    st.dictionaries(st.sampled_from(["order", "value", "x"]), st.integers(0, 9), max_size=2),
    st.just(bson.Regex("a", "i")),
    st.just(bson.Timestamp(1, 2)),
    st.sampled_from(["1.5", "1e400", "nan", "sNaN"]).map(bson.Decimal128),
    st.just(bson.Code("f()", {"x": 1})),
    st.just(bson.MinKey()),
)
TIMES = st.one_of(
    st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),
    st.integers(-(2**63), 2**63 - 1).map(DatetimeMS),
)
ORDERS = st.one_of(st.integers(0, 20), st.integers(2**31, 2**40).map(bson.Int64))
VALUES = st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1))
POINTS = st.fixed_dictionaries(
    {"order": ORDERS, "value": VALUES, "commit": st.text("abcé", max_size=3), "commit_date": TIMES},
    optional={"version": EXTRA, "evg_create_date": TIMES},
)
ODD_POINTS = st.dictionaries(
    st.sampled_from(["order", "value", "commit", "commit_date", "x"]), EXTRA, max_size=5
)
DATA = st.one_of(
    st.lists(POINTS, max_size=6, unique_by=operator.itemgetter("order")).map(
        lambda points: sorted(points, key=operator.itemgetter("order"))
    ),
    st.lists(st.one_of(POINTS, ODD_POINTS), max_size=5),
)
DOCUMENTS = st.fixed_dictionaries(
    {"data": st.one_of(DATA, DATA, DATA, EXTRA)},
    optional={
        **{name: st.one_of(st.text(max_size=3), EXTRA) for name in identity()},
        "args": st.one_of(st.dictionaries(st.sampled_from("ab"), EXTRA, max_size=2), EXTRA),
        "project": st.text("abé", max_size=3),
        "updateFailures": EXTRA,
        "direction": st.sampled_from([-1, 0, 1, 7]),
    },
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(DOCUMENTS, max_size=4))
def test_columns_say_what_the_general_reader_says(documents: list[dict[str, Any]]) -> None:
    frames = frames_of(documents)
    assert told(columns(frames, "f")) == told(decoded(frames, "f"))


def test_arguments_may_hold_any_bytes() -> None:
    frames = frames_of([series(args={"thread_level": 128}), series(args={"rate": -0.1, "é": 1})])
    found, report = told(columns(frames, "f"))
    assert [one.args for _, one, *_ in found] == [
        (("thread_level", "128"),),
        (("rate", "-0.1"), ("é", "1")),
    ]
    assert (found, report) == told(decoded(frames, "f"))


def test_sound_documents_are_taken_together() -> None:
    documents = [series("a"), series("b", count=2), series("odd", data=[]), series("c")]
    items = list(columns(frames_of(documents), "f"))
    assert [type(item) for item in items] == [SeriesColumns, Document, SeriesColumns]
    first, _, last = items
    assert isinstance(first, SeriesColumns)
    assert isinstance(last, SeriesColumns)
    assert [one.test for one in first.ids] == ["a", "b"]
    assert (first.first, last.first) == (1, 4)
    assert first.values.tolist() == [100.0, 101.0, 102.0, 103.0, 104.0, 100.0, 101.0]


def test_the_scan_leaves_alone_what_is_not_exactly_as_it_should_be() -> None:
    changes: list[dict[str, Any]] = [
        {"value": math.nan},
        {"value": "1"},
        {"order": 0},
        {"order": 1.0},
        {"commit": ""},
        {"commit": "é"},
        {"commit_date": None},
        {"commit_date": DatetimeMS(2**60)},
        {"x": bson.MinKey()},
    ]
    points = [{**point(1), **change} for change in changes]
    points += [
        {key: one for key, one in point(1).items() if key != name}
        for name in ("order", "value", "commit", "commit_date")
    ]
    documents = [series(data=[point(0), one]) for one in points]
    assert scan(frames_of(documents)).counts.tolist() == [-1] * len(points)
    assert scan(frames_of([series()])).counts.tolist() == [5]


def test_the_smallest_order_is_none() -> None:
    frames = frames_of([series(data=[{**point(0), "order": -(2**63)}, point(1)])])
    assert scan(frames).counts.tolist() == [-1]
    assert told(columns(frames, "f")) == told(decoded(frames, "f"))
